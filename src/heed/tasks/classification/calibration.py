"""A classifier on random documents, by which the speed of a training is measured."""

from pathlib import Path

import numpy as np
import torch

from heed.inputs.batches import Batch, EncodedCorpus
from heed.inputs.special import SPECIAL
from heed.inputs.tfidf import HashedTfIdf
from heed.inputs.vocabulary import Vocabulary
from heed.models.classifier import Classifier
from heed.tasks.classification.learning import ClassificationLearner
from heed.tasks.classification.recipe import Hyperparameters
from heed.tokens.arrays import Tokens
from heed.tokens.meta import Meta, NearDuplicates

LETTERS, WORD, SENTENCE = 26, 6, 20  # of the alphabet, of a word; tokens of a sentence
ZIPF = 1.2  # exponent of the frequencies of words


def random_learner(
    h: Hyperparameters, lengths: np.ndarray, vocabulary: int, classes: int
) -> ClassificationLearner:
    """Return a learner of documents of random words and random classes, on the CPU.

    The caller seeds torch. All documents are both to train and to validate on.

    Args:
        h: hyperparameters of the model and its training.
        lengths: tokens of each document, (documents,).
        vocabulary: entries of the vocabulary, special ones included.
        classes: number of classes.

    """
    generator = np.random.default_rng(0)
    words = _words(max(1, vocabulary - len(SPECIAL)), generator)
    tokens = _tokens(lengths, words, generator)
    rows = np.arange(len(lengths))
    model = Classifier(vocabulary, classes, h)
    linear = None
    if model.branch:
        texts = [" ".join(words[i] for i in tokens.ids[a:b]) for a, b in _spans(tokens.offsets)]
        features = HashedTfIdf(h.linear_branch, h.branch_buckets)
        features.fit(texts)
        assert features.idf is not None
        model.branch.idf.copy_(torch.from_numpy(features.idf))
        linear = features.transform(texts)
    encoded = EncodedCorpus(tokens, Vocabulary((*SPECIAL, *words), h.lowercase), h, linear)
    parts = {"train": rows, "validation": rows}
    return ClassificationLearner(model, encoded, rows % classes, parts, h, 1, "cpu")


def padded_tokens(batch: Batch) -> int:
    """Return the tokens of a batch, padding included."""
    return batch.ids.numel()


def _spans(offsets: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True))


def _words(number: int, generator: np.random.Generator) -> list[str]:
    """Return different words of random letters."""
    letters = generator.integers(ord("a"), ord("a") + LETTERS, (number, WORD), dtype=np.uint8)
    return [f"{bytes(word).decode()}{i}" for i, word in enumerate(letters)]


def _tokens(lengths: np.ndarray, words: list[str], generator: np.random.Generator) -> Tokens:
    """Return documents of these lengths, whose words follow Zipf's law."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    drawn = generator.zipf(ZIPF, int(offsets[-1]))
    ids = np.where(drawn <= len(words), drawn - 1, drawn % len(words)).astype(np.int32)
    starts = [np.arange(0, max(1, length), SENTENCE) for length in lengths]
    meta = Meta(
        digest="", corpus="random", kind="random", tokenizer="whitespace", folds=0, labels={},
        documents=len(lengths), tokens=len(ids), types=len(words), parts={}, reduced=False,
        generated=True, duplicates={}, near_duplicates=NearDuplicates([0], True), treated={},
    )  # fmt: skip
    sentence_offsets = np.concatenate([[0], np.cumsum([*map(len, starts)])])
    return Tokens(Path(), meta, ids, offsets, words, np.concatenate(starts), sentence_offsets)

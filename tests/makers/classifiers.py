"""Small classifiers with random parameters, and batches of texts for them."""

import dataclasses

import numpy as np
import torch

from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Bags, Batch, bigrams, character_ngrams
from heed.models.classifier import Classifier
from tests.conftest import HYPERPARAMETERS


def make_batch(
    texts: list[list[int]],
    sentences: list[list[int]] | None = None,
    padding: int = 0,
    h: Architecture = HYPERPARAMETERS,
) -> Batch:
    """Return texts of vocabulary indices as a batch, with every feature that `h` asks for.

    The batch is `padding` positions longer than the longest text.
    """
    time = max(1, *map(len, texts)) + padding if len(texts) > 1 else max(1, len(texts[0])) + padding
    ids = np.zeros((len(texts), time), np.int64)
    for i, text in enumerate(texts):
        ids[i, : len(text)] = text
    token_mask = np.arange(time)[None] < np.asarray([len(text) for text in texts])[:, None]
    more = {}
    if sentences is not None:
        table = np.zeros(
            (
                len(texts),
                max(1, *map(len, sentences)) if len(sentences) > 1 else max(1, len(sentences[0])),
            ),
            np.int64,
        )
        for i, counts in enumerate(sentences):
            table[i, : len(counts)] = counts
        more["sentences"] = torch.from_numpy(table)
    if h.bigram_buckets:
        more["bigrams"] = torch.from_numpy(bigrams(ids, token_mask, h.bigram_buckets))
    if h.character_buckets:
        ngrams = character_ngrams([f"w{i}" for i in range(30)], h.character_buckets)
        occurring, bag = np.unique(ids[token_mask], return_inverse=True)
        bags = np.zeros(ids.shape, np.int64)
        bags[token_mask] = bag
        more["characters"] = Bags(*map(torch.from_numpy, ngrams.look_up(occurring)))
        more["character_of"] = torch.from_numpy(bags)
    lengths = torch.tensor([len(text) for text in texts])
    return Batch(torch.from_numpy(ids), lengths, np.arange(len(texts)), **more)


def random_texts(lengths: list[int]) -> list[list[int]]:
    return [torch.randint(2, 30, (length,)).tolist() for length in lengths]


def make(**changes) -> Classifier:
    torch.manual_seed(3)
    model = Classifier(30, 4, dataclasses.replace(HYPERPARAMETERS, **changes)).double().eval()
    if model.branch is not None:
        model.branch.table.weight.data.normal_()  # it starts at 0
    return model


def batch_for(model: Classifier, lengths: tuple[int, ...] = (9, 1, 4, 0)) -> Batch:
    """Texts of these lengths, in sentences of at most three words, and the features of a linear
    branch.
    """
    torch.manual_seed(0)
    sentences = [[min(3, length - start) for start in range(0, length, 3)] for length in lengths]
    batch = make_batch(random_texts(list(lengths)), sentences, padding=1)
    if model.branch is None:
        return batch
    ids, begin = torch.arange(2 * len(lengths)) % 8, 2 * torch.arange(len(lengths))
    return dataclasses.replace(batch, linear=Bags(ids, begin, torch.rand(len(ids))))

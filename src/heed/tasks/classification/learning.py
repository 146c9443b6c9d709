"""The network of a classification and its training, validated by accuracy, macro F1 and loss."""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn

from heed.files import HeedError, write_text
from heed.hyperparameters import CorpusSizes
from heed.inputs.batches import Bags, Batch, EncodedCorpus
from heed.inputs.vocabulary import SPECIAL, Vocabulary, build_vocabulary, vocabulary_vectors
from heed.models.classifier import Classifier
from heed.models.size import match_parameters
from heed.recipe import Recipe
from heed.task.interface import Learner
from heed.tasks.classification.metrics import average_metric, statistics
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tokens.arrays import Tokens
from heed.tokens.meta import Meta

VOCABULARY = "vocabulary.txt"
# of random documents: tokens of a sentence, and n-grams of a word of six letters
SENTENCE, NGRAMS = 20, 18


def sizes(data: Data, meta: Meta) -> CorpusSizes:
    """Return the sizes of a corpus that the shapes of a network depend on."""
    return CorpusSizes((meta.types,), len(data.classes))


def build(h: Hyperparameters, sizes: CorpusSizes) -> Classifier:
    """Return an untrained classifier, whose vocabulary has no more words than the corpus types."""
    return Classifier(_vocabulary_size(h, sizes), sizes.outputs, h)


def _vocabulary_size(h: Hyperparameters, sizes: CorpusSizes) -> int:
    return min(h.vocabulary_size, sizes.types[0] + len(SPECIAL))


def parameter_matched(
    h: Hyperparameters, matched: Hyperparameters, sizes: CorpusSizes
) -> Hyperparameters:
    """Return the network without attention whose hidden size gives it the nearest size."""

    def by_size(size: int) -> Hyperparameters:
        return dataclasses.replace(h.without_attention(), hidden_size=size)

    return match_parameters(by_size, functools.partial(build, sizes=sizes), matched)


def random_batch(h: Hyperparameters, sizes: CorpusSizes, lengths: list[int]) -> Batch:
    """Return random documents of these lengths, on which the speed of a network is measured."""
    shape, tokens = (len(lengths), max(lengths)), sum(lengths)
    features: dict[str, Any] = {}
    if h.hierarchical:
        starts = torch.arange(0, shape[1], SENTENCE)
        rest = torch.tensor(lengths)[:, None] - starts
        features["sentences"] = rest.clamp(0, SENTENCE)
    if h.character_buckets:
        ids = torch.randint(h.character_buckets, (NGRAMS * tokens,))
        features["characters"] = Bags(ids, torch.arange(0, len(ids), NGRAMS))
        features["character_of"] = torch.randint(tokens, shape)
    words = max(_vocabulary_size(h, sizes), len(SPECIAL) + 1)
    ids = torch.randint(len(SPECIAL), words, shape)
    return Batch(ids, torch.tensor(lengths), np.arange(len(lengths)), **features)


def loss(model: Classifier, batch: Batch) -> torch.Tensor:
    """Return the cross entropy of the first class, summed over documents."""
    return -model(batch).log_softmax(-1)[:, 0].sum()


def activation(logits: torch.Tensor) -> torch.Tensor:
    """Return the probability of each class, one of which a document has: (..., classes)."""
    return torch.softmax(logits, -1)


class ClassificationLearner(Learner):
    """A classifier and the documents that it learns from; a task based on this may change both."""

    def __init__(
        self, model: nn.Module, encoded: EncodedCorpus, labels: np.ndarray,
        rows: dict[str, np.ndarray], hyperparameters: Hyperparameters, seed: int, device: str,
    ) -> None:  # fmt: skip
        """Store the arguments: `labels` of all documents of the corpus, as of `read_labels`."""
        self.model, self.encoded, self.device, self.seed = model, encoded, device, seed
        self.train, self.validation = rows["train"], rows["validation"]
        self.items = len(self.train)
        self._h, self._labels, self._targets = hyperparameters, labels, torch.from_numpy(labels)
        self._weights: torch.Tensor | None = None
        if hyperparameters.class_weights == "balanced":
            self._weights = torch.from_numpy(self.balance(labels, self.train))

    def loss(self, model: Any, batch: Batch) -> torch.Tensor:
        """Return the cross entropy, summed over documents, each with the weight of its class."""
        with self.autocast():
            logits = model(batch.to(self.device))
        return self._cross_entropy(logits, batch)

    def _cross_entropy(self, logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        reduction = "sum" if self._weights is None else "none"
        targets = self._targets[batch.rows].to(self.device)
        smoothing = self._h.label_smoothing
        losses = F.cross_entropy(logits, targets, reduction=reduction, label_smoothing=smoothing)
        return self._sum(losses, batch)

    def _sum(self, losses: torch.Tensor, batch: Batch) -> torch.Tensor:
        if self._weights is None:
            return losses.sum()
        return losses @ self._weights[batch.rows].to(losses)

    @staticmethod
    def balance(labels: np.ndarray, train: np.ndarray) -> np.ndarray:
        """Return training documents' weights, scikit-learn's `balanced` (King & Zeng 2001)."""
        counts = np.bincount(labels[train])
        by_class = len(train) / (np.count_nonzero(counts) * np.maximum(counts, 1))
        weights = np.zeros(len(labels), np.float32)
        weights[train] = by_class[labels[train]]
        return weights

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return loss, accuracy and macro F1 on the validation documents."""
        rows = self.validation
        predicted = probabilities(model, self.encoded.evaluation_batches(rows), rows, self.device)
        labels = self._labels[rows]
        likelihood = np.maximum(predicted[np.arange(len(rows)), labels].astype(np.float64), 1e-30)
        sums = statistics(labels, predicted.argmax(1), np.arange(predicted.shape[1])).sum(0)
        return {
            "loss": float(-np.log(likelihood).mean()),
            "accuracy": float(sums[0] / len(rows)),
            "macro_f1": float(average_metric("macro", "f1").value(sums)),
        }

    def write(self, folder: Path) -> None:
        """Write the vocabulary."""
        words = self.encoded.vocabulary.words
        write_text(folder / VOCABULARY, "".join(f"{word}\n" for word in words))

    @staticmethod
    def read_labels(tokens: Tokens, data: Data, rows: np.ndarray) -> np.ndarray:
        """Return each document's class, int64; -1 if not in `rows`. Raises HeedError: unknown."""
        column = f"label_{data.label}"
        indices = np.full(len(tokens.offsets) - 1, -1, np.int64)
        labels = tokens.documents([column], rows)[column]
        codes = pd.Categorical(labels, categories=data.classes).codes
        if (codes < 0).any():
            raise HeedError(
                f"{tokens.path}: documents have the class {min(labels[codes < 0])!r}, which the "
                "recipe lacks. Run again: heed recipe EXPERIMENT"
            )
        indices[rows] = codes
        return indices


LEARNER = ClassificationLearner
class_indices = ClassificationLearner.read_labels


def make_learner(
    recipe: Recipe[Data, Hyperparameters], tokens: Tokens, rows: dict[str, np.ndarray], seed: int,
    device: str, kind: type[ClassificationLearner] = ClassificationLearner,
) -> ClassificationLearner:  # fmt: skip
    """Return the learner of a training; the caller seeds torch, which initialises the model."""
    h, read = recipe.hyperparameters, np.concatenate([rows["train"], rows["validation"]])
    vocabulary = build_vocabulary(tokens, rows["train"], h.vocabulary_size, h.lowercase)
    labels = kind.read_labels(tokens, recipe.data, read)
    model = make_model(vocabulary, recipe)
    if h.vectors != "none":
        model.network.embedding.set_words(*vocabulary_vectors(tokens, vocabulary))
    encoded = EncodedCorpus(tokens, vocabulary, h)
    return kind(model.to(device), encoded, labels, rows, h, seed, device)


def make_model(vocabulary: Vocabulary, recipe: Recipe[Data, Hyperparameters]) -> Classifier:
    """Return the recipe's model, initialised from torch's generator."""
    h, classes = recipe.hyperparameters, len(recipe.data.classes)
    return Classifier(len(vocabulary), classes, h)


def probabilities(
    model: nn.Module, batches: Iterable[Batch], rows: np.ndarray, device: str,
    activation: Callable[[torch.Tensor], torch.Tensor] = activation,
) -> np.ndarray:  # fmt: skip
    """Return the class probabilities in the order of `rows`, float32 (rows, classes)."""
    model.eval()
    by_batch, order = list[np.ndarray](), list[np.ndarray]()
    with torch.inference_mode():
        for batch in batches:
            by_batch.append(activation(model(batch.to(device)).float()).cpu().numpy())
            order.append(batch.rows)
    predicted_rows = np.concatenate(order)
    by_row = np.argsort(predicted_rows, kind="stable")
    place = by_row[np.searchsorted(predicted_rows, rows, sorter=by_row)]
    return np.concatenate(by_batch)[place]


def read_texts(tokens: Tokens, rows: np.ndarray) -> list[str]:
    """Return the text of each document of the corpus; empty for those that are not in `rows`."""
    texts = np.full(len(tokens.offsets) - 1, "", object)
    texts[rows] = tokens.documents(["text"], rows)["text"].to_numpy()
    return list(texts)

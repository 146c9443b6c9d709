"""Diagnostic MLP: a network without context that weighs its words by given weights.

Each word is read alone, so the network can use no more of a document than its weights point at:
weights that help it more, point better (Wiegreffe & Pinter 2019, section 3.4,
arxiv.org/abs/1908.04626). But weights were computed from the whole document, and can carry its
class themselves, by the words that they choose (Bai et al. 2021, arxiv.org/abs/2006.05656). The
controls measure that. In the tables it is called a diagnostic MLP.
"""

import dataclasses
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from heed.explanation.adversarial_attention import AdversarialTest, Row, mean_row
from heed.explanation.rankings import pad_by_row
from heed.explanation.test import Axis, Explained, Series, Trained, measured
from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Batch
from heed.inputs.vocabulary import UNKNOWN
from heed.models.encoder import LearnedQuery
from heed.models.recurrent import padding_mask
from heed.training.loop import DivergedError
from heed.training.machine import seed_everything

PLACES = 10  # parts of a document that the control `constant_token` tells apart
MAJORITIES = ("majority", "majority_with_rationale")
SPLIT_WITHOUT = "a split of the corpus has no document with rationales"
Weights = dict[int, np.ndarray]  # row → the weight of each token, (tokens,)


class DiagnosticNetworks(AdversarialTest):
    """The test accuracy of networks that read each word alone, with given weights."""

    name = rows = "diagnostic"
    measures = ("accuracy_one_epoch", "accuracy")
    title = "A network with weights from given weights"
    claim = (
        "Shows whether weights help a network that reads each word alone. It does not show why: "
        "weights can carry the label itself (Bai et al. 2021)."
    )
    caption = (
        "Test accuracy after one epoch, in which it shows best what weights point at (left), and "
        "after the whole training (right). Where rationale is given or hidden, of documents that "
        "have some, as is the majority with a rationale. Weights carry the label where they are "
        "above "
        "that with the rationale hidden, or above the majority class with one word throughout the "
        "text. Those of another document must not help."
    )
    axes = (Axis("accuracy_one_epoch", "after one epoch"), Axis("accuracy", "whole training"))
    series: ClassVar[Mapping[str, str]] = {
        "uniform": "equal",
        "trained": "its own",
        "base": "the model’s",
        "adversarial_model": "the adversarial model’s",
        "rationale": "on the rationale",
        "base_without_rationale": "model’s, rationale hidden",
        "adversarial_model_without_rationale": "adversarial model’s, rationale hidden",
        "constant_token": "model’s, one word",
        "moved": "model’s, other document",
        "majority": "majority class",
        "majority_with_rationale": "majority, with a rationale",
    }

    def drawn_trained(
        self, explained: Explained, adversarial_model: Trained, measure: str
    ) -> Series:
        """Return the accuracies by the weights; a majority class has one alone."""
        series: Series = {}
        for weights, name in self.series.items():
            own = "accuracy" if weights in MAJORITIES else measure
            rows = measured(adversarial_model.summary, self.rows, own)
            series[name] = rows[rows["weights"] == weights]["mean"].tolist()
        return series


class DiagnosticMLP(nn.Module):
    """Tokens → embedding → tanh(W x + b), weighted sum → linear layer.

    `read` and `weigh` map a batch to token ids and to weights, (batch, time); without `weigh`, the
    network learns its own weights, by a query and an additive score.
    """

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        size: int,
        h: Architecture,
        read: Callable[[Batch], torch.Tensor],
        weigh: Callable[[Batch], torch.Tensor] | None = None,
    ) -> None:
        """Build layers of `size` states; the embeddings are like those of the base, with its `h`.

        `vocabulary` is the number of ids that are read, padding among them.
        """
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, h.embedding_dim, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=h.embedding_std)
        self.linear = nn.Linear(h.embedding_dim, size)
        self.output = nn.Linear(size, classes)
        self.query = None if weigh else LearnedQuery("additive", size, 1)
        self._read, self._weigh = read, weigh

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits (batch, classes)."""
        states = torch.tanh(self.linear(self.embedding(self._read(batch))))
        if self._weigh is not None:
            weights = self._weigh(batch)
        else:
            assert self.query is not None
            padding = padding_mask(batch.lengths, states.shape[1])
            weights = self.query.weights(states, batch.lengths, padding)
        return self.output((weights[:, None] @ states).squeeze(1))


def place_ids(batch: Batch) -> torch.Tensor:
    """Return ids that say of each token only in which tenth of its document it stands.

    They are (batch, time), from 1 to PLACES. One id for all tokens would leave nothing to learn
    from: the weights of a document sum to 1, and so its vector would be that of every document.
    """
    lengths = batch.lengths[:, None].clamp(min=1)
    places = torch.arange(batch.ids.shape[1])[None] * PLACES // lengths + 1
    return places.masked_fill(padding_mask(batch.lengths, batch.ids.shape[1]), 0)


def move_weights(
    weights: dict[int, np.ndarray], numbers: np.random.Generator
) -> dict[int, np.ndarray]:
    """Return {row: weights} with the weights of another document, of nearly the same length.

    Documents are sorted by length, equal lengths at random, and neighbours exchange their weights.
    The last of an odd number gets those of the one before. Classes are not looked at, so moved
    weights tell nothing of the document.
    """
    rows = numbers.permutation(np.asarray(sorted(weights), np.int64))
    rows = rows[np.argsort([len(weights[int(row)]) for row in rows], kind="stable")]
    donors = np.arange(len(rows)) ^ 1
    donors[donors == len(rows)] = max(0, len(rows) - 2)
    return {
        int(row): fit_weights(weights[int(rows[donor])], len(weights[int(row)]))
        for row, donor in zip(rows, donors, strict=True)
    }


def fit_weights(weights: np.ndarray, length: int) -> np.ndarray:
    """Return weights stretched to `length` tokens, with the sum 1; equal where all would be 0."""
    if not len(weights):
        return np.full(length, 1 / max(1, length), np.float32)
    stretched = weights[np.arange(length) * len(weights) // max(1, length)]
    total = stretched.sum()
    return stretched / total if total > 0 else np.full(length, 1 / max(1, length), np.float32)


@dataclasses.dataclass(frozen=True)
class Guide:
    """The input of a diagnostic MLP, and its weights; None: it learns them.

    rows: documents for which the weights are defined; None: all
    """

    reads: str
    read: Callable[[Batch], torch.Tensor]
    weights: Weights | None
    vocabulary: int
    rows: set[int] | None = None

    def choose(self, documents: np.ndarray) -> np.ndarray:
        """Return the documents for which the weights are defined."""
        if self.rows is None:
            return documents
        return documents[[int(row) in self.rows for row in documents]]

    def weigh(self) -> Callable[[Batch], torch.Tensor] | None:
        """Return the function of a batch that gives its weights, (batch, time), or None."""
        if (weights := self.weights) is None:
            return None
        return lambda batch: pad_by_row(weights, batch.rows, batch.ids.shape[1])


def make_guides(
    base: Weights, adversarial_model: Weights, rationale: Weights, vocabulary: int
) -> dict[str, Guide]:
    """Return the guides by name, in the order of the summary.

    The weights of both models are of all documents; `rationale` is True for tokens of it,
    (tokens,).
    """
    lengths = {row: len(weights) for row, weights in base.items()}
    uniform = {row: _equal(np.ones(length, bool)) for row, length in lengths.items()}
    with_rationale = {row: _equal(each) for row, each in rationale.items() if each.any()}

    def without_rationale(batch: Batch) -> torch.Tensor:
        is_rationale = pad_by_row(rationale, batch.rows, batch.ids.shape[1])
        return batch.ids.masked_fill(is_rationale, UNKNOWN)

    def words(weights: Weights | None, rows: set[int] | None = None) -> Guide:
        return Guide("words", attrgetter("ids"), weights, vocabulary, rows)

    def hidden(weights: Weights) -> Guide:
        reads = "words, and the unknown word in place of those of the rationale"
        return Guide(reads, without_rationale, weights, vocabulary, {*with_rationale})

    reads = f"one token in place of every word, another in each of {PLACES} parts of the document"
    return {
        "uniform": words(uniform),
        "trained": words(None),
        "base": words(base),
        "adversarial_model": words(adversarial_model),
        "rationale": words(with_rationale, {*with_rationale}),
        "base_without_rationale": hidden(base),
        "adversarial_model_without_rationale": hidden(adversarial_model),
        "constant_token": Guide(reads, place_ids, base, PLACES + 1),
        "moved": words(move_weights(base, np.random.default_rng(0))),
    }


def _equal(chosen: np.ndarray) -> np.ndarray:
    """Return equal weights for the tokens that are chosen, (tokens,)."""
    return chosen.astype(np.float32) / max(1, int(chosen.sum()))


@dataclasses.dataclass(frozen=True)
class DiagnosticTraining:
    """The training of all diagnostic networks of a seed.

    labels: class indices, (documents of the corpus,)
    size: of the states: that of the base's document vector
    with_evidence: documents whose rationale is known
    train: trains a network on some documents, in so many epochs, with its checkpoints in a folder;
        returns 1 for each test document that it classifies rightly, else 0
    """

    hyperparameters: Architecture
    epochs: int
    classes: int
    seed: int
    vocabulary: int
    labels: np.ndarray
    splits: dict[str, np.ndarray]
    size: int
    with_rationale: set[int]
    train: Callable[[nn.Module, dict[str, np.ndarray], int, Path], np.ndarray]

    def accuracies(
        self, guides: dict[str, Guide], work: Path, report_progress: Callable[[str, int, int], None]
    ) -> list[Row]:
        """Train networks by each guide; return the rows of the summary.

        One network is trained by the base's recipe, another for one epoch: with enough epochs a
        bag of words may learn from equal weights too what better weights show at once.

        Raises DivergedError, which names the weights.
        """
        rows = []
        for i, (name, guide) in enumerate(guides.items()):
            report_progress(f"diagnostic MLP, weights {name}", i, len(guides))
            splits = {split: guide.choose(documents) for split, documents in self.splits.items()}
            for measure, number in (("accuracy", self.epochs), ("accuracy_one_epoch", 1)):
                right = np.empty(0)
                if all(map(len, splits.values())):
                    try:
                        right = self._right(guide, splits, number, work / f"guided-{name}-{number}")
                    except DivergedError as error:
                        raise DivergedError(f"diagnostic MLP, weights {name}: {error}") from None
                rows.append(mean_row("diagnostic", measure, name, right, SPLIT_WITHOUT))
        known = {
            split: documents[np.isin(documents, [*self.with_rationale])]
            for split, documents in self.splits.items()
        }
        for name, splits in zip(MAJORITIES, (self.splits, known), strict=True):
            right = np.empty(0)
            if all(map(len, splits.values())):
                most_frequent = np.bincount(self.labels[splits["train"]]).argmax()
                right = (self.labels[splits["test"]] == most_frequent).astype(np.float64)
            rows.append(mean_row("diagnostic", "accuracy", name, right, SPLIT_WITHOUT))
        return rows

    def description(self, guides: dict[str, Guide]) -> dict[str, object]:
        """Return the description of the networks in diagnostic_mlps.json (docs/contracts.md)."""
        h = self.hyperparameters
        return {
            "reads": {name: guide.reads for name, guide in guides.items()},
            "vocabulary": self.vocabulary,
            "max_tokens": h.max_tokens,
            "truncation": h.truncation,
            "embedding_dim": h.embedding_dim,
            "size": self.size,
        }

    def _right(
        self, guide: Guide, splits: dict[str, np.ndarray], epochs: int, work: Path
    ) -> np.ndarray:
        """Train a network by its guide; return 1 for each test document that it has right, or 0."""
        seed_everything(self.seed)
        model = DiagnosticMLP(
            guide.vocabulary, self.classes, self.size, self.hyperparameters, guide.read,
            guide.weigh(),
        )  # fmt: skip
        return self.train(model, splits, epochs, work)

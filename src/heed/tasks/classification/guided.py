"""T7: guided networks of one seed, by the weights that they are given."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from heed.explanation.adversary_tables import mean_row, reason_row
from heed.explanation.documents import pad_by_row
from heed.explanation.guided_network import PLACES, GuidedNetwork, move_weights, place_ids
from heed.inputs.batches import Batch, EncodedCorpus
from heed.inputs.vocabulary import UNKNOWN
from heed.tasks.classification.learning import ClassificationLearner, probabilities
from heed.tasks.classification.recipe import Hyperparameters
from heed.training.determinism import seed_everything
from heed.training.loop import DivergedError, train
from heed.training.run import RunInfo

Weights = dict[int, np.ndarray]  # row → the weight of each token, (tokens,)
PART_WITHOUT = "a part of the corpus has no document with known evidence"


@dataclasses.dataclass(frozen=True)
class Guide:
    """What a guided network reads, and its weights; None: those that it learns.

    rows: documents for which the weights are defined; None: all
    """

    reads: str
    read: Callable[[Batch], torch.Tensor]
    weights: Weights | None
    vocabulary: int
    rows: set[int] | None = None

    def choose(self, documents: np.ndarray) -> np.ndarray:
        """Return those of the documents for which the weights are defined."""
        if self.rows is None:
            return documents
        return documents[[int(row) in self.rows for row in documents]]

    def weigh(self, batch: Batch) -> torch.Tensor:
        """Return the weights of a batch, (batch, time)."""
        assert self.weights is not None
        return pad_by_row(self.weights, batch.rows, batch.ids.shape[1])


class GuidedLearner(ClassificationLearner):
    """A guided network and its documents: cross entropy of its logits."""

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Return the cross entropy, summed over documents."""
        return self._cross_entropy(model(batch), batch)


def make_guides(
    base: Weights, adversary: Weights, evidence: Weights, vocabulary: int
) -> dict[str, Guide]:
    """Return the guides by name, in the order of the summary.

    Args:
        base, adversary: the weights of the two models, for all documents.
        evidence: row → True for tokens of evidence, (tokens,)
        vocabulary: number of words, padding and unknown among them.

    """
    lengths = {row: len(weights) for row, weights in base.items()}
    uniform = {row: _equal(np.ones(length, bool)) for row, length in lengths.items()}
    with_evidence = {row: _equal(each) for row, each in evidence.items() if each.any()}

    def without_evidence(batch: Batch) -> torch.Tensor:
        is_evidence = pad_by_row(evidence, batch.rows, batch.ids.shape[1])
        return batch.ids.masked_fill(is_evidence, UNKNOWN)

    def words(weights: Weights | None, rows: set[int] | None = None) -> Guide:
        return Guide("words", _read_words, weights, vocabulary, rows)

    def hidden(weights: Weights) -> Guide:
        reads = "words, and the unknown word in place of those of the evidence"
        return Guide(reads, without_evidence, weights, vocabulary, {*with_evidence})

    reads = f"one token in place of every word, another in each of {PLACES} parts of the document"
    return {
        "uniform": words(uniform),
        "trained": words(None),
        "base": words(base),
        "adversary": words(adversary),
        "evidence": words(with_evidence, {*with_evidence}),
        "base_without_evidence": hidden(base),
        "adversary_without_evidence": hidden(adversary),
        "constant_token": Guide(reads, place_ids, base, PLACES + 1),
        "moved": words(move_weights(base, np.random.default_rng(0))),
    }


def _read_words(batch: Batch) -> torch.Tensor:
    return batch.ids


def _equal(chosen: np.ndarray) -> np.ndarray:
    """Return equal weights for the tokens that are chosen, (tokens,)."""
    return chosen.astype(np.float32) / max(1, int(chosen.sum()))


@dataclasses.dataclass(frozen=True)
class GuidedTraining:
    """What all guided networks of a seed have in common.

    labels: class indices, (documents of the corpus,)
    size: of the states: that of the base's document vector
    with_evidence: documents whose evidence is known
    """

    run: RunInfo
    encoded: EncodedCorpus
    labels: np.ndarray
    parts: dict[str, np.ndarray]
    size: int
    with_evidence: set[int]

    def accuracies(
        self, guides: dict[str, Guide], work: Path, report_progress: Callable[[str, int, int], None]
    ) -> list[dict[str, Any]]:
        """Train networks by each guide; return the rows of the summary.

        One network is trained by the base's recipe, another for one epoch: with enough epochs a
        bag of words may learn from equal weights too what better weights show at once.

        Raises DivergedError, which names the weights.
        """
        rows = []
        epochs = {"accuracy": self.run.recipe.hyperparameters.epochs, "accuracy_one_epoch": 1}
        for i, (name, guide) in enumerate(guides.items()):
            report_progress(f"guided network, weights {name}", i, len(guides))
            parts = {part: guide.choose(documents) for part, documents in self.parts.items()}
            for measure, number in epochs.items():
                if all(map(len, parts.values())):
                    try:
                        right = self._right(guide, parts, number, work / f"guided-{name}-{number}")
                    except DivergedError as error:
                        raise DivergedError(f"guided network, weights {name}: {error}") from None
                    rows.append(mean_row("guided", measure, name, right))
                else:
                    rows.append(reason_row("guided", measure, name, PART_WITHOUT))
        known = {
            part: documents[np.isin(documents, [*self.with_evidence])]
            for part, documents in self.parts.items()
        }
        return [
            *rows,
            self._majority("majority", self.parts),
            self._majority("majority_with_evidence", known),
        ]

    def _majority(self, name: str, parts: dict[str, np.ndarray]) -> dict[str, Any]:
        """Return the share of the most frequent class of the training documents in the test."""
        if not all(map(len, parts.values())):
            return reason_row("guided", "accuracy", name, PART_WITHOUT)
        most_frequent = np.bincount(self.labels[parts["train"]]).argmax()
        right = self.labels[parts["test"]] == most_frequent
        return mean_row("guided", "accuracy", name, right.astype(np.float64))

    def description(self, guides: dict[str, Guide]) -> dict[str, Any]:
        """Return what the networks read (guided.json in docs/contracts.md)."""
        h: Hyperparameters = self.run.recipe.hyperparameters
        return {
            "reads": {name: guide.reads for name, guide in guides.items()},
            "vocabulary": len(self.encoded.vocabulary),
            "max_tokens": h.max_tokens,
            "truncation": h.truncation,
            "embedding_dim": h.embedding_dim,
            "size": self.size,
        }

    def _right(
        self, guide: Guide, parts: dict[str, np.ndarray], epochs: int, work: Path
    ) -> np.ndarray:
        """Train a network by its guide; return 1 for each test document that it has right, or 0."""
        recipe = self.run.recipe
        h: Hyperparameters = dataclasses.replace(recipe.hyperparameters, epochs=epochs)
        classes = len(recipe.data.classes)
        seed_everything(self.run.seed)
        weigh = None if guide.weights is None else guide.weigh
        model = GuidedNetwork(guide.vocabulary, classes, self.size, h, guide.read, weigh)
        learner = GuidedLearner(model, self.encoded, self.labels, parts, h, self.run.seed, "cpu")
        train(learner, h, self.run.seed, "cpu", work, lambda progress: None)
        rows = parts["test"]
        batches = self.encoded.evaluation_batches(rows)
        predicted = probabilities(model, batches, rows, "cpu").argmax(1)
        return (predicted == self.labels[rows]).astype(np.float64)

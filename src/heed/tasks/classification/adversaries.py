"""Classifiers trained to have other weights than their base: their training and tables, of a seed.

The adversary starts from the base's weights and sees its training documents in the base's order,
with the optimizer of its recipe. Dropout is off: weights and predictions are compared with the
base's as both are in use. A linear branch is not trained: what is hidden must be in the network.
"""

import copy
import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from heed.explanation.adversarial_attention import (
    Compared,
    Pair,
    Row,
    compare_documents,
    deceive_loss,
    differ_loss,
    mean_row,
    summarize_documents,
)
from heed.explanation.diagnostic_mlp import DiagnosticTraining, Guide, Weights, make_guides
from heed.explanation.rankings import (
    GROUPS,
    Subject,
    group_size,
    network_of,
    no_sum_reason,
    pad_by_row,
    read_documents,
)
from heed.explanation.stage import Adversary
from heed.files import HeedError
from heed.inputs.batches import Batch, EncodedCorpus
from heed.models.classifier import Classifier, weighted_sum
from heed.tasks.classification.explanation import (
    SELF_ATTENTION_SCALE,
    EvidenceReader,
    load_subject,
)
from heed.tasks.classification.learning import ClassificationLearner, class_indices, probabilities
from heed.tokens.arrays import Tokens
from heed.training.loop import LAST, Progress, train
from heed.training.run import RunInfo

# what is done, how much of it, and all of it
ReportProgress = Callable[[str, int, int], None]


class AdversaryLearner(ClassificationLearner):
    """A copy of the base, and the documents from which it learns other weights."""

    def __init__(
        self,
        base: Subject,
        adversary: Adversary,
        evidence: Weights,
        labels: np.ndarray,
        parts: dict[str, np.ndarray],
        run: RunInfo,
    ) -> None:
        """Copy the base; `evidence` is True for units with some, (units,), by row."""
        model = copy.deepcopy(base.model).requires_grad_(True)
        if model.network is not None:
            model.network.embedding.require_gradients()
        if model.branch is not None:
            model.branch.requires_grad_(False)
        h = run.recipe.hyperparameters
        super().__init__(model, base.encoded, labels, parts, h, run.seed, "cpu")
        self._base, self._adversary, self._evidence = base.model, adversary, evidence

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Return the loss of the adversary's goal, summed over documents; without dropout."""
        assert isinstance(model, Classifier)
        weighted, strength = weighted_sum(model.eval(), batch), self._adversary.strength
        if self._adversary.goal == "deceive":
            evidence = pad_by_row(self._evidence, batch.rows, weighted.weights.shape[1])
            targets, smoothing = self._targets[batch.rows], self._h.label_smoothing
            losses = deceive_loss(weighted, targets, evidence, strength, smoothing)
            return self._sum(losses, batch)
        with torch.no_grad():
            base = weighted_sum(self._base, batch)
        return differ_loss(weighted, base, strength).sum()


class DiagnosticLearner(ClassificationLearner):
    """A diagnostic MLP and its documents: cross entropy of its logits."""

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Return the cross entropy, summed over documents."""
        return self._cross_entropy(model(batch), batch)


def _diagnostic_training(
    run: RunInfo,
    base: Subject,
    labels: np.ndarray,
    parts: dict[str, np.ndarray],
    with_evidence: set[int],
) -> DiagnosticTraining:
    """Return the training of diagnostic networks by the recipe of their base."""
    own, encoded = run.recipe.hyperparameters, base.encoded

    def fit(model: nn.Module, chosen: dict[str, np.ndarray], epochs: int, work: Path) -> np.ndarray:
        h = dataclasses.replace(own, epochs=epochs)
        learner = DiagnosticLearner(model, encoded, labels, chosen, h, run.seed, "cpu")
        train(learner, h, run.seed, "cpu", work, lambda progress: None)
        return _is_right(model, encoded, labels, chosen["test"])

    size = network_of(base.model).linear.in_features
    return DiagnosticTraining(
        own, own.epochs, len(run.recipe.data.classes), run.seed, len(encoded.vocabulary), labels,
        parts, size, with_evidence, fit,
    )  # fmt: skip


def _is_right(
    model: nn.Module, encoded: EncodedCorpus, labels: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Return 1 for each document that is classified rightly, or 0, float64."""
    predicted = probabilities(model, encoded.evaluation_batches(rows), rows, "cpu").argmax(1)
    return (predicted == labels[rows]).astype(np.float64)


@dataclasses.dataclass(frozen=True)
class Units:
    """The units of all documents that are read, by row.

    of_token: the unit of each token, (tokens,)
    evidence: True for units with evidence, (units,)
    token_evidence: True for tokens of evidence, (tokens,)
    """

    of_token: dict[int, np.ndarray]
    evidence: dict[int, np.ndarray]
    token_evidence: dict[int, np.ndarray]

    @property
    def with_evidence(self) -> set[int]:
        """The documents with known evidence."""
        return {row for row, each in self.token_evidence.items() if each.any()}

    def check_evidence(self, rows: np.ndarray, path: Path) -> None:
        """Raise HeedError if none of the documents `rows` of the corpus `path` has evidence."""
        if not any(self.evidence[row].any() for row in rows):
            raise HeedError(
                f"{path}: no training document has known evidence, and goal deceive moves the "
                "weights away from it. Set goal: differ, or take a corpus with evidence"
            )


def judge_adversary(
    run: RunInfo,
    adversary: Adversary,
    tokens: Tokens,
    parts: dict[str, np.ndarray],
    drawn: np.ndarray,
    work: Path,
    report_progress: ReportProgress,
) -> tuple[dict[str, pd.DataFrame], dict[str, object] | None]:
    """Return the tables `documents`, `units`, `summary`, and a description of diagnostic networks.

    Args:
        run: of the base.
        adversary: what its adversary is trained for.
        tokens: the corpus of both.
        parts: its documents by part.
        drawn: test documents that are not empty, in the order of their draw.
        work: a folder for checkpoints.
        report_progress: called while models are trained and documents are judged.

    Raises:
        HeedError: a file of the run is missing or broken; the base has no weights that could be
            others; `deceive` without evidence in the training part; a training that diverged.

    """
    rows = np.concatenate(list(parts.values()))
    base = _load_base(run, tokens, rows)
    reader = EvidenceReader(tokens, base.encoded)
    units = _read_units(base, reader, rows)
    if adversary.goal == "deceive":
        units.check_evidence(parts["train"], tokens.path)
    labels = class_indices(tokens, run.recipe.data, rows)
    learner = AdversaryLearner(base, adversary, units.evidence, labels, parts, run)
    pair = Pair(base.model, _train(learner, run, adversary, work, report_progress), base.encoded)
    compared = _compare(pair, units, drawn, report_progress)
    tables = _tables(compared, tokens, run, units, reader)
    summary = [*_accuracies(pair, labels, parts["test"]), *summarize_documents(tables["documents"])]
    guided = None
    if adversary.guided_networks:
        guides = _guides(pair, rows, units)
        training = _diagnostic_training(run, base, labels, parts, units.with_evidence)
        summary += training.accuracies(guides, work, report_progress)
        guided = training.description(guides)
    return tables | {"summary": pd.DataFrame(summary)}, guided


def _load_base(run: RunInfo, tokens: Tokens, rows: np.ndarray) -> Subject:
    """Return the model of a run. Raises HeedError if its prediction is no weighted sum."""
    base = load_subject(run, tokens, rows)
    if reason := no_sum_reason(base, int(rows[0])):
        raise HeedError(f"model {run.recipe.model} can have no adversary: {reason}")
    return base


def _read_units(subject: Subject, reader: EvidenceReader, rows: np.ndarray) -> Units:
    units = Units({}, {}, {})
    for batch in subject.encoded.evaluation_batches(rows):
        documents = read_documents(subject.model, batch)
        for row, document in zip(batch.rows.tolist(), documents, strict=True):
            units.of_token[row] = unit = document.unit.numpy()
            units.token_evidence[row] = is_evidence = reader.token_evidence(row)
            units.evidence[row] = np.bincount(unit, is_evidence, document.units) > 0
    return units


def _train(
    learner: AdversaryLearner,
    run: RunInfo,
    adversary: Adversary,
    work: Path,
    report_progress: ReportProgress,
) -> Classifier:
    """Train the adversary by the base's recipe, for its own epochs; return that of the last."""
    h = dataclasses.replace(
        run.recipe.hyperparameters, epochs=adversary.epochs, select=LAST, patience=0
    )

    def report(progress: Progress) -> None:
        done = (progress.epoch - 1) * progress.total_documents + progress.documents
        report_progress("training", done, progress.epochs * progress.total_documents)

    train(learner, h, run.seed, "cpu", work / "adversary", report)
    assert isinstance(learner.model, Classifier)
    return learner.model.eval().requires_grad_(False)


def _compare(
    pair: Pair, units: Units, drawn: np.ndarray, report_progress: ReportProgress
) -> list[Compared]:
    has_attention = network_of(pair.base).document_encoder.attention is not None
    scale = SELF_ATTENTION_SCALE if has_attention else 1.0
    rows = drawn[: group_size(GROUPS[-1].end, scale)]
    return list(
        compare_documents(
            pair, units.evidence, rows, scale,
            lambda done, total: report_progress("judging documents", done, total),
        )
    )  # fmt: skip


def _tables(
    compared: list[Compared], tokens: Tokens, run: RunInfo, units: Units, reader: EvidenceReader
) -> dict[str, pd.DataFrame]:
    """Return the tables of documents and units."""
    columns = tokens.documents(["id", f"label_{run.recipe.data.label}"]).to_numpy()
    classes, documents, weights = run.recipe.data.classes, [], []
    for each in compared:
        name, label = columns[each.row]
        documents.append(
            {
                "id": name,
                "label": label,
                "predicted_base": classes[each.predicted_base],
                "predicted": classes[each.predicted],
                "units": len(each.base),
                **each.measures,
            }
        )
        positions = reader.positions(each.row, units.of_token[each.row])
        values = {"base": each.base, "adversary": each.adversary}
        unit = np.arange(len(each.base), dtype=np.int32)
        weights.append(pd.DataFrame({"id": name, "unit": unit, **positions, **values}))
    return {
        "documents": pd.DataFrame(documents),
        "units": pd.concat(weights, ignore_index=True),
    }


def _guides(pair: Pair, rows: np.ndarray, units: Units) -> dict[str, Guide]:
    """Return the guides by the weights of both models, for all documents."""
    base, adversary = (
        _token_weights(model, pair, rows, units) for model in (pair.base, pair.adversary)
    )
    return make_guides(base, adversary, units.token_evidence, len(pair.encoded.vocabulary))


@torch.no_grad()
def _token_weights(model: Classifier, pair: Pair, rows: np.ndarray, units: Units) -> Weights:
    """Return the weights of the tokens of all documents, the mean over heads.

    The tokens of a sentence share its weight in a hierarchical model.
    """
    weights: Weights = {}
    for batch in pair.encoded.evaluation_batches(rows):
        of_units = weighted_sum(model, batch).weights.mean(-1).numpy()
        for row, each in zip(batch.rows.tolist(), of_units, strict=True):
            unit = units.of_token[row]
            weights[row] = (each[unit] / np.bincount(unit)[unit]).astype(np.float32)
    return weights


def _accuracies(pair: Pair, labels: np.ndarray, rows: np.ndarray) -> list[Row]:
    """Return the accuracy of base and adversary on the whole test part, as rows of the summary."""
    return [
        mean_row("adversary", measure, "", _is_right(model, pair.encoded, labels, rows))
        for measure, model in (("accuracy_base", pair.base), ("accuracy", pair.adversary))
    ]

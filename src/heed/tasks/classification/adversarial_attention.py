"""Classifiers trained to have other weights than their base: their training and tables, of a seed.

The adversarial model starts from the base's weights and learns by its recipe. Dropout is off, as in
use.
"""

import copy
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from heed.explanation import adversarial_attention as adversarial
from heed.explanation import rankings
from heed.explanation.adversarial_attention import DiagnosticMLP, Weights, make_guides
from heed.explanation.rankings import GROUPS, Subject
from heed.explanation.sections import AdversarialAttention
from heed.files import HeedError
from heed.inputs.batches import Batch, EncodedCorpus
from heed.models.classifier import Classifier, weighted_sum
from heed.tasks.classification import explanation
from heed.tasks.classification.explanation import RationaleReader, Units
from heed.tasks.classification.learning import ClassificationLearner, class_indices, probabilities
from heed.tokens.arrays import Tokens
from heed.training.loop import LAST, DivergedError, Progress, train
from heed.training.machine import seed_everything
from heed.training.run import RunInfo

# what is done, how much of it, and all of it
ReportProgress = Callable[[str, int, int], None]


class AdversarialLearner(ClassificationLearner):
    """A copy of the base, and the documents from which it learns other weights."""

    def __init__(
        self, base: Subject, adversarial_model: AdversarialAttention, rationale: Weights,
        labels: np.ndarray, splits: dict[str, np.ndarray], run: RunInfo,
    ) -> None:  # fmt: skip
        """Copy the base; `rationale` is True for units with some, (units,), by row."""
        model = copy.deepcopy(base.model).requires_grad_(True)
        model.network.embedding.require_gradients()
        h = run.recipe.hyperparameters
        super().__init__(model, base.encoded, labels, splits, h, run.seed, "cpu")
        self._base, self._rationale, self._aim = base.model, rationale, adversarial_model

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Return the loss of the goal, summed over documents; without dropout."""
        assert isinstance(model, Classifier)
        weighted, strength = weighted_sum(model.eval(), batch), self._aim.strength
        if self._aim.goal == "deceive":
            rationale = rankings.pad_by_row(self._rationale, batch.rows, weighted.weights.shape[1])
            targets, smoothing = self._targets[batch.rows], self._h.label_smoothing
            losses = adversarial.deceive_loss(weighted, targets, rationale, strength, smoothing)
            return self._sum(losses, batch)
        with torch.no_grad():
            base = weighted_sum(self._base, batch)
        return adversarial.differ_loss(weighted, base, strength).sum()


class DiagnosticLearner(ClassificationLearner):
    """A diagnostic MLP and its documents: cross entropy of its logits."""

    def loss(self, model: nn.Module, batch: Batch) -> torch.Tensor:
        """Return the cross entropy, summed over documents."""
        return self._cross_entropy(model(batch), batch)


def diagnose(
    run: RunInfo, base: Subject, labels: np.ndarray, splits: dict[str, np.ndarray],
    with_rationale: set[int], guides: dict[str, adversarial.Guide], work: Path,
    report_progress: ReportProgress,
) -> list[adversarial.Row]:  # fmt: skip
    """Train diagnostic MLPs by each guide; return the rows of the summary.

    One network is trained by the base's recipe, another for one epoch: with enough epochs a bag of
    words may learn from equal weights too. `with_rationale`: documents whose rationale is known.
    Raises DivergedError, which names the weights.
    """
    row = functools.partial(adversarial.mean_row, "diagnostic", reason=adversarial.SPLIT_WITHOUT)
    rows, all_epochs = [], run.recipe.hyperparameters.epochs
    for i, (name, guide) in enumerate(guides.items()):
        report_progress(f"diagnostic MLP, weights {name}", i, len(guides))
        chosen = {split: guide.choose(documents) for split, documents in splits.items()}
        for measure, epochs in {"accuracy": all_epochs, "accuracy_one_epoch": 1}.items():
            own = work / f"guided-{name}-{epochs}"
            try:
                right = _train_guided(run, base, labels, chosen, guide, epochs, own)
            except DivergedError as error:
                raise DivergedError(f"diagnostic MLP, weights {name}: {error}") from None
            rows.append(row(measure, name, right))
    known = {name: adversarial.among(rows, with_rationale) for name, rows in splits.items()}
    for name, chosen in zip(adversarial.MAJORITIES, (splits, known), strict=True):
        right = np.empty(0)
        if all(map(len, chosen.values())):
            most_frequent = np.bincount(labels[chosen["train"]]).argmax()
            right = (labels[chosen["test"]] == most_frequent).astype(np.float64)
        rows.append(row("accuracy", name, right))
    return rows


def _train_guided(
    run: RunInfo, base: Subject, labels: np.ndarray, chosen: dict[str, np.ndarray],
    guide: adversarial.Guide, epochs: int, work: Path,
) -> np.ndarray:  # fmt: skip
    """Return 1 for each test document that a diagnostic MLP classifies rightly, else 0."""
    if not all(map(len, chosen.values())):
        return np.empty(0)
    seed_everything(run.seed)
    h = dataclasses.replace(run.recipe.hyperparameters, epochs=epochs)
    classes, size = len(run.recipe.data.classes), base.model.network.linear.in_features
    model = DiagnosticMLP(guide.vocabulary, classes, size, h, guide.read, guide.weigh())
    learner = DiagnosticLearner(model, base.encoded, labels, chosen, h, run.seed, "cpu")
    train(learner, h, work, lambda progress: None)
    return _is_right(model, base.encoded, labels, chosen["test"])


def _is_right(
    model: nn.Module, encoded: EncodedCorpus, labels: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    predicted = probabilities(model, encoded.evaluation_batches(rows), rows, "cpu").argmax(1)
    return (predicted == labels[rows]).astype(np.float64)


def judge_adversarial_model(
    run: RunInfo, adversarial_model: AdversarialAttention, tokens: Tokens,
    splits: dict[str, np.ndarray], drawn: np.ndarray, work: Path, report_progress: ReportProgress,
) -> dict[str, pd.DataFrame]:  # fmt: skip
    """Return the tables `documents`, `units` and `summary`.

    Raises HeedError: no weights that could be others; `deceive` without a rationale.
    """
    rows = np.concatenate(list(splits.values()))
    base = explanation.load_subject(run, tokens)
    if reason := rankings.no_sum_reason(base, int(rows[0])):
        raise HeedError(f"model {run.recipe.model} can have no adversarial model: {reason}")
    reader = RationaleReader(tokens, base.encoded)
    units = explanation.read_units(base, reader, rows)
    is_known = any(units.rationale[row].any() for row in splits["train"])
    if adversarial_model.goal == "deceive" and not is_known:
        raise HeedError(
            f"{tokens.path}: no training document has rationales, and goal deceive moves the "
            "weights away from them. Set goal: differ, or take a corpus with a rationale"
        )
    labels = class_indices(tokens, run.recipe.data, rows)
    learner = AdversarialLearner(base, adversarial_model, units.rationale, labels, splits, run)
    trained = _train(learner, run, adversarial_model, work, report_progress)
    pair = adversarial.Pair(base.model, trained, base.encoded)
    tables = _tables(_compare(pair, units, drawn, report_progress), tokens, run, units, reader)
    summary: list[adversarial.Row] = []
    for name, model in (("accuracy_base", pair.base), ("accuracy", pair.adversarial_model)):
        right = _is_right(model, pair.encoded, labels, splits["test"])
        summary.append(adversarial.mean_row("adversarial_model", name, "", right))
    summary += adversarial.summarize_documents(tables["documents"])
    if adversarial_model.diagnostic_mlps:
        models, words = (pair.base, pair.adversarial_model), len(pair.encoded.vocabulary)
        of_base, of_other = (_token_weights(model, pair, rows, units) for model in models)
        guides = make_guides(of_base, of_other, units.token_rationale, words)
        known = {row for row, some in units.token_rationale.items() if some.any()}
        summary += diagnose(run, base, labels, splits, known, guides, work, report_progress)
    return tables | {"summary": pd.DataFrame(summary)}


def _train(
    learner: AdversarialLearner, run: RunInfo, adversarial_model: AdversarialAttention, work: Path,
    report_progress: ReportProgress,
) -> Classifier:  # fmt: skip
    h = dataclasses.replace(
        run.recipe.hyperparameters, epochs=adversarial_model.epochs, monitor=LAST, patience=0
    )

    def report(progress: Progress) -> None:
        done = (progress.epoch - 1) * progress.total_documents + progress.documents
        report_progress("training", done, progress.epochs * progress.total_documents)

    train(learner, h, work / "adversarial_model", report)
    assert isinstance(learner.model, Classifier)
    return learner.model.eval().requires_grad_(False)


def _compare(
    pair: adversarial.Pair, units: Units, drawn: np.ndarray, report_progress: ReportProgress
) -> list[adversarial.Compared]:
    has_attention = pair.base.network.document_encoder.attention is not None
    scale = explanation.SELF_ATTENTION_SCALE if has_attention else 1.0
    rows = drawn[: rankings.group_size(GROUPS[-1].end, scale)]
    report = functools.partial(report_progress, "judging documents")
    return [*adversarial.compare_documents(pair, units.rationale, rows, scale, report)]


def _tables(
    compared: list[adversarial.Compared], tokens: Tokens, run: RunInfo, units: Units,
    reader: RationaleReader,
) -> dict[str, pd.DataFrame]:  # fmt: skip
    columns = tokens.documents(["id", f"label_{run.recipe.data.label}"]).to_numpy()
    classes, documents, weights = run.recipe.data.classes, [], []
    for document in compared:
        name, label = columns[document.row]
        predicted = {"predicted_base": classes[document.predicted_base]}
        predicted |= {"predicted": classes[document.predicted], "units": len(document.base)}
        documents.append({"id": name, "label": label} | predicted | document.measures)
        unit = {"id": name, "unit": np.arange(len(document.base), dtype=np.int32)}
        positions = reader.positions(document.row, units.of_token[document.row])
        both = {"base": document.base, "adversarial_model": document.adversarial_model}
        weights.append(pd.DataFrame(unit | dict(positions) | both))
    units_table = pd.concat(weights, ignore_index=True)
    return {"documents": pd.DataFrame(documents), "units": units_table}


@torch.no_grad()
def _token_weights(
    model: Classifier, pair: adversarial.Pair, rows: np.ndarray, units: Units
) -> Weights:
    """Return token weights, the mean over heads; tokens of a sentence share its weight."""
    weights: Weights = {}
    for batch in pair.encoded.evaluation_batches(rows):
        of_units = weighted_sum(model, batch).weights.mean(-1).numpy()
        for row, by_unit in zip(batch.rows.tolist(), of_units, strict=True):
            unit = units.of_token[row]
            weights[row] = (by_unit[unit] / np.bincount(unit)[unit]).astype(np.float32)
    return weights

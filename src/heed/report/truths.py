"""Known truths of a study's experiments, and what the study found (docs/statistics.md)."""

import dataclasses
import statistics
from typing import TYPE_CHECKING

import pandas as pd

from heed.evaluation.results import Difference, ExperimentResult
from heed.explanation.test import measured
from heed.report.explanations import Explanation
from heed.report.results import Results

if TYPE_CHECKING:
    from heed.study import Truth

MIDDLE = ("4", "5")  # tenths of a document


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a study found about one truth.

    experiment: its key
    found: the verdict or the outcome; empty where there is none, or where a figure is known
    value: the figure, or the one that decided the outcome; None where there is none
    difference: of the verdict
    holds: whether that agrees with the truth
    """

    experiment: str
    truth: "Truth"
    found: str
    value: float | None
    difference: Difference | None
    holds: bool


def judge_truths(results: Results) -> list[Finding]:
    """Return what the study found about each truth, in the order of params.yaml."""
    return [
        judge(
            experiment.key,
            truth,
            results.comparison.experiments[experiment.key],
            [each for each in results.explanations if each.experiment.key == experiment.key],
        )
        for experiment in results.experiments
        for truth in results.params.experiments[experiment.key].truths
    ]


def judge(
    experiment: str, truth: "Truth", result: ExperimentResult, explanations: list[Explanation]
) -> Finding:
    """Return what an experiment found about one truth.

    What is missing, such as a test that was not run, does not agree with any truth.

    Args:
        experiment: its key.
        truth: what is known.
        result: the experiment in the comparison.
        explanations: of its models.

    """
    explanation = next((each for each in explanations if each.variant == truth.variant), None)
    if truth.verdict is not None:
        difference = result.comparisons.get(truth.variant or "", {}).get(truth.against or "")
        found = difference.verdict if difference else ""
        return Finding(experiment, truth, found, None, difference, found == truth.verdict)
    if truth.criterion is not None:
        outcome = explanation.outcomes[truth.criterion] if explanation else None
        found = outcome.outcome if outcome else ""
        value = outcome.value if outcome else None
        return Finding(experiment, truth, found, value, None, found == truth.outcome)
    if truth.adversary:
        value = _adversary_figure(truth, explanations)
    else:
        value = _figure(truth, result, explanation)
    return Finding(experiment, truth, "", value, None, _is_within(truth, value))


def _is_within(truth: "Truth", value: float | None) -> bool:
    low = 0.0 if truth.at_least is None else truth.at_least
    high = 1.0 if truth.at_most is None else truth.at_most
    return value is not None and low <= value <= high


def _figure(
    truth: "Truth", result: ExperimentResult, explanation: Explanation | None
) -> float | None:
    """Return a variant's figure, the mean over its seeds; None where it was not measured."""
    summary = result.models[truth.variant or ""].summary
    if truth.figure in summary:
        return summary[truth.figure].mean
    if explanation is None:
        return None
    if truth.figure == "evidence_weight":
        return _mean(explanation.means("adversarial_weights", "evidence_weight"))
    return _accuracy_in_middle(explanation.recency)


def _accuracy_in_middle(recency: pd.DataFrame | None) -> float | None:
    """Return the share of right predictions of all seeds where evidence is in the middle fifth."""
    if recency is None:
        return None
    rows = recency[(recency["measure"] == "accuracy_by_place") & recency["at"].isin(MIDDLE)]
    documents = float(rows["documents"].sum())
    return float((rows["mean"] * rows["documents"]).sum()) / documents if documents else None


def _adversary_figure(truth: "Truth", explanations: list[Explanation]) -> float | None:
    """Return the mean over seeds of an adversary's figure; None where it was not measured."""
    summaries = (
        adversary.summary
        for explanation in explanations
        for adversary in explanation.adversaries
        if adversary.name == truth.adversary
    )
    if (summary := next(summaries, None)) is None:
        return None
    return _mean(measured(summary, "adversary", truth.figure or "")["mean"].tolist())


def _mean(values: list[float]) -> float | None:
    return statistics.fmean(values) if values else None

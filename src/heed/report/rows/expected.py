"""The rows of expected results: what heed should find, and what it found (docs/statistics.md)."""

import dataclasses
import statistics
from typing import TYPE_CHECKING

import pandas as pd

from heed.evaluation.results import Difference, ExperimentResult
from heed.explanation.registry import CRITERIA
from heed.explanation.test import measured
from heed.report.experiments import Experiment
from heed.report.explanations import Explanation
from heed.report.formats import format_number
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.rows import Rows

if TYPE_CHECKING:
    from heed.study import ExpectedResult

MIDDLE = ("4", "5")  # tenths of a document
NAMES = {
    "aer": "alignment error rate",
    "rationale_weight": "share of the weights on the rationale",
    "accuracy_in_middle": "accuracy where the rationale is in the middle",
}


@dataclasses.dataclass(frozen=True)
class Finding:
    """The finding of a study about one expected result."""

    experiment: Experiment
    expected: "ExpectedResult"
    found: str  # the verdict or the outcome; empty where there is none, or where a metric is known
    value: float | None  # the score, or the one that decided the outcome
    difference: Difference | None  # of the verdict
    holds: bool  # whether that agrees with the expected result

    @property
    def wanted(self) -> str:
        """The result that the expected result demands."""
        expected = self.expected
        model = expected.variant or expected.adversarial_model or ""
        if expected.verdict:
            return f"{model} against {expected.against}: {expected.verdict}"
        if expected.criterion:
            criterion = CRITERIA[expected.criterion].criterion
            return f"criterion “{criterion}” of {model}: {expected.outcome}"
        ends = {"at least": expected.at_least, "at most": expected.at_most}
        limits = (f"{words} {self._format(end)}" for words, end in ends.items() if end is not None)
        metric = NAMES.get(expected.metric or "") or self._measure.name
        return f"{metric} of {model}: {', '.join(limits)}"

    @property
    def printed(self) -> str:
        """The result that the study found."""
        if self.difference is not None:
            difference = self.experiment.measure.difference(self.difference.mean_pp)
            return f"{self.found}, {difference}"
        if self.found:
            return self.found + ("" if self.value is None else f", {format_number(self.value, 2)}")
        return "not measured" if self.value is None else self._format(self.value)

    @property
    def _measure(self) -> Measure:
        return Measure(self.experiment.measure.task, self.expected.metric or "")

    def _format(self, value: float) -> str:
        is_weight = self._measure.metric == "rationale_weight" or not self._measure.in_hundreds
        return format_number(value, 3) if is_weight else self._measure.format(value)


def judge_expected_results(results: Results) -> list[Finding]:
    """Return what the study found about each expected result, in the order of params.yaml."""
    return [
        judge(each, expected, results.explanations_of(each))
        for each in results.experiments
        for expected in results.params.experiments[each.key].expected_results
    ]


def judge(
    experiment: Experiment, expected: "ExpectedResult", explanations: list[Explanation]
) -> Finding:
    """Judge one expected result of an experiment; `explanations` are of its models.

    What is missing, such as a test that was not run, does not agree with any expected result.
    """
    found, value, difference = "", None, None
    variant = expected.variant or ""
    explanation = next((each for each in explanations if each.variant == variant), None)
    if expected.verdict is not None:
        tested = experiment.result.comparisons.get(variant, {})
        difference = tested.get(expected.against or "")
        found = difference.verdict if difference else ""
        holds = found == expected.verdict
    elif expected.criterion is not None:
        if explanation:
            outcome = explanation.outcomes[expected.criterion]
            found, value = outcome.outcome, outcome.value
        holds = found == expected.outcome
    else:
        value = _score(expected, experiment.result, explanation, explanations)
        holds = value is not None and _lies_within(value, expected)
    return Finding(experiment, expected, found, value, difference, holds)


def _lies_within(value: float, expected: "ExpectedResult") -> bool:
    high = 1.0 if expected.at_most is None else expected.at_most
    return (expected.at_least or 0.0) <= value <= high


def _score(
    expected: "ExpectedResult",
    result: ExperimentResult,
    explanation: Explanation | None,
    explanations: list[Explanation],
) -> float | None:
    """Return a score of a variant or an adversarial model, the mean over its seeds; or None."""
    metric = expected.metric or ""
    if expected.adversarial_model:
        models = {each.name: each for own in explanations for each in own.adversarial_attention}
        model = models.get(expected.adversarial_model)
        return _mean(model.summary, "adversarial_model", metric) if model else None
    summary = result.models[expected.variant or ""].summary
    if metric in summary:
        return summary[metric].mean
    if explanation is None:
        return None
    if metric == "rationale_weight":
        return _mean(explanation.summary, "adversarial_weights", metric)
    return _accuracy_in_middle(explanation.recency)


def _accuracy_in_middle(rows: pd.DataFrame | None) -> float | None:
    if rows is None:
        return None
    # the accuracy where the rationale is in the middle fifth, of all documents of all seeds
    rows = rows[(rows["measure"] == "accuracy_by_place") & rows["at"].isin(MIDDLE)]
    documents = float(rows["documents"].sum())
    return float((rows["mean"] * rows["documents"]).sum()) / documents if documents else None


def _mean(summary: pd.DataFrame, test: str, metric: str) -> float | None:
    means = measured(summary, test, metric)["mean"]
    return statistics.fmean(means) if len(means) else None


def expected_results(results: Results) -> Rows | None:
    """Return what the study found about each expected result; None of a study without any."""
    found = judge_expected_results(results)
    return Rows(found) if found else None


def failure_lines(results: Results) -> list[str]:
    """Return how many expected results were not found and a line for each of them; or nothing."""
    failed = [finding for finding in judge_expected_results(results) if not finding.holds]
    if not failed:
        return []
    many = "s that are" if len(failed) > 1 else " that is"
    return [
        f"This study did not find {len(failed)} expected result{many} known beforehand. Do not "
        "trust its other results before you know why:",
        *(
            f"{each.experiment.title}: {each.expected.claim} Expected: {each.wanted}; found: "
            f"{each.printed}"
            for each in failed
        ),
    ]

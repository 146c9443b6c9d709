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


@dataclasses.dataclass(frozen=True)
class Finding:
    """The finding of a study about one expected result."""

    experiment: Experiment
    expected: "ExpectedResult"
    found: str  # the verdict or the outcome; empty where there is none, or where a metric is known
    value: float | None  # the figure, or the one that decided the outcome
    difference: Difference | None  # of the verdict
    holds: bool  # whether that agrees with the expected result

    @property
    def wanted(self) -> str:
        """The result that the expected result demands."""
        return expected_text(self)

    @property
    def printed(self) -> str:
        """The result that the study found."""
        return found_text(self)

    @property
    def agrees(self) -> str:
        """Whether both agree, for people."""
        return "yes" if self.holds else "NO"

    @property
    def line(self) -> str:
        """The claim with what was expected and what was found, in one line."""
        claim = f"{self.experiment.title}: {self.expected.claim}"
        return f"{claim} Expected: {self.wanted}; found: {self.printed}"


def judge_expected_results(results: Results) -> list[Finding]:
    """Return what the study found about each expected result, in the order of params.yaml."""
    explained: dict[str, list[Explanation]] = {}
    for each in results.explanations:
        explained.setdefault(each.experiment.key, []).append(each)
    return [
        judge(each, expected, explained.get(each.key, []))
        for each in results.experiments
        for expected in results.params.experiments[each.key].expected_results
    ]


def judge(
    experiment: Experiment, expected: "ExpectedResult", explanations: list[Explanation]
) -> Finding:
    """Judge one expected result of an experiment; `explanations` are of its models.

    What is missing, such as a test that was not run, does not agree with any expected result.
    """
    result, found, value = experiment.result, "", None
    difference: Difference | None = None
    variant = expected.variant or ""
    explanation = {each.variant: each for each in explanations}.get(variant)
    if expected.verdict is not None:
        difference = result.comparisons.get(variant, {}).get(expected.against or "")
        found = getattr(difference, "verdict", "")
        holds = found == expected.verdict
    elif expected.criterion is not None:
        if explanation:
            outcome = explanation.outcomes[expected.criterion]
            found, value = outcome.outcome, outcome.value
        holds = found == expected.outcome
    else:
        value = _score(expected, result, explanation, explanations)
        high = 1.0 if expected.at_most is None else expected.at_most
        holds = value is not None and (expected.at_least or 0.0) <= value <= high
    return Finding(experiment, expected, found, value, difference, holds)


def _score(
    expected: "ExpectedResult",
    result: ExperimentResult,
    explanation: Explanation | None,
    explanations: list[Explanation],
) -> float | None:
    """Return a score of a variant or an adversarial model, the mean over its seeds; or None."""
    metric = expected.metric or ""
    if expected.adversarial_model:
        models = {
            model.name: model for each in explanations for model in each.adversarial_attention
        }
        model = models.get(expected.adversarial_model)
        return _mean(measured(model.summary, "adversarial_model", metric)) if model else None
    summary = result.models[expected.variant or ""].summary
    if metric in summary:
        return summary[metric].mean
    return _explained(explanation, metric) if explanation else None


def _explained(explanation: Explanation, metric: str) -> float | None:
    """Return a score of `heed explain`: the weight on the rationale, or else accuracy_in_middle."""
    if metric == "rationale_weight":
        return _mean(measured(explanation.summary, "adversarial_weights", metric))
    if explanation.recency is None:
        return None
    # the accuracy where the rationale is in the middle fifth, of all documents of all seeds
    rows = explanation.recency
    rows = rows[(rows["measure"] == "accuracy_by_place") & rows["at"].isin(MIDDLE)]
    documents = float(rows["documents"].sum())
    return float((rows["mean"] * rows["documents"]).sum()) / documents if documents else None


def _mean(rows: pd.DataFrame) -> float | None:
    return statistics.fmean(rows["mean"].tolist()) if len(rows) else None


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
        *(each.line for each in failed),
    ]


def expected_text(finding: Finding) -> str:
    """Return the result that an expected result demands."""
    expected = finding.expected
    model = expected.variant or expected.adversarial_model or ""
    if expected.verdict:
        return f"{model} against {expected.against}: {expected.verdict}"
    if expected.criterion:
        criterion = CRITERIA[expected.criterion].criterion
        return f"criterion “{criterion}” of {model}: {expected.outcome}"
    least, most = expected.at_least, expected.at_most
    limits = [] if least is None else [f"at least {_format(finding, least)}"]
    limits += [] if most is None else [f"at most {_format(finding, most)}"]
    names = {
        "aer": "alignment error rate",
        "rationale_weight": "share of the weights on the rationale",
        "accuracy_in_middle": "accuracy where the rationale is in the middle",
    }
    metric = names.get(expected.metric or "") or _measure(finding).name
    return f"{metric} of {model}: {', '.join(limits)}"


def found_text(finding: Finding) -> str:
    """Return what the study found about an expected result."""
    if finding.difference is not None:
        difference = finding.experiment.measure.difference(finding.difference.mean_pp)
        return f"{finding.found}, {difference}"
    if finding.found:
        value = "" if finding.value is None else f", {format_number(finding.value, 2)}"
        return f"{finding.found}{value}"
    return "not measured" if finding.value is None else _format(finding, finding.value)


def _measure(finding: Finding) -> Measure:
    return Measure(finding.experiment.measure.task, finding.expected.metric or "")


def _format(finding: Finding, value: float) -> str:
    measure = _measure(finding)
    is_weight = measure.metric == "rationale_weight" or not measure.in_hundreds
    return format_number(value, 3) if is_weight else measure.format(value)

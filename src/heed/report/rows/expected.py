"""The rows of expected results: what heed should find, and found (docs/read/statistics.md)."""

import statistics
from typing import Any

import pandas as pd

from heed.evaluation.results import Difference, ExperimentResult
from heed.explanation.registry import CRITERIA
from heed.explanation.test import measured
from heed.report.experiments import Experiment
from heed.report.explanations import Explanation
from heed.report.formats import format_number, read_yaml
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.rows import Rows
from heed.study import ExpectedResult

MIDDLE = ("4", "5")  # tenths of a document


def judge_expected_results(results: Results) -> list[dict[str, Any]]:
    """Return what the study found about each expected result, in the order of params.yaml."""
    found = [
        judge(experiment, expected, results.explanations_of(experiment))
        for experiment in results.experiments
        for expected in results.params.experiments[experiment.key].expected_results
    ]
    return [case | {"wanted": _wanted(**case), "printed": _printed(**case)} for case in found]


def judge(
    experiment: Experiment, expected: ExpectedResult, explanations: list[Explanation]
) -> dict[str, Any]:
    """Judge one expected result: the verdict or outcome found, the score, whether it holds.

    What is missing, such as a test that was not run, agrees with no expected result.
    """
    found, value, difference = "", None, None
    if expected.verdict is not None:
        tested = experiment.result.comparisons.get(expected.variant or "", {})
        difference = tested.get(expected.against or "")
        found = difference.verdict if difference else ""
        holds = found == expected.verdict
    elif expected.criterion is not None:
        if explanation := _of_variant(explanations, expected):
            outcome = explanation.outcomes[expected.criterion]
            found, value = outcome.outcome, outcome.value
        holds = found == expected.outcome
    else:
        value = _score(expected, experiment.result, explanations)
        high = 1.0 if expected.at_most is None else expected.at_most
        holds = value is not None and (expected.at_least or 0.0) <= value <= high
    return {
        "experiment": experiment, "expected": expected, "found": found, "value": value,
        "difference": difference, "holds": holds,
    }  # fmt: skip


def _wanted(experiment: Experiment, expected: ExpectedResult, **_: Any) -> str:
    model = expected.variant or expected.adversarial_model or ""
    if expected.verdict:
        return f"{model} against {expected.against}: {expected.verdict}"
    if expected.criterion:
        criterion = CRITERIA[expected.criterion].criterion
        return f"criterion “{criterion}” of {model}: {expected.outcome}"
    measure = Measure(experiment.measure.task, expected.metric or "")
    name = read_yaml("names")["metrics"].get(measure.metric, measure.name)
    ends = {"at least": expected.at_least, "at most": expected.at_most}
    limits = (f"{words} {_format(measure, end)}" for words, end in ends.items() if end is not None)
    return f"{name} of {model}: {', '.join(limits)}"


def _printed(
    experiment: Experiment, expected: ExpectedResult, found: str, value: float | None,
    difference: Difference | None, **_: Any,
) -> str:  # fmt: skip
    if difference is not None:
        return f"{found}, {experiment.measure.difference(difference.mean_pp)}"
    if value is None:
        return found or "not measured"
    if found:
        return f"{found}, {format_number(value, 2)}"
    return _format(Measure(experiment.measure.task, expected.metric or ""), value)


def _format(measure: Measure, value: float) -> str:
    is_weight = measure.metric == "rationale_weight" or not measure.in_hundreds
    return format_number(value, 3) if is_weight else measure.format(value)


def _of_variant(explanations: list[Explanation], expected: ExpectedResult) -> Explanation | None:
    return next((model for model in explanations if model.variant == expected.variant), None)


def _score(
    expected: ExpectedResult, result: ExperimentResult, explanations: list[Explanation]
) -> float | None:
    """Return a score of a variant or an adversarial model, the mean over its seeds; or None."""
    metric = expected.metric or ""
    if expected.adversarial_model:
        models = (model for base in explanations for model in base.adversarial_attention)
        found = {model.name: model.summary for model in models}.get(expected.adversarial_model)
        return _mean(found, "adversarial_model", metric)
    summary = result.models[expected.variant or ""].summary
    if metric in summary:
        return summary[metric].mean
    own = _of_variant(explanations, expected)
    if own and metric == "rationale_weight":
        return _mean(own.summary, "adversarial_weights", metric)
    return _accuracy_in_middle(own)


def _accuracy_in_middle(explanation: Explanation | None) -> float | None:
    """Return the accuracy in the middle fifth, of all documents of all seeds; None without any."""
    if explanation is None or (rows := explanation.recency) is None:
        return None
    rows = rows[(rows["measure"] == "accuracy_by_place") & rows["at"].isin(MIDDLE)]
    documents = float(rows["documents"].sum())
    return float((rows["mean"] * rows["documents"]).sum()) / documents if documents else None


def _mean(summary: pd.DataFrame | None, test: str, metric: str) -> float | None:
    means = [] if summary is None else measured(summary, test, metric)["mean"].tolist()
    return statistics.fmean(means) if means else None


def expected_results(results: Results) -> Rows | None:
    """Return what the study found about each expected result; None of a study without any."""
    found = judge_expected_results(results)
    return Rows(found) if found else None

"""The rows of expected results: what heed should find, and found (docs/read/statistics.md)."""

import statistics
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from heed.study import ExpectedResult

MIDDLE = ("4", "5")  # tenths of a document


def judge_expected_results(results: Results) -> list[dict[str, Any]]:
    """Return what the study found about each expected result, in the order of params.yaml."""
    found = [
        judge(each, expected, results.explanations_of(each))
        for each in results.experiments
        for expected in results.params.experiments[each.key].expected_results
    ]
    return [each | {"wanted": _wanted(**each), "printed": _printed(**each)} for each in found]


def judge(
    experiment: Experiment, expected: "ExpectedResult", explanations: list[Explanation]
) -> dict[str, Any]:
    """Judge one expected result of an experiment; `explanations` are of its models.

    found: the verdict or the outcome, if one is expected. value: the score, or the one that decided
    the outcome. difference: that of the verdict. What is missing, such as a test that was not run,
    does not agree with any expected result.
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
    return {
        "experiment": experiment, "expected": expected, "found": found, "value": value,
        "difference": difference, "holds": holds,
    }  # fmt: skip


def _wanted(experiment: Experiment, expected: "ExpectedResult", **_: Any) -> str:
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
    experiment: Experiment, expected: "ExpectedResult", found: str, value: float | None,
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
    """Return that of the middle fifth, of all documents of all seeds; None without any."""
    if rows is None:
        return None
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
    failed = [each for each in judge_expected_results(results) if not each["holds"]]
    if not failed:
        return []
    many = "s that are" if len(failed) > 1 else " that is"
    return [
        f"This study did not find {len(failed)} expected result{many} known beforehand. Do not "
        "trust its other results before you know why:",
        *(
            f"{each['experiment'].title}: {each['expected'].claim} Expected: {each['wanted']}; "
            f"found: {each['printed']}"
            for each in failed
        ),
    ]

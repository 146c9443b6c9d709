"""Expected results: what agrees with them, and what the report says of them."""

import dataclasses
import types
from pathlib import Path

import pandas as pd
import pytest

from heed import study
from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME
from heed.files import HeedError
from heed.report.explanations import AdversarialAttention, Explanation
from heed.report.pages import said
from heed.report.results import Results, read_results
from heed.report.rows.expected import expected_results, judge, judge_expected_results
from heed.study import ExpectedResult
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.unit.report.conftest import csv_rows, page_of

SENTIMENT = "sample-sentiment"
DATA = made_up.comparison("sample")
RESULT = DATA.experiments[SENTIMENT]
EXPERIMENT = types.SimpleNamespace(key=SENTIMENT, result=RESULT)


# --- what agrees ----------------------------------------------------------------------------------


def expected_result(**values: object) -> ExpectedResult:
    return ExpectedResult(**({"claim": "It is known.", "variant": "self-attention"} | values))


def with_verdict(verdict: str) -> object:
    others = RESULT.comparisons["self-attention"]
    difference = dataclasses.replace(others["last-state"], verdict=verdict)
    comparisons = RESULT.comparisons | {"self-attention": others | {"last-state": difference}}
    return types.SimpleNamespace(result=dataclasses.replace(RESULT, comparisons=comparisons))


@pytest.mark.parametrize("verdict", [BETTER, SAME, NOT_CONVERGED])
def test_a_verdict_agrees_with_no_other(verdict):
    for expected in (BETTER, SAME):
        known = expected_result(against="last-state", verdict=expected)
        finding = judge(with_verdict(verdict), known, [])
        assert finding["found"] == verdict
        assert finding["holds"] == (verdict == expected)


def test_a_figure_agrees_within_its_limits_ends_included():
    mean = RESULT.models["self-attention"].summary["accuracy"].mean
    for limits, holds in (
        ({"at_least": mean}, True), ({"at_least": mean + 1e-6}, False), ({"at_most": mean}, True),
        ({"at_most": mean - 1e-6}, False), ({"at_least": mean - 0.1, "at_most": mean + 0.1}, True),
    ):  # fmt: skip
        finding = judge(EXPERIMENT, expected_result(metric="accuracy", **limits), [])
        assert (finding["value"], finding["holds"]) == (mean, holds)


def explanation(summary: pd.DataFrame, recency: pd.DataFrame | None = None) -> Explanation:
    """An explanation of the model `attention`, and an adversarial model with the same summary."""
    return Explanation(
        experiment=EXPERIMENT,  # type: ignore[arg-type]
        variant="self-attention", model=f"{SENTIMENT}-self-attention", folder=Path(),
        summary=summary, recency=recency,
        adversarial_attention=(AdversarialAttention("liar", Path(), summary),),
    )  # fmt: skip


def summary_of(test: str, measure: str, means: list[float]) -> pd.DataFrame:
    rows = [
        {"test": test, "measure": measure, "seed": seed, "documents": 10, "mean": mean}
        for seed, mean in enumerate(means, 1)
    ]
    return pd.DataFrame(rows).assign(ranking=None, **{"class": None})


def test_the_weight_on_rationale_is_the_mean_over_seeds():
    explained = explanation(summary_of("adversarial_weights", "rationale_weight", [0.2, 0.6]))
    known = expected_result(metric="rationale_weight", at_least=0.39, at_most=0.41)
    finding = judge(EXPERIMENT, known, [explained])
    assert finding["value"] == pytest.approx(0.4) and finding["holds"]
    assert not judge(EXPERIMENT, known, [])["holds"], "not measured"


def test_the_accuracy_in_the_middle_counts_documents_of_the_middle_fifth():
    by_place = [("3", 90, 1.0), ("4", 30, 0.5), ("5", 10, 0.9)]
    recency = pd.DataFrame(by_place, columns=["at", "documents", "mean"])
    recency = recency.assign(seed=1, measure="accuracy_by_place")
    recency.loc[3] = ("5", 10, 0.0, 1, "importance")
    explained = explanation(summary_of("none", "none", [0.0]), recency)
    known = expected_result(metric="accuracy_in_middle", at_most=0.7)
    assert judge(EXPERIMENT, known, [explained])["value"] == pytest.approx(0.6)


def test_a_figure_of_an_adversarial_model_is_its_own():
    explained = explanation(summary_of("adversarial_model", "rationale_weight", [0.01, 0.03]))
    values = {"variant": None, "metric": "rationale_weight", "at_most": 0.1}
    found = judge(EXPERIMENT, expected_result(adversarial_model="liar", **values), [explained])
    assert found["value"] == pytest.approx(0.02) and found["holds"]
    found = judge(EXPERIMENT, expected_result(adversarial_model="other", **values), [explained])
    assert not found["holds"]


def test_a_criterion_agrees_with_its_outcome():
    explained = explanation(summary_of("permutation", "permutation_change", [0.5, 0.3]))
    for outcome, holds in (("pass", True), ("fail", False)):
        known = expected_result(criterion="permutation", outcome=outcome)
        assert judge(EXPERIMENT, known, [explained])["holds"] == holds
    known = expected_result(criterion="rationale", outcome="pass")
    assert not judge(EXPERIMENT, known, [explained])["holds"], "undefined is no pass"


# --- the report -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_up.results(DATA, tmp_path_factory.mktemp("made-up") / "results")


def results_with(folder: Path, *expected_results: ExpectedResult) -> Results:
    params, known = made_up.study("sample"), [*expected_results]
    experiment = dataclasses.replace(params.experiments[SENTIMENT], expected_results=known)
    experiments = params.experiments | {SENTIMENT: experiment}
    changed = dataclasses.replace(params, experiments=experiments)
    return read_results(changed, DATA, ROOT / "data/published", folder, with_documents=False)


def test_a_comparison_with_a_model_that_the_study_has_not_is_one_message(folder):
    left, *models = (params := made_up.study("sample")).models.items()
    with pytest.raises(HeedError, match=rf"not in params\.yaml: {left[0]}\. Run: make report"):
        read_results(dataclasses.replace(params, models=dict(models)), DATA, folder, folder, False)


def failures(results: Results) -> list[str]:
    return said("failures", [e for e in judge_expected_results(results) if not e["holds"]])


def test_a_study_of_which_nothing_is_known_has_no_such_table(folder):
    results = results_with(folder)
    assert expected_results(results) is None and not failures(results)


@pytest.mark.usefixtures("empty_figures")
def test_what_was_not_found_stands_on_the_first_screen_and_every_result_in_a_row(folder, tmp_path):
    verdict = RESULT.comparisons["self-attention"]["last-state"].verdict
    right = expected_result(against="last-state", verdict=verdict, claim="This is so.")
    wrong = expected_result(metric="accuracy", at_least=1.0, claim="Nothing is ever wrong.")
    results = results_with(folder, right, wrong)
    first, line = failures(results)
    assert "did not find 1 expected result that is" in first
    expected = "Expected: accuracy of self-attention: at least 1.000; found: 0."
    assert f"Nothing is ever wrong. {expected}" in line
    page = page_of(results, tmp_path)
    assert page.index(first) < page.index(line) < page.index("Who is best")
    found, lost = csv_rows(results, "expected_results")
    assert (found["holds"], lost["holds"]) == ("yes", "NO") and found["claim"] == "This is so."
    assert found["expected"] == f"self-attention against last-state: {verdict}"
    assert found["found"].startswith(f"{verdict}, ")


# --- the study itself -----------------------------------------------------------------------------


def test_the_study_of_the_lectures_declares_an_expected_result_for_every_experiment():
    params = study.load(ROOT / "workflow/studies/lectures.yaml")
    assert all(experiment.expected_results for experiment in params.experiments.values())
    trainings = len(params.seeds) * (len(params.models) + len(params.adversarial_attention))
    assert trainings <= 72

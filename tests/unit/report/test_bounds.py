"""An interval ends where a difference must, on the page, on paper, in CSV and in metrics.json."""

import dataclasses

import pytest

from heed.evaluation.comparison import metrics_row
from heed.evaluation.results import ExperimentResult, clip_interval, mean_and_std
from heed.report import answer
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import Page, change_difference, render_to, rows

pytestmark = pytest.mark.usefixtures("empty_figures")

NAME = "sample-sentiment"


@pytest.mark.parametrize(
    ("interval", "mean", "second", "possible"),
    [
        ((-12.64, 13.98), 0.67, 0.9775, (-12.64, 2.25)),  # the sample study's sentiment
        ((-1.0, 1.0), 0.0, 0.5, (-1.0, 1.0)),
        ((-150.0, 130.0), -10.0, 0.5, (-50.0, 50.0)),
        ((-3.0, 5.0), 1.0, 0.02, (-2.0, 5.0)),
        ((2.0 - 1e-9, 2.0 + 1e-9), 2.0, 0.98, (2.0 - 1e-9, 2.0)),
        (None, 0.0, 0.5, None),
    ],
)
def test_a_difference_of_shares_cannot_pass_1_or_fall_below_0(interval, mean, second, possible):
    clipped = clip_interval(interval, mean, second)
    assert clipped == (possible and pytest.approx(possible, abs=1e-9))
    if clipped:
        assert clipped[0] <= mean <= clipped[1]


def near_perfect() -> ExperimentResult:
    """A baseline of 0.98, and a gain with an interval that no gain over it can have."""
    result = made_up.comparison("sample").experiments[NAME]
    baseline = result.models["baseline"]
    summary = baseline.summary | {"accuracy": mean_and_std([0.98] * len(baseline.best_epochs))}
    result.models["baseline"] = dataclasses.replace(baseline, summary=summary)
    wide = {"mean_pp": 0.67, "interval_pp": (-12.64, 13.98)}
    change_difference(result, "attention", "baseline", **wide)
    return result


def test_the_interval_of_a_gain_ends_at_what_is_possible_wherever_it_is_printed(tmp_path):
    data, result = made_up.comparison("sample"), near_perfect()
    data = dataclasses.replace(data, experiments=data.experiments | {NAME: result})
    folder = render_to(made_up.study("sample"), data, tmp_path)
    tables = Page(folder / "index.html").tables
    interval = "−12.64 to +2.00"
    assert tables["first"][1][4] == interval
    compared = next(row for row in tables[f"{NAME}_comparisons"] if "attention − b" in row[0])
    assert interval in compared
    for path in (folder / "report.tex", *(folder / "tables").glob("*.tex")):
        assert "13.98" not in path.read_text()
    comparisons = rows(folder / f"tables/{NAME}_comparisons.csv")
    row = next(row for row in comparisons if row["second"] == "baseline")
    assert [row["low_pp"], row["high_pp"]] == ["-12.64", "+2.00"]
    plotted = rows(folder / "plots/comparisons.csv")
    high = next(row["high_pp"] for row in plotted if row["experiment"] == NAME)
    assert float(high) == pytest.approx(2)
    assert interval in " ".join(answer.answer(result, data.significance, [1, 2, 3]).sentences)
    metrics = metrics_row(result)
    assert [metrics["low_pp"], metrics["high_pp"]] == [-12.64, 2.0]


def test_the_tests_use_the_whole_interval():
    """The interval in comparison.json, its p and its verdict are those of the t test."""
    result = near_perfect()
    (gain,) = (
        each
        for each in answer.tested_differences(result, made_up.comparison("sample").significance)
        if (each.first, each.second) == ("attention", "baseline")
    )
    before = result.comparisons["attention"]["baseline"]
    assert before.interval_pp == (-12.64, 13.98) and gain.ends == pytest.approx((-12.64, 2.0))
    assert (gain.result.p, gain.verdict) == (before.p, before.verdict)


@pytest.mark.parametrize(
    ("p", "printed"), [(0.125, 0.125), (0.1248, 0.125), (0.0125, 0.013), (0.00012345, 0.00012)]
)
def test_metrics_json_has_the_digits_of_the_report(p, printed):
    result = near_perfect()
    change_difference(result, "attention", "baseline", p_holm=p)
    assert metrics_row(result)["p_holm"] == printed

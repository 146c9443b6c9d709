"""An interval is printed whole, as it is tested: on the page, in CSV and in metrics.json."""

import dataclasses

import pytest

from heed.evaluation.comparison import metrics_row
from heed.evaluation.results import ExperimentResult, mean_and_std
from heed.report import answer
from tests.fixtures.report import made_up
from tests.fixtures.report.pages import Page, change_difference, render_to, rows

pytestmark = pytest.mark.usefixtures("empty_figures")

NAME = "sample-sentiment"


def near_perfect() -> ExperimentResult:
    """A baseline of 0.98, and a gain with an interval that no gain over it can have."""
    result = made_up.comparison("sample").experiments[NAME]
    baseline = result.models["baseline"]
    summary = baseline.summary | {"accuracy": mean_and_std([0.98] * len(baseline.best_epochs))}
    result.models["baseline"] = dataclasses.replace(baseline, summary=summary)
    wide = {"mean_pp": 0.67, "interval_pp": (-12.64, 13.98)}
    change_difference(result, "attention", "baseline", **wide)
    return result


def test_the_interval_of_a_gain_is_whole_wherever_it_is_printed(tmp_path):
    data, result = made_up.comparison("sample"), near_perfect()
    data = dataclasses.replace(data, experiments=data.experiments | {NAME: result})
    folder = render_to(made_up.study("sample"), data, tmp_path)
    tables = Page(folder / "index.html").tables
    interval = "−12.64 to +13.98"
    assert tables["first"][1][4] == interval
    compared = next(row for row in tables[f"{NAME}_comparisons"] if "attention − b" in row[0])
    assert interval in compared
    comparisons = rows(folder / f"tables/{NAME}_comparisons.csv")
    row = next(row for row in comparisons if row["second"] == "baseline")
    assert [row["low_pp"], row["high_pp"]] == ["-12.64", "+13.98"]
    plotted = rows(folder / "plots/comparisons.csv")
    high = next(row["high_pp"] for row in plotted if row["experiment"] == NAME)
    assert float(high) == pytest.approx(13.98)
    found = answer.answer(result, data.significance)
    assert interval in " ".join([*found.shown, *found.open])


@pytest.mark.parametrize(("mean", "printed"), [(0.285, 0.29), (-0.285, -0.29), (0.004, 0.0)])
def test_metrics_json_has_the_primary_comparison_in_the_digits_of_the_report(mean, printed):
    result = near_perfect()
    change_difference(result, "attention", result.control, mean_pp=mean)
    assert metrics_row(result)["difference_pp"] == printed

"""Every row of the published studies comes out of `heed verdict`, and by formulas without heed."""

import math

import pandas as pd
import pytest
import yaml

from heed.evaluation.results import NOT_CONVERGED, format_rounded, format_significant
from heed.verdict.pairs import by_model, compare
from heed.verdict.scores import read_scores
from tests.conftest import ROOT
from tests.makers import formulas

STUDIES = ROOT / "docs/studies"
QUICK = "letters"
POINTS = {"difference_pp": "mean_pp", "equal_within_pp": "equal_within_pp",
          "detectable_pp": "detectable_pp"}  # fmt: skip
NAMES = [
    pytest.param(path.parent.name, marks=[] if path.parent.name == QUICK else pytest.mark.slow)
    for path in sorted(STUDIES.glob("*/verdicts.csv"))
]


def printed(value: float | None) -> str:
    return "" if value is None else format_rounded(value, 2, "")


@pytest.mark.parametrize("name", NAMES)
def test_every_published_row_comes_out_to_the_last_digit(name):
    params = yaml.safe_load((STUDIES / name / "params.yaml").read_text())
    rows = pd.read_csv(STUDIES / name / "verdicts.csv", dtype=str, keep_default_na=False)
    scores = read_scores([str(STUDIES / name / "statistics.parquet")])
    margin = params["study"].get("equivalence_margin", 1.0)
    for experiment, table in scores.groupby("dataset"):
        split = params["corpora"][params["experiments"][experiment]["corpus"]]["split"]
        runs, folds = by_model(table), table["fold"].nunique()
        repeats = folds // split["k"] if "k" in split else 1
        for _, row in rows[rows["experiment"] == experiment].iterrows():
            pair = compare(row["first"], row["second"], runs, int(row["tests"]), repeats, margin)
            found = pair.result
            low, high = found.interval_pp or (None, None)
            numbers = {key: getattr(found, name) for key, name in POINTS.items()}
            by_formula = formulas.compare(
                runs[row["first"]], runs[row["second"]], split.get("k", 0), int(row["tests"])
            )
            for key, value in (numbers | {"low_pp": low, "high_pp": high}).items():
                assert row[key].lstrip("+") == printed(value), (experiment, row["first"], key)
                assert by_formula.get(key) == pytest.approx(value, rel=1e-6), (experiment, key)
            for key in ("p", "p_corrected"):
                value = getattr(found, key)
                text = "" if value is None else format_significant(value, 3)
                assert math.isclose(float(row[key] or 0), float(text or 0)), (experiment, key)
            if row["verdict"] != NOT_CONVERGED:
                assert row["verdict"] == found.verdict

"""Every row of the published studies comes out of `heed verdict`, and by formulas without heed."""

import pandas as pd
import pytest
import yaml

from heed.evaluation.results import NOT_CONVERGED
from heed.published import verify
from heed.verdict.pairs import by_model, compare
from heed.verdict.scores import read_scores
from tests.conftest import ROOT
from tests.makers import formulas

STUDIES = ROOT / "docs/studies"
QUICK = "letters"
NAMES = [
    pytest.param(path.parent.name, marks=[] if path.parent.name == QUICK else pytest.mark.slow)
    for path in sorted(STUDIES.glob("*/verdicts.csv"))
]


@pytest.mark.parametrize("name", NAMES)
def test_every_published_row_comes_out_to_the_last_digit(name):
    params = yaml.safe_load((STUDIES / name / "params.yaml").read_text())
    rows = pd.read_csv(STUDIES / name / "verdicts.csv", dtype=str, keep_default_na=False)
    scores = read_scores([str(STUDIES / name / "statistics.parquet")])
    margin = params["study"].get("equivalence_margin", 1.0)
    for experiment, table in scores.groupby("dataset"):
        split = params["corpora"][params["experiments"][experiment]["corpus"]]["split"]
        runs, folds, k = by_model(table), table["fold"].nunique(), split.get("k", 0)
        for row in rows[rows["experiment"] == experiment].to_dict("records"):
            first, second, tests = row["first"], row["second"], int(row["tests"])
            repeats = folds // k if k else 1
            found = compare(first, second, runs, tests, repeats, margin).result
            low, high = found.interval_pp or (None, None)
            numbers = vars(found) | {"difference_pp": found.mean_pp, "low_pp": low, "high_pp": high}
            by_formula = formulas.compare(runs[first], runs[second], k, tests)
            for column in verify.CHECKED.keys() - {"verdict"}:
                form, place = verify.CHECKED[column], (experiment, first, second, column)
                assert verify._agrees(form, row[column], by_formula.get(column)), place
                if column != "seeds_needed":  # of which one seed of each model tells nothing
                    assert verify._agrees(form, row[column], numbers[column]), place
            if row["verdict"] != NOT_CONVERGED:
                assert row["verdict"] == found.verdict

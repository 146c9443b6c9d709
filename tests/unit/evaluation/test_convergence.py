"""A model has not converged where twice the epochs reach a higher validation score."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from heed.evaluation.comparison import compare_longer
from heed.evaluation.item_statistics import LongerTested
from heed.prediction import standard_errors
from heed.tasks.classification.metrics import statistics_table
from heed.tasks.classification.recipe import Data
from tests.conftest import cases

CASES = cases(__file__)
RUN = {"accuracy": [0.5, 0.7, 0.6], "loss": [0.9, 0.6, 0.7], "macro_f1": [0.4, 0.65, 0.66]}


def a_model(longer: dict[str, list[float]], best: int, run_best: int = 2, **changes):
    """A model with the run above and a longer training, whose score has an error of 1 point."""
    values = {
        "seed": 1, "epochs": 6, "best_epoch": best, "machine_kind": "", "diverged": "",
        "validation": longer, "validation_items": 400, "standard_errors": {"accuracy": 0.01},
    }  # fmt: skip
    return SimpleNamespace(
        name="it", validation=[RUN], best_epochs=[run_best],
        longer=LongerTested(**values | changes),
    )  # fmt: skip


@pytest.mark.parametrize(("metric", "score", "best", "margin", "expected"), CASES["longer"])
def test_a_model_that_twice_the_epochs_make_better_is_found(metric, score, best, margin, expected):
    name = metric if metric in RUN else "accuracy"
    other = [0.0 if name != "loss" else 9.0] * 3
    found = compare_longer(a_model({name: [*other, score, *other[:2]]}, best), metric, margin)
    assert (found.metric, found.score) == (name, RUN[name][1])
    difference, limit, did_better = expected
    assert found.difference_pp == pytest.approx(difference)
    assert (found.margin_pp, found.did_better) == (pytest.approx(limit), did_better)


def test_no_margin_is_less_than_three_validation_items_where_all_are_right():
    longer = a_model({"accuracy": [0.5, 0.7049]}, 2, standard_errors={"accuracy": 0.0})
    found = compare_longer(longer, "accuracy", None)
    assert (found.margin_pp, found.did_better) == (pytest.approx(0.75), False)
    assert found.validation_items == 400


def test_scores_are_of_the_epochs_that_are_kept_also_where_these_are_the_last():
    model = a_model({"accuracy": [0.9, 0.9, 0.5, 0.61]}, 4, run_best=3)
    kept = compare_longer(model, "accuracy", 0.2)
    assert (kept.score, kept.longer_score) == (0.6, 0.61), "monitor: last"


def test_a_longer_training_that_diverged_or_that_there_is_none_is_no_verdict():
    diverged = a_model({}, 0, diverged="at step 7")
    found = compare_longer(diverged, "accuracy", None)
    assert found.diverged == "at step 7" and found.difference_pp is None and not found.did_better
    assert compare_longer(SimpleNamespace(longer=None), "accuracy", None) is None


def test_a_standard_error_is_that_of_a_share_and_the_jackknifes_of_f1():
    label = np.array(["a", "b"])[np.arange(400) % 2]
    predicted = np.where(np.arange(400) < 100, "a", label)  # 50 of 400 are wrong
    table = pd.DataFrame({"label": label, "predicted": predicted})
    recipe = SimpleNamespace(task="classification", data=Data("kind", ["a", "b"]))
    errors = dict(standard_errors(recipe, statistics_table(table, ["a", "b"])))
    assert errors["accuracy"] == pytest.approx((0.875 * 0.125 / 399) ** 0.5)
    assert errors["macro_f1"] == pytest.approx(errors["accuracy"], rel=0.05)
    assert [*errors] == ["accuracy", "macro_f1"]

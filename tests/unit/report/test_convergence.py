"""The report says what twice the epochs of a model reached, and what to set where that helped."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, WORSE
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.rows.trainings import bill, convergence_of
from tests.fixtures.report import made_up
from tests.fixtures.report.answers import longer_training
from tests.fixtures.report.made_up_translation import write_times
from tests.unit.report.conftest import csv_rows, page_of, read_made_up

NAME = "sample-author"


def read(folder: Path, longer: dict[str, float | None], patience: int = 0) -> Results:
    """The made-up study with longer trainings that did so many points better."""
    data = made_up.comparison("sample")
    models = data.experiments[NAME].models
    for variant, difference in longer.items():
        h = dataclasses.replace(models[variant].hyperparameters, patience=patience)
        models[variant] = dataclasses.replace(
            models[variant], hyperparameters=h, trained_epochs=[5, 6, 6],
            longer_training=longer_training(difference),
        )  # fmt: skip
    return read_made_up(made_up.study("sample"), data, folder)


def told(results: Results) -> dict[str, Any]:
    experiment = next(experiment for experiment in results.experiments if experiment.key == NAME)
    return convergence_of(results, experiment)


@pytest.mark.usefixtures("empty_figures")
def test_the_page_says_what_was_not_tried_what_did_not_converge_and_what_to_set(tmp_path):
    text = page_of(read(tmp_path, {"last-state": 2.1, "average": None}), tmp_path / "reports")
    assert "Whether the models have converged was not tried (study.longer_training)." in text
    keys = f"run make report again: models.{NAME}-last-state.epochs: 12."
    assert f"Not converged: last state. To train so long, set in params.yaml and {keys}" in text
    assert "The longer training of average of states: the training diverged." in text


def test_a_row_has_both_trainings_their_difference_and_a_verdict(tmp_path):
    results = read(tmp_path, {"last-state": 2.0, "average": None})
    rows = {row["variant"]: row for row in csv_rows(results, "convergence", NAME)}
    baseline = rows["last-state"]
    assert (baseline["epochs"], baseline["longer_epochs"]) == ("5 6 6", "12")
    assert (baseline["score"], baseline["longer_score"]) == ("0.8000", "0.8200")
    assert (baseline["difference_pp"], baseline["margin_pp"]) == ("+2.00", "2.00")
    outcomes = {name: row["convergence"] for name, row in rows.items()}
    assert outcomes == {
        "last-state": "converged", "average": "diverged", "self-attention": "not tried",
    }  # fmt: skip
    assert told(results)["limit"] == "0.2 p.p." and not told(results)["unfinished"]


@pytest.mark.parametrize("patience", [0, 3])
def test_where_a_model_has_not_converged_the_keys_to_set_are_named(tmp_path, patience):
    found = told(
        read(tmp_path, {"last-state": 2.1, "average": 9.0, "self-attention": 0.0}, patience)
    )
    assert [row["variant"] for row in found["unfinished"]] == ["last-state", "average"]
    keys = [(f"models.{NAME}-{variant}.epochs: 12", f"models.{NAME}-{variant}.patience: 0")
            for variant in ("last-state", "average")]  # fmt: skip
    assert found["settings"] == [key for pair in keys for key in pair[: 2 if patience else 1]]


@pytest.mark.parametrize(("verdict", "mean", "longer", "expected"), [
    (BETTER, 4.0, "self-attention", [("self-attention", ["average of states"])]),
    (WORSE, -4.0, "average", [("average of states", ["self-attention"])]),
    (NOT_CONVERGED, 4.0, "average", []), (SAME, 0.1, "self-attention", []),
])  # fmt: skip
def test_a_winner_that_did_better_still_is_named(tmp_path, verdict, mean, longer, expected):
    results = read(tmp_path, {longer: 9.0})
    (experiment,) = (found for found in results.experiments if found.key == NAME)
    pairs = {(found.first, found.second): found for found in experiment.comparisons}
    found = pairs["self-attention", "average"]
    tested = [dataclasses.replace(found, verdict=verdict, mean_pp=mean)]
    changed = dataclasses.replace(experiment, comparisons=tested)
    assert convergence_of(results, changed)["winners"] == expected


def test_the_margin_of_a_study_that_names_none_is_of_the_standard_error():
    measure = Measure("classification", "accuracy")
    least = "1.64 standard errors of that score, more than 0.2 p.p. and more than 3 items"
    assert measure.convergence_margin(None) == least
    assert measure.convergence_margin(0.5) == "0.5 p.p."


def test_a_searched_model_takes_its_epochs_from_the_search(tmp_path):
    results = read(tmp_path, {"last-state": 5.0})
    params, name = results.params, f"{NAME}-last-state"
    params.models[name] = dataclasses.replace(params.models[name], search=f"{NAME}-searched")
    assert told(results)["settings"] == [f"searches.{NAME}-searched.epochs: 12"]


def test_what_it_costs_has_the_longer_trainings(tmp_path):
    results = read(tmp_path, {"last-state": 0.0})
    runs = 3 * sum(len(results.models(experiment)) for experiment in results.experiments)
    before = bill(results)
    write_times(f"{NAME}-last-state", ["longer"], results.folder, cpu_seconds=90.0)
    results = dataclasses.replace(results)  # as read again
    after = bill(results)
    assert (before["trainings"], after["trainings"]) == (runs, runs + 1)
    assert after["minutes"] - before["minutes"] == pytest.approx(1.5)
    minutes = {row["variant"]: row["core_minutes_of_longer_training"]
               for row in csv_rows(results, "cost") if row["experiment"] == NAME}  # fmt: skip
    assert minutes["last-state"] == "1.5000" and minutes["self-attention"] == ""

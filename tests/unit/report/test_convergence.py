"""The report says what twice the epochs of a model reached, and what to set where that helped."""

import csv
import dataclasses
from pathlib import Path

import pytest

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, WORSE
from heed.report.blocks import Block, Disclosure, Paragraph, Span, Table
from heed.report.chapters import convergence, cost
from heed.report.html import csv_table
from heed.report.measures import Measure
from heed.report.results import Results, read_results
from tests.conftest import ROOT
from tests.fixtures.report import made_up
from tests.fixtures.report.answers import longer_training
from tests.fixtures.report.made_up_translation import write_times

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
    made_up.results(data, folder)
    return read_results(made_up.study("sample"), data, ROOT / "data/published", folder, False)


def chapter(results: Results) -> list[Block]:
    experiment = next(each for each in results.experiments if each.key == NAME)
    return convergence.chapter(results, experiment)


def text_of(texts: tuple) -> str:
    return "".join(part.text if isinstance(part, Span) else part for part in texts)


def test_where_nothing_was_tried_the_report_says_so_and_nothing_else(tmp_path):
    (paragraph,) = chapter(read(tmp_path, {}))
    text = "Whether the models have converged was not tried: study.longer_training"
    assert text_of(paragraph.texts) == text


def test_a_row_has_both_trainings_their_difference_and_a_verdict(tmp_path):
    (disclosure,) = chapter(read(tmp_path, {"baseline": 2.0, "mean": None}))
    assert isinstance(disclosure, Disclosure)
    assert (
        disclosure.summary
        == "Convergence: with twice the epochs no model did better by more than 0.2 p.p."
    )
    (table,) = disclosure.blocks
    assert isinstance(table, Table) and table.key == f"{NAME}_convergence"
    rows = {row["variant"]: row for row in csv.DictReader(csv_table(table).splitlines())}
    baseline = rows["baseline"]
    assert (baseline["epochs"], baseline["longer_epochs"]) == ("5 6 6", "12")
    assert (baseline["score"], baseline["longer_score"]) == ("0.8000", "0.8200")
    assert (baseline["difference_pp"], baseline["margin_pp"]) == ("+2.00", "2.00")
    outcomes = {name: row["convergence"] for name, row in rows.items()}
    expected = {"baseline": "converged", "mean": "diverged", "attention": "not tried"}
    assert outcomes == expected
    notes = " ".join(map(text_of, table.notes))
    assert "error of a score is up to 2 p.p. on the 400 documents that this seed is" in notes
    assert "higher validation score, by more than 0.2 p.p. (the margin), the model has not" in notes
    assert "The longer training of mean: the training diverged." in notes


@pytest.mark.parametrize(
    ("patience", "settings"),
    [
        (0, f"models.{NAME}-baseline.epochs: 12, models.{NAME}-mean.epochs: 12."),
        (
            3,
            f"models.{NAME}-baseline.epochs: 12, models.{NAME}-baseline.patience: 0, "
            f"models.{NAME}-mean.epochs: 12, models.{NAME}-mean.patience: 0.",
        ),
    ],
)
def test_where_a_model_has_not_converged_a_note_names_the_keys_to_set(tmp_path, patience, settings):
    better = {"baseline": 2.1, "mean": 9.0, "attention": 0.0}
    note, disclosure = chapter(read(tmp_path, better, patience))
    assert isinstance(note, Paragraph) and note.style == "note"
    start = "Not converged: baseline, mean. To train so long, set in params.yaml and run make"
    assert text_of(note.texts) == f"{start} report again: {settings}"
    assert disclosure.summary.startswith("Convergence: baseline, mean did better")


@pytest.mark.parametrize(
    ("verdict", "mean", "longer", "expected"),
    [
        (BETTER, 4.0, "attention", "attention did better still: it remains better than mean."),
        (WORSE, -4.0, "mean", "mean did better still: it remains better than attention."),
        (NOT_CONVERGED, 4.0, "mean", None),
        (SAME, 0.1, "attention", None),
    ],
)
def test_a_note_says_that_a_winner_did_better_still(tmp_path, verdict, mean, longer, expected):
    results = read(tmp_path, {longer: 9.0})
    (experiment,) = (each for each in results.experiments if each.key == NAME)
    (found,) = (e for e in experiment.comparisons if (e.first, e.second) == ("attention", "mean"))
    judged = dataclasses.replace(found.result, verdict=verdict, mean_pp=mean)
    tested = [dataclasses.replace(found, result=judged)]
    blocks = convergence.chapter(results, dataclasses.replace(experiment, comparisons=tested))
    _, *notes = [text_of(each.texts) for each in blocks if isinstance(each, Paragraph)]
    assert notes == ([f"With twice the epochs {expected}"] if expected else [])


@pytest.mark.parametrize("names", [(), ("mean",), ("mean", "attention")])
def test_only_the_models_that_are_asked_for_have_keys_to_set(tmp_path, names):
    results = read(tmp_path, {"baseline": 2.1, "mean": 9.0, "attention": 0.0})
    experiment = next(each for each in results.experiments if each.key == NAME)
    keys = [f"models.{NAME}-mean.epochs: 12"] if names else []
    assert convergence.settings(results, experiment, names) == keys


def test_the_margin_of_a_study_that_names_none_is_of_the_standard_error():
    measure = Measure("classification", "accuracy")
    least = "1.64 standard errors of that score, more than 0.2 p.p. and more than 3 items"
    assert measure.convergence_margin(None) == least
    assert measure.convergence_margin(0.5) == "0.5 p.p."


def test_a_searched_model_takes_its_epochs_from_the_search(tmp_path):
    results = read(tmp_path, {"baseline": 5.0})
    params = results.params
    name = f"{NAME}-baseline"
    section = dataclasses.replace(params.models[name], search="sample-author-searched")
    params.models[name] = section
    note, _ = chapter(results)
    assert text_of(note.texts).endswith(" searches.sample-author-searched.epochs: 12.")


def test_what_it_costs_has_the_longer_trainings(tmp_path):
    results = read(tmp_path, {"baseline": 0.0})
    runs = len([model for each in results.experiments for model in results.models(each)]) * 3
    write_times(f"{NAME}-baseline", ["longer"], tmp_path, cpu_seconds=90.0)
    (section,) = cost.chapter(results)
    text = text_of(section.blocks[0].texts)
    assert f"The study’s {runs + 1} trainings took" in text
    table = next(each for each in section.blocks[2].blocks if isinstance(each, Table))
    rows = list(csv.DictReader(csv_table(table).splitlines()))
    minutes = {row["variant"]: row["core_minutes_of_longer_training"] for row in rows
               if row["experiment"] == NAME}  # fmt: skip
    assert minutes["baseline"] == "1.5000" and minutes["attention"] == ""

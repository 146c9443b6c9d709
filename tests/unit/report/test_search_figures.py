"""The figures of a search say how many of its trials they draw, and which they lack."""

import dataclasses
from pathlib import Path

import pytest
from matplotlib.figure import Figure as Drawing

from heed.files import write_json
from heed.report.blocks import Figure
from heed.report.chapters.hyperparameters import _describe
from heed.report.figures.searches import figures
from heed.report.language import use_language
from heed.search.results import Best, ExpectedBest, Search, Trial
from tests.fixtures.report import made_up
from tests.unit.report.conftest import read_made_up


def search(stops: list[str]) -> Search:
    """A search with a trial for each of these ends; those that finished have a score."""
    trials = [
        Trial(i, {"heads": 1 + i % 2}, score, 1, 1.0, stop, [])
        for i, stop in enumerate(stops)
        for score in [0.5 + i / 100 if stop == "finished" else None]
    ]
    space = {"heads": {"choice": [1, 2]}}
    best, expected = Best(0, 0.5, 1), ExpectedBest(reason="cut", values={})
    return Search(
        "hunt", "m", "e", "c", "random", "none", 1, space, "accuracy", best, {}, 3, trials, {},
        expected,
    )  # fmt: skip


def drawn(tmp_path: Path, made: Search) -> dict[str, Figure]:
    """The figures of a search, by title."""
    results = read_made_up(made_up.study("sample"), made_up.comparison("sample"), tmp_path)
    folder = tmp_path / "hunt"
    write_json(folder / "search.json", {})
    return {each.title: each for each in figures(results, results.experiments[0], made, folder)}


STOPS = ["finished"] * 13 + ["failed"] * 4 + ["stopped by asha"] * 6 + ["not started"]


@pytest.mark.parametrize(
    ("stops", "text"),
    [
        (STOPS, "failed 4, stopped by asha 6, not started 1."),
        (["finished"] * 3, "All 3 trials are drawn."),
    ],
)
def test_the_captions_count_the_trials_that_are_drawn(tmp_path, stops, text):
    made = drawn(tmp_path, search(stops))
    for title in ("Score by trial", "Score by hyperparameter", "All hyperparameters of the trials"):
        assert made[title].caption.endswith(f" {text}") and "each trial" not in made[title].caption
    drawing = Drawing()
    made["Score by hyperparameter"].draw(drawing)
    dots = [line for line in drawing.axes[0].lines if line.get_marker() == "o"]
    assert len(dots) == stops.count("finished")


def test_bleu_is_between_0_and_100_and_a_loss_is_as_it_is():
    for metric, score, printed in (("bleu", 0.2138, "BLEU 21.38"), ("loss", 2.1, "loss 2.1000")):
        made = dataclasses.replace(search(["finished"]), metric=metric, best=Best(0, score, 1))
        assert f"validation {printed} after epoch 1" in _describe(made, "translation")
    made = search(["finished", "failed"]).rescored(lambda score: 100 * score)
    assert made.scores == [50.0] and made.best.score == 50.0
    assert "macro F1 0.5000" in _describe(
        dataclasses.replace(search(["finished"]), metric="macro_f1"), "classification"
    )


def test_the_captions_are_german_in_a_german_report(tmp_path):
    with use_language("de"):
        made = drawn(tmp_path, search(STOPS))
        assert "13 von 24 Versuchen sind gezeichnet" in next(iter(made.values())).caption

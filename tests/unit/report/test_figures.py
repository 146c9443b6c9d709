"""Figures: every variant can be told from the others, labels do not overlap, and all fit a page."""

import dataclasses
import itertools
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from heed.evaluation.results import Comparison, mean_and_std
from heed.report import chapters
from heed.report.blocks import PAGE, PAPER, Disclosure, Figure, walk_blocks
from heed.report.figures.curves import by_length, curves, group_names
from heed.report.figures.shapes import (
    DARK,
    MAX_HEIGHT,
    SERIES,
    WIDE,
    WIDTH,
)
from heed.report.figures.variants import (
    MAX_VARIANTS,
    drawn_variants,
    looks,
    ordered_variants,
)
from heed.report.results import Results
from heed.tasks.classification import figures as confusion
from heed.tasks.classification import report as classification
from heed.tasks.translation import report as translation
from tests.fixtures.report import made_up, made_up_translation
from tests.unit.report.conftest import read_made_up

FEW_CLASSES, MANY_CLASSES = "letters-author", "news"  # experiments of the talk
NAMES = (
    "pooling", "hybrid", "parameter-matched", "uniform", "searched", "searched-baseline",
    "searched-mean",
)  # fmt: skip


def comparison_with(names: tuple[str, ...], study: str = "sample") -> Comparison:
    """The made-up comparison with further models in each experiment: of the talk, in two."""
    data = made_up.comparison(study)
    if study == "talk":
        kept = {name: data.experiments[name] for name in (FEW_CLASSES, MANY_CLASSES)}
        data = dataclasses.replace(data, experiments=kept)
    for result in data.experiments.values():
        first = result.models["attention"]
        for name in names:
            model = first.model.replace("attention", name)
            result.models[name] = dataclasses.replace(first, model=model)
        result.controls.extend(name for name in ("parameter-matched", "uniform") if name in names)
    return data


def with_variants(folder: Path, names: tuple[str, ...] = NAMES, study: str = "sample") -> Results:
    """The made-up study with further models in each experiment, as the chapters get it."""
    data, params = comparison_with(names, study), made_up.study(study)
    for result in data.experiments.values():
        declared = params.models[result.models["attention"].model]
        for name in names:
            model = dataclasses.replace(declared, variant=name)
            params.models[result.models[name].model] = model
    return read_made_up(params, data, folder, documents=False)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return with_variants(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return with_variants(tmp_path_factory.mktemp("talk"), study="talk")


def figures_of(blocks) -> list[Figure]:
    return [block for block in walk_blocks(blocks) if isinstance(block, Figure)]


def rows_of(figure: Figure, kind: str) -> list[dict]:
    return [
        row for row_ in figure.panels for panel in row_ for row in panel.rows if row["kind"] == kind
    ]


def test_a_variant_looks_the_same_in_all_experiments_and_like_no_other():
    names = tuple(f"variant-{number}" for number in range(24))
    look = looks(SimpleNamespace(comparison=comparison_with(names)))
    assert len({(each.colour, each.marker) for each in look.values()}) == len(look) == 27
    assert look["attention"].colour == SERIES[0] and look["baseline"].colour == SERIES[1]


def test_the_four_variants_of_a_figure_have_four_colours_and_four_kinds_of_line(results):
    experiment, look = results.experiments[0], looks(results)
    drawn = [look[name] for name in drawn_variants(results, experiment)]
    assert len(drawn) == MAX_VARIANTS
    assert len({each.colour for each in drawn}) == len({each.dash for each in drawn}) == 4
    assert len({DARK[each.colour] for each in drawn}) == 4


def test_the_best_control_and_the_best_other_variant_are_chosen_on_the_validation_part(tmp_path):
    results = with_variants(tmp_path)
    experiment = results.experiments[0]
    for name, value in (("uniform", 0.91), ("hybrid", 0.92)):
        path = results.evaluation_folder(results.models(experiment)[name]) / "history.csv"
        pd.read_csv(path).assign(validation_accuracy=value).to_csv(path, index=False)
    drawn = drawn_variants(results, experiment)
    assert drawn == ["baseline", "attention", "uniform", "hybrid"]
    caption = by_length(results, experiment, drawn).caption
    assert "best control and the best other variant" in caption and "validation split" in caption
    assert caption.endswith("searched, searched-baseline, searched-mean.")


def test_a_figure_of_all_variants_is_on_the_page_alone_and_has_a_panel_for_each(results):
    experiment = results.experiments[0]
    blocks = classification.chapter(results, experiment)
    (more,) = (each for each in blocks if getattr(each, "style", "") == "figures-all")
    assert isinstance(more, Disclosure) and more.media == (PAGE,)
    names = {figure.key.removeprefix(experiment.key) for figure in figures_of([more])}
    assert names == {"_lengths-all", "_curves-all", "_calibration-all"}
    every = ordered_variants(results, experiment)
    drawn = curves(results, experiment, every, "curves-all")
    titles = [panel.title for row in drawn.panels for panel in row if panel.title]
    assert titles == [name if len(name) <= 14 else f"{name[:13]}…" for name in every]
    lines = rows_of(by_length(results, experiment, every), "line")
    assert {row["end"] for row in lines if "end" in row} == {*every}


def test_no_figure_is_larger_than_a_page(talk, tmp_path):
    data = made_up_translation.comparison()
    results = read_made_up(made_up_translation.study(), data, tmp_path)
    (experiment,) = results.experiments
    of_translation = figures_of(translation.chapter(results, experiment))
    for figure in (*figures_of(chapters.report(talk)), *of_translation):
        assert figure.size[0] <= WIDE and figure.size[1] <= MAX_HEIGHT, figure.key
        assert figure.wide == (figure.size[0] > WIDTH) or figure in of_translation, figure.key
    drawn = by_length(results, experiment, drawn_variants(results, experiment))
    assert len({row["name"] for row in rows_of(drawn, "line")}) == 4


def collapsed_curves(folder: Path, accuracies: list[float]) -> Figure:
    """The curves of an experiment whose attention has these accuracies."""
    results = with_variants(folder, ())
    experiment = results.experiments[0]
    model = results.comparison.experiments[experiment.key].models["attention"]
    model.summary["accuracy"] = mean_and_std(accuracies)
    return curves(results, experiment, drawn_variants(results, experiment))


def test_a_collapsed_run_is_drawn_alone_and_named_and_is_no_part_of_the_band(tmp_path):
    figure = collapsed_curves(tmp_path, [0.9, 0.3, 0.92])
    assert "degenerate runs (attention with seed 2)" in figure.caption
    panels = [panel for row in figure.panels for panel in row]
    named = [[row["end"] for row in panel.rows if "end" in row] for panel in panels]
    assert named.count(["seed 2"]) == 1
    rows = panels[named.index(["seed 2"])].rows
    wide = {row["name"]: row["wide"] for row in rows if row["kind"] == "line"}
    assert len(wide) == 2, "the mean of the others, and the run"
    assert sorted(wide.values())[0] < 1 < sorted(wide.values())[1]
    assert max(row["y2"] for row in rows if row["kind"] == "band") <= 1


def test_few_classes_have_matrices_in_one_figure_and_many_one_of_each_model(talk):
    few, many = talk.experiments
    counts = [len(confusion.class_names(talk, each)) for each in (few, many)]
    assert counts[0] <= confusion.LARGE < counts[1]
    keys = {figure.key for figure in figures_of(classification.chapter(talk, few))}
    assert f"{few.key}_confusion" in keys
    assert not figures_of(classification.appendix(talk, few))
    keys = {figure.key for figure in figures_of(classification.chapter(talk, many))}
    assert not any(key.endswith("_confusion") for key in keys)
    large = figures_of(classification.appendix(talk, many))
    assert len(large) == len(talk.models(many)) and all(PAPER not in each.media for each in large)


@pytest.mark.parametrize(
    ("groups", "count", "lines"),
    [(8, 1240.0, {1, 2}), (6, 3667.0, {1, 2}), (8, 6.4, {1}), (8, 12500.0, {1, 2})],
)
def test_long_numbers_below_the_groups_of_a_figure_stand_on_two_lines_in_turn(groups, count, lines):
    table = pd.DataFrame({"length": [500.0] * groups, "count": [count] * groups})
    breaks = [text.count("\n") for text in group_names(table).values()]
    assert set(breaks) == lines and len(breaks) == groups
    assert all(a != b for a, b in itertools.pairwise(breaks)) == (len(lines) == 2)

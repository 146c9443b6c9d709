"""Figures: every variant can be told from the others, labels do not overlap, and all fit a page."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from heed.evaluation.results import Comparison, mean_and_std
from heed.report.blocks import Figure
from heed.report.figures.curves import by_length, curves
from heed.report.figures.shapes import (
    SERIES,
)
from heed.report.figures.variants import (
    drawn_variants,
    looks,
)
from heed.report.results import Results
from tests.fixtures.report import made_up
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


def test_a_variant_looks_the_same_in_all_experiments_and_like_no_other():
    names = tuple(f"variant-{number}" for number in range(24))
    look = looks(SimpleNamespace(comparison=comparison_with(names)))
    assert len({(each.colour, each.marker) for each in look.values()}) == len(look) == 27
    assert look["attention"].colour == SERIES[0] and look["baseline"].colour == SERIES[1]


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

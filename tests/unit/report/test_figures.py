"""Figures: every variant can be told from the others, labels do not overlap, and all fit a page."""

import dataclasses
import itertools
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Drawing

from heed.evaluation.results import Comparison, mean_and_std
from heed.files import HeedError
from heed.report import chapters
from heed.report.blocks import PAGE, PAPER, Disclosure, Figure, walk_blocks
from heed.report.figures.curves import _name_groups, by_length, curves
from heed.report.figures.drawing import (
    DARK,
    MAX_HEIGHT,
    SERIES,
    STYLE,
    WIDE,
    WIDTH,
    LineEnd,
    draw_figures,
    label_ends,
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


def draw(figure: Figure) -> Drawing:
    """The figure as matplotlib lays it out, without its files."""
    with mpl.rc_context(STYLE):
        drawing = Drawing(figsize=figure.size, layout="constrained")
        figure.draw(drawing)
        FigureCanvasAgg(drawing).draw()
    return drawing


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
    drawing = draw(curves(results, experiment, every, "curves-all"))
    titles = [axes.get_title("left") for axes in drawing.axes if axes.get_title("left")]
    assert titles == [name if len(name) <= 14 else f"{name[:13]}…" for name in every]
    names = {text.get_text() for text in draw(by_length(results, experiment, every)).axes[0].texts}
    assert names - {""} == {*every}


def test_no_figure_is_larger_than_a_page(talk, tmp_path):
    data = made_up_translation.comparison()
    results = read_made_up(made_up_translation.study(), data, tmp_path)
    (experiment,) = results.experiments
    of_translation = figures_of(translation.chapter(results, experiment))
    for figure in (*figures_of(chapters.report(talk)), *of_translation):
        assert figure.size[0] <= WIDE and figure.size[1] <= MAX_HEIGHT, figure.key
        assert figure.wide == (figure.size[0] > WIDTH) or figure in of_translation, figure.key
    drawing = draw(by_length(results, experiment, drawn_variants(results, experiment)))
    assert len([line for line in drawing.axes[0].lines if len(line.get_xdata()) > 1]) == 4


def test_labels_at_the_ends_of_lines_do_not_overlap(results):
    drawn = drawn_variants(results, results.experiments[0])
    drawing = draw(by_length(results, results.experiments[0], drawn))
    boxes = [text.get_window_extent() for text in drawing.axes[0].texts if text.get_gid()]
    assert len(boxes) == MAX_VARIANTS
    boxes.sort(key=lambda box: box.y0)
    assert all(below.y1 <= above.y0 for below, above in itertools.pairwise(boxes))
    assert all(box.x1 <= drawing.bbox.x1 for box in boxes), "no label leaves the figure"


def test_labels_of_lines_that_end_at_one_point_are_pushed_apart():
    drawing = Drawing(figsize=(4, 3), layout="constrained")
    axes = drawing.subplots()
    axes.plot([0, 1], [0, 1])
    label_ends(axes, [LineEnd(1, 1, f"line {number}", "black", "o") for number in range(4)], 2.0)
    FigureCanvasAgg(drawing).draw()
    boxes = sorted(text.get_window_extent().y0 for text in axes.texts if text.get_gid())
    assert min(b - a for a, b in itertools.pairwise(boxes)) > 8
    assert axes.get_ylim() == pytest.approx((-0.05, 1.05)), "labels do not change the scale"


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
    drawing = draw(figure)
    names = [[text.get_text() for text in axes.texts] for axes in drawing.axes]
    assert names.count(["seed 2"]) == 1
    panel = drawing.axes[names.index(["seed 2"])]
    assert len(panel.lines) == 2, "the mean of the others, and the run"
    widths = sorted(line.get_linewidth() for line in panel.lines)
    assert widths[0] < 1 < widths[1]


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


def figure_with(key: str, draw) -> Figure:
    return Figure(key, f"Title of {key}", "What it shows.", (), draw, (2.0, 1.5))


def test_several_processes_draw_the_same_bytes_as_one(tmp_path):
    def line(slope: int) -> Figure:
        return figure_with(f"line{slope}", lambda each: each.subplots().plot([0, slope]))

    figures = [line(slope) for slope in range(3)]
    written = []
    for processes in (1, 2):
        folder = tmp_path / str(processes)
        folder.mkdir()
        draw_figures(figures, {"line1": (3.0, 2.0)}, folder, processes)
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1] and len(written[0]) == 6


def test_a_drawing_process_that_is_killed_or_fails_is_an_error(tmp_path):
    def die(drawing: Drawing) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def fail(drawing: Drawing) -> None:
        raise HeedError("no such series")

    blank = figure_with("blank", lambda drawing: None)
    with pytest.raises(HeedError, match="a process of this command was killed"):
        draw_figures([figure_with("killed", die), blank], {}, tmp_path, 2)
    with pytest.raises(HeedError, match="no such series"):
        draw_figures([figure_with("failed", fail), blank], {}, tmp_path, 2)


@pytest.mark.parametrize(("groups", "count"), [(8, 1240.0), (6, 3667.0), (8, 62.4), (8, 12500.0)])
def test_numbers_of_documents_below_the_groups_of_a_figure_on_paper_do_not_touch(groups, count):
    drawing = Drawing(figsize=(2.4, 2.3), layout="constrained")
    with mpl.rc_context(STYLE):
        axes = drawing.subplots()
        axes.plot(range(groups))
        table = pd.DataFrame({"length": [500.0] * groups, "count": [count] * groups})
        _name_groups(axes, table, translated=False)
    drawing.draw_without_rendering()
    lines: dict[int, list] = {}
    for label in axes.get_xticklabels():
        text, box = label.get_text(), label.get_window_extent()
        lines.setdefault(text.count("\n"), []).append((box.x0, box.x1))
    for boxes in lines.values():
        assert all(left[1] < right[0] for left, right in itertools.pairwise(boxes))

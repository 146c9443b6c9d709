"""Which classes are confused: matrices of all models side by side, or the classes with most errors.

In a matrix of many classes nothing can be found at a glance: such a matrix is a figure of its own.
"""

from collections.abc import Sequence

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Path_
from matplotlib.ticker import PercentFormatter
from matplotlib.transforms import Affine2D

from heed.report.blocks import PAGE, Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import (
    INK,
    LINE,
    MAX_HEIGHT,
    REVERSED,
    SERIES,
    SOFT,
    WIDE,
    WIDTH,
    Style,
    legend,
    short_name,
)
from heed.report.figures.variants import (
    describe_choice,
    looks,
    make_figure,
    ordered_variants,
)
from heed.report.language import say
from heed.report.results import Results, read_table

LARGE = 12  # classes, above which a matrix is a figure of its own
SHOWN = 12  # classes with the most errors
CELL, ENOUGH, SMALLEST_WITH_NUMBERS, LETTER = 0.42, 0.17, 0.15, 0.062  # inches
SMALLEST_PANEL = 0.75  # inches: the width of a matrix, above which its model's name stands
TITLE, LABELS = 0.3, 0.45  # inches above a matrix, and of the labels of the axes
Matrices = dict[str, np.ndarray]  # by variant: percent of the documents of each true class (row)


def matrices(results: Results, experiment: Experiment) -> Figure:
    """Return the confusion matrices of all models of an experiment, over all seeds, as panels."""
    variants, names = ordered_variants(results, experiment), class_names(results, experiment)
    percents = {
        variant: _percents(_counts(results, experiment, variant, names)) for variant in variants
    }
    columns, cell, width = _layout(len(variants), names)
    rows = -(-len(variants) // columns)
    margin = LETTER * _longest(names)
    height = rows * (cell * len(names) + TITLE) + margin + LABELS
    return make_figure(
        results,
        experiment,
        "confusion",
        "confusion",
        say("Confusion matrices"),
        _describe(),
        (width, min(height, MAX_HEIGHT)),
        lambda figure: _draw_matrices(figure, percents, names, columns, cell),
        variants,
    )


def matrix(results: Results, experiment: Experiment, variant: str) -> Figure:
    """Return the confusion matrix of one model, where the experiment has many classes."""
    names, model = class_names(results, experiment), results.models(experiment)[variant]
    percents = _percents(_counts(results, experiment, variant, names))
    margin = LETTER * _longest(names)
    cell = min(0.215, (WIDE - margin - LABELS) / len(names))
    size = cell * len(names) + margin + LABELS
    title = say("Confusion matrix")
    return Figure(
        f"{model}_confusion",
        title,
        _describe(),
        results.sources.add(results.evaluation_folder(model) / "confusion.csv"),
        lambda figure: _draw_matrices(figure, {variant: percents}, names, 1, cell),
        (max(size, WIDTH), min(size + 0.1, MAX_HEIGHT)),
        subject=variant,
        alt_text=drawing.alt_text(experiment, _describe()),
        mark=experiment.mark,
        wide=size > WIDTH,
        media=(PAGE,),
    )


def largest_errors(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the classes with the most errors: the share of each that each model gets wrong."""
    names, look = class_names(results, experiment), looks(results)
    counts = {name: _counts(results, experiment, name, names) for name in variants}
    wrong = sum(matrix - np.diag(np.diag(matrix)) for matrix in counts.values())
    order = np.argsort(-wrong.sum(axis=1), kind="stable")[:SHOWN]

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for variant, matrix in counts.items():
            shares = 1 - np.diag(matrix) / np.maximum(matrix.sum(axis=1), 1)
            style = look[variant].style | {"linestyle": "none"}
            axes.plot(shares[order], range(len(order)), label=short_name(variant), **style)
        axes.set_yticks(range(len(order)), [_error_name(names, wrong, row) for row in order])
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(PercentFormatter(1, 0))
        axes.set_xlabel(say("predicted wrong"))
        legend(figure, axes, 2)

    return make_figure(
        results,
        experiment,
        "errors",
        "confusion",
        say("Classes with the most errors"),
        say(
            "The {count} of {classes} classes of which the models drawn predict the most documents "
            "wrong, all seeds together; after the arrow, the class that is predicted most often "
            "instead.",
            count=len(order),
            classes=len(names),
        )
        + describe_choice(results, experiment, variants),
        (WIDTH, 1.1 + 0.2 * len(order)),
        draw,
        variants,
    )


def class_names(results: Results, experiment: Experiment) -> list[str]:
    """Return the classes of a classification."""
    return results.comparison.experiments[experiment.key].groups["classes"]


def _error_name(names: list[str], wrong: np.ndarray, row: int) -> str:
    """Return a class, and the one that is predicted most often in its place."""
    if not wrong[row].any():
        return short_name(names[row], 15)
    return f"{short_name(names[row], 15)} → {short_name(names[int(wrong[row].argmax())], 15)}"


def _counts(results: Results, experiment: Experiment, variant: str, names: list[str]) -> np.ndarray:
    """Return the documents of each true class (row) by predicted class, of all seeds."""
    path = results.evaluation_folder(results.models(experiment)[variant]) / "confusion.csv"
    counts = read_table(path).groupby(["label", "predicted"])["documents"].sum()
    table = counts.unstack(fill_value=0).reindex(index=names, columns=names, fill_value=0)
    return table.to_numpy(float)


def _percents(counts: np.ndarray) -> np.ndarray:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.rint(100 * shares).astype(int)


def _describe() -> str:
    return say(
        "Percent of the documents of each true class (row) by predicted class (column), all seeds "
        "together: the stronger the colour, the more."
    )


def _longest(names: list[str]) -> int:
    """Return the characters of the longest name as it is printed."""
    return max(len(short_name(name, _name_limit(names))) for name in names)


def _name_limit(names: list[str]) -> int:
    return 18 if len(names) <= LARGE else 26


def _layout(count: int, names: list[str]) -> tuple[int, float, float]:
    """Return the columns, the inches of a cell, and the width of so many matrices.

    The layout with the fewest rows whose cells are large enough, or nearly as large as they can be
    on a page; the narrow figure where its cells are large enough for their numbers.
    """
    layouts: list[tuple[int, float, float]] = []
    for width in (WIDTH, WIDE):
        layouts = [_with_columns(columns, width, count, names) for columns in range(1, count + 1)]
        if max(cell for _, cell, _ in layouts) >= SMALLEST_WITH_NUMBERS:
            break
    least = min(ENOUGH, 0.85 * max(cell for _, cell, _ in layouts))
    least = max(least, min(SMALLEST_PANEL / len(names), layouts[0][1]))
    enough = [each for each in layouts if each[1] >= least]
    return min(enough, key=lambda each: (-(-count // each[0]), -count % each[0]))


def _with_columns(
    columns: int, width: float, count: int, names: list[str]
) -> tuple[int, float, float]:
    margin, rows = LETTER * _longest(names), -(-count // columns)
    wide = (width - margin - LABELS - 0.1 * columns) / (columns * len(names))
    high = ((MAX_HEIGHT - margin - LABELS) / rows - TITLE) / len(names)
    return columns, min(CELL, wide, high), width


def _draw_matrices(
    figure: matplotlib.figure.Figure,
    percents: Matrices,
    names: list[str],
    columns: int,
    cell: float,
) -> None:
    rows = -(-len(percents) // columns)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    labels = [short_name(name, _name_limit(names)) for name in names]
    size = min(8.0, 40 * cell)
    for axes, (variant, each) in zip(grid.flat, percents.items(), strict=False):
        _draw_matrix(axes, each, size if cell >= SMALLEST_WITH_NUMBERS else 0)
        if len(percents) > 1:
            axes.set_title(short_name(variant, max(10, int(cell * len(names) / 0.068))), fontsize=8)
        axes.set_xticks(range(len(names)), labels, rotation=90)
        axes.set_yticks(range(len(names)), labels)
        axes.tick_params(length=0, labelsize=max(5, min(7.5, 45 * cell)))
    for number, axes in enumerate(grid.flat):
        axes.set_visible(number < len(percents))
        axes.tick_params(labelbottom=number >= (rows - 1) * columns)
    figure.supxlabel(say("predicted"), fontsize=9, color=SOFT)
    figure.supylabel(say("true class"), fontsize=9, color=SOFT)


def _draw_matrix(axes: Axes, percents: np.ndarray, size: float) -> None:
    """Draw a square for each pair of classes, and its percent in a font of this size, if any."""
    count = len(percents)
    for percent in np.unique(percents[percents > 0]):  # one path a shade keeps the file small
        squares = [
            Path_.unit_rectangle().transformed(Affine2D().translate(column - 0.5, row - 0.5))
            for row, column in np.argwhere(percents == percent)
        ]
        path, alpha = Path_.make_compound_path(*squares), max(percent / 100, 0.04)
        axes.add_patch(PathPatch(path, facecolor=SERIES[0], alpha=alpha, lw=0, clip_on=False))
    style: Style = {"ha": "center", "va": "center", "fontsize": size}
    for row, column in np.argwhere(percents > 0) if size else ():
        ink = REVERSED if percents[row, column] > 55 else INK
        axes.text(column, row, f"{percents[row, column]}", color=ink, **style)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    for border in np.arange(0.5, count - 1):
        axes.axhline(border, color=LINE, lw=0.4)
        axes.axvline(border, color=LINE, lw=0.4)

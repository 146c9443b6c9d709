"""Metrics of a classification: changes in recall by class, calibration, confusions of classes.

In a matrix of many classes nothing can be found at a glance: such a matrix is a figure of its own.
"""

import functools
from collections.abc import Mapping, Sequence

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Path_
from matplotlib.ticker import PercentFormatter
from matplotlib.transforms import Affine2D

from heed.report.blocks import PAGE, Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import (
    GROUND,
    INK,
    LINE,
    MAX_HEIGHT,
    REVERSED,
    SERIES,
    SOFT,
    WIDE,
    WIDTH,
    Style,
    label_ends,
    legend,
    short_name,
)
from heed.report.figures.variants import (
    MAX_VARIANTS,
    Look,
    Tables,
    describe_choice,
    draw_panels,
    looks,
    make_figure,
    ordered_variants,
    panel_size,
    read_tables,
)
from heed.report.formats import format_number, format_points
from heed.report.language import say
from heed.report.results import Results
from heed.tasks.classification.tables import (
    LARGE,
    ClassChange,
    class_changes,
    class_names,
    tables_of,
)

MAX_CLASSES = 12  # whose changes, or errors, are drawn: those with the most
CELL, ENOUGH, SMALLEST_WITH_NUMBERS, LETTER = 0.42, 0.17, 0.15, 0.062  # inches
SMALLEST_PANEL = 0.75  # inches: the width of a matrix, above which its model's name stands
TITLE, LABELS = 0.3, 0.45  # inches above a matrix, and of the labels of the axes
Layout = tuple[int, float, float]  # columns of matrices, inches of a cell, and width of the figure


def class_gain(results: Results, experiment: Experiment) -> list[Figure]:
    """Return the change in recall by class; nothing where one of both models is missing.

    At most 12 classes: those that change most.
    """
    pair = tables_of(results, experiment)[0]
    if len(pair) < 2:
        return []
    changes = class_changes(*pair)
    largest = sorted(changes, key=lambda each: -abs(each.mean))[:MAX_CLASSES]
    drawn = [each for each in changes if each in largest]
    title = say("Change in recall by class")
    caption = say(
        "Recall with attention minus recall of the baseline, paired by seed, the largest first: "
        "what share of a class’s documents more, or fewer, are found. Dot: the mean; line: one "
        "standard deviation over seeds to either side; strokes: the seeds. With few test documents "
        "a class varies much by chance."
    )
    if len(drawn) < len(changes):
        caption += " " + say(
            "The {drawn} of {classes} classes that change most; all of them: "
            "tables/{key}_class-gain.csv.",
            drawn=len(drawn),
            classes=len(changes),
            key=experiment.key,
        )
    size = WIDTH, 1.0 + 0.2 * len(drawn)
    draw, variants = functools.partial(_draw_changes, changes=drawn), [each.key for each in pair]
    arguments = title, caption, size, draw, variants
    return [make_figure(results, experiment, "class-gain", "classes", *arguments)]


def _draw_changes(figure: matplotlib.figure.Figure, changes: list[ClassChange]) -> None:
    axes = figure.subplots()
    for row, change in enumerate(changes):
        _draw_change(axes, row, change)
    axes.axvline(0, color=INK, lw=1)
    axes.set_yticks(range(len(changes)), [short_name(each.name) for each in changes])
    axes.grid(axis="y", visible=False)
    axes.set_ylim(len(changes) - 0.3, -0.7)
    axes.set_xlabel(say("recall, percentage points"))
    legend(figure, axes, 3)


def _draw_change(axes: Axes, row: int, change: ClassChange) -> None:
    """Draw the change of a class; the first row has the legend's labels."""
    mean, std, first = change.mean, change.std, not row
    if std is not None:
        axes.plot([mean - std, mean + std], [row, row], color=SERIES[0], lw=2.2)
    seeds = say("each seed") if first else None
    axes.plot(change.values, [row] * len(change.values), "|", color=SOFT, markersize=6, label=seeds)
    label = say("mean ± standard deviation") if first else None
    axes.plot([mean], [row], "o", color=SERIES[0], label=label)
    spread = "" if std is None else f" ± {format_number(std, 1)}"
    style: Style = {"va": "center", "fontsize": 7, "color": SOFT}
    place, text = axes.get_yaxis_transform(), f"{format_points(mean, 1)}{spread}"
    axes.annotate(text, (1.01, row), xycoords=place, **style)
    if change.talk is not None:
        label = say("the talk") if first else None
        axes.plot([change.talk], [row], "D", color=SERIES[1], markerfacecolor="none", label=label)


def calibration(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "calibration"
) -> Figure:
    """Return the share of right predictions by their probability, over all seeds.

    With more than four variants each has a panel of its own.
    """
    tables = read_tables(results, experiment, "calibration", variants)
    look, with_panels = looks(results), len(variants) > MAX_VARIANTS

    def draw(figure: matplotlib.figure.Figure) -> None:
        if with_panels:
            _draw_calibrations(figure, tables, look)
        else:
            _draw_calibrated_together(figure, tables, look)

    caption = say(
        "On the dotted line the probability is the share of right predictions; below it, a "
        "model is overconfident. After its name: the expected calibration error. Ten bins of "
        "probability, all seeds together; the larger a mark, the more documents."
    ) + describe_choice(results, experiment, variants)
    size = panel_size(len(variants), 1.3, 0.5) if with_panels else (WIDTH, 3.1)
    arguments = say("Calibration"), caption, size, draw, variants
    return make_figure(results, experiment, key, "calibration", *arguments)


def _draw_calibrated_together(
    figure: matplotlib.figure.Figure, tables: Tables, look: Mapping[str, Look]
) -> None:
    axes, ends = figure.subplots(), []
    for variant, table in tables.items():
        probability, right = _draw_calibration(axes, table, look[variant])
        name = f"{short_name(variant, 13)} {_percent_error(table)}"
        ends.append(look[variant].end(name, probability, right))
    axes.set_xlabel(say("probability of the predicted class"))
    axes.set_ylabel(say("share that is right"))
    label_ends(axes, ends, 2.3)


def _draw_calibrations(
    figure: matplotlib.figure.Figure, tables: Tables, look: Mapping[str, Look]
) -> None:
    def draw(axes: Axes, variant: str) -> None:
        _draw_calibration(axes, tables[variant], look[variant])
        style: Style = {"fontsize": 7.5, "color": INK, "transform": axes.transAxes}
        axes.text(0.04, 0.9, _percent_error(tables[variant]), **style)
        axes.set_xticks((0, 0.5, 1))
        axes.set_yticks((0, 0.5, 1))

    for axes in draw_panels(figure, [*tables], draw):
        axes.set_ylabel(say("right"))
    figure.supxlabel(say("probability of the predicted class"), fontsize=9, color=SOFT)


def _percent_error(table: pd.DataFrame) -> str:
    return f"{100 * expected_calibration_error(table):.1f}%"


def _draw_calibration(
    axes: Axes, table: pd.DataFrame, look: Look
) -> tuple[list[float], list[float]]:
    """Draw the line of a model and the diagonal; return the points of the line."""
    bins = _sum_bins(table)
    probability, right = bins["sum"] / bins["documents"], bins["right"] / bins["documents"]
    axes.axline((0, 0), slope=1, color=SOFT, lw=1, linestyle=(0, (1, 2)))
    axes.plot(probability, right, color=look.colour, lw=1.2, linestyle=look.dash)
    areas = 70 * bins["documents"] / bins["documents"].max() + 4
    style: Style = {"marker": look.marker, "linewidths": 0.6, "edgecolors": GROUND}
    axes.scatter(probability, right, areas, c=look.colour, **style)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, 0))
    return probability.tolist(), right.tolist()


def _sum_bins(table: pd.DataFrame) -> pd.DataFrame:
    """Return documents, right predictions and the sum of probabilities of each bin."""
    table = table.assign(sum=table["probability"] * table["documents"])
    return table.groupby("low")[["documents", "right", "sum"]].sum()


def expected_calibration_error(table: pd.DataFrame) -> float:
    """Return the expected calibration error of Guo et al. 2017, weighted by documents."""
    bins = _sum_bins(table)
    return float((bins["right"] - bins["sum"]).abs().sum() / bins["documents"].sum())


def matrices(results: Results, experiment: Experiment) -> Figure:
    """Return the confusion matrices of all models of an experiment, over all seeds, as panels."""
    variants, names = ordered_variants(results, experiment), class_names(results, experiment)
    counts = _counts(results, experiment, variants, names)
    percents = {variant: _percents(matrix) for variant, matrix in counts.items()}
    columns, cell, width = _layout(len(variants), names)
    rows = -(-len(variants) // columns)
    height = rows * (cell * len(names) + TITLE) + LETTER * _longest(names) + LABELS
    size = width, min(height, MAX_HEIGHT)

    def draw(figure: matplotlib.figure.Figure) -> None:
        _draw_matrices(figure, percents, names, columns, cell)

    arguments = say("Confusion matrices"), _describe(), size, draw, variants
    return make_figure(results, experiment, "confusion", "confusion", *arguments)


def matrix(results: Results, experiment: Experiment, variant: str) -> Figure:
    """Return the confusion matrix of one model, where the experiment has many classes."""
    names, model = class_names(results, experiment), results.models(experiment)[variant]
    percents = _percents(_counts(results, experiment, [variant], names)[variant])
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
    counts = _counts(results, experiment, variants, names)
    wrong = sum(matrix - np.diag(np.diag(matrix)) for matrix in counts.values())
    order = np.argsort(-wrong.sum(axis=1), kind="stable")[:MAX_CLASSES]
    labels = [short_name(name, 15) for name in names]
    instead = [f" → {labels[each.argmax()]}" if each.any() else "" for each in wrong]
    labels = [f"{name}{other}" for name, other in zip(labels, instead, strict=True)]

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for variant, matrix in counts.items():
            shares = 1 - np.diag(matrix) / np.maximum(matrix.sum(axis=1), 1)
            style = look[variant].style | {"linestyle": "none"}
            axes.plot(shares[order], range(len(order)), label=short_name(variant), **style)
        axes.set_yticks(range(len(order)), [labels[row] for row in order])
        axes.set_ylim(len(order) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_formatter(PercentFormatter(1, 0))
        axes.set_xlabel(say("predicted wrong"))
        legend(figure, axes, 2)

    caption = say(
        "The {count} of {classes} classes of which the models drawn predict the most documents "
        "wrong, all seeds together; after the arrow, the class that is predicted most often "
        "instead.",
        count=len(order),
        classes=len(names),
    ) + describe_choice(results, experiment, variants)
    size, title = (WIDTH, 1.1 + 0.2 * len(order)), say("Classes with the most errors")
    arguments = title, caption, size, draw, variants
    return make_figure(results, experiment, "errors", "confusion", *arguments)


def _counts(
    results: Results, experiment: Experiment, variants: Sequence[str], names: list[str]
) -> dict[str, np.ndarray]:
    """Return the documents of each true class (row) by predicted class, of all seeds."""
    matrices = {}
    for variant, table in read_tables(results, experiment, "confusion", variants).items():
        counts = table.groupby(["label", "predicted"])["documents"].sum().unstack(fill_value=0)
        counts = counts.reindex(index=names, columns=names, fill_value=0)
        matrices[variant] = counts.to_numpy(float)
    return matrices


def _percents(counts: np.ndarray) -> np.ndarray:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.rint(100 * shares).astype(int)


def _describe() -> str:
    return say(
        "Percent of the documents of each true class (row) by predicted class (column), all seeds "
        "together: the stronger the colour, the more."
    )


def _short_names(names: list[str]) -> list[str]:
    """Return the names as they are printed beside a matrix."""
    return [short_name(name, 18 if len(names) <= LARGE else 26) for name in names]


def _longest(names: list[str]) -> int:
    """Return the characters of the longest name as it is printed."""
    return max(map(len, _short_names(names)))


def _layout(count: int, names: list[str]) -> Layout:
    """Return the columns, the inches of a cell, and the width of so many matrices.

    The layout with the fewest rows whose cells are large enough, or nearly as large as they can be
    on a page; the narrow figure where its cells are large enough for their numbers.
    """
    margin, layouts = LETTER * _longest(names), list[Layout]()

    def with_columns(columns: int, width: float) -> Layout:
        wide = (width - margin - LABELS - 0.1 * columns) / (columns * len(names))
        high = ((MAX_HEIGHT - margin - LABELS) / -(-count // columns) - TITLE) / len(names)
        return columns, min(CELL, wide, high), width

    for width in (WIDTH, WIDE):
        layouts = [with_columns(columns, width) for columns in range(1, count + 1)]
        if max(cell for _, cell, _ in layouts) >= SMALLEST_WITH_NUMBERS:
            break
    least = min(ENOUGH, 0.85 * max(cell for _, cell, _ in layouts))
    least = max(least, min(SMALLEST_PANEL / len(names), layouts[0][1]))
    enough = [each for each in layouts if each[1] >= least]
    return min(enough, key=lambda each: (-(-count // each[0]), -count % each[0]))


def _draw_matrices(
    figure: matplotlib.figure.Figure,
    percents: dict[str, np.ndarray],
    names: list[str],
    columns: int,
    cell: float,
) -> None:
    rows = -(-len(percents) // columns)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    labels = _short_names(names)
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

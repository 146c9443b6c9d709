"""Figures of a classification: calibration, and the confusion of classes."""

import dataclasses
from collections.abc import Sequence

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from heed.report.blocks import PAGE, Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.heatmaps import draw_squares
from heed.report.figures.variants import (
    MAX_VARIANTS,
    Look,
    describe_choice,
    draw_panels,
    looks,
    make_figure,
    ordered_variants,
    panel_size,
    read_tables,
)
from heed.report.language import say
from heed.report.results import Results

LARGE = 12  # classes, above which a matrix is a figure of its own: nothing is found at a glance
CELL, ENOUGH, WITH_NUMBERS, LETTER = 0.42, 0.17, 0.15, 0.062  # inches
TITLE, LABELS = 0.3, 0.45  # inches above a matrix, and of the labels of the axes


def calibration(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "calibration"
) -> Figure:
    """Return the share of right predictions by their probability, over all seeds."""
    tables = read_tables(results, experiment, "calibration", variants)
    bins = {variant: _sum_bins(table) for variant, table in tables.items()}
    errors = {
        variant: f"{100 * expected_calibration_error(table):.1f}%"
        for variant, table in tables.items()
    }
    look, with_panels = looks(results), len(variants) > MAX_VARIANTS

    def draw_panel(axes: Axes, variant: str) -> None:
        _draw_calibration(axes, bins[variant], look[variant])
        style: drawing.Style = {"fontsize": 7.5, "color": drawing.INK, "transform": axes.transAxes}
        axes.text(0.04, 0.9, errors[variant], **style)
        axes.set_xticks((0, 0.5, 1))
        axes.set_yticks((0, 0.5, 1))

    def draw(figure: matplotlib.figure.Figure) -> None:
        if with_panels:
            for axes in draw_panels(figure, variants, draw_panel):
                axes.set_ylabel(say("right"))
            figure.supxlabel(
                say("probability of the predicted class"), fontsize=9, color=drawing.SOFT
            )
            return
        axes, ends = figure.subplots(), list[drawing.LineEnd]()
        for variant, table in bins.items():
            line = _draw_calibration(axes, table, look[variant])
            name = f"{drawing.short_name(variant, 13)} {errors[variant]}"
            ends.append(look[variant].end(name, line["probability"], line["right"]))
        axes.set_xlabel(say("probability of the predicted class"))
        axes.set_ylabel(say("share that is right"))
        drawing.label_ends(axes, ends, 2.3)

    caption = say(
        "On the dotted line the probability is the share of right predictions; below it, a "
        "model is overconfident. After its name: the expected calibration error. Ten bins of "
        "probability, all seeds together; the larger a mark, the more documents."
    ) + describe_choice(results, experiment, variants)
    size = panel_size(len(variants), 1.3, 0.5) if with_panels else (drawing.WIDTH, 3.1)
    arguments = say("Calibration"), caption, size, draw, variants
    return make_figure(results, experiment, key, "calibration", *arguments)


def _draw_calibration(axes: Axes, bins: pd.DataFrame, look: Look) -> pd.DataFrame:
    documents = bins["documents"]
    line = bins[["probability", "right"]].div(documents, axis=0)
    axes.axline((0, 0), slope=1, color=drawing.SOFT, lw=1, linestyle=(0, (1, 2)))
    axes.plot(line["probability"], line["right"], color=look.colour, lw=1.2, linestyle=look.dash)
    areas = 70 * documents / documents.max() + 4
    style: drawing.Style = {"marker": look.marker, "linewidths": 0.6, "edgecolors": drawing.GROUND}
    axes.scatter(line["probability"], line["right"], areas, c=look.colour, **style)
    axes.set(xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, 0))
    return line


def _sum_bins(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(probability=table["probability"] * table["documents"])
    return table.groupby("low")[["documents", "right", "probability"]].sum()


def expected_calibration_error(table: pd.DataFrame) -> float:
    """Return the expected calibration error of Guo et al. 2017, weighted by documents."""
    bins = _sum_bins(table)
    return float((bins["right"] - bins["probability"]).abs().sum() / bins["documents"].sum())


def class_names(results: Results, experiment: Experiment) -> list[str]:
    """Return the classes of a classification."""
    return results.comparison.experiments[experiment.key].groups["classes"]


def has_many_classes(results: Results, experiment: Experiment) -> bool:
    """Return whether a matrix of the classes is too large to stand among other figures."""
    return len(class_names(results, experiment)) > LARGE


def matrices(results: Results, experiment: Experiment) -> list[Figure]:
    """Return the confusion matrices of all models: panels, or of many classes a figure each."""
    variants, names = ordered_variants(results, experiment), class_names(results, experiment)
    if not has_many_classes(results, experiment):
        title = say("Confusion matrices")
        return [_matrices(results, experiment, variants, names, title)]
    figures = []
    for variant in variants:
        figure = _matrices(results, experiment, [variant], names, say("Confusion matrix"))
        key = f"{results.models(experiment)[variant]}_confusion"
        figures.append(dataclasses.replace(figure, key=key, subject=variant, media=(PAGE,)))
    return figures


def _matrices(
    results: Results, experiment: Experiment, variants: list[str], names: list[str], title: str
) -> Figure:
    percents = {}
    for variant, table in read_tables(results, experiment, "confusion", variants).items():
        counts = table.groupby(["label", "predicted"])["documents"].sum().unstack(fill_value=0)
        counts = counts.reindex(index=names, columns=names, fill_value=0)
        shares = counts.div(counts.sum(axis=1).clip(lower=1), axis=0)
        percents[variant] = np.rint(100 * shares.to_numpy()).astype(int)
    labels = [drawing.short_name(name, 18 if len(names) <= LARGE else 26) for name in names]
    margin = LETTER * max(map(len, labels)) + LABELS
    columns, cell = _layout(len(variants), len(names), margin)
    width = margin + columns * (cell * len(names) + 0.1)
    height = margin + -(-len(variants) // columns) * (cell * len(names) + TITLE)
    size = max(width, drawing.WIDTH), min(height, drawing.MAX_HEIGHT)
    caption = say(
        "Percent of the documents of each true class (row) by predicted class (column), all seeds "
        "together: the stronger the colour, the more."
    )

    arguments = results, experiment, "confusion", "confusion", title, caption, size
    drawn = percents, labels, columns, cell
    return make_figure(*arguments, lambda figure: _draw_matrices(figure, *drawn), variants)


def _layout(count: int, classes: int, margin: float) -> tuple[int, float]:
    """Return the matrices side by side, and the inches of a cell: large, or nearly the largest."""
    cells = []
    for columns in range(1, count + 1):
        wide = (drawing.WIDE - margin - 0.1 * columns) / (columns * classes)
        high = ((drawing.MAX_HEIGHT - margin) / -(-count // columns) - TITLE) / classes
        cells.append(min(CELL, wide, high))
    enough = min(ENOUGH, 0.85 * max(cells))
    columns = max(i for i, cell in enumerate(cells, 1) if cell >= enough)
    return columns, cells[columns - 1]


def _draw_matrices(
    figure: matplotlib.figure.Figure,
    percents: dict[str, np.ndarray],
    labels: list[str],
    columns: int,
    cell: float,
) -> None:
    rows, count = -(-len(percents) // columns), len(labels)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    style: drawing.Style = {"ha": "center", "va": "center", "fontsize": min(8.0, 40 * cell)}
    for axes, (variant, each) in zip(grid.flat, percents.items(), strict=False):
        draw_squares(axes, np.maximum(each / 100, 0.05 * (each > 0)))
        for row, column in np.argwhere(each > 0) if cell >= WITH_NUMBERS else ():
            ink = drawing.REVERSED if each[row, column] > 55 else drawing.INK
            axes.text(column, row, f"{each[row, column]}", color=ink, **style)
        axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
        axes.grid(visible=False)
        for border in np.arange(0.5, count - 1):
            axes.axhline(border, color=drawing.LINE, lw=0.4)
            axes.axvline(border, color=drawing.LINE, lw=0.4)
        if len(percents) > 1:
            axes.set_title(
                drawing.short_name(variant, max(10, int(cell * count / 0.068))), fontsize=8
            )
        axes.set_xticks(range(count), labels, rotation=90)
        axes.set_yticks(range(count), labels)
        axes.tick_params(length=0, labelsize=max(5, min(7.5, 45 * cell)))
    for number, axes in enumerate(grid.flat):
        axes.set_visible(number < len(percents))
        axes.tick_params(labelbottom=number >= (rows - 1) * columns)
    figure.supxlabel(say("predicted"), fontsize=9, color=drawing.SOFT)
    figure.supylabel(say("true class"), fontsize=9, color=drawing.SOFT)

"""Figures of a classification: calibration, and the confusion of classes."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from heed.report.blocks import PAGE, Axis, Figure, Mark, Panel
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.figures.heatmaps import heat_map
from heed.report.figures.variants import (
    MAX_VARIANTS,
    PANEL_NAME,
    describe_choice,
    in_rows,
    looks,
    make_figure,
    ordered_variants,
    panel_size,
    read_tables,
)
from heed.report.results import Results

LARGE = 12  # classes, above which a matrix is a figure of its own: nothing is found at a glance
CELL, ENOUGH, WITH_NUMBERS, LETTER = 0.42, 0.17, 0.15, 0.062  # inches
FIFTHS = {each / 100: f"{each}%" for each in range(0, 101, 20)}
HALVES = {0.0: "0%", 0.5: "50%", 1.0: "100%"}
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
    places = HALVES if with_panels else FIFTHS
    x = Axis("probability of the predicted class", (0, 1.02), places)
    y = Axis("right" if with_panels else "share that is right", (0, 1.02), places)
    rows: dict[str, list[Mark]] = {}
    for variant, table in bins.items():
        rows[variant] = _points(table, look[variant], variant)
        if not with_panels:
            rows[variant][-1]["end"] = f"{shapes.short_name(variant, 13)} {errors[variant]}"
    diagonal = shapes.rule((0, 0), (1.02, 1.02), shapes.SOFT, dash=shapes.DOTTED)
    panels = [
        Panel(
            [diagonal, *rows[variant], shapes.words(0.04, 0.93, errors[variant], size=7.5)],
            dataclasses.replace(x, title=x.title * (number == len(variants) - 1)), y,
            shapes.short_name(variant, PANEL_NAME), ratio=1,
        )
        for number, variant in enumerate(variants)
    ]  # fmt: skip
    together = Panel([diagonal, *itertools.chain(*rows.values())], x, y, ratio=1)
    arranged = in_rows(panels) if with_panels else [[together]]

    caption = described("calibration") + describe_choice(results, experiment, variants)
    size = panel_size(len(variants), 1.3, 0.5) if with_panels else (shapes.WIDTH, 3.1)
    arguments = "Calibration", caption, size, arranged, variants
    return make_figure(results, experiment, key, "calibration", *arguments)


def _points(bins: pd.DataFrame, look: shapes.Look, name: str) -> list[Mark]:
    documents = bins["documents"]
    means = bins[["probability", "right"]].div(documents, axis=0)
    areas = 60 * documents / documents.max() + 4
    x, y = means["probability"], means["right"]
    marks = [shapes.point(a, b, look, size) for a, b, size in zip(x, y, areas, strict=True)]
    return [*shapes.line(x, y, look, name, 1.2, "none"), *marks]


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
        title = "Confusion matrices"
        return [_matrices(results, experiment, variants, names, title)]
    figures = []
    for variant in variants:
        figure = _matrices(results, experiment, [variant], names, "Confusion matrix")
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
    labels = [shapes.short_name(name, 18 if len(names) <= LARGE else 26) for name in names]
    margin = LETTER * max(map(len, labels)) + LABELS
    columns, cell = _layout(len(variants), len(names), margin)
    width = margin + columns * (cell * len(names) + 0.1)
    height = margin + -(-len(variants) // columns) * (cell * len(names) + TITLE)
    size = max(width, shapes.WIDTH), min(height, shapes.MAX_HEIGHT)
    caption = described("confusion")

    arguments = results, experiment, "confusion", "confusion", title, caption, size
    return make_figure(*arguments, _panels(percents, labels, columns, cell), variants)


def _layout(count: int, classes: int, margin: float) -> tuple[int, float]:
    """Return the matrices side by side, and the inches of a cell: large, or nearly the largest."""
    cells = []
    for columns in range(1, count + 1):
        wide = (shapes.WIDE - margin - 0.1 * columns) / (columns * classes)
        high = ((shapes.MAX_HEIGHT - margin) / -(-count // columns) - TITLE) / classes
        cells.append(min(CELL, wide, high))
    enough = min(ENOUGH, 0.85 * max(cells))
    columns = max(i for i, cell in enumerate(cells, 1) if cell >= enough)
    return columns, cells[columns - 1]


def _panels(
    percents: dict[str, np.ndarray], labels: list[str], columns: int, cell: float
) -> list[list[Panel]]:
    count, size = len(labels), min(8.0, 40 * cell)
    shown = max(10, int(cell * count / 0.068))  # characters of a title
    bottom = len(percents) - columns
    panels = []
    for number, (variant, each) in enumerate(percents.items()):
        rows = shapes.squares(np.maximum(each / 100, 0.05 * (each > 0)), 100)
        for border in np.arange(0.5, count - 1):
            rows.append(shapes.rule((border, -0.5), (border, count - 0.5), shapes.LINE, 0.4))
            rows.append(shapes.rule((-0.5, border), (count - 0.5, border), shapes.LINE, 0.4))
        for row, column in np.argwhere(each > 0) if cell >= WITH_NUMBERS else ():
            ink = shapes.REVERSED if each[row, column] > 55 else shapes.INK
            rows.append(shapes.words(column, row, f"{each[row, column]}", ink, size, "center"))
        at_left, at_bottom = number % columns == 0, number >= bottom
        title = shapes.short_name(variant, shown) if len(percents) > 1 else ""
        panel = heat_map(rows, count, count, title)
        places = {float(place): label for place, label in enumerate(labels)}
        x = dataclasses.replace(
            panel.x, places=places, angle=-90, labels=at_bottom,
            title="predicted" * at_bottom,
        )  # fmt: skip
        y = dataclasses.replace(
            panel.y, places=places, labels=at_left, title="true class" * at_left
        )
        size_of_labels = max(5, min(7.5, 45 * cell))
        panels.append(dataclasses.replace(panel, x=x, y=y, label_size=size_of_labels))
    return [panels[start : start + columns] for start in range(0, len(panels), columns)]

"""Figures of a classification: calibration, and the confusion of classes."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.heatmaps import heat_map
from heed.report.figures.shapes import EVERYWHERE, FILES, Axis, Figure, Mark, Panel
from heed.report.figures.variants import (
    describe_choice,
    files_of,
    looks,
    make_figure,
    ordered_variants,
    read_tables,
)
from heed.report.results import Results

FEW, LARGE = 3, 12  # classes: below and above them a matrix is a file alone
CELL, ENOUGH, LETTER = 0.42, 0.19, 0.062  # inches: of a cell at most and about at least, a letter
TITLE, LABELS = 0.3, 0.45  # inches above a matrix, and of the labels of the axes
FIFTHS = {each / 100: f"{each}%" for each in range(0, 101, 20)}


def calibration(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the share of right predictions by their probability, over all seeds: a file alone."""
    tables = read_tables(results, experiment, "calibration", variants)
    look, words, errors = looks(experiment), experiment.words, list[float]()
    rows = [shapes.rule((0, 0), (1.02, 1.02), shapes.SOFT, dash=shapes.DOTTED)]
    for variant, table in tables.items():
        bins, own = _sum_bins(table), look[variant]
        errors.append(100 * expected_calibration_error(table))
        x, y = bins["probability"] / bins["documents"], bins["right"] / bins["documents"]
        end = f"{words[variant]} {errors[-1]:.1f}%"
        rows += shapes.line(x, y, own, variant, 1.2, False, end)
        areas = 60 * bins["documents"] / bins["documents"].max() + 4
        rows += [shapes.point(a, b, own, size) for a, b, size in zip(x, y, areas, strict=True)]
    x_axis = Axis("probability of the predicted class", (0, 1.02), FIFTHS)
    panel = Panel(rows, x_axis, Axis("share that is right", (0, 1.02), FIFTHS), ratio=1)
    return make_figure(
        "calibration", f"{experiment.key}_calibration",
        results.sources.add(*files_of(results, experiment, "calibration", variants)), [[panel]],
        (shapes.WIDTH, 3.1), experiment.title, describe_choice(results, experiment, variants),
        FILES, least=f"{min(errors):.1f}", most=f"{max(errors):.1f}",
    )  # fmt: skip


def _sum_bins(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(probability=table["probability"] * table["documents"])
    return table.groupby("low")[["documents", "right", "probability"]].sum()


def expected_calibration_error(table: pd.DataFrame) -> float:
    """Return the expected calibration error of Guo et al. 2017, weighted by documents."""
    bins = _sum_bins(table)
    return float((bins["right"] - bins["probability"]).abs().sum() / bins["documents"].sum())


def matrices(results: Results, experiment: Experiment) -> list[Figure]:
    """Return the confusion matrices of all models: panels, or of many classes a file each.

    Those of two classes are files too: they say no more than the recalls.
    """
    variants, classes = ordered_variants(results, experiment), experiment.result.groups["classes"]
    if len(classes) <= LARGE:
        media = EVERYWHERE if len(classes) >= FEW else FILES
        return [_matrices(results, experiment, variants, classes, experiment.key, media)]
    models, words = results.models(experiment), experiment.words
    return [
        _matrices(results, experiment, [name], classes, models[name], FILES, words[name])
        for name in variants
    ]


def _matrices(
    results: Results, experiment: Experiment, variants: Sequence[str], classes: Sequence[str],
    key: str, media: tuple[str, ...], subject: str = "",
) -> Figure:  # fmt: skip
    shares, count = {}, len(classes)
    for variant, table in read_tables(results, experiment, "confusion", variants).items():
        counts = table.groupby(["label", "predicted"])["documents"].sum().unstack(fill_value=0)
        whole = counts.reindex(index=[*classes], columns=[*classes], fill_value=0).to_numpy()
        shares[experiment.words[variant]] = whole / whole.sum(axis=1, keepdims=True).clip(1)
    wrong = np.mean([*shares.values()], axis=0) * (1 - np.eye(count))
    label, predicted = np.unravel_index(wrong.argmax(), wrong.shape)
    labels = [shapes.short_name(name, 18 if count <= LARGE else 26) for name in classes]
    margin = LETTER * max(map(len, labels)) + LABELS
    columns = int((shapes.WIDE - margin) / (ENOUGH * count + 0.1))
    columns = min(max(columns, 1), len(variants))
    lines = -(-len(variants) // columns)
    cell = min(
        CELL, (shapes.WIDE - margin - 0.1 * columns) / (columns * count),
        ((shapes.MAX_HEIGHT - margin) / lines - TITLE) / count,
    )  # fmt: skip
    width = margin + columns * (cell * count + 0.1)
    return make_figure(
        "confusion", f"{key}_confusion",
        results.sources.add(*files_of(results, experiment, "confusion", variants)),
        _panels(shares, labels, columns, cell),
        (max(width, shapes.WIDTH), margin + lines * (cell * count + TITLE)), experiment.title,
        media=media, subject=subject, label=classes[label], predicted=classes[predicted],
    )  # fmt: skip


def _panels(
    shares: Mapping[str, np.ndarray], labels: Sequence[str], columns: int, cell: float
) -> list[list[Panel]]:
    count, places = len(labels), {float(place): label for place, label in enumerate(labels)}
    panels = []
    for number, (name, each) in enumerate(shares.items()):
        percents = np.rint(100 * each).astype(int)
        rows: list[Mark] = shapes.squares(np.maximum(percents / 100, 0.05 * (percents > 0)), 100)
        for row, column in np.argwhere(percents > 0) if cell >= 0.15 else ():
            ink = shapes.REVERSED if percents[row, column] > 55 else shapes.INK
            text = f"{percents[row, column]}"
            rows.append(shapes.words(column, row, text, ink, min(8.0, 40 * cell), "center"))
        left, below = number % columns == 0, number >= len(shares) - columns
        title = shapes.short_name(name, max(10, int(15 * cell * count)))
        panel = heat_map(rows, count, count, title)
        x = dataclasses.replace(
            panel.x, places=places, angle=-90, labels=below, title="predicted" * below
        )
        y = dataclasses.replace(panel.y, places=places, labels=left, title="true class" * left)
        size = max(5, min(7.5, 45 * cell))
        panels.append(dataclasses.replace(panel, x=x, y=y, label_size=size))
    return shapes.in_rows(panels, columns)

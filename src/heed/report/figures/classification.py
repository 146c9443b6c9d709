"""Figures of a classification: calibration, and the confusion of classes."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heed.report.figures import shapes
from heed.report.figures.shapes import EVERYWHERE, FILES, Axis, Figure, Mark, Panel
from heed.report.figures.variants import Drawn, looks, ordered_variants

FEW, LARGE = 3, 12  # classes: below and above them a matrix is a file alone
CELL, ENOUGH, LETTER = 0.42, 0.19, 0.062  # inches: of a cell at most and about at least, a letter
TITLE, LABELS = 0.3, 0.45  # inches above a matrix, and of the labels of the axes
FIFTHS = {each / 100: f"{each}%" for each in range(0, 101, 20)}


def calibration(drawn: Drawn) -> Iterator[Figure]:
    """Yield the share of right predictions by their probability, over all seeds: a file alone."""
    look, words, errors = looks(drawn.experiment), drawn.experiment.words, list[float]()
    rows = [shapes.mark("rule", (0, 1.02), (0, 1.02), colour=shapes.SOFT, dash=shapes.DOTTED)]
    for variant, table in drawn.read("calibration").items():
        bins, own = _sum_bins(table), look[variant]
        errors.append(100 * expected_calibration_error(table))
        x, y = bins["probability"] / bins["documents"], bins["right"] / bins["documents"]
        rows += shapes.line(x, y, own, variant, f"{words[variant]} {errors[-1]:.1f}%")
        areas = 60 * bins["documents"] / bins["documents"].max() + 4
        rows += [shapes.point(a, b, own, size) for a, b, size in zip(x, y, areas, strict=True)]
    x_axis = Axis("probability of the predicted class", (0, 1.02), FIFTHS)
    panel = Panel(rows, x_axis, Axis("share that is right", (0, 1.02), FIFTHS), ratio=1)
    yield drawn.figure(
        "calibration", [panel], (shapes.WIDTH, 3.1), more=drawn.choice,
        least=f"{min(errors):.1f}", most=f"{max(errors):.1f}",
    )  # fmt: skip


def _sum_bins(table: pd.DataFrame) -> pd.DataFrame:
    table = table.assign(probability=table["probability"] * table["documents"])
    return table.groupby("low")[["documents", "right", "probability"]].sum()


def expected_calibration_error(table: pd.DataFrame) -> float:
    """Return the expected calibration error of Guo et al. 2017, weighted by documents."""
    bins = _sum_bins(table)
    return float((bins["right"] - bins["probability"]).abs().sum() / bins["documents"].sum())


def matrices(drawn: Drawn) -> Iterator[Figure]:
    """Yield the confusion matrices of all models: panels, or of many classes a file each.

    Those of two classes are files too: they say no more than the recalls.
    """
    results, experiment = drawn.results, drawn.experiment
    variants = ordered_variants(results, experiment)
    count = len(experiment.result.groups["classes"])
    if count <= LARGE:
        media = EVERYWHERE if count >= FEW else FILES
        yield _matrices(Drawn(results, experiment, variants), media=media)
        return
    for name, model in results.models(experiment).items():
        own = Drawn(results, experiment, [name])
        figure = _matrices(own, media=FILES, subject=experiment.words[name])
        yield dataclasses.replace(figure, key=f"{model}_confusion")


def _matrices(drawn: Drawn, **about: Any) -> Figure:
    classes, words = drawn.experiment.result.groups["classes"], drawn.experiment.words
    shares = {}
    for variant, table in drawn.read("confusion").items():
        counts = table.groupby(["label", "predicted"])["documents"].sum().unstack(fill_value=0)
        whole = counts.reindex(index=classes, columns=classes, fill_value=0).to_numpy()
        shares[variant] = whole / whole.sum(axis=1, keepdims=True).clip(1)
    count, models = len(classes), len(shares)
    wrong = np.mean([*shares.values()], axis=0) * (1 - np.eye(count))
    label, predicted = np.unravel_index(wrong.argmax(), wrong.shape)
    labels = [shapes.short_name(name, 18 if count <= LARGE else 26) for name in classes]
    margin = LETTER * max(map(len, labels)) + LABELS
    columns = int((shapes.WIDE - margin) / (ENOUGH * count + 0.1))
    columns = min(max(columns, 1), models)
    lines = -(-models // columns)
    cell = min(
        CELL, (shapes.WIDE - margin - 0.1 * columns) / (columns * count),
        ((shapes.MAX_HEIGHT - margin) / lines - TITLE) / count,
    )  # fmt: skip
    width = max(margin + columns * (cell * count + 0.1), shapes.WIDTH)
    panels = [
        _matrix(each, words[name], labels, cell, number % columns == 0, number >= models - columns)
        for number, (name, each) in enumerate(shares.items())
    ]
    return drawn.figure(
        "confusion", panels, (width, margin + lines * (cell * count + TITLE)), columns=columns,
        label=classes[label], predicted=classes[predicted], **about,
    )  # fmt: skip


def _matrix(
    shares: np.ndarray, name: str, labels: Sequence[str], cell: float, left: bool, below: bool
) -> Panel:
    """Return a matrix with the labels of its axes where it stands at the left, or below."""
    percents, count = np.rint(100 * shares).astype(int), len(labels)
    rows: list[Mark] = shapes.squares(np.maximum(percents / 100, 0.05 * (percents > 0)), 100)
    for row, column in np.argwhere(percents > 0) if cell >= 0.15 else ():
        ink = shapes.REVERSED if percents[row, column] > 55 else shapes.INK
        style = {"text": f"{percents[row, column]}", "size": min(8.0, 40 * cell), "colour": ink}
        rows.append(shapes.mark("text", column, row, align="center", **style))
    title = shapes.short_name(name, max(10, int(15 * cell * count)))
    ends, places, size = (-0.5, count - 0.5), dict(enumerate(labels)), max(5, min(7.5, 45 * cell))
    x = Axis("predicted" * below, ends, places, labels=below, strokes=False, angle=-90)
    y = Axis("true class" * left, ends[::-1], places, labels=left, strokes=False)
    return Panel(rows, x, y, title, count, 1, grid=False, label_size=size)

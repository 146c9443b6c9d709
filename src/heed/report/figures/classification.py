"""The confusion of classes: the matrices of all models."""

from collections.abc import Iterator, Sequence

import numpy as np

from heed.report.figures import shapes
from heed.report.figures.shapes import Axis, Figure, Panel
from heed.report.figures.variants import Drawn, ordered_variants

FEW, LARGE, LONGEST = 3, 12, 18  # classes that a figure shows, at least and most; letters of a name
CELL, ENOUGH, LETTER = 0.42, 0.19, 0.062  # inches: of a cell at most and about at least, a letter
TITLE, LABELS, GAP = 0.3, 0.45, 0.1  # inches: above a matrix, labels of the axes, beside a matrix


def matrices(drawn: Drawn) -> Iterator[Figure]:
    """Yield the confusion matrices of all models: those of two classes are their recalls."""
    results, experiment = drawn.results, drawn.experiment
    classes, words, shares = experiment.result.groups["classes"], experiment.words, {}
    count = len(classes)
    if not FEW <= count <= LARGE:
        return
    drawn = Drawn(results, experiment, ordered_variants(results, experiment))
    for variant, table in drawn.read("confusion").items():
        counts = table.groupby(["label", "predicted"])["documents"].sum().unstack(fill_value=0)
        whole = counts.reindex(index=classes, columns=classes, fill_value=0).to_numpy()
        shares[variant] = whole / whole.sum(axis=1, keepdims=True).clip(1)
    wrong = np.mean([*shares.values()], axis=0) * (1 - np.eye(count))
    label, predicted = np.unravel_index(wrong.argmax(), wrong.shape)
    labels, models = [shapes.short_name(name, LONGEST) for name in classes], len(shares)
    margin = LETTER * max(map(len, labels)) + LABELS
    columns = int((shapes.WIDE - margin) / (ENOUGH * count + GAP))
    columns = min(max(columns, 1), models)
    panels = (columns, -(-models // columns))
    cell, size = shapes.grid((count, count), (GAP, TITLE), (margin, margin), panels, CELL)
    made = [
        _matrix(each, words[name], labels, cell, number % columns == 0, number >= models - columns)
        for number, (name, each) in enumerate(shares.items())
    ]
    yield drawn.figure(
        "confusion", made, size, columns=columns, label=classes[label],
        predicted=classes[predicted],
    )  # fmt: skip


def _matrix(
    shares: np.ndarray, name: str, labels: Sequence[str], cell: float, left: bool, below: bool
) -> Panel:
    """Return a matrix with the labels of its axes where it stands at the left, or below."""
    percents, count = np.rint(100 * shares).astype(int), len(labels)
    rows = shapes.squares(np.maximum(percents / 100, 0.05 * (percents > 0)), 100)
    for row, column in np.argwhere(percents > 0) if cell >= 0.15 else ():
        ink = shapes.REVERSED if percents[row, column] > 55 else shapes.INK
        style = {"text": f"{percents[row, column]}", "size": min(8.0, 40 * cell), "colour": ink}
        rows.append(shapes.mark("text", column, row, align="center", **style))
    title = shapes.short_name(name, max(10, int(15 * cell * count)))
    ends, places, size = (-0.5, count - 0.5), dict(enumerate(labels)), max(5, min(7.5, 45 * cell))
    x = Axis("predicted" * below, ends, places, labels=below, strokes=False, angle=-90)
    y = Axis("true class" * left, ends[::-1], places, labels=left, strokes=False)
    return Panel(rows, x, y, title, count, 1, grid=False, label_size=size)

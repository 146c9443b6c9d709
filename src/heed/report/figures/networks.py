"""Drawings of networks: words below, a text's class or its translation above.

The weights are made up: thin and thick lines are learned weights, equal lines equal ones.
"""

import dataclasses

import numpy as np

from heed.hyperparameters import ATTENTIONS, ENCODERS, POOLINGS
from heed.hyperparameters.classifier import Architecture
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.figures import shapes

Point = tuple[float, float]
Hyperparameters = Architecture | TranslatorArchitecture
SIZE = (2.9, 1.55)  # inches
WORDS = 5
LEFT, RIGHT = 4.0, 9.6  # of the words, in the units of the axes
LEARNED = np.array([0.25, 0.5, 2.6, 0.4, 0.9])  # widths of lines, in points
EQUAL = np.full(WORDS, 0.9)
BOX = "M-1,-.5H1V.5H-1Z"  # twice as wide as high
FIXED, WEIGHTED = shapes.SOFT, shapes.SERIES[0]  # colours of lines without and with learned weights


def draw_network(hyperparameters: Hyperparameters, name: str, description: str, key: str) -> Figure:
    """Return the drawing of a variant's network."""
    if isinstance(hyperparameters, Architecture):
        rows, top = _classifier(hyperparameters)
    else:
        rows, top = _translator(hyperparameters), 3.4
    hidden = Axis(domain=(0, 10), places={}, strokes=False)
    panel = Panel(rows, hidden, dataclasses.replace(hidden, domain=(-0.5, top)), grid=False)
    return Figure(key, name, "", (), [[panel]], SIZE, alt_text=description)


def _classifier(h: Architecture) -> tuple[list[Mark], float]:
    """Return words, their states, self-attention where there is some, and the text's vector."""
    columns = np.linspace(LEFT, RIGHT, WORDS)
    top = 3 + (h.attention != "none")
    middle = float(columns.mean())
    states, uppermost = _states(h, columns)
    rows = [_label(0, "words"), *states, *_pooling(h, columns, uppermost, (middle, top))]
    rows += _nodes(columns, 0, "circle", shapes.SOFT)
    return [*rows, *_box(middle, top, "class")], top + 0.6


def _states(h: Architecture, columns: np.ndarray) -> tuple[list[Mark], int]:
    """Return the states, with self-attention in a row of its own, and the uppermost row."""
    rows = [_label(1, ENCODERS[h.encoder].label)]
    if h.encoder == "transformer":
        rows += _connect_all(columns, 0, LEARNED, WEIGHTED)
    rows += [shapes.rule((column, 0), (column, 1), FIXED, 0.9) for column in columns]
    if h.is_recurrent:
        rows.append(shapes.rule((columns[0], 1), (columns[-1], 1)))
    rows += _nodes(columns, 1, "square", shapes.INK)
    if h.attention == "none":
        return rows, 1
    learned = h.attention != "uniform"
    lines = (LEARNED, WEIGHTED) if learned else (EQUAL, FIXED)
    rows += [_label(2, ATTENTIONS[h.attention].label), *_connect_all(columns, 1, *lines)]
    return [*rows, *_nodes(columns, 2, "square", shapes.INK)], 2


def _pooling(h: Architecture, columns: np.ndarray, row: int, top: Point) -> list[Mark]:
    """Return the lines from the states to the text's vector; sentences first where it has them."""
    learned = h.pooling in ("attention", "max-attention")
    rows = [_label((row + top[1]) / 2, POOLINGS[h.pooling].label)]
    widths = LEARNED if learned else EQUAL
    if h.pooling == "last":  # of each direction: the right end of one, the left end of the other
        widths = np.array([0.9 * h.is_recurrent, 0, 0, 0, 0.9])
    colour, dash = (
        WEIGHTED if learned else FIXED,
        shapes.DOTTED if h.pooling == "max" else shapes.SOLID,
    )
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        if not width:
            continue
        target = top
        if h.hierarchical:
            target = (float(columns[1 if index < 3 else 3]), (row + top[1]) / 2)
            rows.append(shapes.rule(target, top, colour, 1.2))
        rows.append(shapes.rule((column, row), target, colour, width, dash))
    if h.hierarchical:
        rows += _nodes(columns[[1, 3]], (row + top[1]) / 2, "square", shapes.INK)
    return rows


def _translator(h: TranslatorArchitecture) -> list[Mark]:
    """Return the states of the source below and those of the translation above."""
    columns = np.linspace(LEFT, RIGHT, WORDS)
    names = "source", "encoder", "decoder", "translation"
    rows = [_label(y, name) for y, name in zip((0, 1, 2.2, 3), names, strict=True)]
    for low, high in ((0, 1), (2.2, 3)):
        rows += [shapes.rule((column, low), (column, high), FIXED, 0.9) for column in columns]
    if h.decoder != "transformer":
        rows += [shapes.rule((columns[0], y), (columns[-1], y)) for y in (1, 2.2)]
    else:
        rows += _connect_all(columns, 0, LEARNED, WEIGHTED)
    rows += _context(h, columns)
    nodes = (
        (0, "circle", shapes.SOFT),
        (1, "square", shapes.INK),
        (2.2, "square", shapes.INK),
        (3, "circle", shapes.SOFT),
    )
    return [*rows, *(node for each in nodes for node in _nodes(columns, *each))]


def _context(h: TranslatorArchitecture, columns: np.ndarray) -> list[Mark]:
    """Return the lines from the states of the source to those of the translation."""
    first, last = columns[0], columns[-1]
    if h.decoder == "last-state":
        written = columns if h.repeats_context else columns[:1]
        return [shapes.rule((last, 1), (column, 2.2), FIXED, 1.4) for column in written]
    if h.decoder == "concatenate":
        return [shapes.rule((column, 1), (first, 2.2), FIXED, 0.9) for column in columns]
    if h.score == "diagonal":
        return [shapes.rule((column, 1), (column, 2.2), FIXED, 0.9) for column in columns]
    lines = (LEARNED, WEIGHTED) if h.learns_weights else (EQUAL, FIXED)
    return _connect_all(columns, 1, *lines, 2.2)


def _connect_all(
    columns: np.ndarray, row: float, widths: np.ndarray, colour: str, to: float = 0
) -> list[Mark]:
    """Return a line from each column of a row to each of the row above, or of row `to`."""
    return [
        shapes.rule((column, row), (target, to or row + 1), colour, width * 0.6)
        for index, target in enumerate(columns)
        for column, width in zip(columns, np.roll(widths, index), strict=True)
    ]


def _nodes(columns: np.ndarray, row: float, shape: str, colour: str) -> list[Mark]:
    return [
        shapes.point(column, row, shapes.Look(colour, shape), 30, hollow=True, wide=1)
        for column in columns
    ]


def _box(x: float, y: float, text: str) -> list[Mark]:
    box = shapes.point(
        x, y, shapes.Look(shapes.INK, BOX), (8 + 4.2 * len(text)) ** 2, hollow=True, wide=1
    )
    return [box, shapes.words(x, y, text, align="center")]


def _label(y: float, text: str) -> Mark:
    return shapes.words(0, y, text, shapes.SOFT)

"""Drawings of networks: words below, a text's class or its translation above.

The weights are made up: thin and thick lines are learned weights, equal lines equal ones.
"""

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes

from heed.hyperparameters import ATTENTIONS, ENCODERS, POOLINGS
from heed.hyperparameters.classifier import Architecture
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.report.blocks import Figure
from heed.report.figures.drawing import GROUND, INK, SERIES, SOFT, Style
from heed.report.language import say

Point = tuple[float, float]
Hyperparameters = Architecture | TranslatorArchitecture
SIZE = (2.9, 1.55)  # inches
WORDS = 5
LEFT, RIGHT = 4.0, 9.6  # of the words, in the units of the axes
LEARNED = np.array([0.25, 0.5, 2.6, 0.4, 0.9])  # widths of lines, in points
EQUAL = np.full(WORDS, 0.9)
FIXED, WEIGHTED = SOFT, SERIES[0]  # colours of lines without and with learned weights


def draw_network(hyperparameters: Hyperparameters, name: str, description: str, key: str) -> Figure:
    """Return the drawing of a variant's network."""

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, 10)
        if isinstance(hyperparameters, Architecture):
            _draw_classifier(axes, hyperparameters)
        else:
            _draw_translator(axes, hyperparameters)

    return Figure(key, name, "", (), draw, SIZE, alt_text=description)


def _draw_classifier(axes: Axes, h: Architecture) -> None:
    """Draw words, their states, self-attention where there is some, and the text's vector."""
    columns = np.linspace(LEFT, RIGHT if h.tfidf_branch == "none" else 7.6, WORDS)
    top = 3 + (h.attention != "none")
    axes.set_ylim(-0.5, top + 0.6)
    middle = float(columns.mean())
    _label(axes, 0, say("words"))
    if h.encoder != "none":
        rows = _draw_states(axes, h, columns)
        _draw_pooling(axes, h, columns, rows, (middle, top))
    _draw_nodes(axes, columns, 0, "o", SOFT)
    if h.tfidf_branch != "none":
        _box(axes, 9.2, 0, "TF-IDF")
        _line(axes, (9.2, 0.3), (middle, top), FIXED, 0.9)
    _box(axes, middle, top, say("class"))


def _draw_states(axes: Axes, h: Architecture, columns: np.ndarray) -> int:
    """Draw the states, with self-attention in a row of its own; return the uppermost row."""
    _label(axes, 1, say(ENCODERS[h.encoder].label))
    if h.encoder == "transformer":
        _connect_all(axes, columns, 0, LEARNED, WEIGHTED)
    for column in columns:
        _line(axes, (column, 0), (column, 1), FIXED, 0.9)
    if h.is_recurrent:
        axes.plot(columns, np.ones(WORDS), color=INK, lw=1, marker="none")
    _draw_nodes(axes, columns, 1, "s", INK)
    if h.attention == "none":
        return 1
    learned = h.attention != "uniform"
    _label(axes, 2, say(ATTENTIONS[h.attention].label))
    _connect_all(axes, columns, 1, LEARNED if learned else EQUAL, WEIGHTED if learned else FIXED)
    _draw_nodes(axes, columns, 2, "s", INK)
    return 2


def _draw_pooling(axes: Axes, h: Architecture, columns: np.ndarray, row: int, top: Point) -> None:
    """Draw the lines from the states to the text's vector; sentences first where it has them."""
    learned = h.pooling in ("attention", "max-attention")
    _label(axes, (row + top[1]) / 2, say(POOLINGS[h.pooling].label))
    widths = LEARNED if learned else EQUAL
    if h.pooling == "last":  # of each direction: the right end of one, the left end of the other
        widths = np.array([0.9, 0, 0, 0, 0.9]) if h.is_recurrent else np.array([0, 0, 0, 0, 0.9])
    colour = WEIGHTED if learned else FIXED
    for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
        if not width:
            continue
        target = top
        if h.hierarchical:
            target = (float(columns[1 if index < 3 else 3]), (row + top[1]) / 2)
            _line(axes, target, top, colour, 1.2)
        style: Style = {"linestyle": (0, (1, 1.5))} if h.pooling == "max" else {}
        _line(axes, (column, row), target, colour, width, **style)
    if h.hierarchical:
        _draw_nodes(axes, columns[[1, 3]], (row + top[1]) / 2, "s", INK)


def _draw_translator(axes: Axes, h: TranslatorArchitecture) -> None:
    """Draw the states of the source below and those of the translation above."""
    columns = np.linspace(LEFT, RIGHT, WORDS)
    axes.set_ylim(-0.5, 3.4)
    rows = (
        (0, say("source")), (1, say("encoder")), (2.2, say("decoder")), (3, say("translation")),
    )  # fmt: skip
    for row, name in rows:
        _label(axes, row, name)
    for low, high in ((0, 1), (2.2, 3)):
        for column in columns:
            _line(axes, (column, low), (column, high), FIXED, 0.9)
    if h.decoder != "transformer":
        for row in (1, 2.2):
            axes.plot(columns, np.full(WORDS, row), color=INK, lw=1)
    else:
        _connect_all(axes, columns, 0, LEARNED, WEIGHTED)
    if h.decoder == "last-state":
        _line(axes, (columns[-1], 1), (columns[0], 2.2), FIXED, 1.4)
    elif h.decoder == "concatenate":
        for column in columns:
            _line(axes, (column, 1), (columns[0], 2.2), FIXED, 0.9)
    else:
        lines = (LEARNED, WEIGHTED) if h.learns_weights else (EQUAL, FIXED)
        _connect_all(axes, columns, 1, *lines, 2.2)
    for row, shape, colour in ((0, "o", SOFT), (1, "s", INK), (2.2, "s", INK), (3, "o", SOFT)):
        _draw_nodes(axes, columns, row, shape, colour)


def _connect_all(
    axes: Axes, columns: np.ndarray, row: float, widths: np.ndarray, colour: str, to: float = 0
) -> None:
    """Draw a line from each column of a row to each of the row above, or of row `to`."""
    for index, target in enumerate(columns):
        for column, width in zip(columns, np.roll(widths, index), strict=True):
            _line(axes, (column, row), (target, to or row + 1), colour, width * 0.6)


def _line(axes: Axes, start: Point, end: Point, colour: str, width: float, **style: object) -> None:
    options: Style = {"color": colour, "lw": width, "solid_capstyle": "round", **style}
    axes.plot(*zip(start, end, strict=True), **options)


def _draw_nodes(axes: Axes, columns: np.ndarray, row: float, shape: str, colour: str) -> None:
    style: Style = {"marker": shape, "color": colour, "markerfacecolor": GROUND}
    axes.plot(columns, np.full(len(columns), row), linestyle="none", markersize=5.5, **style)


def _box(axes: Axes, x: float, y: float, text: str) -> None:
    box: Style = {"boxstyle": "round,pad=0.3", "facecolor": GROUND, "edgecolor": INK, "lw": 1}
    axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box)


def _label(axes: Axes, y: float, text: str) -> None:
    axes.text(0, y, text, ha="left", va="center", fontsize=8, color=SOFT)

"""A figure as data: panels of marks in axes, which vega.py draws."""

import base64
import dataclasses
import json
from collections.abc import Mapping, Sequence

import numpy as np

from heed.report.sources import Source

# Where a figure stands, beside its files.
EVERYWHERE, PAGE, FILES = ("page", "paper"), ("page",), ()
Mark = dict[str, object]  # of a figure: figures/shapes.py makes them


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis: its name, what it shows, and its ticks.

    `places` are the labels by their places, of an axis whose ticks are chosen.
    """

    title: str = ""
    domain: tuple[float, float] = (0, 1)
    places: Mapping[float, str] | None = None
    scale: str = "linear"
    format: str = ""
    count: int = 5  # of ticks, about
    labels: bool = True
    strokes: bool = True
    angle: int = 0


@dataclasses.dataclass(frozen=True)
class Panel:
    """Rows of marks in axes.

    `height` is relative to other panels; with `ratio` it is that part of the width instead.
    `spans`: whether it is as wide as the figure, below panels side by side.
    """

    rows: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    height: float = 1
    ratio: float = 0
    spans: bool = False
    grid: bool = True
    label_size: float = 0


@dataclasses.dataclass(frozen=True)
class Heads:
    """The weights between the words of a document in each head, (heads, queries, keys).

    The page shows one head, or their mean; `marked` are the words of the rationale.
    """

    names: list[str]
    words: list[str]
    marked: list[bool]
    weights: np.ndarray

    @property
    def packed(self) -> str:
        """All of them in JSON; weights are bytes in base64, 255 for 1."""
        weights = base64.b64encode(np.rint(255 * self.weights).astype(np.uint8).tobytes()).decode()
        return json.dumps(vars(self) | {"weights": weights}, separators=(",", ":"))


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure, declared once for figures/KEY.svg and .pdf."""

    key: str  # the name of its files, and of its id in the page, #figure-KEY
    title: str
    caption: str
    sources: tuple[Source, ...]  # the files that its values come from
    panels: Sequence[Sequence[Panel]]  # in rows
    size: tuple[float, float]  # width and height in inches
    subject: str = ""  # tells it from other figures with the same title: a model
    alt_text: str = ""  # for readers who cannot see it; they read the title before it
    wide: bool = False  # whether it is wider than a column
    heads: Heads | None = None  # of which the page lets readers choose one
    media: tuple[str, ...] = EVERYWHERE
    zoom: float = 1  # how much larger its print is

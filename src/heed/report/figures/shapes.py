"""Figures as data: panels of marks in axes, which vega.py draws; their colours and sizes."""

import base64
import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from heed.report.sources import Source
from heed.terminal import visible

# Where a figure stands, beside its files.
EVERYWHERE, PAGE, FILES = ("page", "paper"), ("page",), ()
Pair = tuple[float, float]
Mark = dict[str, object]  # a row of a table, which figures/vega.yaml says how to draw


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis: its name, what it shows, and its ticks.

    `places` are the labels by their places, of an axis whose ticks are chosen.
    """

    title: str = ""
    domain: Pair = (0, 1)
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


Panels = Sequence[Sequence[Panel]]


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
    panels: Panels  # in rows
    size: Pair  # width and height in inches
    subject: str = ""  # tells it from other figures with the same title: a model
    alt_text: str = ""  # for readers who cannot see it; they read the title before it
    wide: bool = False  # whether it is wider than a column
    heads: Heads | None = None  # of which the page lets readers choose one
    media: tuple[str, ...] = EVERYWHERE
    zoom: float = 1  # how much larger its print is


# Inches. A figure of WIDTH fits a phone at full size, and two side by side fit a wide screen; one
# of WIDE is as wide as the text on paper, and none is higher than a page of it.
WIDTH, WIDE, HEIGHT, MAX_HEIGHT = 4.4, 6.3, 2.9, 6.5
ZOOM, STUDY = 1.4, 175 / 24 / 1.4  # a study's own figure, 700 pixels wide: how much it is enlarged
GREYS = INK, SOFT, LINE, GROUND, REVERSED = "#1a1a1a", "#555555", "#d4d4d0", "#ffffff", "#fefefe"
DARK_GREYS = "#e8e8e5", "#b0b0ac", "#454542", "#161616", "#101010"
# Where series of different roles meet (figures/variants.py), every two colours differ by 10 or more
# in CIELAB, in light and in dark mode, also as deuteranopes and protanopes see them (Machado et al.
# 2009). Each has a contrast of 3 or more to the ground.
SERIES = (
    "#005a8d", "#9a3a00", "#1a9c5c", "#b04fc0", "#b08a00", "#2a2a30", "#8f7fe0", "#d0589c",
)  # fmt: skip
DARK_SERIES = (
    "#7cc4f5", "#ffab7a", "#3aa06a", "#c07ae0", "#fff09a", "#f6f6f2", "#8f84e8", "#e0668e",
)  # fmt: skip
DARK = dict(zip((*GREYS, *SERIES), (*DARK_GREYS, *DARK_SERIES), strict=True))
CROSS = "M-1,-.5L-.5,0L-1,.5L-.5,1L0,.5L.5,1L1,.5L.5,0L1,-.5L.5,-1L0,-.5L-.5,-1Z"
MARKERS = (
    "circle", "square", "triangle-up", "diamond", "triangle-down", "cross", CROSS, "triangle-left",
    "triangle-right",
)  # fmt: skip
SOLID: tuple[float, ...] = ()
DASHED, DOTTED = (5, 1.5), (1.5, 1.2)
MAX_NAME = 26  # characters; longer names are cut
Numbers = Iterable[float]


@dataclasses.dataclass(frozen=True)
class Look:
    """The colour, the marker and the kind of line of a variant."""

    colour: str
    marker: str
    dash: tuple[float, ...] = SOLID


def line(
    x: Numbers, y: Numbers, look: Look, name: str = "", wide: float = 1.4, marked: bool = True,
    end: str = "",
) -> list[Mark]:  # fmt: skip
    """Return a line through points, which are `marked` or not.

    The name at its `end` stands to the right of the axes.
    """
    known = [(float(a), float(b)) for a, b in zip(x, y, strict=True) if b == b]
    style: Mark = {"kind": "line", "colour": look.colour, "dash": list(look.dash), "wide": wide}
    rows: list[Mark] = [{"name": name, "x": a, "y": b, **style} for a, b in known]
    if rows and end:
        rows[-1] |= {"end": end, "shape": look.marker if marked else ""}
    return rows + [point(a, b, look) for a, b in known if marked]


def point(
    x: float, y: float, look: Look, size: float = 18, hollow: bool = False, wide: float = 0.8,
    faint: bool = False,
) -> Mark:  # fmt: skip
    """Return a mark at a point; the ground fills one that is hollow, and shines through a faint."""
    fill = GROUND if hollow else look.colour
    style: Mark = {"fill": fill, "colour": look.colour, "shape": look.marker, "size": size}
    style |= {"faint": True} if faint else {}
    return {"kind": "point", "x": float(x), "y": float(y), "wide": wide, **style}


def band(x: Numbers, low: Numbers, high: Numbers, colour: str) -> list[Mark]:
    """Return a band between two lines."""
    points = zip(x, low, high, strict=True)
    style: Mark = {"kind": "band", "colour": colour, "name": ""}
    return [{"x": float(a), "y": float(b), "y2": float(c), **style} for a, b, c in points if b == b]


def rule(
    start: Pair, end: Pair, colour: str = INK, wide: float = 1, dash: tuple[float, ...] = SOLID
) -> Mark:
    """Return a straight stroke."""
    (x, y), (x2, y2) = start, end
    style: Mark = {"kind": "rule", "colour": colour, "wide": wide, "dash": list(dash)}
    return {"x": float(x), "y": float(y), "x2": float(x2), "y2": float(y2), **style}


def area(
    x: Pair, y: Pair, fill: str = SOFT, shade: float = 0.14, colour: str = "",
    dash: tuple[float, ...] = SOLID,
) -> Mark:  # fmt: skip
    """Return a rectangle between two places on each axis; `colour` and `dash` are its outline's."""
    place: Mark = {"x": float(x[0]), "x2": float(x[1]), "y": float(y[0]), "y2": float(y[1])}
    outline: Mark = {"colour": colour, "dash": list(dash)} if colour else {}
    return {"kind": "square", "fill": fill, "shade": shade, **outline, **place}


def squares(weights: np.ndarray, steps: int = 20) -> list[Mark]:
    """Return a square for each weight from 0 to 1, (rows, columns): the stronger, the more.

    Those of one shade follow each other, and are one path in the file.
    """
    shades = np.rint(steps * weights).astype(int)
    return [
        area((j - 0.5, j + 0.5), (i - 0.5, i + 0.5), SERIES[0], round(min(shade / steps, 1), 2))
        for shade in np.unique(shades[shades > 0])
        for i, j in np.argwhere(shades == shade)
    ]


def words(
    x: float, y: float, text: str, colour: str = INK, size: float = 8, align: str = "left",
    at: Pair = (0, 0), angle: int = 0, bold: bool = False,
) -> Mark:  # fmt: skip
    """Return a text at a point, moved by `at` points; one that is bold is the same font, outlined.

    A second font would make the bytes of a PDF file another order at each drawing.
    """
    style: Mark = {"colour": colour, "size": size, "align": align, "dx": at[0], "dy": at[1]}
    where: Mark = {"x": float(x), "y": float(y), "angle": angle, "wide": 0.4 if bold else 0}
    return {"kind": "text", "text": text, **where, **style}


def width_of(text: str) -> float:
    """Return about how wide a text is, in letters of the middle width."""
    return sum(0.55 if sign in "ijlft.,;:'|!()" else 1.5 if sign in "mwMW" else
               1.25 if sign.isupper() else 1 for sign in text)  # fmt: skip


def extent(
    rows: Iterable[Mark], key: str = "y", low: float | None = None, margin: float = 0.05,
    least: float = 0, limits: Pair = (-math.inf, math.inf),
) -> Pair:  # fmt: skip
    """Return the range of what rows show on an axis, with a margin where no low end is given.

    A range below the `least` is widened on both sides, as far as what is possible (`limits`).
    """
    keys = {key, f"{key}2"}
    values = [float(str(row[each])) for row in rows for each in keys & row.keys()] or [0.0, 1.0]
    start = min(values) if low is None else low
    end = max([*values, start])
    if low is None and (lacks := min(least, limits[1] - limits[0]) - (end - start)) > 0:
        start = min(max(start - lacks / 2, limits[0]), limits[1] - (end - start) - lacks)
        end = max([*values, start + min(least, limits[1] - limits[0])])
    room = (end - start or abs(end) or 1.0) * margin
    return start - room * (low is None), end + room


Sample = Callable[[float, float], Mark]  # of a legend: the mark around a place


def legend(entries: Sequence[tuple[str, Sample]], columns: int = 1) -> Panel:
    """Return a panel that names marks, in so many columns."""
    rows: list[Mark] = []
    for place, (text, sample) in enumerate(entries):
        y, x = divmod(place, columns)
        rows += [sample(x / columns, y), words(x / columns, y, text, at=(12, 0), size=8.5)]
    lines = -(-len(entries) // columns)
    return Panel(rows, bare((-0.02, 1)), bare((lines - 0.5, -0.5)), spans=True, grid=False)


def bare(domain: Pair) -> Axis:
    """Return an axis that shows nothing."""
    return Axis(domain=domain, places={}, strokes=False)


def marked(look: Look, hollow: bool = False) -> Sample:
    """Return the sample of a mark."""
    return lambda x, y: point(x, y, look, 30, hollow, 1.2)


def in_rows(panels: Sequence[Panel], columns: int) -> list[list[Panel]]:
    """Return panels in rows, so many side by side."""
    return [[*panels[at : at + columns]] for at in range(0, len(panels), columns)]


def short_name(name: str, limit: int = MAX_NAME) -> str:
    """Return a name for a figure: on one line, and cut where it has more characters."""
    name = " ".join(visible(name).split())
    return name if len(name) <= limit else f"{name[: limit - 1]}…"

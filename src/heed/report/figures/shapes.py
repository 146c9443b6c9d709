"""Figures as data: panels of marks in axes, which vega.py draws; their colours and sizes."""

import base64
import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from heed.report.formats import read_yaml
from heed.report.results import Source
from heed.terminal import visible

# Where a figure stands, beside its files.
EVERYWHERE, PAGE, FILES = ("page", "paper"), ("page",), ()
Pair = tuple[float, float]
Dash = tuple[float, ...]
Mark = dict[str, Any]  # a row of a table, which figures/vega.yaml says how to draw


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis; `places` are the labels by their places, where its ticks are chosen."""

    title: str = ""
    domain: Pair = (0, 1)
    places: Mapping[Any, str] | None = None
    scale: str = "linear"
    format: str | None = None
    count: int = 5  # of ticks, about
    labels: bool = True
    strokes: bool = True
    angle: int | None = None


@dataclasses.dataclass(frozen=True)
class Panel:
    """Rows of marks in axes, of a relative `height`, or one that is `ratio` of the width.

    `spans`: whether it is as wide as the figure, whatever stands at the left of other panels.
    """

    rows: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    height: float = 1
    ratio: float = 0
    spans: bool = False
    grid: bool = True
    label_size: float | None = None


@dataclasses.dataclass(frozen=True)
class Heads:
    """The weights between words by head, (heads, queries, keys); `marked`: of the rationale."""

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
    panels: Sequence[Panel]
    size: Pair  # width and height in inches
    alt_text: str = ""  # for readers who cannot see it; they read the title before it
    zoom: float = 1  # how much larger its print is
    columns: int = 1  # panels side by side
    subject: str = ""  # tells it from other figures with the same title: a model
    wide: bool = False  # whether it is wider than a column
    heads: Heads | None = None  # of which the page lets readers choose one
    media: Sequence[str] = EVERYWHERE


# Inches. A figure of WIDTH fits a phone at full size, and two side by side fit a wide screen; one
# of WIDE is as wide as the text on paper, and none is higher than a page of it.
WIDTH, WIDE, MAX_HEIGHT = 4.4, 6.3, 6.5
SIZE = WIDTH, 2.9
ZOOM, STUDY = 1.4, 175 / 24 / 1.4  # a study's own figure, 700 pixels wide: how much it is enlarged
INK, SOFT, GROUND, REVERSED = "#1a1a1a", "#555555", "#ffffff", "#fefefe"
# Where series of different roles meet (figures/variants.py), every two colours differ by 10 or more
# in CIELAB, in light and in dark mode, also as deuteranopes and protanopes see them (Machado et al.
# 2009). Each has a contrast of 3 or more to the ground.
SERIES = (
    "#005a8d", "#9a3a00", "#1a9c5c", "#b04fc0", "#b08a00", "#2a2a30", "#8f7fe0", "#d0589c",
)  # fmt: skip
CROSS = "M-1,-.5L-.5,0L-1,.5L-.5,1L0,.5L.5,1L1,.5L.5,0L1,-.5L.5,-1L0,-.5L-.5,-1Z"
MARKERS = (
    "circle", "square", "triangle-up", "diamond", "triangle-down", "cross", CROSS, "triangle-left",
    "triangle-right",
)  # fmt: skip
SOLID: Dash = ()
DASHED, DOTTED = (5, 1.5), (1.5, 1.2)
MAX_NAME = 26  # characters; longer names are cut
BOLD = 0.4  # points of a text's outline


@dataclasses.dataclass(frozen=True)
class Look:
    """The colour, the marker and the kind of line of a variant."""

    colour: str
    marker: str
    dash: Dash = SOLID


def mark(kind: str, x: float | Pair, y: float | Pair, **style: object) -> Mark:
    """Return a mark at a place, or between two on an axis, with the style that vega.yaml has else.

    A bold text is outlined: a second font would make a PDF's bytes another order at each drawing.
    """
    row: Mark = {"kind": kind} | read_yaml("figures/vega")["marks"][kind]
    for axis, place in (("x", x), ("y", y)):
        ends = place if isinstance(place, tuple) else (place,)
        row |= zip((axis, f"{axis}2"), ends, strict=False)
    return row | style


def point(x: float, y: float, look: Look, size: float = 18, **style: object) -> Mark:
    """Return a mark at a point; the ground shines through one that is `faint`."""
    own = {"fill": look.colour, "colour": look.colour, "shape": look.marker, "size": size}
    return mark("point", x, y, **own | style)


def line(
    x: Iterable[float], y: Iterable[float], look: Look, name: str, end: str = "",
    marked: bool = False, wide: float = 1.2,
) -> list[Mark]:  # fmt: skip
    """Return a line through points, `marked` or not; the name at its `end` is beside the axes."""
    known = [(a, b) for a, b in zip(x, y, strict=True) if b == b]
    style: Mark = {"name": name, "colour": look.colour, "dash": look.dash, "wide": wide}
    rows = [mark("line", *pair, **style) for pair in known]
    if rows and end:
        rows[-1] |= {"end": end, "shape": look.marker * marked}
    return rows + [point(*pair, look) for pair in known if marked]


def squares(weights: np.ndarray, steps: int = 20) -> list[Mark]:
    """Return a square for each weight, (rows, columns), by shade: each is one path in a file."""
    shades = np.rint(steps * weights).astype(int)
    return [
        mark("square", (j - 0.5, j + 0.5), (i - 0.5, i + 0.5), fill=SERIES[0],
             shade=round(min(shade / steps, 1), 2))
        for shade in np.unique(shades[shades > 0])
        for i, j in np.argwhere(shades == shade)
    ]  # fmt: skip


def width_of(text: str) -> float:
    """Return about how wide a text is, in letters of the middle width."""
    return sum(0.55 if sign in "ijlft.,;:'|!()" else 1.5 if sign in "mwMW" else
               1.25 if sign.isupper() else 1 for sign in text)  # fmt: skip


def extent(
    rows: Iterable[Mark], key: str = "y", low: float | None = None, margin: float = 0.05
) -> Pair:
    """Return the range of what rows show on an axis, with a margin where no low end is given."""
    values = [row[name] for row in rows for name in (key, f"{key}2") if name in row] or [0.0, 1.0]
    start = min(values) if low is None else low
    end = max(*values, start)
    room = (end - start or abs(end) or 1.0) * margin
    return start - room * (low is None), end + room


Sample = Callable[[float, float], Mark]  # of a legend: the mark around a place


def legend(entries: Mapping[str, Sample], height: float, columns: int = 1) -> Panel:
    """Return a panel that names marks, in `columns` of lines of a height."""
    rows: list[Mark] = []
    for place, (text, sample) in enumerate(entries.items()):
        y, x = divmod(place, columns)
        rows += [sample(x / columns, y), mark("text", x / columns, y, text=text, size=8.5, dx=12)]
    lines = -(-len(entries) // columns)
    ends = (-0.02, 1), (lines - 0.5, -0.5)
    return bare_panel(rows, *ends, height=height * lines, spans=True)


def bare_panel(rows: Sequence[Mark], x: Pair, y: Pair, title: str = "", **form: Any) -> Panel:
    """Return a panel whose axes and grid do not show, between these places."""
    return Panel(rows, bare(x), bare(y), title, grid=False, **form)


def bare(domain: Pair) -> Axis:
    """Return an axis that shows nothing."""
    return Axis(domain=domain, places={}, strokes=False)


def heat_map(rows: Sequence[Mark], columns: int, lines: int, title: str) -> Panel:
    """Return a panel of squares without axes, whose words are among its rows."""
    ends = (-0.5, columns - 0.5), (lines - 0.5, -0.5)
    return bare_panel(rows, *ends, title, height=lines, ratio=lines / columns)


def grid(cells: Pair, frame: Pair, around: Pair, panels: Pair, most: float) -> tuple[float, Pair]:
    """Return the side of a cell and the size of a figure, a page at most, of panels of cells.

    All are across and down, in inches: `frame` is what each panel has around its cells.
    """
    sides = [*zip(cells, frame, around, panels, (WIDE, MAX_HEIGHT), strict=True)]
    room = [((whole - rest) / count - own) / of for of, own, rest, count, whole in sides]
    cell = min(most, *room)
    width, height = (count * (of * cell + own) + rest for of, own, rest, count, _ in sides)
    return cell, (max(width, WIDTH), height)


def sample(look: Look, fill: str = "") -> Sample:
    """Return a mark for a legend."""
    return lambda x, y: point(x, y, look, 30, wide=1.2, fill=fill or look.colour)


def short_name(name: str, limit: int = MAX_NAME) -> str:
    """Return a name for a figure: on one line, and cut where it has more characters."""
    name = " ".join(visible(name).split())
    return name if len(name) <= limit else f"{name[: limit - 1]}…"

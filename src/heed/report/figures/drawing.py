"""The style of heed's figures, and their files: SVG for the page, PDF for LaTeX, by matplotlib.

The same figure gives the same bytes. Colour-blind readers can tell the colours apart, and no
information is in colour alone. The SVG has plain colour values, so that any program opens it; a
style sheet in the file replaces them in dark mode.
"""

import dataclasses
import html
import io
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation, Transform

from heed.files import write_text, writing
from heed.processes import process_pool
from heed.report import blocks
from heed.report.escape import visible
from heed.report.experiments import Experiment

# Inches. A figure of WIDTH fits a phone at full size, and two side by side fit a wide screen; one
# of WIDE is as wide as the text on paper, and none is higher than a page of it.
WIDTH, WIDE, HEIGHT, MAX_HEIGHT = 4.4, 6.3, 2.9, 6.5
INK, SOFT, LINE, GROUND, REVERSED = "#1a1a1a", "#555555", "#d4d4d0", "#ffffff", "#fefefe"
# Where series of different roles meet (figures/variants.py), every two colours differ by 10 or more
# in CIELAB, in light and in dark mode, also as deuteranopes and protanopes see them (Machado et al.
# 2009). Each has a contrast of 3 or more to the ground.
SERIES = (
    "#005a8d", "#9a3a00", "#1a9c5c", "#b04fc0", "#b08a00", "#2a2a30", "#8f7fe0", "#d0589c",
)  # fmt: skip
DARK_SERIES = (
    "#7cc4f5", "#ffab7a", "#3aa06a", "#c07ae0", "#fff09a", "#f6f6f2", "#8f84e8", "#e0668e",
)  # fmt: skip
DARK = {
    INK: "#e8e8e5",
    SOFT: "#b0b0ac",
    LINE: "#454542",
    GROUND: "#161616",
    REVERSED: "#101010",
} | dict(zip(SERIES, DARK_SERIES, strict=True))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LABEL = 30  # characters of an axis's name in a line, in a column of paper
# Points of a legend: a character of an entry, and its mark with the space around it.
ENTRY_CHARACTER, ENTRY_MARK = 4.6, 38
MAX_NAME = 26  # characters; longer names are cut
Style = dict[str, Any]  # keyword arguments of matplotlib
STYLE: Style = {
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 9, "axes.labelsize": 9,
    "legend.fontsize": 8.5, "xtick.labelsize": 8, "ytick.labelsize": 8, "text.color": INK,
    "axes.labelcolor": SOFT, "axes.edgecolor": SOFT, "xtick.color": SOFT, "ytick.color": SOFT,
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": LINE, "grid.linewidth": 0.6, "axes.axisbelow": True,
    "axes.linewidth": 0.8, "lines.linewidth": 1.4, "lines.markersize": 4,
    "figure.facecolor": GROUND, "axes.facecolor": "none", "legend.frameon": False,
    "legend.handlelength": 2.2, "text.parse_math": False, "svg.fonttype": "none",
    "pdf.fonttype": 42, "axes.unicode_minus": True, "axes.formatter.useoffset": False,
}  # fmt: skip
Draw = Callable[[Figure], None]


def draw(
    path: Path,
    alt_text: str,
    size: tuple[float, float],
    draw_content: Draw,
    paper: tuple[float, float] | None = None,
) -> list[str]:
    """Write `path`.svg and `path`.pdf of a size in inches; return names that PDF has as numbers.

    `paper` is that of the PDF file, where it has another one; its print stays as large.
    """
    # From matplotlib's defaults: a user's matplotlibrc must not change the figures.
    style: Any = dict(mpl.rcParamsDefault) | STYLE | {"svg.hashsalt": path.name}
    with mpl.rc_context(style), warnings.catch_warnings():
        # Ignores warnings on letters that DejaVu Sans lacks: the page's fonts have them.
        warnings.simplefilter("ignore")
        figure = Figure(figsize=size, layout="constrained")
        draw_content(figure)
        svg, pdf = io.BytesIO(), io.BytesIO()
        # Not by savefig: it draws once more, for the layout, which every drawing computes.
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        FigureCanvasSVG(figure).print_svg(svg, metadata=metadata)
        write_text(path.with_suffix(".svg"), _edit_svg(svg.getvalue().decode(), alt_text))
        if paper:
            figure = Figure(figsize=paper, layout="constrained")
            draw_content(figure)
            _break_labels(figure, LABEL)
        else:
            figure.set_layout_engine("none")  # the same layout, which takes as long again
        names = _number_names(figure)
        metadata = dict.fromkeys(("CreationDate", "Creator", "Producer"))
        FigureCanvasPdf(figure).print_pdf(pdf, metadata=metadata)
        with writing(path.with_suffix(".pdf")) as temporary:
            # At once: on a full disk matplotlib's own error would hide the one that says so.
            temporary.write_bytes(pdf.getvalue())
    return names


def _number_names(figure: Figure) -> list[str]:
    """Replace each text with a sign that its font lacks by a number; return these texts.

    A PDF file has its fonts within it, and the fonts of a machine must not change the figures.
    """
    names: dict[str, str] = {}

    def numbered(text: Text) -> str:
        font = get_font(findfont(text.get_fontproperties()))
        name = text.get_text()
        if all(sign.isspace() or font.get_char_index(ord(sign)) for sign in name):
            return name
        return names.setdefault(name, f"[{len(names) + 1}]")

    for axes in figure.axes:
        for axis in (axes.yaxis, axes.xaxis):
            labels = axis.get_ticklabels()
            if (texts := list(map(numbered, labels))) != [each.get_text() for each in labels]:
                axis.set_ticklabels(texts)
    for text in figure.findobj(Text):
        if isinstance(text, Text) and (number := numbered(text)) != text.get_text():
            text.set_text(number)
    return list(names)


def _break_labels(figure: Figure, length: int) -> None:
    """Break the names of axes into lines of so many characters; panels side by side share them."""
    for axes in figure.axes:
        grid = axes.get_subplotspec()
        count = grid.get_gridspec().ncols if grid else 1
        axes.set_xlabel(textwrap.fill(axes.get_xlabel(), max(length // count, 12)))


def legend(figure: Figure, axes: Axes, columns: int, location: str = "outside upper left") -> None:
    """Put the legend of axes outside of them, in so many columns at most, as fit the figure."""
    handles, labels = axes.get_legend_handles_labels()
    for count in range(min(columns, 4, len(labels)), 0, -1):
        parts = np.array_split(list(map(len, labels)), count)  # as matplotlib fills columns
        width = sum(ENTRY_CHARACTER * max(part) + ENTRY_MARK for part in parts)
        if width <= 72 * figure.get_figwidth():
            break
    style: Style = {"loc": location}
    figure.legend(handles, labels, **style, ncols=count, columnspacing=1.2)


def alt_text(experiment: Experiment, text: str) -> str:
    """Return the alternative text of a figure of an experiment."""
    return f"{experiment.title}. {text}"


def short_name(name: str, limit: int = MAX_NAME) -> str:
    """Return a name for a figure: on one line, and cut where it has more characters."""
    name = " ".join(visible(name).split())
    return name if len(name) <= limit else f"{name[: limit - 1]}…"


def colour(series: int) -> str:
    """Return the colour of the series with this number."""
    return SERIES[series % len(SERIES)]


def marker(series: int) -> str:
    """Return the marker of the series with this number; a repeated colour has another marker.

    There are more markers than colours, and the two numbers have no common divisor.
    """
    return MARKERS[series % len(MARKERS)]


def _edit_svg(text: str, alt_text: str) -> str:
    def round_coordinate(match: re.Match[str]) -> str:
        return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")

    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"-?\d+\.\d{4,}", round_coordinate, tag[0]), text)
    text = re.sub(r"\n *(?=[LCQMzZ\"])", " ", text)
    dark_rules = "".join(
        f'[style*="{kind}: {light}"]{{{kind}:{dark} !important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
        if f"{kind}: {light}" in text
    )
    start_tag = f'<svg role="img" aria-label="{html.escape(alt_text)}"'
    style_sheet = (
        f"<style>:root{{color-scheme:light dark}}@media screen and "
        f"(prefers-color-scheme:dark){{{dark_rules}}}</style>"
    )
    return text.replace("<svg", start_tag, 1).replace("<defs>", f"{style_sheet}\n <defs>", 1)


SIZE = 8  # points
LINE_HEIGHT = 0.145  # inches of a label of that size
MAX_LABEL = 20  # characters
LEADER, MARKER, TEXT = 7, 11, 16  # points from the axes: end of the thin line, marker, name


@dataclasses.dataclass(frozen=True)
class LineEnd:
    """The last point of a line, in data coordinates, and how the line looks."""

    x: float
    y: float
    text: str
    colour: str
    marker: str = ""


def label_ends(axes: Axes, ends: Sequence[LineEnd], height: float) -> None:
    """Print the name of each line to the right of the axes, which are `height` inches high.

    Labels that would overlap are pushed apart, and a thin line leads from each to its end.
    """
    axes.set_xlim(axes.get_xlim())
    axes.set_ylim(axes.get_ylim())
    to_axes = axes.transData + axes.transAxes.inverted()
    fractions = [float(to_axes.transform((end.x, end.y))[1]) for end in ends]
    leader: Style = {"arrowstyle": "-", "color": SOFT, "lw": 0.5, "shrinkA": 0, "shrinkB": 2}
    for end, y in zip(ends, spread_apart(fractions, LINE_HEIGHT / height), strict=True):
        axes.annotate(
            "", (end.x, end.y), (1, y), "data", _right_of(axes, LEADER), arrowprops=leader,
            annotation_clip=False,
        )  # fmt: skip
        if end.marker:
            at = _right_of(axes, MARKER)
            dot: Style = {"s": 14, "c": end.colour, "marker": end.marker, "clip_on": False}
            axes.scatter([1], [y], transform=at, **dot)
        text: Style = {"va": "center", "fontsize": SIZE, "color": INK, "gid": "label"}
        at = _right_of(axes, TEXT if end.marker else MARKER)
        axes.text(1, y, short_name(end.text, MAX_LABEL), transform=at, clip_on=False, **text)


def _right_of(axes: Axes, points: float) -> Transform:
    figure = axes.get_figure()
    assert figure is not None  # these axes were made by a figure
    return axes.transAxes + ScaledTranslation(points / 72, 0, figure.dpi_scale_trans)


def spread_apart(positions: Sequence[float], gap: float) -> list[float]:
    """Return positions near these, in the same order, no two closer than `gap`.

    They lie between 0 and 1 where there is room for all of them; else the last ones are below 0.
    """
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(order))
    upwards = np.maximum.accumulate(np.maximum(np.take(positions, order) - steps, 0.0)) + steps
    downwards = np.minimum.accumulate(np.minimum(upwards[::-1] + steps, 1.0)) - steps
    placed = np.empty(len(order))
    placed[order] = downwards[::-1]
    return list(map(float, placed))


Job = tuple[blocks.Figure, Path, tuple[float, float] | None]
_inherited: list[Job] = []  # of a process of the pool


def draw_figures(
    figures: list[blocks.Figure],
    paper_sizes: Mapping[str, tuple[float, float]],
    folder: Path,
    processes: int,
) -> dict[str, list[str]]:
    """Write the files of all figures into `folder`; the same bytes for any number of processes.

    `paper_sizes` are by key, and so are the returned names that figures on paper have as numbers.
    Raises HeedError: a file cannot be written, a process was killed.
    """
    jobs = [(each, folder / each.key, paper_sizes.get(each.key)) for each in figures]
    if processes < 2 or len(jobs) < 2:
        names = [_draw(*job) for job in jobs]
    else:  # forks: what draws a figure is a function inside another, which cannot be sent
        with process_pool(min(processes, len(jobs)), "fork", _inherited.extend, jobs) as pool:
            names = list(pool.map(_draw_inherited, range(len(jobs))))
    return {each.key: found for each, found in zip(figures, names, strict=True) if found}


def _draw_inherited(number: int) -> list[str]:
    return _draw(*_inherited[number])


def _draw(figure: blocks.Figure, path: Path, paper: tuple[float, float] | None) -> list[str]:
    text = f"{figure.title}. {figure.alt_text}"
    return draw(path, text, figure.size, figure.draw, paper)

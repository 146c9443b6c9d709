"""How heed's figures look, and how they are written: SVG for the page, PDF for LaTeX, by
matplotlib, the same bytes twice.

The colours are eight that colour-blind readers tell apart; nothing is told by colour alone. They
stand in the SVG as plain values, so that any program opens it, and a style sheet in the file turns
them for dark mode.
"""

import html
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Text

from heed.files import writing
from heed.report.experiments import Experiment
from heed.report.renderers.visible import visible

WIDTH = 4.4  # inches: read at its own size on a phone, and two next to each other on a wide screen
INK, SOFT, LINE, GROUND, REVERSED = "#1a1a1a", "#555555", "#d4d4d0", "#ffffff", "#fefefe"
SERIES = ("#005a8d", "#9a3a00", "#00735c", "#7a3b8f", "#7a5c00", "#5f5f66")
DARK = {
    INK: "#e8e8e5",
    SOFT: "#b0b0ac",
    LINE: "#454542",
    GROUND: "#161616",
    REVERSED: "#101010",
} | dict(
    zip(SERIES, ("#7cc4f5", "#ffab7a", "#4fd1ae", "#d7a3ea", "#e3c04f", "#a9a9b0"), strict=True)
)
MARKERS = ("o", "s", "^", "D", "v", "P")
LONG = 26  # longer names are cut
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


def draw(path: Path, says: str, size: tuple[float, float], how: Draw) -> None:
    """Write `path`.svg and `path`.pdf of what `how` draws on a figure of `size` inches; `says` is
    its text for who cannot see it.
    """
    style: Any = (
        dict(mpl.rcParamsDefault) | STYLE | {"svg.hashsalt": path.name}
    )  # a user's own matplotlibrc changes nothing
    with mpl.rc_context(style), warnings.catch_warnings():
        # of letters that the font lacks: the page's own fonts have them
        warnings.simplefilter("ignore")
        figure = Figure(figsize=size, layout="constrained")
        how(figure)
        with writing(path.with_suffix(".svg")) as temporary:
            FigureCanvasSVG(figure)
            figure.savefig(
                temporary,
                format="svg",
                metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
            )
            temporary.write_text(
                _svg(temporary.read_text(encoding="utf-8"), path.name, says), encoding="utf-8"
            )
        known = get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap()
        for text in figure.findobj(Text):
            text.set_text(_printed(text.get_text(), known))
        with writing(path.with_suffix(".pdf")) as temporary:
            FigureCanvasPdf(figure)
            figure.savefig(
                temporary,
                format="pdf",
                metadata={"CreationDate": None, "Creator": None, "Producer": None},
            )


def legend(figure: Figure, axes: Axes, columns: int, place: str = "outside upper left") -> None:
    """Put the legend of axes outside of them."""
    handles, labels = axes.get_legend_handles_labels()
    style: Style = {"loc": place}
    figure.legend(handles, labels, **style, ncols=min(columns, 4), columnspacing=1.2)


def says(experiment: Experiment, text: str) -> str:
    """Return what a figure of an experiment shows, for who cannot see it."""
    return f"{experiment.title}{f' ({experiment.mark})' if experiment.mark else ''}. {text}"


def short(name: str) -> str:
    """Return a name as a figure prints it: on one line, cut where it is long."""
    name = " ".join(visible(name).split())
    return name if len(name) <= LONG else f"{name[: LONG - 1]}…"


def colour(place: int) -> str:
    """Return the colour of series `place`."""
    return SERIES[place % len(SERIES)]


def marker(place: int) -> str:
    """Return the marker of series `place`: where colours come again, another one goes with each."""
    return MARKERS[(place + place // len(SERIES)) % len(MARKERS)]


def _rounded(match: re.Match[str]) -> str:
    """Return a coordinate in points with two digits."""
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _printed(text: str, known: Mapping[int, Any]) -> str:
    return "".join(
        each if ord(each) in known or each == "\n" else f"[U+{ord(each):04X}]" for each in text
    )


def _svg(text: str, key: str, says: str) -> str:
    """Return matplotlib's SVG without what only it reads, with its words for screen readers and its
    dark colours.
    """
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"-?\d+\.\d{4,}", _rounded, tag[0]), text)
    text = re.sub(r"\n *(?=[LCQMzZ\"])", " ", text)
    turned = "".join(
        f'[style*="{kind}: {light}"]{{{kind}:{dark} !important}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
        if f"{kind}: {light}" in text
    )
    head = f'<svg role="img" aria-label="{html.escape(says)}"'
    sheet = (
        f"<style>:root{{color-scheme:light dark}}@media screen and "
        f"(prefers-color-scheme:dark){{{turned}}}</style>"
    )
    return text.replace("<svg", head, 1).replace("<defs>", f"{sheet}\n <defs>", 1)

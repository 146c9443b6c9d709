"""The one renderer of figures: SVG for the page and PDF for LaTeX, by Vega-Lite.

The same figure gives the same bytes on one machine: the only font is Liberation Sans, which
vl-convert has within it. The SVG has plain colour values, so that any program opens it; its style
sheet replaces them in dark mode, and scales another font to the widths of this one.
"""

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heed.files import write_text, writing
from heed.report.figures.shapes import Axis, Figure, Mark, Pair, Panel, short_name
from heed.report.formats import read_yaml

POINTS = 72  # of an inch
# The width of Liberation Sans's digits, by its size: another font at its own size would be wider,
# and the first letters of names would fall off the drawing.
STYLE_SHEET = (
    "<style>:root{color-scheme:light dark}text{font-size-adjust:ch-width .556}"
    "@media screen and (prefers-color-scheme:dark){%s}</style>"
)
MAX_FITS, NEAR, LEAST = 3, 2, 40  # drawings to find a size, points from it, points of axes
MAX_END, NAME_HEIGHT = 28, 10  # characters of a name at the end of a line, and points
# Signs that every Liberation Sans has, also that of Debian 12, which has no Hebrew: a machine's own
# comes before that of vl-convert.
PRINTED = re.compile(r"[ -~\xa0-\u017f\u0384-\u03ce\u0400-\u045f–—‘’“”„…−×√•€≤≥\n]*")
# An empty line of a text, whose height no program adds.
EMPTY_LINE = re.compile(r'<tspan x="0" dy="([\d.]+)"/><tspan x="0" dy="[\d.]+">')
SIZES = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
UNUSED = "aria-hidden|pointer-events|class|role|aria-roledescription"  # attributes
RESOURCES = re.compile(rb"(?:^ */[a-z]+\d+ \d+ 0 R\n)+", re.MULTILINE)
# Between two areas that look the same, which become one path: heat maps have thousands.
SAME = re.compile(r'(?<=Z)"( fill="[^"]*"(?: [\w-]+="[^"]*")*)/><path d="(?=M[^"]+Z"\1/>)')
Names = dict[str, str]  # that a font may lack, and what stands for each


def filled(template: Any, values: Mapping[str, object]) -> Any:
    """Return a template with values for its `$names`; what is None is left out."""
    if isinstance(template, dict):
        found = ((key, part, filled(part, values)) for key, part in template.items())
        return {key: value for key, part, value in found if value is not None or part is None}
    if isinstance(template, list):
        return [filled(part, values) for part in template]
    is_name = isinstance(template, str) and template.startswith("$")
    return values.get(template[1:]) if is_name else template


def draw_figures(figures: Iterable[Figure], folder: Path) -> dict[str, list[str]]:
    """Write all figures; return by key the names that PDFs have as numbers. Raises HeedError."""
    found = {figure.key: _draw(figure, folder / figure.key) for figure in figures}
    return {key: names for key, names in found.items() if names}


def _draw(figure: Figure, path: Path) -> list[str]:
    import vl_convert  # its engine takes half a second to start

    page, drawn, names = _drawings(figure)
    write_text(path.with_suffix(".svg"), page)
    pdf = vl_convert.svg_to_pdf(_sized(drawn, figure.size, ""))
    with writing(path.with_suffix(".pdf")) as temporary:  # svg2pdf names resources at random
        ordered = RESOURCES.sub(lambda of: b"".join(sorted(of[0].splitlines(keepends=True))), pdf)
        temporary.write_bytes(ordered)
    return names


def as_svg(figure: Figure) -> str:
    """Return the file of a figure for a page."""
    return _drawings(figure)[0]


def _drawings(figure: Figure) -> tuple[str, str, list[str]]:
    """Return a figure for a page, and for paper, with the names that it has there as numbers."""
    names = Names()
    page = drawn = fitted(figure, names)
    for name, number in names.items():
        page = page.replace(f">{number}<", f">{html.escape(name, quote=False)}<")
        drawn = drawn.replace(f">{number}<", f">{number.rstrip('n')}<")
    return _edit_svg(page, f"{figure.title}. {figure.alt_text}", figure.size), drawn, [*names]


def fitted(figure: Figure, names: Names) -> str:
    """Return the SVG of panels in the figure's size; its axes leave room for all that is around."""
    import vl_convert

    whole = [POINTS * side / figure.zoom for side in figure.size]
    width, height = (0.8 * side for side in whole)
    parts = sum(panel.ratio for panel in figure.panels[:: figure.columns]) / figure.columns
    for _ in range(MAX_FITS):
        height = parts * width or height
        spec = json.dumps(specification(figure, (width, height), names), default=float)
        svg: str = vl_convert.vegalite_to_svg(spec)
        more, higher = (a - float(b) for a, b in zip(whole, SIZES.findall(svg)[0], strict=True))
        more = min(more, higher / parts) if parts else more
        if max(abs(more), 0 if parts else abs(higher)) < NEAR:
            break
        width, height = max(width + more, LEAST), max(height + higher, LEAST)
    return EMPTY_LINE.sub(lambda line: f'<tspan x="0" dy="{2 * float(line[1])}">', svg)


def specification(figure: Figure, inner: Pair, names: Names) -> dict[str, Any]:
    """Return the figure in Vega-Lite; `inner` are the points of its axes, side by side and down."""
    total = sum(panel.height for panel in figure.panels[:: figure.columns])
    width, height = inner[0] / figure.columns, inner[1] / total
    views = [_view(panel, (width, height * panel.height), names) for panel in figure.panels]
    theme: dict[str, Any] = read_yaml("figures/vega")["theme"]
    if any(panel.spans for panel in figure.panels):
        return theme | {"vconcat": [{"hconcat": [view]} for view in views]}
    return theme | {"concat": views, "columns": figure.columns, "align": "each"}


def _view(panel: Panel, size: Pair, names: Names) -> Any:
    height = panel.ratio * size[0] or size[1]
    rows = [row | {"text": _named(row["text"], names)} if "text" in row else row
            for row in (*panel.rows, *line_ends(panel, height))]  # fmt: skip
    title = _named(panel.title, names) or None
    values = {"rows": rows or [{}], "width": round(size[0], 2), "height": round(height, 2)}
    axes = {"x": _axis("x", panel, names), "y": _axis("y", panel, names)}
    return filled(read_yaml("figures/vega")["panel"], values | axes | {"title": title})


def line_ends(panel: Panel, height: float) -> list[Mark]:
    """Return the names at the ends of lines, pushed apart, in axes of a height in points."""
    (low, high), named = panel.y.domain, [row for row in panel.rows if "end" in row]
    places = [(row["y"] - low) / (high - low) for row in named]
    return [
        {key: row.get(key, "") for key in ("x", "y", "colour", "shape")}
        | {"kind": "end", "text": short_name(row["end"], MAX_END), "y2": low + place * (high - low)}
        for row, place in zip(named, spread_apart(places, NAME_HEIGHT / height), strict=True)
    ]


def spread_apart(positions: Sequence[float], gap: float) -> list[float]:
    """Return positions in this order, no two closer than `gap`; below 0 without room."""
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(order))
    upwards = np.maximum.accumulate(np.maximum(np.take(positions, order) - steps, 0.0)) + steps
    downwards = np.minimum.accumulate(np.minimum(upwards[::-1] + steps, 1.0)) - steps
    placed = np.empty(len(order))
    placed[order] = downwards[::-1]
    return list(map(float, placed))


def _axis(side: str, panel: Panel, names: Names) -> Any:
    axis: Axis = getattr(panel, side)
    values = vars(axis) | {"field": side, "grid": panel.grid, "label_size": panel.label_size}
    values["title"] = _named(axis.title, names)
    if axis.places is not None:
        # Vega reads the text "if", alone in quotation marks, as its function: a space stands first
        texts = [f" {_named(text, names)}" for text in axis.places.values()]
        chosen = f"indexof({json.dumps([*axis.places], default=float)}, datum.value)"
        values["expression"] = f"slice(({json.dumps(texts)})[{chosen}], 1)" if texts else "''"
        values |= {"values": [*axis.places], "overlap": False, "count": None}
    return filled(read_yaml("figures/vega")["axis"], values)


def _named(text: str, names: Names) -> str:
    """Return the text, or for one with a sign that the one font lacks what is about as wide."""
    if PRINTED.fullmatch(text):
        return text
    marks = sum(unicodedata.category(sign) in ("Mn", "Me") for sign in text)
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return names.setdefault(text, f"[{len(names) + 1}]".ljust(len(text) - marks + wide, "n"))


def _edit_svg(text: str, alt_text: str, size: Pair) -> str:
    """Return the SVG with an alternative text, a style sheet, and numbers of fewer digits."""

    def rounded(number: re.Match[str]) -> str:
        return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")

    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"-?\d+\.\d{3,}", rounded, tag[0]), text)
    text = re.sub(r'<path class="(?:back|fore)ground"[^>]*d="(?:M0,0h0v0h0Z)?"[^>]*/>', "", text)
    text = SAME.sub("", re.sub(f' (?:{UNUSED})="[^"]*"', "", text))
    rules = ""
    for light, dark in read_yaml("figures/vega")["dark"].items():
        kinds = (kind for kind in ("fill", "stroke") if f'{kind}="{light}"' in text)
        rules += "".join(f'[{kind}="{light}"]{{{kind}:{dark}}}' for kind in kinds)
    style_sheet = STYLE_SHEET % rules
    head, _, rest = _sized(text, size, "pt").partition(">")
    start_tag = f'<svg role="img" aria-label="{html.escape(alt_text)}"{head.removeprefix("<svg")}'
    return f"{start_tag}>{style_sheet}{rest}"


def _sized(svg: str, size: Pair, unit: str) -> str:
    """Return the SVG with a size in inches; what is drawn is scaled to it, if it is another one."""
    width, height = (f"{POINTS * side:g}{unit}" for side in size)
    new = f'width="{width}" height="{height}" preserveAspectRatio="xMinYMin"'
    return SIZES.sub(new, svg, count=1)

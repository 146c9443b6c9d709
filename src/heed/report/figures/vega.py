"""Figures as data, and their one renderer: SVG for the page and PDF for LaTeX, by Vega-Lite.

A figure is rows of panels, and a panel is a table of marks; vega.yaml says how every kind of mark
is drawn. The same figure gives the same bytes on one machine: the only font is Liberation Sans,
which vl-convert has within it. Colour-blind readers can tell the colours apart, and no information
is in colour alone. The SVG has plain colour values, so that any program opens it; a style sheet in
it replaces them in dark mode, and where a reader's machine has another font scales that to the
widths of this one.
"""

import functools
import html
import itertools
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from heed.files import write_text, writing
from heed.report.figures.shapes import DARK, Axis, Figure, Mark, Pair, Panel, Panels, short_name

POINTS = 72  # of an inch
# The width of Liberation Sans's digits, by its size: another font at its own size would be wider,
# and the first letters of names would fall off the drawing.
ADJUSTED = "text{font-size-adjust:ch-width .556}"
MAX_FITS, NEAR, LEAST = 3, 2, 40  # drawings to find a size, points from it, points of axes
MAX_END, NAME_HEIGHT = 28, 10  # characters of a name at the end of a line, and points
# Signs that every Liberation Sans has, also that of Debian 12, which has no Hebrew: a machine's own
# comes before that of vl-convert.
PRINTED = re.compile(r"[ -~\xa0-\u017f\u0384-\u03ce\u0400-\u045f–—‘’“”„…−×√•€≤≥\n]*")
# An empty line of a text, whose height no program adds.
EMPTY_LINE = re.compile(r'<tspan x="0" dy="([\d.]+)"/><tspan x="0" dy="[\d.]+">')
UNUSED = "aria-hidden|pointer-events|class|role|aria-roledescription"  # attributes
RESOURCES = re.compile(rb"(?:^ */[a-z]+\d+ \d+ 0 R\n)+", re.MULTILINE)
# Rectangles that follow each other and look the same are one path: heat maps have thousands.
SAME = re.compile(
    r'<path d="(M[^"]+Z)"( fill="[^"]*"(?: [\w-]+="[^"]*")*)/>(?:<path d="M[^"]+Z"\2/>)+'
)
MISSING = object()


@functools.cache
def grammar() -> dict[str, Any]:
    """Return vega.yaml."""
    return dict(yaml.safe_load(Path(__file__).with_name("vega.yaml").read_text("utf-8")))


def filled(template: Any, values: Mapping[str, object]) -> object:
    """Return a template with values for its `$names`; what has no value is left out."""
    if isinstance(template, dict):
        found = ((key, filled(each, values)) for key, each in template.items())
        return {key: each for key, each in found if each is not MISSING}
    if isinstance(template, list):
        return [filled(each, values) for each in template]
    if isinstance(template, str) and template.startswith("$"):
        return values.get(template[1:], MISSING)
    return template


def draw_figures(figures: Iterable[Figure], folder: Path) -> dict[str, list[str]]:
    """Write the files of all figures into `folder`; return the names that PDFs have as numbers.

    These are by the figure's key. Raises HeedError: a file cannot be written.
    """
    found = {each.key: _draw(each, folder / each.key) for each in figures}
    return {key: names for key, names in found.items() if names}


def _draw(figure: Figure, path: Path) -> list[str]:
    import vl_convert  # its engine takes half a second to start

    page, drawn, names = _drawings(figure)
    write_text(path.with_suffix(".svg"), page)
    with writing(path.with_suffix(".pdf")) as temporary:
        temporary.write_bytes(_stable(vl_convert.svg_to_pdf(_sized(drawn, figure.size, ""))))
    return names


def as_svg(figure: Figure) -> str:
    """Return the file of a figure for a page."""
    return _drawings(figure)[0]


def _drawings(figure: Figure) -> tuple[str, str, list[str]]:
    """Return a figure for a page, and for paper, with the names that it has there as numbers."""
    names, (width, height) = dict[str, str](), figure.size
    page = drawn = fitted(figure.panels, (width / figure.zoom, height / figure.zoom), names)
    for name, number in names.items():
        placeholder = f">{_placeholder(name, number)}<"
        page = page.replace(placeholder, f">{html.escape(name, quote=False)}<")
        drawn = drawn.replace(placeholder, f">{number}<")
    return _edit_svg(page, f"{figure.title}. {figure.alt_text}", figure.size), drawn, list(names)


def _stable(pdf: bytes) -> bytes:
    """Return a PDF file with the names of its resources sorted: svg2pdf writes them at random."""
    return RESOURCES.sub(lambda lines: b"".join(sorted(lines[0].splitlines(keepends=True))), pdf)


def fitted(panels: Panels, size: Pair, names: dict[str, str]) -> str:
    """Return the SVG of panels in a size in inches; its axes leave room for all that is around."""
    import vl_convert

    width, height = (0.8 * (POINTS * each) for each in size)
    parts = sum(row[0].ratio for row in panels) / max(map(len, panels))
    for _ in range(MAX_FITS):
        height = parts * width or height
        spec = json.dumps(specification(panels, (width, height), names))
        svg: str = vl_convert.vegalite_to_svg(spec)
        found = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
        assert found
        more, higher = (POINTS * size[side] - float(found[side + 1]) for side in (0, 1))
        more = min(more, higher / parts) if parts else more
        if max(abs(more), 0 if parts else abs(higher)) < NEAR:
            break
        width, height = max(width + more, LEAST), max(height + higher, LEAST)
    return EMPTY_LINE.sub(lambda line: f'<tspan x="0" dy="{2 * float(line[1])}">', svg)


def specification(panels: Panels, inner: Pair, names: dict[str, str]) -> dict[str, object]:
    """Return the figure in Vega-Lite; `inner` are the points of its axes, side by side and down."""
    width, height = inner
    total, columns = sum(row[0].height for row in panels), max(map(len, panels))

    def view(panel: Panel) -> object:
        wide = width if panel.spans else width / columns
        return _view(panel, (wide, height * panel.height / total), names)

    views = [[*map(view, row)] for row in panels]
    content: dict[str, object] = {"vconcat": [{"hconcat": row} for row in views]}
    if not any(panel.spans for panel in itertools.chain(*panels)):
        flat = [*itertools.chain(*views)]
        content = {"concat": flat, "columns": columns, "align": "each"}
    schema = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json"}
    return schema | grammar()["theme"] | content


def _view(panel: Panel, size: Pair, names: dict[str, str]) -> object:
    height = panel.ratio * size[0] or size[1]
    values: dict[str, object] = {
        "rows": [_printed(row, names) for row in [*panel.rows, *line_ends(panel, height)]] or [{}],
        "width": round(size[0], 2),
        "height": round(height, 2),
        "grid": panel.grid,
        **({"title": _named(panel.title, names)} if panel.title else {}),
        **({"label_size": panel.label_size} if panel.label_size else {}),
    }
    for side, axis in (("x", panel.x), ("y", panel.y)):
        values |= {f"{side}_{key}": each for key, each in _axis(axis, names).items()}
    return filled(grammar()["panel"], values)


def line_ends(panel: Panel, height: float) -> list[Mark]:
    """Return the names at the ends of lines, to the right of axes that are so many points high.

    Names that would overlap are pushed apart, and a thin line leads from each to its end.
    """
    named = [row for row in panel.rows if "end" in row]
    is_log = panel.y.scale == "log"
    scaled: Callable[[float], float] = math.log if is_log else float
    low, high = map(scaled, panel.y.domain)
    places = [(scaled(float(str(row["y"]))) - low) / (high - low) for row in named]
    rows: list[Mark] = []
    for row, place in zip(named, spread_apart(places, NAME_HEIGHT / height), strict=True):
        y = low + place * (high - low)
        own: Mark = {key: row.get(key, "") for key in ("x", "y", "colour", "shape")}
        text = short_name(str(row["end"]), MAX_END)
        rows.append(own | {"kind": "end", "text": text, "y2": math.exp(y) if is_log else y})
    return rows


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


def _axis(axis: Axis, names: dict[str, str]) -> dict[str, object]:
    title = _named(axis.title, names) if axis.title else None
    found: dict[str, object] = {"title": title, "domain": list(axis.domain), "scale": axis.scale}
    found |= {"ticks": axis.strokes, "shown": axis.labels}
    if axis.places is None:
        found["count"] = axis.count
    else:
        # Vega reads the text "if", alone in quotation marks, as its function: a space stands first
        texts = [f" {_named(text, names)}" for text in axis.places.values()]
        chosen = f"indexof({json.dumps([*axis.places])}, datum.value)"
        labels = f"slice(({json.dumps(texts)})[{chosen}], 1)" if texts else "''"
        found |= {"values": [*axis.places], "labels": labels, "overlap": False}
    optional = {"format": axis.format, "angle": axis.angle}
    return found | {key: each for key, each in optional.items() if each}


def _printed(row: Mark, names: dict[str, str]) -> Mark:
    return row | {"text": _named(str(row["text"]), names)} if "text" in row else row


def _named(text: str, names: dict[str, str]) -> str:
    """Return the text, or what stands for one with a sign that the font lacks.

    A PDF file has its fonts within it, and the fonts of a machine must not change the figures.
    """
    if PRINTED.fullmatch(text):
        return text
    return _placeholder(text, names.setdefault(text, f"[{len(names) + 1}]"))


def _placeholder(name: str, number: str) -> str:
    return number.ljust(_letters(name), "n")


def _letters(text: str) -> int:
    """Return how wide a text is, in Latin letters."""
    marks = sum(unicodedata.category(sign) in ("Mn", "Me") for sign in text)
    return len(text) - marks + sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)


def _edit_svg(text: str, alt_text: str, size: Pair) -> str:
    """Return the SVG with an alternative text, a style sheet, and numbers of fewer digits."""
    text = re.sub(r"<[^>]+>", lambda tag: re.sub(r"-?\d+\.\d{3,}", _rounded, tag[0]), text)
    text = re.sub(r'<path class="(?:back|fore)ground"[^>]*d="(?:M0,0h0v0h0Z)?"[^>]*/>', "", text)
    text = SAME.sub(_one_path, re.sub(f' (?:{UNUSED})="[^"]*"', "", text))
    dark_rules = "".join(
        f'[{kind}="{light}"]{{{kind}:{dark}}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
        if f'{kind}="{light}"' in text
    )
    style_sheet = (
        f"<style>:root{{color-scheme:light dark}}{ADJUSTED}@media screen and "
        f"(prefers-color-scheme:dark){{{dark_rules}}}</style>"
    )
    head, _, rest = _sized(text, size, "pt").partition(">")
    start_tag = f'<svg role="img" aria-label="{html.escape(alt_text)}"{head.removeprefix("<svg")}'
    return f"{start_tag}>{style_sheet}{rest}"


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _one_path(match: re.Match[str]) -> str:
    places = "".join(re.findall(r' d="([^"]+)"', match[0]))
    return f'<path d="{places}"{match[2]}/>'


def _sized(svg: str, size: Pair, unit: str) -> str:
    """Return the SVG with a size in inches; what is drawn is scaled to it, if it is another one."""
    width, height = (f"{POINTS * each:g}{unit}" for each in size)
    new = f'width="{width}" height="{height}" preserveAspectRatio="xMinYMin"'
    return re.sub(r'width="[\d.]+" height="[\d.]+"', new, svg, count=1)

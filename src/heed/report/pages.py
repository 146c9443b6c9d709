"""Pages: the templates of page/ with a study's results, tables and figures; every value is escaped.

A template calls `table(NAME, EXPERIMENT)` and `figure(NAME, EXPERIMENT)`. An unknown name is an
error; where a study has no such table or figure, the call is empty, and false.
"""

import base64
import dataclasses
import functools
import hashlib
import itertools
import re
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from heed import __version__
from heed.evaluation import results as verdicts
from heed.report import formats
from heed.report.experiments import Experiment
from heed.report.figures.shapes import Figure
from heed.report.measures import FAR_PP
from heed.report.tables import PAGE, Table, TableColumn
from heed.terminal import visible

TEMPLATES = Path(__file__).parent / "page"
MAX_INLINE = 600_000  # bytes of all SVGs of a page; with more, it links the files in figures/
Tables = Mapping[tuple[str, str], list[Table]]
Figures = Mapping[tuple[str, str], Sequence[Figure]]  # by name and experiment ("": the study's)


@functools.cache
def environment() -> jinja2.Environment:
    """Return the jinja environment for HTML, which escapes every value, and is made once."""
    jinja: Any = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True, finalize=shown, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined, extensions=["jinja2.ext.do"],
    )  # fmt: skip
    for name in ("BASELINE", "BETTER", "WORSE", "SAME", "UNDECIDED", "NOT_CONVERGED"):
        jinja.globals[name] = getattr(verdicts, name)
    functions = {"script": script, "policy": policy, "groups": groups}
    jinja.globals |= functions | {"PAGE": PAGE, "version": __version__, "FAR_PP": FAR_PP}
    for name in ("number", "points", "count", "interval", "coverage"):
        jinja.filters[name] = getattr(formats, f"format_{name}")
    jinja.filters["join_and"] = formats.join_and
    jinja.filters["capital"] = lambda text: text[:1].upper() + text[1:]
    return jinja


def shown(value: Any) -> Any:
    """Return the text with the code point of each invisible character; jinja escapes it later."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return visible(value) if is_text else value


def groups(columns: Sequence[TableColumn], indices: Sequence[int]) -> list[tuple[str, int]]:
    """Return the headings above those of columns, each with the number of its columns."""
    named = itertools.groupby(columns[index].group for index in indices)
    return [(name, len([*found])) for name, found in named]


def script(name: str) -> Markup:
    """Return a script of page/, and the one that reads weights, unescaped: no text of users."""
    texts = ((TEMPLATES / file).read_text(encoding="utf-8") for file in (name, "weights.js"))
    return Markup("".join(texts))


def policy(name: str) -> Markup:
    """Return a page's Content-Security-Policy: no network, and no script but the one named."""
    digest = base64.b64encode(hashlib.sha256(script(name).encode()).digest()).decode()
    return Markup(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self' file:; script-src "
        f"'sha256-{digest}'"
    )


@dataclasses.dataclass
class Page:
    """The page of a study while it is made: what templates call, and its contents so far."""

    tables: Tables
    figures: Figures
    image: Callable[[Figure], Markup]  # the address of a figure
    copies: Callable[[Table], Mapping[str, str]]  # the texts of a table to copy, by format
    has_files: bool = True  # whether figures/ and tables/ stand beside the page
    contents: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    explained: dict[str, str] = dataclasses.field(default_factory=dict)  # caption → first figure

    def heading(self, key: str, title: str, mark: str = "") -> Markup:
        """Return a heading of a section, which then stands in the contents."""
        self.contents.append((key, title))
        return Markup(self._parts.heading(key, title, mark))

    def table(self, name: str, experiment: Experiment | None = None, level: int = 3) -> Markup:
        """Return a table, or all parts of it, at a level of headings."""
        found = self.tables[name, experiment.key if experiment else ""]
        chosen = [table for table in found if table.rows and any(c.heading for c in table.columns)]
        return Markup("").join(Markup(self._parts.table(table, level)) for table in chosen)

    def figure(self, name: str, experiment: Experiment | None = None, level: int = 3) -> Markup:
        """Return the figures of a name, those that the page has."""
        made = Markup("")
        for figure in self.figures[name, experiment.key if experiment else ""]:
            if PAGE in figure.media:
                first = self.explained.setdefault(figure.caption, figure.key)
                made += Markup(self._parts.figure(figure, level, first * (first != figure.key)))
        return made

    @functools.cached_property
    def _parts(self) -> Any:
        template = environment().get_template("parts.html.jinja")
        return template.make_module(
            {"image": self.image, "copies": self.copies, "has_files": self.has_files}
        )

    def render(self, **context: object) -> str:
        """Return index.html.jinja with what it calls, and this context."""
        called = {"table": self.table, "figure": self.figure, "heading": self.heading}
        index = environment().get_template("index.html.jinja")
        return index.render(called | context, contents=self.contents, has_files=self.has_files)


# What an image of a page need not say: the page has its text, and the rest is SVG's default.
NEEDLESS = re.compile(
    r' (?:aria-label="[^"]*"|role="img"|version="1.1"|xmlns:xlink="[^"]*"|opacity="1"'
    r'|stroke-dasharray=""|font-weight="normal"|text-anchor="start")'
    r'|<path d="M0,0h[\d.]+v[\d.]+h-[\d.]+Z"/>|<g/>'
)
FONT = re.compile(r' font-family="[^"]*"')
SAFE = ' !"$()*+,-./:;<=>?@[]^_`{|}~'  # in an attribute between single quotes


def image_addresses(folder: Path, has_files: bool) -> Callable[[Figure], Markup]:
    """Return a function to a figure's address: its SVG up to MAX_INLINE, then its file or none."""
    left = MAX_INLINE

    @functools.cache
    def address(key: str) -> Markup:
        nonlocal left
        svg = _small((folder / f"{key}.svg").read_text(encoding="utf-8"))
        left -= len(svg)
        if left < 0:
            return Markup(f"figures/{key}.svg" if has_files else "")
        return inline(svg)

    return lambda figure: address(figure.key)


def inline(svg: str) -> Markup:
    """Return the address of a figure that is in the page itself."""
    return Markup("data:image/svg+xml," + urllib.parse.quote(svg, safe=SAFE))


def _small(svg: str) -> str:
    """Return a figure that looks the same, in fewer bytes."""
    svg = NEEDLESS.sub("", svg)
    if len(fonts := {*FONT.findall(svg)}) == 1:
        svg = FONT.sub("", svg).replace("<svg", f"<svg{fonts.pop()}", 1)
    return svg


def said(macro: str, *values: object) -> list[str]:
    """Return what a macro of sentences.html.jinja says, as plain text: a list item by item."""
    macros: Any = environment().get_template("sentences.html.jinja").module
    items = getattr(macros, macro)(*values).split("</li>")
    return [*filter(None, (" ".join(Markup(item).striptags().split()) for item in items))]


def first_sentences(found: list[Any], seeds: str) -> list[str]:
    """Return the title and the first paragraph of a study's findings, as plain text."""
    return said("title", found) + said("lead", found, seeds)

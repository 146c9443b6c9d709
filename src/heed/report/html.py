"""Blocks as HTML, and tables as CSV and Markdown: every value is escaped."""

import base64
import functools
import hashlib
import re
import urllib.parse
from collections.abc import Callable, Iterable
from pathlib import Path

import jinja2
import pandas as pd
from markupsafe import Markup

from heed.report.blocks import PAGE, Block, Figure, Row, Span, Table, Term, walk_blocks
from heed.report.escape import TEMPLATES, kind, visible
from heed.tables import csv_text

MAX_INLINE = 1_000_000  # bytes of all SVGs; with more, the page links the files in figures/
LONG_NOTE = 20  # words
SENTENCE_END = re.compile(r"(?<=\w{3}[.!?])\s+")  # the end of e.g. is none
ImageAddress = Callable[[Figure], str]
TableCopies = Callable[[Table], dict[str, str]]
Link = tuple[str, str, str]


@functools.cache
def environment() -> jinja2.Environment:
    """Return the jinja environment for HTML, which escapes every value.

    It keeps its templates compiled, which takes longer than to fill them in.
    """
    jinja = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True, finalize=visible, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    jinja.filters |= {"kind": kind, "spans": spans}
    jinja.globals |= {"script": script, "policy": policy, "PAGE": PAGE}
    return jinja


def spans(texts: tuple[str | Span, ...]) -> list[Span]:
    """Return texts as spans."""
    return [text if isinstance(text, Span) else Span(text) for text in texts]


def page(
    blocks: list[Block],
    image: ImageAddress,
    title: str,
    warning: str,
    note: str,
    copies: TableCopies = lambda _: {},
    links: Iterable[Link] = (),
    citation: str = "",
) -> str:
    """Return the page of a study: its title, a warning or nothing, its note, and its sections.

    `image` returns the address of a figure's image, `copies` a table as texts to copy, by format.
    `links` are text, address or nothing, and explanation. The citation is in BibTeX.
    """
    terms = [block for block in walk_blocks(blocks) if isinstance(block, Term)]
    first, more = split_note(note)
    return (
        environment()
        .get_template("index.html.jinja")
        .render(
            blocks=blocks, image=image, copies=copies, title=title, warning=warning, note=first,
            more=more, links=links, citation=citation,
            hints={f"#{term.key}": str(term) for term in terms},
        )
    )  # fmt: skip


def split_note(note: str) -> tuple[str, str]:
    """Return the first sentence of a long note, and the others; all of a short one, and nothing."""
    if len(note.split()) <= LONG_NOTE:
        return note, ""
    first, *others = SENTENCE_END.split(note, maxsplit=1)
    return first, "".join(others)


def image_addresses(figures: list[Figure], folder: Path) -> ImageAddress:
    """Return a function from a figure to its address: its SVG, or its file if all are too large."""
    files = {figure.key: folder / f"{figure.key}.svg" for figure in figures}
    texts = {key: file.read_text(encoding="utf-8") for key, file in files.items()}
    if sum(map(len, texts.values())) > MAX_INLINE:
        return lambda figure: f"figures/{figure.key}.svg"
    safe = " !$()*+,-./;=?@[]_~'"
    return lambda figure: "data:image/svg+xml," + urllib.parse.quote(texts[figure.key], safe=safe)


def script(name: str) -> Markup:
    """Return a script of templates/, and the one that reads weights, without escapes.

    They have no text of users.
    """
    texts = ((TEMPLATES / each).read_text(encoding="utf-8") for each in (name, "weights.js"))
    return Markup("".join(texts))


def policy(name: str) -> Markup:
    """Return a page's Content-Security-Policy: no network, and no script but the one named."""
    digest = base64.b64encode(hashlib.sha256(script(name).encode()).digest()).decode()
    return Markup(
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: 'self' file:; script-src "
        f"'sha256-{digest}'"
    )


def csv_table(block: Table) -> str:
    """Return the CSV file of the table: every column that has a key."""
    indices = [index for index, column in enumerate(block.columns) if column.key]
    rows = [[block.plain(row, index) for index in indices] for row in block.rows if row.in_csv]
    keys = [block.columns[index].key for index in indices]
    return csv_text(pd.DataFrame(rows, columns=keys, dtype=str))


# All that starts emphasis, code, a link, an image, HTML, an entity or another cell of a table.
SPECIAL = re.compile(r"[\\`*_\[\]<>&|~!#@]|(?<=http)s?:|(?<=www)\.", re.IGNORECASE)


def escape_markdown(text: str) -> str:
    """Return Markdown that prints the text, in one line."""
    return SPECIAL.sub(
        lambda match: f"{match[0][:-1]}\\{match[0][-1]}", visible(" ".join(text.split()))
    )


def markdown_table(block: Table) -> str:
    """Return the columns that the page has of a table, each cell with its small second line."""
    indices = block.column_indices(PAGE)
    heads = [escape_markdown(block.columns[index].title) for index in indices]
    marks = ["---" if block.columns[index].format.align == "left" else "---:" for index in indices]
    lines = [
        heads,
        marks,
        *([_markdown_cell(block, row, index) for index in indices] for row in block.rows),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _markdown_cell(block: Table, row: Row, index: int) -> str:
    cell = row.cells[index]
    added = [f"({text})" for text in (cell.mark, cell.change) if text]
    return escape_markdown(" ".join(filter(None, [block.printed(row, index), cell.note, *added])))

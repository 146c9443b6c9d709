"""Blocks as LaTeX: every value is escaped; columns of numbers are siunitx's."""

import dataclasses
import itertools
import re

import jinja2

from heed.report.blocks import PAPER, Block, Cell, Column, Formula, Row, Table
from heed.report.language import language, say
from heed.report.renderers.escape import Latex, cell, escape
from heed.report.renderers.html import spans
from heed.report.renderers.templates import TEMPLATES, kind

NUMBER = re.compile(r"([+−-]?)(\d+)(?:\.(\d+))?")
LONG, LONG_IN_SMALL, BROKEN = 28, 20, 34  # characters of a text that is broken, its millimetres
SMALL, DENSE = 6, 9  # with more columns than these a table is smaller, and its columns closer
TEXT_WIDTH = 125  # millimetres of a line below a row
MARKED = r"{} \textbf{{({})}}"


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of a table as LaTeX: its cells, its second line, and the lines below it."""

    kind: str
    cells: list[Latex]
    notes: list[Latex]
    below: list[Latex]


@dataclasses.dataclass(frozen=True)
class Tabular:
    """A table as LaTeX: its columns, the (heading, columns) of groups, its heads, its rows."""

    specification: Latex
    groups: list[tuple[str, int]]
    heads: list[Latex]
    lines: list[Line]
    size: Latex
    spaced: bool


def environment() -> jinja2.Environment:
    """Return an environment whose delimiters LaTeX does not use, and that escapes every value."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
        comment_start_string="<#",
        comment_end_string="#>",
        autoescape=False,
        finalize=escape,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters |= {
        "kind": kind,
        "spans": spans,
        "tex": Latex,
        "tabular": tabular,
        "compact": compact,
    }
    made.globals |= {"say": say, "language": language(), "PAPER": PAPER}
    return made


def document(blocks: list[Block], title: str, warning: str, note: str) -> str:
    """Return the document: its title, a warning and the study's note, if any, and its sections."""
    template = environment().get_template("report.tex.jinja")
    return template.render(blocks=blocks, title=title, warning=warning, note=note)


def table(block: Table) -> str:
    r"""Return the table's file, for \input."""
    return environment().get_template("table.tex.jinja").render(it=block)


def compact(text: str) -> Latex:
    """Return LaTeX without empty lines: in a table each would be a paragraph, which is an error."""
    return Latex("\n".join(line for line in text.split("\n") if line.strip()))


def tabular(block: Table) -> Tabular:
    """Return what paper prints of a table."""
    every = block.places(PAPER)
    places = [place for place in every if not block.columns[place].below]
    below = [place for place in every if block.columns[place].below]
    columns = [block.columns[place] for place in places]
    groups = [
        (name, len(list(part))) for name, part in itertools.groupby(each.group for each in columns)
    ]
    limit = LONG_IN_SMALL if len(places) > SMALL else LONG
    return Tabular(
        Latex("".join(_specification(block, place, limit) for place in places)),
        groups if any(name for name, _ in groups) else [],
        [_head(block, place) for place in places],
        _lines(block, places, below),
        Latex(_size(columns)),
        bool(below),
    )


def _size(columns: list[Column]) -> str:
    """Return the size of a table: smaller with many columns, smallest with code."""
    if any(column.code for column in columns):
        return r"\scriptsize\setlength{\tabcolsep}{3pt}"
    if len(columns) <= SMALL:
        return ""
    return rf"\footnotesize\setlength{{\tabcolsep}}{{{'2.5' if len(columns) > DENSE else '3'}pt}}"


def _specification(block: Table, place: int, limit: int) -> str:
    """Return a column: for numbers as many digits as they have, for long text a width."""
    column, texts = block.columns[place], [block.printed(row, place) for row in block.rows]
    long = not column.code and max(map(len, texts), default=0) >= limit
    if column.width or (column.format.align == "left" and long):
        return rf">{{\raggedright\arraybackslash}}p{{{column.width or BROKEN}mm}}"
    numbers = list(filter(None, map(NUMBER.fullmatch, texts)))
    if column.format.align != "number" or not numbers:
        return "l" if column.format.align == "left" else "r"
    whole, fraction = (max(len(number[part] or "") for number in numbers) for part in (2, 3))
    signed = any(number[1] for number in numbers)
    signs = ",retain-explicit-plus" if signed else ""
    return f"S[table-format={'+' if signed else ''}{whole}.{fraction}{signs},group-digits=none]"


def _head(block: Table, place: int) -> Latex:
    """Return a column's head; over numbers each word has its own line."""
    column = block.columns[place]
    text = column.short or column.title
    if column.format.align == "left":
        return Latex(escape(text))
    words = r"\\".join(escape(word) for word in text.split(" "))
    return Latex(rf"{{\shortstack[r]{{{words}}}}}")


def _lines(block: Table, places: list[int], below: list[int]) -> list[Line]:
    lines: list[Line] = []
    last: Row | None = None
    for row in block.rows:
        merged = _merged(block, row, last, places) if last else set()
        notes = [_note(row.cells[place]) for place in places]
        lines.append(
            Line(
                row.kind,
                [Latex("") if place in merged else _cell(block, row, place) for place in places],
                notes if any(notes) else [],
                [
                    _below(block, row, place, len(places))
                    for place in below
                    if block.printed(row, place) != "–"
                ],
            )
        )
        last = row
    return lines


def _merged(block: Table, row: Row, last: Row, places: list[int]) -> set[int]:
    """Return the columns left out: as in the row above, like all merged ones before."""
    merging = (place for place in places if block.columns[place].merge)
    same = itertools.takewhile(lambda at: row.cells[at].value == last.cells[at].value, merging)
    return set(same)


def _cell(block: Table, row: Row, place: int) -> Latex:
    column, value = block.columns[place], row.cells[place]
    if isinstance(value.value, Formula):
        return Latex(value.value.tex)
    text = block.printed(row, place)
    if column.format.align == "number":
        return Latex(cell(text)) if text else Latex("")
    unbroken = column.code and not column.width
    printed = escape(text).replace(r"\allowbreak{}", "") if unbroken else escape(text)
    printed = rf"\texttt{{{printed}}}" if column.code else printed
    return Latex(MARKED.format(printed, escape(value.mark)) if value.mark else printed)


def _note(value: Cell) -> Latex:
    if not value.note:
        return Latex("")
    change = rf"\,({escape(value.change)})" if value.change else ""
    return Latex(rf"\scriptsize {escape(value.note)}{change}")


def _below(block: Table, row: Row, place: int, count: int) -> Latex:
    """Return a line below a row, as wide as the table."""
    text = f"{block.columns[place].heading}: {block.printed(row, place)}"
    column = rf"@{{\quad}}>{{\raggedright\arraybackslash}}p{{{TEXT_WIDTH}mm}}"
    return Latex(rf"\multicolumn{{{count}}}{{{column}}}{{{escape(text)}}}")

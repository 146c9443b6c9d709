"""Blocks as LaTeX: every value is escaped; columns of numbers are aligned by siunitx."""

import dataclasses
import itertools
import re

import jinja2

from heed.report.blocks import PAPER, Block, Cell, Column, Formula, Phrase, Row, Span, Table
from heed.report.language import current_language, say
from heed.report.renderers.escape import Latex, cell, escape
from heed.report.renderers.html import spans
from heed.report.renderers.templates import TEMPLATES, kind

NUMBER = re.compile(r"([+−-]?)(\d+)(?:\.(\d+))?")
# A column with a longer text, in characters, breaks it into lines of so many millimetres.
LONG, LONG_IN_SMALL, BROKEN = 28, 20, 34
SMALL, DENSE = 6, 9  # a table with more columns is smaller, and has less space between columns
TEXT_WIDTH = 125  # millimetres of a line below a row
MARKED = r"{} \textbf{{({})}}"


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of a table as LaTeX: its cells, its small second line, and the lines below it."""

    kind: str
    cells: list[Latex]
    notes: list[Latex]
    below: list[Latex]


@dataclasses.dataclass(frozen=True)
class Tabular:
    """A table as LaTeX; `groups` are headings with the number of columns below each."""

    specification: Latex
    groups: list[tuple[str, int]]
    heads: list[Latex]
    lines: list[Line]
    size: Latex
    spaced: bool


def environment() -> jinja2.Environment:
    """Return the jinja environment for LaTeX, with other delimiters; it escapes every value."""
    jinja = jinja2.Environment(
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
    jinja.filters |= {
        "kind": kind,
        "spans": spans,
        "tex": Latex,
        "tabular": tabular,
        "compact": compact,
    }
    jinja.globals |= {"say": say, "language": current_language(), "PAPER": PAPER}
    return jinja


def document(blocks: list[Block], title: str, warning: str, note: str) -> str:
    """Return the document: title, warning and the study's note, if any, and the sections."""
    template = environment().get_template("report.tex.jinja")
    return template.render(blocks=blocks, title=title, warning=warning, note=note)


def table(block: Table) -> str:
    r"""Return the .tex file of the table, for \input."""
    return environment().get_template("table.tex.jinja").render(it=block)


def compact(text: str) -> Latex:
    """Return LaTeX without empty lines: in a table, a paragraph is an error."""
    return Latex("\n".join(line for line in text.split("\n") if line.strip()))


def tabular(block: Table) -> Tabular:
    """Return the columns and rows that paper has of a table."""
    all_indices = block.column_indices(PAPER)
    indices = [index for index in all_indices if not block.columns[index].below]
    below = [index for index in all_indices if block.columns[index].below]
    columns = [block.columns[index] for index in indices]
    groups = [
        (name, len(list(part))) for name, part in itertools.groupby(each.group for each in columns)
    ]
    limit = LONG_IN_SMALL if len(indices) > SMALL else LONG
    return Tabular(
        Latex("".join(_specification(block, index, limit) for index in indices)),
        groups if any(name for name, _ in groups) else [],
        [_head(block, index) for index in indices],
        _lines(block, indices, below),
        Latex(_size(columns)),
        bool(below),
    )


def _size(columns: list[Column]) -> str:
    """Return the font size of a table: smaller with many columns, smallest with code."""
    if any(column.code for column in columns):
        return r"\scriptsize\setlength{\tabcolsep}{3pt}"
    if len(columns) <= SMALL:
        return ""
    return rf"\footnotesize\setlength{{\tabcolsep}}{{{'2.5' if len(columns) > DENSE else '3'}pt}}"


def _specification(block: Table, index: int, limit: int) -> str:
    """Return the LaTeX type of a column: for numbers their digits, for long text a width."""
    column, texts = block.columns[index], [block.printed(row, index) for row in block.rows]
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


def _head(block: Table, index: int) -> Latex:
    """Return the heading of a column; over numbers each word has its own line."""
    column = block.columns[index]
    text = column.short or column.title
    if column.format.align == "left":
        return Latex(escape(text))
    words = r"\\".join(escape(word) for word in text.split(" "))
    return Latex(rf"{{\shortstack[r]{{{words}}}}}")


def _lines(block: Table, indices: list[int], below: list[int]) -> list[Line]:
    lines: list[Line] = []
    previous: Row | None = None
    for row in block.rows:
        merged = _merged(block, row, previous, indices) if previous else set()
        notes = [_note(row.cells[index], block.columns[index]) for index in indices]
        lines.append(
            Line(
                row.kind,
                [Latex("") if index in merged else _cell(block, row, index) for index in indices],
                notes if any(notes) else [],
                [
                    _below(block, row, index, len(indices))
                    for index in below
                    if block.printed(row, index) != "–"
                ],
            )
        )
        previous = row
    return lines


def _merged(block: Table, row: Row, previous: Row, indices: list[int]) -> set[int]:
    """Return the merged columns that are as in the row above, like all merged ones before them."""
    merging = (index for index in indices if block.columns[index].merge)
    same = itertools.takewhile(
        lambda index: row.cells[index].value == previous.cells[index].value, merging
    )
    return set(same)


def _cell(block: Table, row: Row, index: int) -> Latex:
    column, value = block.columns[index], row.cells[index]
    if isinstance(value.value, Formula):
        return Latex(value.value.tex)
    if isinstance(value.value, Phrase):
        return Latex("".join(map(_span, spans(value.value.texts))))
    text = block.printed(row, index)
    if column.format.align == "number":
        return Latex(cell(text)) if text else Latex("")
    unbroken = column.code and not column.width
    printed = escape(text).replace(r"\allowbreak{}", "") if unbroken else escape(text)
    printed = rf"\texttt{{{printed}}}" if column.code else printed
    return Latex(MARKED.format(printed, escape(value.mark)) if value.mark else printed)


def _span(span: Span) -> str:
    """Return a part of a cell's text; wrong words are bold and underlined."""
    text = escape(span.text)
    return rf"\underline{{\textbf{{{text}}}}}" if span.style == "wrong" else text


def _note(value: Cell, column: Column) -> Latex:
    """Return the small second line of a cell, on the side on which its column's values are."""
    if not value.note:
        return Latex("")
    change = rf"\,({escape(value.change)})" if value.change else ""
    side = "l" if column.format.align == "left" else "r"
    return Latex(rf"\multicolumn{{1}}{{{side}}}{{\scriptsize {escape(value.note)}{change}}}")


def _below(block: Table, row: Row, index: int, count: int) -> Latex:
    """Return a line below a row, as wide as the table."""
    text = f"{block.columns[index].heading}: {block.printed(row, index)}"
    column = rf"@{{\quad}}>{{\raggedright\arraybackslash}}p{{{TEXT_WIDTH}mm}}"
    return Latex(rf"\multicolumn{{{count}}}{{{column}}}{{{escape(text)}}}")

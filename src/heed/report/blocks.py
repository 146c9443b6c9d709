"""Blocks: what a report is made of, before any of it is HTML, LaTeX or CSV.

A chapter (chapters/) turns results into blocks; a renderer (renderers/) turns blocks into a form.
Neither knows the other.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import matplotlib.figure

from heed.report.formats import TEXT, Format
from heed.report.sources import Source

PAGE, PAPER = "page", "paper"
EVERYWHERE = (PAGE, PAPER)
Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class Span:
    """A stretch of text with a style: strong, code, mark, verdict, german, or none.

    A link is an address within the report; only the page has links.
    """

    text: str
    style: str = ""
    link: str = ""


@dataclasses.dataclass(frozen=True)
class Formula:
    """A formula in characters, for the page, and in LaTeX."""

    text: str
    tex: str

    def __str__(self) -> str:
        """Return the formula in characters."""
        return self.text


Texts = tuple[str | Span, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
    """Anything of a report; `on` says where: page, paper, or neither (files only)."""

    on: tuple[str, ...] = EVERYWHERE


@dataclasses.dataclass(frozen=True)
class Paragraph(Block):
    """Running text; `style` is small, note (a framed warning) or nothing."""

    texts: Texts
    style: str = ""


@dataclasses.dataclass(frozen=True)
class Items(Block):
    """A list of short texts."""

    items: tuple[Texts, ...]


@dataclasses.dataclass(frozen=True)
class Heading(Block):
    """A heading within a section; `mark` stands after it, such as generated text."""

    title: str
    mark: str = ""


@dataclasses.dataclass(frozen=True)
class Section(Block):
    """A titled part of the report; other files may link to its `key`."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    mark: str = ""


@dataclasses.dataclass(frozen=True)
class Disclosure(Block):
    """Blocks that the page opens on demand; `style` is the class that its style sheet knows."""

    summary: str
    blocks: tuple[Block, ...]
    style: str = ""


@dataclasses.dataclass(frozen=True)
class Group(Block):
    """Blocks that belong together: a pair of tables, plots next to each other, or a stack."""

    blocks: tuple[Block, ...]
    style: str = "stack"


@dataclasses.dataclass(frozen=True)
class Cell:
    """A value of a table with what stands around it.

    `note` is a small second line, such as a published figure; `change` stands in brackets after it.
    """

    value: Any
    note: str = ""
    change: str = ""
    mark: str = ""
    link: str = ""
    strong: bool = False


@dataclasses.dataclass(frozen=True)
class Column:
    """A column, declared once for every form.

    Args:
        key: its head in the CSV file; a column without one is not in it.
        heading: its head for people; a column without one is in the CSV file only.
        format: how its values are printed.
        value: what a record has in this column: a plain value, or a Cell.
        unit: of its values, printed after the heading.
        meaning: a sentence, printed below the table.
        short: the heading where room is narrow, on paper.
        group: a heading above several columns.
        width: in millimetres on paper, for text that is broken there; 0 for as wide as its text.
        paper: whether paper has it.
        below: on paper its text stands on a line of its own below the row.
        merge: on paper a value like the one above it is left out.
        code: its values are code.

    """

    key: str
    heading: str
    format: Format = TEXT
    value: Callable[[Any], Any] = str
    unit: str = ""
    meaning: str = ""
    short: str = ""
    group: str = ""
    width: int = 0
    paper: bool = True
    below: bool = False
    merge: bool = False
    code: bool = False

    @property
    def title(self) -> str:
        """The heading with its unit."""
        return f"{self.heading} ({self.unit})" if self.heading and self.unit else self.heading


@dataclasses.dataclass(frozen=True)
class Row:
    """A row: a cell a column. `kind` is class, average or none; files may link to its `key`."""

    cells: tuple[Cell, ...]
    kind: str = ""
    key: str = ""
    in_csv: bool = True


@dataclasses.dataclass(frozen=True)
class Table(Block):
    """A table, declared once for page, paper and files.

    Args:
        key: of its files, tables/KEY.csv and .tex, and of its place in the page, #table-KEY.
        title: what it is.
        columns: see Column.
        rows: see Row and `rows_of`.
        caption: how to read it, above it.
        notes: paragraphs below it.
        sources: the files that its values come from.
        where: the place within the first source.
        mark: such as generated text: stands with the title.
        style: figures (of a class each), first, worth, seeds, scores, from: its class in the page.
        files: which files it has: csv, tex.
        wide: on paper in one piece, scaled to the line.

    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    notes: tuple[Texts, ...] = ()
    sources: tuple[Source, ...] = ()
    where: str = ""
    mark: str = ""
    style: str = ""
    files: tuple[str, ...] = ("csv", "tex")
    wide: bool = False

    def places(self, medium: str) -> list[int]:
        """Return which columns the page or the paper has."""
        return [
            place
            for place, column in enumerate(self.columns)
            if column.heading and (column.paper or medium != PAPER)
        ]

    def meanings(self, medium: str) -> str:
        """Return what its columns mean, in one paragraph."""
        columns = [self.columns[place] for place in self.places(medium)]
        return " ".join(f"{each.heading}: {each.meaning}." for each in columns if each.meaning)

    def printed(self, row: Row, place: int) -> str:
        """Return a cell's value as people read it."""
        return self.columns[place].format.printed(row.cells[place].value)

    def plain(self, row: Row, place: int) -> str:
        """Return a cell's value as the CSV file has it."""
        return self.columns[place].format.plain(row.cells[place].value)


@dataclasses.dataclass(frozen=True)
class Figure(Block):
    """A figure, declared once; figures/KEY.svg and .pdf are drawn of it.

    Args:
        key: the name of its files, and of its place in the page, #figure-KEY.
        title: what it shows.
        caption: how to read it.
        sources: the files that it is drawn of.
        draw: draws it on a matplotlib figure.
        size: width and height in inches.
        subject: what it is of, where several figures have the same title.
        says: what it shows, for who cannot see it.
        mark: such as generated text.
        wide: wider than a column.

    """

    key: str
    title: str
    caption: str
    sources: tuple[Source, ...]
    draw: Callable[[matplotlib.figure.Figure], None]
    size: tuple[float, float]
    subject: str = ""
    says: str = ""
    mark: str = ""
    wide: bool = False


def rows_of(
    columns: Iterable[Column],
    records: Iterable[Item],
    kind: Callable[[Item], str] = lambda _: "",
    key: Callable[[Item], str] = lambda _: "",
    in_csv: Callable[[Item], bool] = lambda _: True,
) -> tuple[Row, ...]:
    """Return a row a record: each column says what it has of it."""
    values = [column.value for column in columns]
    return tuple(
        Row(
            tuple(_cell(value(record)) for value in values),
            kind(record),
            key(record),
            in_csv(record),
        )
        for record in records
    )


def _cell(value: Any) -> Cell:
    return value if isinstance(value, Cell) else Cell(value)


def within(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks, and all that stand within them."""
    for block in blocks:
        yield block
        yield from within(getattr(block, "blocks", ()))

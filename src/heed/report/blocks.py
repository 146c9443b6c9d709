"""Blocks: the content of a report, independent of HTML, LaTeX and CSV.

Chapters (chapters/) turn results into blocks; html.py and latex.py turn blocks into HTML, LaTeX and
CSV. Neither imports the other.
"""

import base64
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from heed.report.formats import TEXT, Format


@dataclasses.dataclass(frozen=True)
class Source:
    """A file or a folder that the report reads.

    `md5` is DVC's hash: the name of a file's content in DVC's cache.
    """

    path: str
    md5: str
    stage: str  # DVC's name of it; empty for a file in git
    command: str

    @property
    def key(self) -> str:
        """The id of its row in the page."""
        return "from-" + "-".join(Path(self.path).with_suffix("").parts[1:])

    @property
    def name(self) -> str:
        """Its name beside others of its folder."""
        return Path(self.path).stem

    @property
    def label(self) -> str:
        """Its name beside those of other folders: that of the folder of a file."""
        path = Path(self.path)
        return path.parent.name if path.suffix else path.name

    @property
    def description(self) -> str:
        """The source in one line, for the tooltip of tables and figures."""
        origin = f"stage {self.stage}, again: {self.command}" if self.stage else "in git"
        return f"{self.path} · md5 {self.md5} · {origin}"


PAGE, PAPER = "page", "paper"
EVERYWHERE = (PAGE, PAPER)
Record = TypeVar("Record")
Value = str | Callable[[Any], Any]  # of a record: the path of an attribute, or a function


@dataclasses.dataclass(frozen=True)
class Span:
    """A part of a text with a style: strong, code, mark, verdict, wrong, cite (keys of
    references), or none.

    `link` is an address within the report; only the page has links.
    """

    text: str
    style: str = ""
    link: str = ""


@dataclasses.dataclass(frozen=True)
class Formula:
    """A formula in Unicode, for the page, and in LaTeX."""

    text: str
    tex: str

    def __str__(self) -> str:
        """Return the formula in Unicode."""
        return self.text


Texts = tuple[str | Span, ...]


@dataclasses.dataclass(frozen=True)
class Phrase:
    """A value of a table that is a text with styles; a CSV file has the text alone."""

    texts: Texts

    def __str__(self) -> str:
        """Return the text without styles."""
        return "".join(text.text if isinstance(text, Span) else text for text in self.texts)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a report; `media` are those that have it: page, paper, or neither (files only)."""

    media: tuple[str, ...] = EVERYWHERE


@dataclasses.dataclass(frozen=True)
class Paragraph(Block):
    """A paragraph; `style` is small, note (a framed warning) or empty."""

    texts: Texts
    style: str = ""


@dataclasses.dataclass(frozen=True)
class Items(Block):
    """A list of short texts."""

    items: tuple[Texts, ...]


@dataclasses.dataclass(frozen=True)
class Heading(Block):
    """A heading within a section."""

    title: str


@dataclasses.dataclass(frozen=True)
class Section(Block):
    """A section with its heading; other files may link to its `key`."""

    key: str
    title: str
    blocks: tuple[Block, ...]
    mark: str = ""


@dataclasses.dataclass(frozen=True)
class Disclosure(Block):
    """Blocks that the page opens on demand; `style` is their CSS class.

    One with a `key` stands in the page's contents.
    """

    summary: str
    blocks: tuple[Block, ...]
    style: str = ""
    key: str = ""


@dataclasses.dataclass(frozen=True)
class Group(Block):
    """Blocks that belong together: a pair of tables, plots next to each other, or a stack."""

    blocks: tuple[Block, ...]
    style: str = "stack"


@dataclasses.dataclass(frozen=True)
class Cell:
    """A value of a table with its annotations.

    `note` is a small second line, such as a published score; `change` follows it in brackets.
    """

    value: Any
    note: str = ""
    change: str = ""
    mark: str = ""
    link: str = ""
    strong: bool = False


@dataclasses.dataclass(frozen=True)
class Column:
    """A column, declared once for HTML, LaTeX and CSV."""

    key: str  # its name in the CSV file; a column without one is not in that file
    heading: str  # for people; a column without one is in the CSV file only
    format: Format = TEXT
    value: Value = str  # the path of a record's attribute, or a function to a value or a Cell
    unit: str = ""  # of its values, printed after the heading
    meaning: str = ""  # an explanation, printed below the table
    short: str = ""  # a shorter heading for paper
    width: int = 0  # on paper in millimetres, for text that breaks; 0: as wide as its text
    paper: bool = True  # whether paper has the column
    below: bool = False  # whether paper has its text on a separate line below the row
    merge: bool = False  # whether paper leaves out a value that is equal to the one above it
    code: bool = False  # whether its values are code
    link: str = ""  # an address within the report, of its heading

    @property
    def title(self) -> str:
        """The heading with its unit."""
        return f"{self.heading} ({self.unit})" if self.heading and self.unit else self.heading


@dataclasses.dataclass(frozen=True)
class Row:
    """A row with a cell for each column; `kind` is class, average or empty; `key` is for links."""

    cells: tuple[Cell, ...]
    kind: str = ""
    key: str = ""
    in_csv: bool = True


@dataclasses.dataclass(frozen=True)
class Table(Block):
    """A table, declared once for page, paper and files."""

    key: str  # of its files, tables/KEY.csv and .tex, and of its id in the page, #table-KEY
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]  # see `make_rows`
    caption: str = ""  # an explanation above it
    notes: tuple[Texts, ...] = ()  # paragraphs below it
    sources: tuple[Source, ...] = ()  # the files that its values come from
    location: str = ""  # the key in the first source that has its values
    mark: str = ""  # such as "generated text", in the file .tex
    style: str = ""  # its CSS class: figures (of classes), first, worth, seeds, scores or from
    files: tuple[str, ...] = ("csv", "tex")

    def column_indices(self, medium: str) -> list[int]:
        """Return the indices of the columns that the page or the paper has."""
        return [
            index
            for index, column in enumerate(self.columns)
            if column.heading and (column.paper or medium != PAPER)
        ]

    def meanings(self, medium: str) -> str:
        """Return the explanations of its columns, in one paragraph."""
        columns = [self.columns[index] for index in self.column_indices(medium)]
        meanings = ((each.heading, each.meaning.removesuffix(".")) for each in columns)
        return " ".join(f"{heading}: {meaning}." for heading, meaning in meanings if meaning)

    def printed(self, row: Row, index: int) -> str:
        """Return the value in column `index` in its format for people."""
        return self.columns[index].format.printed(row.cells[index].value)

    def plain(self, row: Row, index: int) -> str:
        """Return the value in column `index` in its format for the CSV file."""
        return self.columns[index].format.plain(row.cells[index].value)


Mark = dict[str, object]  # of a figure: figures/shapes.py makes them


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis: its name, what it shows, and its ticks.

    `places` are the labels by their places, of an axis whose ticks are chosen.
    """

    title: str = ""
    domain: tuple[float, float] = (0, 1)
    places: Mapping[float, str] | None = None
    scale: str = "linear"
    format: str = ""
    count: int = 5  # of ticks, about
    labels: bool = True
    strokes: bool = True
    side: str = ""
    angle: int = 0


@dataclasses.dataclass(frozen=True)
class Panel:
    """Rows of marks in axes.

    `height` is relative to other panels; with `ratio` it is that part of the width instead.
    `spans`: whether it is as wide as the figure, below panels side by side.
    """

    rows: Sequence[Mark]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    height: float = 1
    ratio: float = 0
    spans: bool = False
    grid: bool = True
    label_size: float = 0


@dataclasses.dataclass(frozen=True)
class Heads:
    """The weights between the words of a document in each head, (heads, queries, keys).

    The page shows one head, or their mean; `marked` are the words of the rationale.
    """

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
class Figure(Block):
    """A figure, declared once for figures/KEY.svg and .pdf."""

    key: str  # the name of its files, and of its id in the page, #figure-KEY
    title: str
    caption: str
    sources: tuple[Source, ...]  # the files that its values come from
    panels: Sequence[Sequence[Panel]]  # in rows
    size: tuple[float, float]  # width and height in inches
    subject: str = ""  # tells it from other figures with the same title: a model
    alt_text: str = ""  # for readers who cannot see it; they read the title before it
    wide: bool = False  # whether it is wider than a column
    claim: str = ""  # what it can show and what it cannot, printed above it
    in_rows: bool = False  # whether its height is what its rows need: a narrower one is as high
    heads: Heads | None = None  # of which the page lets readers choose one


@dataclasses.dataclass(frozen=True)
class Piece:
    """A word with its `shade` from 0 to 1, or the text between two words, with None."""

    text: str
    shade: float | None = None
    weight: float = 0.0
    rationale: bool = False


@dataclasses.dataclass(frozen=True)
class Sentence:
    """The pieces of a sentence; hierarchical models have its `weight` and `shade`.

    `shade` is the weight over the largest weight of the document's sentences.
    """

    pieces: list[Piece]
    weight: float | None = None
    shade: float = 0.0


@dataclasses.dataclass(frozen=True)
class Legend(Block):
    """The legend of shaded texts: no and full colour; whether words and sentences are marked."""

    rationale: bool
    sentences: bool


@dataclasses.dataclass(frozen=True)
class ShadedDocument(Block):
    """A document as a model read it: its words shaded by weight."""

    title: str
    description: str
    sentences: list[Sentence]

    @property
    def full_colour(self) -> float:
        """The weight of a word that has the full colour; 0 where there is none.

        The shades of a hierarchical model's words are not those of their weights.
        """
        sentences = (each for each in self.sentences if each.weight is None)
        shaded = [
            (each.shade, each.weight) for one in sentences for each in one.pieces if each.shade
        ]
        shade, weight = max(shaded, default=(1.0, 0.0))
        return weight / shade


def make_rows(
    columns: Iterable[Column],
    records: Iterable[Record],
    kind: Callable[[Record], str] = lambda _: "",
    key: Callable[[Record], str] = lambda _: "",
    in_csv: Callable[[Record], bool] = lambda _: True,
) -> tuple[Row, ...]:
    """Return a row for each record, by the columns' values."""
    values = [get_value(column.value) for column in columns]
    rows = []
    for record in records:
        found = (value(record) for value in values)
        cells = tuple(each if isinstance(each, Cell) else Cell(each) for each in found)
        rows.append(Row(cells, kind(record), key(record), in_csv(record)))
    return tuple(rows)


def get_value(value: Value) -> Callable[[Any], Any]:
    """Return the function of a value; by a path, it is None where an attribute on it is None.

    The empty path leads to the record itself.
    """
    if not isinstance(value, str):
        return value
    names = value.split(".") if value else []

    def get(record: Any) -> Any:
        for name in names:
            record = None if record is None else getattr(record, name)
        return record

    return get


def walk_blocks(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks and, after each, those within it."""
    for block in blocks:
        yield block
        yield from walk_blocks(getattr(block, "blocks", ()))


@dataclasses.dataclass(frozen=True)
class Term(Block):
    """A word with its explanation, and a small drawing of it where it has one.

    Links to `#KEY` have the explanation as their tooltip in the page.
    """

    key: str
    name: str
    texts: Texts
    drawing: Figure | None = None

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The drawing, which is written like every figure."""
        return (self.drawing,) if self.drawing else ()

    def __str__(self) -> str:
        """Return the explanation without styles."""
        return str(Phrase(self.texts))

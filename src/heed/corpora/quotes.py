"""Tell a quoted text of several lines from rows that a stray quote and the next one join.

A file without quotes in which one text begins with a double quote and a later one ends with it is
also a file with quotes, of fewer rows. The lines of that text then look like the rows of the file.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

LONG = 3  # rows for each line of a text that may hold all rows of a label
SHORT = 100  # characters of a cell that other rows may have too, such as a label
LETTERS, DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")

Row = tuple[int, list[str]]  # the number of the first line of a row, and its fields
Known = dict[int, set[str]]  # cells, reduced to what is compared, by column


class JoinedRows(NamedTuple):
    """A quoted text whose lines look like rows: its first and its last line, and one of these."""

    first: int
    last: int
    example: str


class _Text(NamedTuple):
    """A row with lines in a quoted text: each divided, and its columns beside those of the text."""

    row: Row
    lines: list[list[str]]
    beside: list[list[int]]


def find_joined_rows(rows: Sequence[Row], delimiter: str) -> JoinedRows | None:
    """Return the first row with a text of several lines that look like rows themselves, or None.

    Such a line has as many fields as a row, and in a column whose cells repeat themselves, such as
    one of labels, a cell of other rows, or of other lines of a text that has a third as many lines
    as there are rows; without such columns, numbers where other rows have some.
    """
    texts = [text for row in rows if (text := _divide(row, delimiter))]
    if not texts:
        return None
    reduce, known = _find_known(texts, [fields for _, fields in rows])
    for text in texts:
        told = _judge_lines(text, reduce, known)
        if 2 * sum(told) > len(told) or (not known and not told and delimiter == "\t"):
            first, fields = text.row
            last = first + len(_lines("".join(fields))) - 1
            return JoinedRows(first, last, delimiter.join(text.lines[1]))
    return None


def _find_known(texts: list[_Text], rows: list[list[str]]) -> tuple[Callable[[str], str], Known]:
    """Return how cells are compared, and the known ones: themselves, or the shape of numbers."""
    long = (text.lines for text in texts if len(text.lines) * LONG > len(rows))
    joined = [line for lines in long for line in lines if len(line) == len(rows[0])]
    known = _known_cells(rows + joined, str, 2 if joined else 1)
    return (str, known) if known else (_shape, _known_cells(rows, _shape))


def _judge_lines(text: _Text, reduce: Callable[[str], str], known: Known) -> list[bool]:
    """Return whether each line, of those that can be told, looks like a row."""
    width = len(text.row[1])
    return [
        len(line) == width and any(reduce(line[i]) in known[i] for i in columns if i in known)
        for line, columns in zip(text.lines, text.beside, strict=True)
        if len(line) != width or any(i in known for i in columns)
    ]


def _divide(row: Row, delimiter: str) -> _Text | None:
    """Return the lines of a row, or None unless most of them have as many fields as the row."""
    _, fields = row
    texts = [i for i, cell in enumerate(fields) if "\n" in cell or "\r" in cell]
    if not texts:
        return None
    lines = [*filter(None, _lines(delimiter.join(fields)))]
    fitting = sum(line.count(delimiter) == len(fields) - 1 for line in lines)
    if len(lines) < 2 or 2 * fitting <= len(lines):
        return None
    before, after = [*range(texts[0])], [*range(texts[-1] + 1, len(fields))]
    beside = [after, *[before + after] * (len(lines) - 2), before]
    return _Text(row, [line.split(delimiter) for line in lines], beside)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _known_cells(rows: list[list[str]], reduce: Callable[[str], str], least: int = 1) -> Known:
    """Return the cells of at least so many rows.

    A long cell is none of them, and a column whose cells mostly differ has none.
    """
    known = {}
    for i, cells in enumerate(zip(*rows, strict=True)):
        counts = Counter(map(reduce, cells))
        if 2 * len(counts) <= len(rows):
            repeated = (cell for cell, count in counts.items() if cell and count >= least)
            known[i] = {cell for cell in repeated if len(cell) <= SHORT}
    return {i: cells for i, cells in known.items() if cells}


def _shape(cell: str) -> str:
    """Return a cell with a digit for each number and a letter for each word; "" without a digit."""
    return DIGITS.sub("9", LETTERS.sub("a", cell)) if DIGITS.search(cell) else ""

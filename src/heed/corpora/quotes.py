"""Tell a quoted text of several lines from rows that a stray quote and the next one join.

A file without quotes in which one text begins with a double quote and a later one ends with it is
also a file with quotes, of fewer rows. The lines of that text then look like the rows of the file.
"""

from collections.abc import Iterable
from typing import NamedTuple

COMMON = 0.1  # the share of rows with texts of several lines from which on such texts are usual

Row = tuple[int, list[str]]  # the number of the first line of a row, and its fields


class JoinedRows(NamedTuple):
    """A quoted text whose lines look like rows: its first and its last line, and one of these."""

    first: int
    last: int
    example: str


def find_joined_rows(rows: Iterable[Row], count: int, delimiter: str) -> JoinedRows | None:
    """Return the first of `rows` whose text of several lines looks like rows itself, or None.

    Most of its lines have as many fields as a row, and of all `count` rows few have such texts.
    """
    several = [row for row in rows if any("\n" in cell or "\r" in cell for cell in row[1])]
    if len(several) > max(1, COMMON * count):
        return None
    for first, fields in several:
        lines = delimiter.join(fields).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        filled = [line for line in lines if line]
        fitting = sum(line.count(delimiter) == len(fields) - 1 for line in filled)
        if len(filled) > 1 and 2 * fitting > len(filled):
            return JoinedRows(first, first + len(lines) - 1, filled[1])
    return None

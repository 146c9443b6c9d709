"""Evidence: the words of a document that decide its label, as spans of characters.

A span is `start-end`: it has the characters from `start`, counted from 0, up to `end`, without it.
"""

import re
from typing import Literal

from heed.files import HeedError

Span = tuple[int, int]
PATTERN = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)

# planted: put there by heed, word by word; passage: a sentence that the label is of, beside others;
# human: marked by people as the reason for the label; given: marked in a column of the user's own
# file, by whoever made it
EvidenceKind = Literal["planted", "passage", "human", "given"]


def parse_spans(cell: str | list[str] | None, location: str, characters: int) -> tuple[Span, ...]:
    """Return the spans in a cell of a table; none of an empty cell.

    Args:
        cell: a text of spans, separated by white space, or a list of spans.
        location: the file, row and column, for the message.
        characters: of the document's text, within which all spans must be.

    Raises:
        HeedError: an entry is no span, has no character, or goes beyond the text.

    """
    entries = cell.split() if isinstance(cell, str) else cell or []
    spans = [_parse_span(entry, location) for entry in entries]
    for start, end in spans:
        if start >= end:
            raise HeedError(
                f"{location}: the span {start}-{end} has no character: its end is the position "
                "after its last one"
            )
        if end > characters:
            raise HeedError(
                f"{location}: the span {start}-{end} goes beyond the text, which has "
                f"{characters:,} characters"
            )
    return tuple(spans)


def _parse_span(entry: str, location: str) -> Span:
    """Return the two numbers of a span `START-END`. Raises HeedError for any other text."""
    if match := PATTERN.fullmatch(entry):
        return int(match[1]), int(match[2])
    raise _not_a_span(location, entry)


def _not_a_span(location: str, entry: str) -> HeedError:
    return HeedError(
        f"{location}: {str(entry)[:40]!r} is no span of characters. Write START-END, several "
        "separated by spaces, such as 0-4 10-15, or in JSON a list of pairs, [[0, 4], [10, 15]]"
    )

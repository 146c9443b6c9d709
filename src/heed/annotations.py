"""Annotations of a corpus: rationale, spans of characters, and links between words.

Rationale are the words of a document that decide its label. A span is `start-end`: it has the
characters from `start`, counted from 0, up to `end`, without it. Links join the words of two
sentences, in the Pharaoh format `0-0 1-2 2?1`: `i-j` joins word i of the source and word j of the
target for sure, `i?j` possibly.
"""

import re
from typing import Literal

from heed.files import HeedError

Span = tuple[int, int]
SPAN = re.compile(r"(\d{1,15})-(\d{1,15})", re.ASCII)

Link = tuple[int, int]  # a word of the source and a word of the target, each counted from 0
LINK = re.compile(r"(\d+)([-?])(\d+)", re.ASCII)

# planted: put there by heed, word by word; passage: the one sentence of several that has the label;
# human: marked by people as the reason for the label; given: marked in a column of the user's own
# file, by whoever made it
RationaleKind = Literal["planted", "passage", "human", "given"]


def parse_spans(cell: str | list[str] | None, location: str, characters: int) -> tuple[Span, ...]:
    """Return the spans in a cell of a table, separated by white space; none of an empty cell.

    `characters` is the length of the text. Raises HeedError, with `location`: an entry
    is not a span, has no character, or goes beyond the text.
    """
    spans = []
    for entry in cell.split() if isinstance(cell, str) else cell or []:
        if not (match := SPAN.fullmatch(entry)):
            raise HeedError(
                f"{location}: {str(entry)[:40]!r} is not a span of characters. Write START-END, "
                "several separated by spaces, such as 0-4 10-15, or in JSON a list of pairs, "
                "[[0, 4], [10, 15]]"
            )
        start, end = int(match[1]), int(match[2])
        if not start < end <= characters:
            raise HeedError(
                f"{location}: the span {start}-{end} goes beyond the text, which has "
                f"{characters:,} characters, or is empty: the end is the position after the last"
            )
        spans.append((start, end))
    return tuple(spans)


def parse_links(text: str, location: str) -> tuple[list[Link], list[Link]]:
    """Return the sure links, and those that are only possible, in the order of the text.

    Raises HeedError, with `location`.
    """
    links: dict[str, list[Link]] = {"-": [], "?": []}
    for entry in text.split():
        if not (match := LINK.fullmatch(entry)):
            raise HeedError(
                f"{location}: {entry!r} is not a link. Write SOURCE-TARGET for a sure link and "
                "SOURCE?TARGET for a possible one: 0-0 1-2 2?1"
            )
        links[match[2]].append((int(match[1]), int(match[3])))
    return links["-"], links["?"]

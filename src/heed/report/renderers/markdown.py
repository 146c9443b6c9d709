"""Tables and texts as Markdown, as GitHub reads it."""

import re

from heed.report.blocks import PAGE, Row, Table
from heed.terminal import visible

# All that starts emphasis, code, a link, an image, HTML, an entity or another cell of a table.
SPECIAL = re.compile(r"[\\`*_\[\]<>&|~!#@]|(?<=http)s?:|(?<=www)\.", re.IGNORECASE)


def escape(text: str) -> str:
    """Return Markdown that prints the text, in one line."""
    return SPECIAL.sub(_escape, visible(" ".join(text.split())))


def _escape(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\{match[0][-1]}"


def table(block: Table) -> str:
    """Return the table with its title: the columns that the page has, each row in one line."""
    indices = block.column_indices(PAGE)
    heads = [escape(block.columns[index].title) for index in indices]
    rows = [[_cell(block, row, index) for index in indices] for row in block.rows]
    mark = f" ({block.mark})" if block.mark else ""
    return f"{escape(block.title + mark)}:\n\n" + "".join(
        f"| {' | '.join(cells)} |\n" for cells in (heads, ["---"] * len(indices), *rows)
    )


def _cell(block: Table, row: Row, index: int) -> str:
    """Return a cell with its note and its mark in brackets."""
    cell = row.cells[index]
    added = ", ".join(filter(None, [cell.note, cell.mark]))
    return escape(block.printed(row, index) + (f" ({added})" if added else ""))

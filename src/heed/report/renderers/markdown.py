"""Tables and texts as Markdown, as GitHub reads it."""

import re

from heed.report.blocks import PAGE, Row, Table
from heed.terminal import visible

# All that starts emphasis, code, a link, an image, HTML, an entity or another cell of a table.
SPECIAL = re.compile(r"[\\`*_\[\]<>&|~!#@]|(?<=http)s?:|(?<=www)\.", re.IGNORECASE)


def escape(text: str) -> str:
    """Return Markdown that prints the text, in one line."""
    return SPECIAL.sub(_escape, visible(" ".join(text.split())))


def table(block: Table) -> str:
    """Return the columns that the page has of a table, each cell with its small second line."""
    indices = block.column_indices(PAGE)
    heads = [escape(block.columns[index].title) for index in indices]
    marks = ["---" if block.columns[index].format.align == "left" else "---:" for index in indices]
    lines = [heads, marks, *([_cell(block, row, index) for index in indices] for row in block.rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cell(block: Table, row: Row, index: int) -> str:
    """Return a cell with its mark and with what stands below it in small."""
    cell = row.cells[index]
    added = [f"({text})" for text in (cell.mark, cell.change) if text]
    return escape(" ".join(filter(None, [block.printed(row, index), cell.note, *added])))


def _escape(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}\\{match[0][-1]}"

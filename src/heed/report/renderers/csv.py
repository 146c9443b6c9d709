"""Tables as CSV: one observation in each row, plain numbers, empty cells for None."""

import re

import pandas as pd

from heed.report.blocks import Table
from heed.terminal import visible

# A spreadsheet computes a cell that starts so, unless it is a number; the last four are their
# full-width forms. An apostrophe before it makes it text.
FORMULA = re.compile("[=+@\t\n＝＋－＠-]")
NUMBER = re.compile(r"[+−-]?\d+(\.\d+)?([eE][+-]?\d+)?%?")


def table(block: Table) -> str:
    """Return the CSV file of the table: every column that has a key."""
    indices = [index for index, column in enumerate(block.columns) if column.key]
    rows = [[block.plain(row, index) for index in indices] for row in block.rows if row.in_csv]
    keys = [block.columns[index].key for index in indices]
    frame = quote_formulas(pd.DataFrame(rows, columns=keys, dtype=str))
    return frame.to_csv(index=False, lineterminator="\n")


def quote_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with an apostrophe before each text that a spreadsheet would compute.

    A carriage return becomes its code point: pandas does not quote it, and it would end the row.
    """
    texts = frame.select_dtypes(exclude="number")
    return frame.assign(**{str(name): texts[name].map(_quote) for name in texts})


def _quote(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.replace("\r", visible("\r"))
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text

"""Tables as CSV: one observation a row, plain numbers, nothing where people read a dash."""

import pandas as pd

from heed.report.blocks import Table


def table(block: Table) -> str:
    """Return the table's file: every column that has a key."""
    places = [place for place, column in enumerate(block.columns) if column.key]
    rows = [[block.plain(row, place) for place in places] for row in block.rows if row.in_csv]
    keys = [block.columns[place].key for place in places]
    return pd.DataFrame(rows, columns=keys, dtype=str).to_csv(index=False, lineterminator="\n")

"""Tables as CSV: one observation in each row, plain numbers, empty cells for None."""

import pandas as pd

from heed.report.blocks import Table


def table(block: Table) -> str:
    """Return the CSV file of the table: every column that has a key."""
    indices = [index for index, column in enumerate(block.columns) if column.key]
    rows = [[block.plain(row, index) for index in indices] for row in block.rows if row.in_csv]
    keys = [block.columns[index].key for index in indices]
    return pd.DataFrame(rows, columns=keys, dtype=str).to_csv(index=False, lineterminator="\n")

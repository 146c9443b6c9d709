"""CSV files of texts and numbers, which people open in a spreadsheet and heed reads again."""

import re
from pathlib import Path

import pandas as pd

from heed.terminal import visible

# A spreadsheet computes a cell that starts so, unless it is a number; the last four are their
# full-width forms. An apostrophe before it, and before one that has apostrophes, makes it text.
FORMULA = re.compile("'*[=+@\t\n＝＋－＠-]")
NUMBER = re.compile(r"[+−-]?\d+(\.\d+)?([eE][+-]?\d+)?%?")


def write_csv(path: str | Path, table: pd.DataFrame, digits: str | None = None) -> None:
    """Write a table as CSV for people, programs and spreadsheets: `read_csv` returns its names."""
    Path(path).write_text(csv_text(table, digits), encoding="utf-8", newline="\n")


def csv_text(table: pd.DataFrame, digits: str | None = None) -> str:
    """Return the text of `write_csv`."""
    return _quote_formulas(table).to_csv(index=False, lineterminator="\n", float_format=digits)


def read_csv(path: Path, *names: str) -> pd.DataFrame:
    """Return a table of `write_csv`; the columns with these `names` are text, as it was."""
    types = dict.fromkeys(names, str)
    table = pd.read_csv(path, dtype=types, keep_default_na=False, na_values=[""])
    for name in {*names} & {*table.columns}:
        table[name] = table[name].map(_unquote, na_action="ignore")
    return table


def join_seeds(by_seed: dict[int, dict[str, pd.DataFrame]]) -> dict[str, pd.DataFrame]:
    """Return each table with the rows of all seeds, `seed` first."""
    joined: dict[str, list[pd.DataFrame]] = {}
    for seed, tables in by_seed.items():
        for name, table in tables.items():
            table.insert(0, "seed", seed)
            joined.setdefault(name, []).append(table)
    return {name: pd.concat(tables, ignore_index=True) for name, tables in joined.items()}


def _quote_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with an apostrophe before each text that a spreadsheet would compute.

    A carriage return becomes its code point: pandas does not quote it, and it would end the row.
    """
    texts = frame.select_dtypes(exclude="number")
    changed = [name for name in texts if any(map(_is_quoted, texts[name]))]
    return frame.assign(**{str(name): texts[name].map(_quote) for name in changed})


def _quote(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = value.replace("\r", visible("\r"))
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def _is_quoted(value: object) -> bool:
    return isinstance(value, str) and _quote(value) != value


def _unquote(text: str) -> str:
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text

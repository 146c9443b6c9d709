"""A file of the user's own: CSV, JSON lines or parquet with a text column and a label column."""

from pathlib import Path

import pandas as pd

from heed.corpora.publication import Document, Documents
from heed.files import HeedError

SUFFIXES = (".csv", ".jsonl", ".parquet")
SPLITS = ("train", "validation", "test")


def read_table(path: Path) -> pd.DataFrame:
    """Return the table, every cell as text as it stands ("NA" is a word). Raises HeedError when it cannot be read."""
    try:
        if path.suffix == ".csv":
            return pd.read_csv(path, dtype=str, keep_default_na=False, encoding_errors="replace")
        if path.suffix == ".jsonl":
            return pd.read_json(path, lines=True, dtype=False, convert_dates=False, encoding_errors="replace")
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
    except FileNotFoundError:
        raise HeedError(f"{path}: not there") from None
    except (OSError, ValueError) as error:
        raise HeedError(f"{path}: cannot be read as {path.suffix[1:]}: {error}") from None
    raise HeedError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}")


def check_columns(path: Path, table: pd.DataFrame, columns: list[str]) -> None:
    """Raise HeedError when the table lacks one of the columns."""
    for column in columns:
        if column not in table.columns:
            raise HeedError(f"{path}: there is no column {column!r}. Columns: {', '.join(map(str, table.columns))}")


def read(raw: Path, text_column: str, label_column: str, split_column: str | None) -> Documents:
    """Yield one document a row; a row without a label is an error, a row without text is an empty document."""
    files = [path for path in sorted(raw.glob("*")) if path.suffix in SUFFIXES]
    if len(files) != 1:
        raise HeedError(f"{raw}: expected one table, found {len(files)}. Run: heed download {raw.name}")
    path = files[0]
    table = read_table(path)
    check_columns(path, table, [text_column, label_column, *([split_column] if split_column else [])])
    splits = table[split_column] if split_column else [""] * len(table)
    for number, (text, label, split) in enumerate(zip(table[text_column], table[label_column], splits, strict=True), 1):
        if label is None or label != label or not str(label).strip():
            raise HeedError(f"{path}: row {number}: no label in column {label_column!r}")
        if split_column and split not in SPLITS:
            raise HeedError(
                f"{path}: row {number}: column {split_column!r}: expected {', '.join(SPLITS)}, found {split!r}"
            )
        empty = text is None or text != text
        yield Document(f"row/{number}", "" if empty else str(text), {"label": str(label)}, split=split)

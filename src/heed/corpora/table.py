"""A file of the user's own: CSV, JSON lines or parquet with a text column and a label column."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind
from heed.files import HeedError, writing
from heed.terminal import print_line

if TYPE_CHECKING:
    import pandas as pd

    from heed.study import Corpus, Source

SUFFIXES = (".csv", ".jsonl", ".parquet")
SPLITS = ("train", "validation", "test")


def make(name: str, source: "Source", folder: Path) -> str:
    """Copy the user's file for source `name` into `folder`, and return its name.

    Raises:
        HeedError: the file is missing, or its hash is not the one in params.yaml.

    """
    assert source.path and source.sha256
    path = Path(source.path)
    file = File(path.name, path.name, (f"sha256:{source.sha256}",))
    if not path.is_file():
        raise HeedError(f"{source.path}: not there (params.yaml: sources.{name}.path)")
    if mismatch := file.mismatch(path):
        raise HeedError(
            f"{source.path}: changed since it was added: {mismatch}. If the change is intended, "
            f"update sources.{name}.sha256"
        )
    with writing(folder / file.name) as temporary:
        shutil.copyfile(path, temporary)
    print_line(f"{folder / file.name}: copied from {source.path}, verified")
    return file.name


def read_table(path: Path) -> "pd.DataFrame":
    """Return the table with every cell as the text in the file: "NA" is a word, not a gap.

    Raises HeedError when it cannot be read.
    """
    import pandas as pd  # not at the top: the declarations are read without it

    try:
        if path.suffix == ".csv":
            return pd.read_csv(path, dtype=str, keep_default_na=False, encoding_errors="replace")
        if path.suffix == ".jsonl":
            return pd.read_json(
                path, lines=True, dtype=False, convert_dates=False, encoding_errors="replace"
            )
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
    except FileNotFoundError:
        raise HeedError(f"{path}: not there") from None
    except (OSError, ValueError) as error:
        raise HeedError(f"{path}: cannot be read as {path.suffix[1:]}: {error}") from None
    raise HeedError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}")


def require_columns(path: Path, table: "pd.DataFrame", columns: list[str]) -> None:
    """Raise HeedError when the table lacks one of the columns."""
    for column in columns:
        if column not in table.columns:
            raise HeedError(
                f"{path}: there is no column {column!r}. Columns: "
                f"{', '.join(map(str, table.columns))}"
            )


def read_rows(
    raw: Path, text_column: str, label_column: str, split_column: str | None
) -> Documents:
    """Yield one document per row; a row without text is an empty document.

    Raises:
        HeedError: there is not exactly one table in `raw`, it lacks a column, a row has no label,
            or its split is none of SPLITS.

    """
    files = [path for path in sorted(raw.glob("*")) if path.suffix in SUFFIXES]
    if len(files) != 1:
        raise HeedError(
            f"{raw}: expected one table, found {len(files)}. Run: heed download {raw.name}"
        )
    path = files[0]
    table = read_table(path)
    require_columns(
        path, table, [text_column, label_column, *([split_column] if split_column else [])]
    )
    splits = table[split_column] if split_column else [""] * len(table)
    for number, (text, label, split) in enumerate(
        zip(table[text_column], table[label_column], splits, strict=True), 1
    ):
        if label is None or label != label or not str(label).strip():
            raise HeedError(f"{path}: row {number}: no label in column {label_column!r}")
        if split_column and split not in SPLITS:
            raise HeedError(
                f"{path}: row {number}: column {split_column!r}: expected {', '.join(SPLITS)}, "
                f"found {split!r}"
            )
        is_missing = text is None or text != text
        yield Document(
            f"row/{number}", "" if is_missing else str(text), {"label": str(label)}, split=split
        )


def _read(raw: Path, corpus: "Corpus") -> Documents:
    assert corpus.text_column and corpus.label_column
    return read_rows(raw, corpus.text_column, corpus.label_column, corpus.split_column)


SOURCE = SourceKind(name="table", make=make, required_keys=("path", "sha256"), optional_keys=())
KIND = Kind(
    name="table",
    source=SOURCE,
    read=_read,
    splits=("given", "random", "folds"),
    required_keys=("text_column", "label_column"),
    optional_keys=("split_column",),
)
KINDS = (KIND,)

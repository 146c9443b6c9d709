"""A file of the user's own: CSV, JSON lines or parquet with a text column and a label column."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.publication import Document, Documents, File, Kind, SourceKind
from heed.files import HeedError, writing

if TYPE_CHECKING:
    import pandas as pd

    from heed.study import Corpus, Source

SUFFIXES = (".csv", ".jsonl", ".parquet")
SPLITS = ("train", "validation", "test")


def make(name: str, source: "Source", into: Path) -> str:
    """Copy the user's file for source `name` into folder `into`, and return what it is called.

    Raises:
        HeedError: it is not there, or not the one whose hash params.yaml has.

    """
    assert source.path and source.sha256
    path = Path(source.path)
    file = File(path.name, path.name, (f"sha256:{source.sha256}",))
    if not path.is_file():
        raise HeedError(f"{source.path}: not there (params.yaml: sources.{name}.path)")
    if fault := file.fault(path):
        raise HeedError(
            f"{source.path}: changed since it was added: {fault}. Mend sources.{name}.sha256 if "
            "it is meant"
        )
    with writing(into / file.name) as temporary:
        shutil.copyfile(path, temporary)
    print(f"{into / file.name}: copied from {source.path}, verified")
    return file.name


def read_table(path: Path) -> "pd.DataFrame":
    """Return the table, every cell as text as it stands ("NA" is a word).

    Raises HeedError when it cannot be read.
    """
    import pandas as pd  # here: who reads the declarations alone need not load it

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


def check_columns(path: Path, table: "pd.DataFrame", columns: list[str]) -> None:
    """Raise HeedError when the table lacks one of the columns."""
    for column in columns:
        if column not in table.columns:
            raise HeedError(
                f"{path}: there is no column {column!r}. Columns: "
                f"{', '.join(map(str, table.columns))}"
            )


def read(raw: Path, text_column: str, label_column: str, split_column: str | None) -> Documents:
    """Yield one document a row; a row without a label is an error, a row without text is an empty
    document.
    """
    files = [path for path in sorted(raw.glob("*")) if path.suffix in SUFFIXES]
    if len(files) != 1:
        raise HeedError(
            f"{raw}: expected one table, found {len(files)}. Run: heed download {raw.name}"
        )
    path = files[0]
    table = read_table(path)
    check_columns(
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
        empty = text is None or text != text
        yield Document(
            f"row/{number}", "" if empty else str(text), {"label": str(label)}, split=split
        )


def _read(raw: Path, corpus: "Corpus") -> Documents:
    assert corpus.text_column and corpus.label_column
    return read(raw, corpus.text_column, corpus.label_column, corpus.split_column)


SOURCE = SourceKind(name="table", make=make, needs=("path", "sha256"), takes=())
KIND = Kind(
    name="table",
    source=SOURCE,
    read=_read,
    splits=("given", "random", "folds"),
    needs=("text_column", "label_column"),
    takes=("split_column",),
)
KINDS = (KIND,)

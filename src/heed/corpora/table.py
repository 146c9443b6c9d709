"""A file of the user's own: CSV, JSON lines or parquet with a text column and a label column."""

import shutil
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.corpora.label_cells import split_labels
from heed.corpora.publication import Document, Documents, File, Kind, SourceKind
from heed.corpora.rows import SUFFIXES, read_rows
from heed.evidence import parse_spans
from heed.files import HeedError, writing
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.study import Corpus, Source

SPLITS = ("train", "validation", "test")
# control characters, lone surrogates, separators of lines and of paragraphs
REFUSED_IN_LABELS = ("Cc", "Cs", "Zl", "Zp")


def make(name: str, source: "Source", folder: Path) -> list[str]:
    """Copy the user's files for source `name` into `folder`, and return their names there.

    A table keeps its name; a file of `paths` gets the name of its key, and ends in .txt.

    Raises:
        HeedError: a file is missing, or its hash is not the one in params.yaml.

    """
    names = []
    for file in source.user_files():
        path = Path(file.path)
        copy = folder / (f"{file.language}.txt" if file.language else path.name)
        declared = File(copy.name, path.name, (f"sha256:{file.sha256}",))
        if not path.is_file():
            raise HeedError(f"{path}: not there (params.yaml: sources.{name}.{file.key})")
        if mismatch := declared.mismatch(path):
            raise HeedError(
                f"{path}: changed since it was added: {mismatch}. If the change is intended, "
                f"update sources.{name}.{file.hash_key}"
            )
        with writing(copy) as temporary:
            shutil.copyfile(path, temporary)
        print_line(f"{copy}: copied from {path}, verified")
        names.append(copy.name)
    return names


def read_documents(path: Path, corpus: "Corpus") -> Documents:
    """Yield one document per row of a table; a row without text is an empty document.

    Raises:
        HeedError: the file cannot be read or lacks a column, or a row does not fit, has no label or
            more than one, names another part than SPLITS, or has evidence that is not in its text.

    """
    assert corpus.text_column and corpus.label_column
    columns = [corpus.text_column, corpus.label_column]
    columns += filter(None, [corpus.split_column, corpus.evidence_column])
    for number, (location, cells) in enumerate(read_rows(path, columns, corpus.encoding), 1):
        text = as_text(f"{location}: column {columns[0]!r}", cells[0])
        place = f"{location}: column {columns[1]!r}"
        label: str | tuple[str, ...]
        if corpus.label_separator is None:
            label = _check_label(place, as_text(place, cells[1], is_label=True))
        else:
            names = split_labels(place, cells[1], corpus.label_separator)
            label = tuple(sorted({_check_label(place, as_text(place, name)) for name in names}))
        split = cells[2] if corpus.split_column else ""
        if corpus.split_column and split not in SPLITS:
            raise HeedError(
                f"{location}: column {corpus.split_column!r}: expected {', '.join(SPLITS)}, "
                f"found {split!r}"
            )
        evidence = parse_spans(
            cells[-1] if corpus.evidence_column else None,
            f"{location}: column {corpus.evidence_column!r}",
            len(text),
        )
        yield Document(f"row/{number}", text, {corpus.label_column: label}, "", split, evidence)


def as_text(location: str, cell: Any, is_label: bool = False) -> str:
    """Return a cell as text, "" when it is missing.

    Raises HeedError for bytes, lists and objects: their Python notation is no text.
    """
    if cell is None or cell != cell:  # NaN is not equal to itself
        return ""
    if isinstance(cell, str | int | float):
        return str(cell)
    if isinstance(cell, list) and is_label:
        raise HeedError(
            f"{location}: one label a document, found a list of {len(cell)}. Choose one, or make a "
            "column for each"
        )
    kinds = {"dict": "an object", "list": "a list"}
    kind = kinds.get(type(cell).__name__, type(cell).__name__)
    raise HeedError(f"{location}: expected text, found {kind}. Convert the column to text")


def _check_label(location: str, label: str) -> str:
    """Return the label in Unicode's form NFC: other forms of it look the same.

    Raises HeedError when it is missing, has spaces around it or a control character in it.
    """
    for character in label:
        if unicodedata.category(character) in REFUSED_IN_LABELS:
            raise HeedError(
                f"{location}: the label {label!r} has the control character {character!r}. "
                "Remove it"
            )
    if not label.strip():
        raise HeedError(f"{location}: no label")
    if label != label.strip():
        raise HeedError(f"{location}: the label {label!r} has spaces around it. Remove them")
    return unicodedata.normalize("NFC", label)


def _read(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the documents of the only table in `raw`. Raises HeedError when there is none."""
    files = [path for path in sorted(raw.glob("*")) if path.suffix in SUFFIXES]
    if len(files) != 1:
        raise HeedError(
            f"{raw}: expected one table, found {len(files)}. Run: heed download {raw.name}"
        )
    yield from read_documents(files[0], corpus)


SOURCE = SourceKind(name="table", make=make, required_keys=("path", "sha256"), optional_keys=())
KIND = Kind(
    name="table",
    source=SOURCE,
    read=_read,
    splits=("given", "random", "folds"),
    required_keys=("text_column", "label_column"),
    optional_keys=("split_column", "evidence_column", "encoding", "label_separator"),
    evidence="given",
)
KINDS = (KIND,)

"""Tables of the user's own: files with a row for each text, and columns with texts and labels."""

import itertools
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.corpora.label_cells import split_labels
from heed.corpora.parts import PartNames, part_of_key
from heed.corpora.publication import Document, Documents, Kind, SourceKind
from heed.corpora.rows import SUFFIXES, read_rows
from heed.corpora.unique import UniqueNames
from heed.corpora.user_files import copy_files
from heed.evidence import parse_spans
from heed.files import HeedError

if TYPE_CHECKING:
    from heed.study import Corpus

# control characters, lone surrogates, separators of lines and of paragraphs
REFUSED_IN_NAMES = ("Cc", "Cs", "Zl", "Zp")


def read_documents(files: Mapping[str, Path], corpus: "Corpus") -> Documents:
    """Yield one document per row of the tables; a row without text is an empty document.

    Args:
        files: the tables by their keys in `paths`, read one after the other; any key for one file.
        corpus: its section in params.yaml.

    Raises:
        HeedError: a file cannot be read or lacks a column, or a row does not fit, lacks a label, a
            group or an id or has more than one, has the id of another, names no part, or has
            evidence that is not in its text.

    """
    reader = _RowReader(corpus)
    ids = UniqueNames()
    for key, path in files.items():
        prefix = f"{key}/" if len(files) > 1 else ""
        part = reader.part_of_file(key, path)
        for number, (location, row) in enumerate(_rows(path, corpus), 1):
            document = reader.read(location, row, f"{prefix}row/{number}", part)
            if corpus.id_column:
                ids.append(document.id)
            yield document
    if repeated := ids.find_repeated():
        first, second = (_location(files, corpus, number) for number in repeated)
        raise HeedError(
            f"{second}: column {corpus.id_column!r}: the id is that of {first} too. Make each "
            "unique, or remove id_column"
        )
    reader.parts.print_changes()


def _columns(corpus: "Corpus") -> list[str]:
    """Return the columns that are read, each once."""
    optional = (
        corpus.split_column, corpus.id_column, corpus.group_column, corpus.evidence_column,
    )  # fmt: skip
    return [*dict.fromkeys([*corpus.text_names, *corpus.label_names, *filter(None, optional)])]


def _rows(path: Path, corpus: "Corpus") -> Any:
    """Return an iterator of each row of a file: its location, and its cells by column."""
    columns = _columns(corpus)
    rows = read_rows(path, columns, corpus.encoding, corpus.delimiter, corpus.quotes)
    return ((location, dict(zip(columns, cells, strict=True))) for location, cells in rows)


def _location(files: Mapping[str, Path], corpus: "Corpus", number: int) -> str:
    """Return the location of a row of all files, counted from 0."""
    rows = itertools.chain.from_iterable(_rows(path, corpus) for path in files.values())
    location, _ = next(itertools.islice(rows, number, None))
    return str(location)


class _RowReader:
    """Makes documents of rows, by the columns of a corpus."""

    def __init__(self, corpus: "Corpus") -> None:
        self.corpus = corpus
        has_column = corpus.split_column is not None
        self.parts = PartNames(f"column {corpus.split_column!r}" if has_column else "files")
        self._known: dict[str, str] = {}  # labels and groups that were checked

    def part_of_file(self, key: str, path: Path) -> str:
        """Return the part of a file's rows, "" where the files do not give any.

        Raises HeedError when its key is no part but has to be.
        """
        if self.corpus.split.kind != "given" or self.corpus.split_column:
            return ""
        if (part := part_of_key(key)) is None:
            raise HeedError(
                f"{path}: the key {key!r} of `paths` is no part: expected train, validation, test "
                "(or dev, valid, val), or a split_column"
            )
        self.parts.add(key, part)
        return part

    def read(self, location: str, row: dict[str, Any], name: str, part: str) -> Document:
        """Return the document of a row; `name` and `part` are for one without its own."""
        corpus = self.corpus
        texts = [_text(location, row, column) for column in corpus.text_names]
        text = corpus.between_texts.join(texts) if any(texts) else ""
        labels = {column: self._labels(location, row, column) for column in corpus.label_names}
        if corpus.id_column:
            name = _check_name(location, row, corpus.id_column, "id")
        group = ""
        if corpus.group_column:
            group = self._name(location, row, corpus.group_column, "group")
        if corpus.split_column:
            part = self.parts.read(row[corpus.split_column], location)
        evidence = parse_spans(
            row[corpus.evidence_column] if corpus.evidence_column else None,
            f"{location}: column {corpus.evidence_column!r}",
            len(text),
        )
        return Document(name, text, labels, group, part, evidence)

    def _labels(self, location: str, row: dict[str, Any], column: str) -> str | tuple[str, ...]:
        """Return the label of a row, or with `label_separator` all that a cell holds, sorted."""
        separator = self.corpus.label_separator
        if separator is None:
            return self._name(location, row, column, "label")
        names = split_labels(f"{location}: column {column!r}", row[column], separator)
        each = {self._name(location, {column: name}, column, "label") for name in names}
        return tuple(sorted(each))

    def _name(self, location: str, row: dict[str, Any], column: str, kind: str) -> str:
        """Return a label or a group in Unicode's form NFC: other forms of it look the same."""
        cell = row[column]
        if isinstance(cell, str) and cell in self._known:
            return self._known[cell]
        name = unicodedata.normalize("NFC", _check_name(location, row, column, kind))
        if isinstance(cell, str):
            self._known[cell] = name
        return name


def _text(location: str, row: dict[str, Any], column: str) -> str:
    return as_text(f"{location}: column {column!r}", row[column])


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
            f"{location}: one label a document, found a list of {len(cell)}. Choose one, make a "
            "column for each, or set label_separator for task multilabel"
        )
    kinds = {"dict": "an object", "list": "a list"}
    kind = kinds.get(type(cell).__name__, type(cell).__name__)
    raise HeedError(f"{location}: expected text, found {kind}. Convert the column to text")


def _check_name(location: str, row: dict[str, Any], column: str, kind: str) -> str:
    """Return the label, group or id of a row.

    Raises HeedError when it is missing, has spaces around it or a control character in it.
    """
    location = f"{location}: column {column!r}"
    name = as_text(location, row[column], kind == "label")
    for character in name:
        if unicodedata.category(character) in REFUSED_IN_NAMES:
            raise HeedError(
                f"{location}: the {kind} {name!r} has the control character {character!r}. "
                "Remove it"
            )
    if not name.strip():
        raise HeedError(f"{location}: no {kind}")
    if name != name.strip():
        raise HeedError(f"{location}: the {kind} {name!r} has spaces around it. Remove them")
    return name


def _read(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the documents of the tables in `raw`, in the order of their names.

    Numbers in names count: file_2 is before file_10. Raises HeedError when there is no table.
    """
    paths = [path for path in raw.glob("*") if path.suffix.lower() in SUFFIXES]
    if not paths:
        raise HeedError(f"{raw}: no table. Run: heed download {raw.name}")
    yield from read_documents({path.stem: path for path in sorted(paths, key=_order)}, corpus)


def _order(path: Path) -> list[tuple[str, int]]:
    """Return the key that sorts names, and numbers in them by their size."""
    pieces = re.findall("([^0-9]*)([0-9]*)", path.stem)
    return [(text, int(number or 0)) for text, number in pieces]


SOURCE = SourceKind(
    name="table",
    make=copy_files,
    alternative_keys=(("path", "sha256"), ("paths", "hashes")),
    optional_keys=(),
)
KIND = Kind(
    name="table",
    source=SOURCE,
    read=_read,
    splits=("given", "random", "folds"),
    one_of_keys=(("text_column", "text_columns"), ("label_column", "label_columns")),
    optional_keys=(
        "text_separator", "split_column", "id_column", "group_column", "evidence_column",
        "encoding", "delimiter", "quotes", "label_separator",
    ),
    evidence="given",
)  # fmt: skip
KINDS = (KIND,)

"""The user's own tables, with a row for each text, or for each sentence pair."""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from heed.annotations import parse_spans
from heed.corpora.publication import (
    ANY_SPLIT,
    Documents,
    Kind,
    RawDocument,
    SourceKind,
    require_split,
    split_of_key,
)
from heed.corpora.rows import AT, NOT_TEXT, PATH, is_table, no_column, read_batches
from heed.corpora.user_files import make_tables
from heed.files import REFUSED_IN_NAMES, HeedError

if TYPE_CHECKING:
    import pyarrow as pa

    from heed.corpora.sections import Corpus

Cell = str | list[str] | None


class _Row(NamedTuple):
    location: str
    texts: tuple[str, ...]
    labels: tuple[Cell, ...]
    rationale: Cell
    id: str
    group: str
    split: str


class UnlabelledError(HeedError):
    """Rows without a label."""


class DocumentReader:
    """Makes documents of the rows of tables, by the columns of a corpus."""

    def __init__(self, corpus: "Corpus") -> None:
        self.corpus = corpus
        self.rows = self.unlabelled = 0
        self._places: dict[str, dict[str, str]] = {}  # label column → label → its first row
        self._first_unlabelled = ""
        self._known: dict[str, str] = {}  # labels and groups that were checked
        self._ids: set[str] = set()

    def read(self, tables: "Mapping[str, Iterable[pa.RecordBatch]]") -> Documents:
        """Yield a document of each row of tables, by their keys in `paths`; of one file any key.

        Rows without a label are left out where the corpus has `drop_unlabelled`, else an error in
        the end. Raises HeedError for a missing column, for a row that does not fit, and for labels
        that look the same.
        """
        for key, batches in tables.items():
            prefix, number = f"{key}/" * (len(tables) > 1), 0
            for batch in batches:
                path = (batch.schema.metadata or {}).get(PATH, key.encode()).decode()
                split = self._split_of_file(key)
                for row in self._read_rows(path, batch):
                    number, self.rows = number + 1, self.rows + 1
                    if document := self._document(row, f"{prefix}row/{number}", split):
                        yield document
        if self.unlabelled and not self.corpus.drop_unlabelled:
            raise UnlabelledError(
                f"{self.describe_unlabelled()} Label them, or leave them out: `drop_unlabelled: "
                "true` of the corpus in params.yaml"
            )
        for column, places in self._places.items() if not self.corpus.similar_labels else ():
            require_distinct(places, column)

    def describe_unlabelled(self) -> str:
        """Return a sentence on the rows without a label."""
        count = f"{self.unlabelled:,} of {self.rows:,} rows"
        return f"{self._first_unlabelled}: no label; {count} have none, and this is the first."

    def _split_of_file(self, key: str) -> str:
        is_given = self.corpus.split.kind == "given" and not self.corpus.split_column
        return split_of_key(key) or "" if is_given else ""

    def _read_rows(self, path: str, batch: "pa.RecordBatch") -> Iterator[_Row]:
        corpus, empty = self.corpus, [""] * batch.num_rows
        lists = [
            read_column(path, batch, column, lists=True) if column else empty
            for column in (*corpus.label_names, corpus.rationale_column)
        ]
        named = [
            read_column(path, batch, column) if column else empty
            for column in (corpus.id_column, corpus.group_column, corpus.split_column)
        ]
        texts = [read_column(path, batch, column) for column in corpus.text_names]
        places = [f"{path}{at}" for at in batch.column(AT).to_pylist()]
        labels = zip(*lists[:-1], strict=True)
        return map(_Row, places, zip(*texts, strict=True), labels, lists[-1], *named)

    def _document(self, row: _Row, name: str, split: str) -> RawDocument | None:
        """Return the document of a row, or None; `name` and `split` are for a row without them."""
        corpus, location, group = self.corpus, row.location, ""
        cells = zip(corpus.label_names, row.labels, strict=True)
        labels = {column: self._label(location, column, cell) for column, cell in cells}
        if missing := [column for column, label in labels.items() if label == ""]:
            self.unlabelled += 1
            found = f"{location}: column {missing[0]!r}"
            self._first_unlabelled = self._first_unlabelled or found
            return None
        text = " ".join(row.texts) * any(row.texts)
        if corpus.id_column:
            name = check_name(location, corpus.id_column, row.id, "id")
            if name in self._ids:
                raise HeedError(
                    f"{location}: column {corpus.id_column!r}: an earlier row has the id {name!r} "
                    "too. Make each unique, or remove id_column"
                )
            self._ids.add(name)
        if corpus.group_column:
            group = self._normalize(location, corpus.group_column, row.group, "group")
        if corpus.split_column:
            split = require_split(row.split, corpus.split_column, location)
        place = f"{location}: column {corpus.rationale_column!r}"
        rationale = parse_spans(row.rationale, place, len(text))
        return RawDocument(name, text, labels, group, split, rationale)

    def _label(self, location: str, column: str, cell: Cell) -> str:
        """Return the label of a cell without the blanks around it; "" of an empty one."""
        if isinstance(cell, list):
            if len(cell) > 1:
                raise HeedError(
                    f"{location}: column {column!r}: one label a document, found a list of "
                    f"{len(cell)}. Choose one, or make a column for each"
                )
            cell = cell[0] if cell else None
        if label := (cell or "").strip():
            label = self._normalize(location, column, label, "label")
            self._places.setdefault(column, {}).setdefault(label, location)
        return label

    def _normalize(self, location: str, column: str, cell: str, kind: str) -> str:
        """Return a label or a group in Unicode's form NFC: other forms of it look the same."""
        if cell not in self._known:
            name = check_name(location, column, cell, kind)
            self._known[cell] = unicodedata.normalize("NFC", name)
        return self._known[cell]


def read_column(path: str, batch: "pa.RecordBatch", column: str, lists: bool = False) -> list[Any]:
    """Return the texts of a column, "" where there is none; with `lists` also lists and None.

    Raises HeedError: there is no such column, a cell is no text.
    """
    if column not in batch.schema.names:
        raise HeedError(no_column(path, column, batch.schema.names))
    at, _, kind = (batch.schema.field(column).metadata or {}).get(NOT_TEXT, b"").partition(b"\t")
    if kind.decode() in ("an object", "bytes", *["a list"] * (not lists)):
        raise HeedError(
            f"{path}{at.decode()}: column {column!r}: expected text, found {kind.decode()}. "
            "Convert the column to text"
        )
    cells = batch.column(column).to_pylist()
    return cells if lists else [cell or "" for cell in cells]


def check_name(location: str, column: str, cell: str, kind: str) -> str:
    """Return the label, group or id of a row, without blanks around it. Raises HeedError."""
    location = f"{location}: column {column!r}"
    refused = [sign for sign in cell if unicodedata.category(sign) in REFUSED_IN_NAMES]
    if refused:
        raise HeedError(
            f"{location}: the {kind} {cell!r} has the control character {refused[0]!r}. Remove it"
        )
    if not (name := cell.strip()):
        raise HeedError(f"{location}: no {kind}")
    return name


# --- parallel text


def read_parallel_table(raw: Path, corpus: "Corpus") -> Documents:
    """Yield a document of each row of a table, which has a column for each language.

    Raises HeedError where a row does not fit.
    """
    assert corpus.columns
    path, numbers, split = _tables(raw)[0], itertools.count(1), ""
    columns = [*corpus.columns.values(), *filter(None, [corpus.split_column])]
    for batch in read_batches(path):
        file = (batch.schema.metadata or {}).get(PATH, b"").decode() or str(path)
        cells = [read_column(file, batch, column) for column in columns]
        for at, *row in zip(batch.column(AT).to_pylist(), *cells, strict=True):
            if corpus.split_column:
                split = require_split(row.pop(), corpus.split_column, f"{file}{at}")
            texts = dict(zip(corpus.columns, row, strict=True))
            yield RawDocument(f"row/{next(numbers)}", texts=texts, split=split)


def _tables(raw: Path) -> list[Path]:
    """Return the tables in `raw`, of which file_2 is before file_10. Raises HeedError."""
    if not (paths := [path for path in raw.glob("*") if is_table(path)]):
        raise HeedError(f"{raw}: no table. Run: heed download {raw.name}")
    pieces = {path: re.findall("([^0-9]*)([0-9]*)", path.stem) for path in paths}
    return sorted(paths, key=lambda path: [(text, int(n or 0)) for text, n in pieces[path]])


# --- labels that look the same --------------------------------------------------------------------


class SimilarLabelsError(HeedError):
    """Labels that look the same, and would be several classes."""


def require_distinct(places: Mapping[str, str], column: str) -> None:
    """Raise SimilarLabelsError where labels of a column look the same; `places` has their rows."""
    groups: dict[str, list[str]] = {}
    for label in places:
        groups.setdefault(_drawn(label), []).append(label)
    for labels in groups.values():
        if len(labels) > 1:
            shown = ", ".join(f"{places[label]} {label!r}" for label in labels)
            raise SimilarLabelsError(
                f"column {column!r}: labels that look the same would be {len(labels)} classes: "
                f"{shown}. Write them alike in the file, or keep them as they are: "
                "`similar_labels: true` of the corpus in params.yaml, --similar-labels of heed "
                "corpus add."
            )


def _drawn(label: str) -> str:
    """Return what a label looks like, in lower case; a message escapes the signs left out here."""
    signs = unicodedata.normalize("NFKC", label)
    return " ".join("".join(s for s in signs if unicodedata.category(s) != "Cf").lower().split())


# --- kinds

FORMAT_KEYS = ("format", "encoding", "delimiter", "quote", "header")
SOURCE = SourceKind(
    name="table", make=make_tables, alternative_keys=(("path", "sha256"), ("paths", "hashes")),
    optional_keys=FORMAT_KEYS,
)  # fmt: skip
PARALLEL_SOURCE = SourceKind(
    name="parallel", make=make_tables, required_keys=("path", "sha256"), optional_keys=FORMAT_KEYS
)
KIND = Kind(
    name="table", source=SOURCE, splits=ANY_SPLIT, rationale="given",
    read=lambda raw, corpus: DocumentReader(corpus).read(
        {path.stem: read_batches(path) for path in _tables(raw)}
    ),
    one_of_keys=(("text_column", "text_columns"), ("label_column", "label_columns")),
    optional_keys=(
        "split_column", "id_column", "group_column", "rationale_column",
        "drop_unlabelled", "similar_labels",
    ),
)  # fmt: skip
PARALLEL_KIND = Kind(
    name="parallel", source=PARALLEL_SOURCE, read=read_parallel_table, parallel=True,
    splits=ANY_SPLIT, one_of_keys=(("columns",),), optional_keys=("split_column",),
)  # fmt: skip
KINDS = (PARALLEL_KIND, KIND)

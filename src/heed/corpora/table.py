"""The user's own files: tables with a row for each text, and parallel text."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.annotations import parse_links, parse_spans
from heed.corpora.publication import (
    ANY_SPLIT,
    Document,
    Documents,
    Kind,
    Links,
    SourceKind,
    SplitNames,
    split_of_key,
)
from heed.corpora.rows import AT, NOT_TEXT, PATH, is_table, no_column, read_batches, reading
from heed.corpora.user_files import LINES, make_parallel, make_tables
from heed.files import HeedError

if TYPE_CHECKING:
    import pyarrow as pa

    from heed.corpora.declared import Corpus

# control characters, lone surrogates, separators of lines and of paragraphs
REFUSED_IN_NAMES = ("Cc", "Cs", "Zl", "Zp")


class DocumentReader:
    """Makes documents of the rows of tables, by the columns of a corpus.

    Attributes:
        unlabelled: the places of the first row without a label, and how many there are.
        trimmed: how many labels had blanks around them, by column.

    """

    def __init__(self, corpus: "Corpus") -> None:
        self.corpus = corpus
        column = corpus.split_column
        self.splits = SplitNames("files" if column is None else f"column {column!r}")
        self.unlabelled, self.first_unlabelled, self.rows = 0, "", 0
        self.trimmed: Counter[str] = Counter()
        self._known: dict[str, str] = {}  # labels and groups that were checked
        self._ids: set[bytes] = set()

    def read(self, tables: "Mapping[str, Iterable[pa.RecordBatch]]") -> Documents:
        """Yield one document per row; a row without text is an empty document.

        Rows without a label are left out where the corpus has `drop_unlabelled`, and are an error
        else, when all rows are read.

        `tables` are batches of `read_table` by the keys in `paths`; any key for one file.

        Raises HeedError when a table lacks a column, or a row does not fit, lacks a label, a group
        or an id or has more than one, has the id of another, names no split, or has a rationale
        that is not in its text.
        """
        for key, batches in tables.items():
            prefix, number = f"{key}/" if len(tables) > 1 else "", 0
            for batch in batches:
                path = (batch.schema.metadata or {}).get(PATH, key.encode()).decode()
                split = self._split_of_file(key, path)
                for location, row in self._rows(path, batch):
                    number, self.rows = number + 1, self.rows + 1
                    document = self._document(location, row, f"{prefix}row/{number}", split)
                    if document:
                        yield document
        if self.unlabelled and not self.corpus.drop_unlabelled:
            raise UnlabelledError(
                f"{self.first_unlabelled}: no label: so it is in {self.unlabelled:,} of "
                f"{self.rows:,} rows, of which this is the first. Label them, or leave them out: "
                "--drop-unlabelled of heed corpus add, or `drop_unlabelled: true` of the corpus in "
                "params.yaml"
            )
        self.splits.print_changes()

    def _split_of_file(self, key: str, path: str) -> str:
        """Return the part of a file's rows, "" where the files do not give any.

        Raises HeedError when its key is no split but has to be.
        """
        if self.corpus.split.kind != "given" or self.corpus.split_column:
            return ""
        if (split := split_of_key(key)) is None:
            raise HeedError(
                f"{path}: the key {key!r} of `paths` is no split: expected train, validation, test "
                "(or dev, valid, val), or a split_column"
            )
        self.splits.add(key, split)
        return split

    def _rows(self, path: str, batch: "pa.RecordBatch") -> Iterable[tuple[str, dict[str, Any]]]:
        """Return the rows of a batch: the location of each, and its cells by column."""
        corpus = self.corpus
        optional = (corpus.split_column, corpus.id_column, corpus.group_column)
        listed = {*corpus.label_names, corpus.rationale_column}
        columns = {
            column: text_column(path, batch, column, can_be_list=column in listed)
            for column in (*corpus.text_names, *corpus.label_names, *optional, *listed)
            if column
        }
        for at, *row in zip(batch.column(AT).to_pylist(), *columns.values(), strict=True):
            yield f"{path}{at}", dict(zip(columns, row, strict=True))

    def _document(
        self, location: str, row: dict[str, Any], name: str, split: str
    ) -> Document | None:
        """Return the document of a row, None of one without a label.

        `name` and `split` are for one without its own.
        """
        corpus = self.corpus
        texts = [row[column] or "" for column in corpus.text_names]
        text = corpus.between_texts.join(texts) if any(texts) else ""
        labels = {column: self._labels(location, row, column) for column in corpus.label_names}
        if missing := next((column for column, label in labels.items() if label == ""), None):
            self.unlabelled += 1
            self.first_unlabelled = self.first_unlabelled or f"{location}: column {missing!r}"
            return None
        if corpus.id_column:
            name = self._check_id(location, row)
        column = corpus.group_column
        group = self._name(location, column, row[column], "group") if column else ""
        if corpus.split_column:
            split = self.splits.read(row[corpus.split_column] or "", location)
        rationale = parse_spans(
            row[corpus.rationale_column] if corpus.rationale_column else None,
            f"{location}: column {corpus.rationale_column!r}",
            len(text),
        )
        return Document(name, text, labels, group, split, rationale)

    def _labels(self, location: str, row: dict[str, Any], column: str) -> str | tuple[str, ...]:
        """Return the label of a row, "" without one; with `label_separator` all of a cell, sorted.

        A list of one is a label.
        """
        cell, separator = row[column], self.corpus.label_separator
        if separator is not None:
            names = split_labels(f"{location}: column {column!r}", cell, separator)
            return tuple(sorted({self._label(location, column, name) for name in names} - {""}))
        if isinstance(cell, list):
            if len(cell) > 1:
                raise HeedError(
                    f"{location}: column {column!r}: one label a document, found a list of "
                    f"{len(cell)}. Choose one, make a column for each, or set label_separator "
                    "(--label-separator) for task multilabel"
                )
            cell = cell[0] if cell else None
        return self._label(location, column, cell)

    def _label(self, location: str, column: str, cell: str | None) -> str:
        """Return a label without the blanks around it; "" of an empty cell."""
        if cell is None or not (label := cell.strip()):
            return ""
        self.trimmed[column] += label != cell
        return self._name(location, column, label, "label")

    def _check_id(self, location: str, row: dict[str, Any]) -> str:
        """Return the id of a row. Raises HeedError when an earlier row has it."""
        column = self.corpus.id_column or ""
        name = check_name(location, column, row[column], "id")
        digest = hashlib.blake2b(name.encode(), digest_size=16).digest()
        if digest in self._ids:
            raise HeedError(
                f"{location}: column {column!r}: an earlier row has the id {name!r} too. Make each "
                "unique, or remove id_column"
            )
        self._ids.add(digest)
        return name

    def _name(self, location: str, column: str, cell: str | None, kind: str) -> str:
        """Return a label or a group in Unicode's form NFC: other forms of it look the same."""
        if cell not in self._known:
            name = unicodedata.normalize("NFC", check_name(location, column, cell, kind))
            self._known[cell or ""] = name
        return self._known[cell or ""]


class UnlabelledError(HeedError):
    """Rows without a label."""


def text_column(
    path: str, batch: "pa.RecordBatch", column: str, can_be_list: bool = False
) -> list[Any]:
    """Return the cells of a column: texts, None where there is none, or lists of texts.

    Raises HeedError when the column is not there, or has a cell that is no text.
    """
    names = batch.schema.names
    if column not in names:
        raise HeedError(no_column(path, column, names))
    if names.count(column) > 1:
        raise HeedError(f"{path}: {names.count(column)} columns are named {column!r}")
    metadata = batch.schema.field(column).metadata or {}
    if NOT_TEXT in metadata:
        at, kind = metadata[NOT_TEXT].decode().split("\t")
        if not (can_be_list and kind == "a list"):
            raise HeedError(
                f"{path}{at}: column {column!r}: expected text, found {kind}. Convert the column "
                "to text"
            )
    return list(batch.column(column).to_pylist())


def split_labels(location: str, cell: str | list[str] | None, separator: str) -> list[str]:
    """Return the labels of a cell: of a list its items, of a text what stands between separators.

    White space around a label counts as part of the separator. A missing or empty cell has none.

    Raises HeedError when a text has nothing between two separators.
    """
    if isinstance(cell, list):
        return cell
    if cell is None or not cell.strip():
        return []
    names = [name.strip() for name in cell.split(separator)]
    if not all(names):
        raise HeedError(
            f"{location}: no label before, after or between two {separator!r} in {cell!r}. Remove "
            "one of them"
        )
    return names


def check_name(location: str, column: str, cell: str | None, kind: str) -> str:
    """Return the label, group or id of a row.

    Raises HeedError when it is missing, has spaces around it or a control character in it.
    """
    location, name = f"{location}: column {column!r}", cell or ""
    refused = [sign for sign in name if unicodedata.category(sign) in REFUSED_IN_NAMES]
    if refused:
        raise HeedError(
            f"{location}: the {kind} {name!r} has the control character {refused[0]!r}. Remove it"
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
    paths = [path for path in raw.glob("*") if is_table(path)]
    if not paths:
        raise HeedError(f"{raw}: no table. Run: heed download {raw.name}")
    tables = {path.stem: read_batches(path) for path in sorted(paths, key=_order)}
    yield from DocumentReader(corpus).read(tables)


def _order(path: Path) -> list[tuple[str, int]]:
    """Return the key that sorts names, and numbers in them by their size."""
    pieces = re.findall("([^0-9]*)([0-9]*)", path.stem)
    return [(text, int(number or 0)) for text, number in pieces]


# --- parallel text
#
# A table has a column for each language, text files are one for each. Either may bring gold
# alignments in the Pharaoh format: `i-j` for a sure link of word i and word j, `i?j` for a possible
# one, separated by spaces; an empty line or cell where the links of a sentence are not known.


def read_parallel_table(path: Path, corpus: "Corpus") -> Documents:
    """Yield one document for each row of a table.

    Raises HeedError when the file cannot be read or lacks a column, a cell is no text or no
    alignment, or a row names no split.
    """
    if not corpus.columns:
        raise HeedError(
            f"{path}: a table: expected `columns` of the corpus in params.yaml, the column of each "
            "language"
        )
    keys = list(corpus.columns)
    columns = list(corpus.columns.values())
    columns += [corpus.split_column] if corpus.split_column else []
    splits = SplitNames(f"column {corpus.split_column!r}")
    number = 0
    for batch in read_batches(path):
        file = (batch.schema.metadata or {}).get(PATH, b"").decode() or str(path)
        places = batch.column(AT).to_pylist()
        cells = [text_column(file, batch, column) for column in columns]
        for at, *row in zip(places, *cells, strict=True):
            number, location = number + 1, f"{file}{at}"
            values = {key: cell or "" for key, cell in zip(keys, row, strict=False)}
            split = splits.read(row[-1] or "", location) if corpus.split_column else ""
            yield _parallel_document(
                f"row/{number}", values, corpus, dict.fromkeys(keys, location), split
            )
    splits.print_changes()


def read_parallel_lines(raw: Path, corpus: "Corpus") -> Documents:
    """Yield one document for each line of the files in `raw`.

    Raises HeedError when a file cannot be read, the files differ in their number of lines, or a
    line is no alignment.
    """
    if corpus.columns or corpus.split_column:
        key = "columns" if corpus.columns else "split_column"
        raise HeedError(f"{raw}: files of lines: a corpus of these takes no `{key}` in params.yaml")
    files = {path.stem: path for path in sorted(raw.glob(f"*{LINES}"))}
    lines = {key: list(_read_lines(path)) for key, path in files.items()}
    counts = {key: len(texts) for key, texts in lines.items()}
    if len({*counts.values()}) > 1:
        found = ", ".join(f"{files[key].name} {count:,}" for key, count in counts.items())
        raise HeedError(
            f"{raw}: line n of each file is the same sentence: expected equal numbers of lines, "
            f"found {found}"
        )
    for number, texts in enumerate(zip(*lines.values(), strict=True), 1):
        locations = {key: f"{path}:{number}" for key, path in files.items()}
        yield _parallel_document(
            f"line/{number}", dict(zip(files, texts, strict=True)), corpus, locations
        )


def _parallel_document(
    name: str, values: dict[str, str], corpus: "Corpus", locations: dict[str, str], split: str = ""
) -> Document:
    """Return a document from its texts, by language, and alignments, by "SOURCE-TARGET"."""
    alignments = {}
    for key, text in values.items():
        if "-" in key and text.strip():
            if corpus.alignment_base is None:
                raise HeedError(
                    f"{locations[key]}: an alignment: expected `alignment_base` of the corpus in "
                    "params.yaml, the number of a sentence's first word: 0 or 1"
                )
            alignments[key] = read_links(text, corpus.alignment_base, locations[key])
    texts = {key: text for key, text in values.items() if "-" not in key}
    return Document(name, texts=texts, alignments=alignments, split=split)


def read_links(text: str, base: int, location: str) -> Links:
    """Return the links of an alignment; errors as of `heed.annotations.parse_links`."""
    sure, possible = parse_links(text, location, base)
    return Links(tuple(sure), tuple(possible))


def _read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, which end with a line feed and nowhere else."""
    with reading(path, None), path.open(encoding="utf-8-sig", newline="\n") as file:
        for line in file:
            yield line.rstrip("\r\n")


def _read_parallel(raw: Path, corpus: "Corpus") -> Documents:
    """Yield the documents of the table in `raw`, or of its files of lines."""
    tables = [path for path in sorted(raw.glob("*")) if is_table(path)]
    if tables:
        return read_parallel_table(tables[0], corpus)
    if not [*raw.glob(f"*{LINES}")]:
        raise HeedError(f"{raw}: no files. Run: heed download {raw.name}")
    return read_parallel_lines(raw, corpus)


# --- kinds

FORMAT_KEYS = ("format", "encoding", "delimiter", "quote", "header", "flags")
SOURCE, PARALLEL_SOURCE = (
    SourceKind(
        name=name,
        make=make,
        alternative_keys=(("path", "sha256"), ("paths", "hashes")),
        optional_keys=FORMAT_KEYS,
        parallel=make is make_parallel,
    )
    for name, make in (("table", make_tables), ("parallel", make_parallel))
)
KIND = Kind(
    name="table",
    source=SOURCE,
    read=_read,
    splits=ANY_SPLIT,
    one_of_keys=(("text_column", "text_columns"), ("label_column", "label_columns")),
    optional_keys=(
        "text_separator", "split_column", "id_column", "group_column", "rationale_column",
        "label_separator", "drop_unlabelled",
    ),
    rationale="given",
)  # fmt: skip
PARALLEL_KIND = Kind(
    name="parallel",
    source=PARALLEL_SOURCE,
    read=_read_parallel,
    parallel=True,
    splits=ANY_SPLIT,
    optional_keys=("columns", "split_column", "alignment_base"),
)
KINDS = (PARALLEL_KIND, KIND)

"""Find out how a file of the user's own is written, and which columns are texts and labels."""

import contextlib
import dataclasses
import io
import itertools
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.publication import split_of
from heed.corpora.rows import (
    AT,
    DELIMITERS,
    FASTTEXT_LABEL,
    FORMATS,
    READERS,
    Format,
    JoinedRowsError,
    RowError,
    csv_lines,
    join_names,
    open_text,
    read_table,
    reading,
    separator_of,
    suffix_of,
    text_files,
)
from heed.files import HeedError, bounded_lines

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = 1 << 20  # characters of a file that its format is found by
SAMPLE = 2_000  # rows that a header and the columns are found by
FEW_ROWS = 21  # rows that a delimiter is found by where a later row does not fit
TRIED_DELIMITERS = (",", ";", "|")  # after a tab, which texts hardly have
# Names of columns that are understood without an option, the first of them first.
TEXT_NAMES = (
    "text", "texts", "sentence", "document", "review", "content", "body", "comment", "comment_text",
    "message", "tweet", "utterance", "headline", "title",
)  # fmt: skip
LABEL_NAMES = (
    "label", "labels", "class", "category", "sentiment", "target", "topic", "intent", "emotion",
)  # fmt: skip
SPLIT_NAMES = ("split", "part", "partition", "subset")
OTHER_NAMES = ("id", "name", "author", "date", "description", "url")
KNOWN_NAMES = {*TEXT_NAMES, *LABEL_NAMES, *SPLIT_NAMES, *OTHER_NAMES}
MAX_LABEL, MAX_NAME, LONG_NAME = 40, 40, 6  # characters of a label and a name; words of no name
NO_TABLES = ("dataset_info.json", "dataset_infos.json")  # of Hugging Face's
TEXT_WORDS = 2.5  # words of a column's cells, on average, from which on it is one of texts

Lines = list[list[str]]  # the fields of some rows


# --- format ---------------------------------------------------------------------------------------


def find_format(path: Path, given: Format, no_header: bool) -> Format:
    """Return the format of a file or a folder, from its content and what the user declared.

    Raises HeedError when it cannot be read, or is none that heed reads.
    """
    suffix = suffix_of(path)
    if path.is_dir():
        return dataclasses.replace(given, format="text-folder")
    if suffix == ".parquet":
        return given
    if suffix == ".xlsx":
        rows = [row for _, row in itertools.islice(READERS["xlsx"](path, given), SAMPLE)]
        cells = [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
        return _find_header(given, no_header, [[*rows[0]], *cells] if rows else [])
    with reading(path, given.encoding), open_text(path, given.encoding) as file:
        head = file.read(HEAD)
        start = head.lstrip()
        is_json = suffix in (".json", ".jsonl") or (suffix not in FORMATS and start[:1] in [*"{["])
        if not is_json:
            head += next(bounded_lines(path, file, first=1 + head.count("\n")), "")
    if not start:
        raise HeedError(f"{path}: empty: expected rows, and the names of their columns")
    if start.startswith(FASTTEXT_LABEL):
        return dataclasses.replace(given, format="fasttext")
    if is_json:
        name = "" if suffix in FORMATS else "json" if start[0] == "[" else "jsonl"
        return dataclasses.replace(given, format=name)
    form, lines = _find_delimiter(path, given, head)
    return _find_header(form, no_header, lines)


def describe_format(given: Format, form: Format) -> list[str]:
    """Return notes on what was found of a format and not declared."""
    notes = []
    if form.delimiter not in (None, given.delimiter):
        notes.append(f"fields are separated by {form.delimiter!r}")
    if form.quote not in (None, given.quote):
        notes.append("double quotes do not pair up: each is read as a character of its text")
    if form.header != given.header:
        names = join_names(form.header)
        notes.append(f"no names in the first row: the columns are called {names}")
    return notes


def read_found(path: Path, form: Format, given: Format) -> "tuple[pa.Table, Format]":
    """Return the table of a file, and its format, which a row far below may have corrected."""
    try:
        return read_table(path, form), form
    except JoinedRowsError:
        raise
    except RowError:
        if form.quote is None and given.quote is None:
            plain = dataclasses.replace(form, quote="")
            with contextlib.suppress(HeedError):
                return read_table(path, plain), plain
        raise


def _find_delimiter(path: Path, given: Format, head: str) -> tuple[Format, Lines]:
    """Return the format with delimiter and quote, and the first rows.

    The delimiter is the one that divides all rows into the same number of fields, two or more; of
    several one that makes a column of labels, and then the one with most fields.
    """
    default, declared = DELIMITERS.get(suffix_of(path), ","), separator_of(head)
    named = given.delimiter or declared
    delimiters = [named] if named else ["\t", default, *TRIED_DELIMITERS]
    quotes = ['"', ""] if given.quote is None else [given.quote]
    delimiter, quote = named or default, quotes[0]
    rows: Lines = []
    for count in (SAMPLE, FEW_ROWS):
        found = []
        for each in dict.fromkeys(delimiters):
            tried = {sign: _split(path, head, each, sign, count) for sign in quotes}
            fitting = {sign: lines for sign, lines in tried.items() if _width(lines) > 1}
            if fitting:
                found.append((each, *next(iter(fitting.items()))))
        if found:
            delimiter, quote, rows = max(found, key=lambda each: _rank(each[2]))
            break
    form = dataclasses.replace(
        given,
        format="" if suffix_of(path) in DELIMITERS else "csv",
        delimiter=None if delimiter == default else delimiter,
        quote=given.quote if quote == '"' else quote,
    )
    for sign in (quote, ""):
        rows = rows or _split(path, head, delimiter, sign, FEW_ROWS)
    return form, rows


def _split(path: Path, head: str, delimiter: str, quote: str, count: int) -> Lines:
    try:
        lines = csv_lines(path, io.StringIO(head, newline=""), delimiter, quote)
        return [fields for _, fields in itertools.islice(lines, count)]
    except RowError:
        return []


def _width(rows: Lines) -> int:
    widths = {len(row) for row in rows}
    return widths.pop() if len(widths) == 1 else 0


def _rank(rows: Lines) -> tuple[bool, int]:
    """Return whether a column may be labels, and the number of columns."""
    return any(Column(cells).is_label for cells in zip(*rows[1:], strict=True)), _width(rows)


def _find_header(form: Format, no_header: bool, rows: Lines) -> Format:
    if form.header or not rows or _width(rows) == 0 or (not no_header and _has_header(rows)):
        return form
    columns = [Column(cells) for cells in zip(*rows, strict=True)]
    names = [f"column_{i}" for i in range(1, len(columns) + 1)]
    texts = [i for i, column in enumerate(columns) if column.is_text]
    labels = [i for i, column in enumerate(columns) if column.is_label and i not in texts]
    if len(labels) == 1:
        names[labels[0]] = "label"
    for number, i in enumerate(texts, 1):
        names[i] = "text" if len(texts) == 1 else f"text_{number}"
    return dataclasses.replace(form, header=tuple(names))


def _has_header(rows: Lines) -> bool:
    first, rest = rows[0], rows[1:]
    if KNOWN_NAMES & {cell.strip().lower() for cell in first} or not rest:
        return True
    columns = [Column(cells) for cells in zip(*rest, strict=True)]
    labels = [pair for pair in zip(first, columns, strict=True) if pair[1].is_label]
    if any(cell.strip() in column.values for cell, column in labels):
        return False
    if any(len(cell.split()) >= LONG_NAME or len(cell) > MAX_NAME for cell in first):
        return False
    has_roles = bool(labels) and any(column.is_text for column in columns)
    return not (has_roles and any(map(is_number, first)))


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, with a point or a comma."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


# --- columns --------------------------------------------------------------------------------------


class Column:
    """The content of a column, or of its first rows."""

    def __init__(self, cells: Sequence[str | list[str] | None]) -> None:
        filled = [cell for cell in cells[:SAMPLE] if cell]
        lists = (cell if isinstance(cell, list) else [cell.strip()] for cell in filled)
        self.cells = [each for cell in lists for each in cell if each]
        self.values = {*self.cells}
        self.words = sum(len(cell.split()) for cell in self.cells) / max(1, len(self.cells))

    @property
    def is_label(self) -> bool:
        """Whether the cells are short and repeat themselves."""
        return (
            2 <= len(self.values) <= len(self.cells) / 2
            and max(map(len, self.values)) <= MAX_LABEL
            and self.words < 4
        )

    @property
    def is_text(self) -> bool:
        """Whether the cells have several words and hardly repeat themselves."""
        return self.words >= TEXT_WORDS and len(self.values) > len(self.cells) / 2


@dataclasses.dataclass(frozen=True)
class Roles:
    """The columns with the text and with the labels."""

    texts: list[str]
    labels: list[str]
    # likely choices of texts and labels, where one cannot be told from others
    candidates: tuple[tuple[list[str], list[str]], ...] = ()


def find_roles(table: "pa.Table", texts: list[str], labels: list[str]) -> Roles:
    """Find the columns of texts and labels: as given, by their names, or by their content."""
    names = [name for name in table.column_names if name != AT]
    columns = {name: Column(table.column(name)[:SAMPLE].to_pylist()) for name in names}
    numbered = [name for name in names if re.fullmatch(r"text_\d+", name)]
    texts = texts or _first_known(names, TEXT_NAMES, labels) or numbered
    labels = labels or _first_known(names, LABEL_NAMES, texts)
    rest = [name for name in names if name not in (*texts, *labels)]
    by_words = sorted(rest, key=lambda name: -columns[name].words)
    by_values = sorted(rest, key=lambda name: len(columns[name].values))
    likely_texts = [texts] if texts else [[n] for n in by_words if columns[n].is_text]
    likely_labels = [labels] if labels else [[n] for n in by_values if columns[n].is_label]
    if len(likely_texts) == len(likely_labels) == 1:
        return Roles(likely_texts[0], likely_labels[0])
    unknown = [["COLUMN"]]
    pairs = itertools.product(likely_texts[:2] or unknown, likely_labels[:2] or unknown)
    likely = tuple((text, label) for text, label in pairs if text != label)
    return Roles(
        likely_texts[0] if len(likely_texts) == 1 else [],
        likely_labels[0] if len(likely_labels) == 1 else [],
        candidates=likely or ((["COLUMN"], ["COLUMN"]),),
    )


def _first_known(names: Iterable[str], known: tuple[str, ...], taken: list[str]) -> list[str]:
    by_name = {name.strip().lower(): name for name in reversed([*names]) if name not in taken}
    return [by_name[name] for name in known if name in by_name][:1]


def folder_files(folder: Path) -> list[Path]:
    """Return the tables of a folder, where it is none itself. Raises HeedError without any."""
    if (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file():
        raise HeedError(
            f"{folder}: save_to_disk wrote this folder, which heed does not read. Write a parquet "
            "file for each split: with the package `datasets`, for a split such as train, "
            f"load_from_disk({str(folder)!r})['train'].to_parquet('{folder.name}-train.parquet'). "
            "Then add these files"
        )
    if text_files(folder):
        return []
    files = [path for path in sorted(folder.iterdir()) if path.name not in NO_TABLES]
    tables = [path for path in files if suffix_of(path) in FORMATS]
    # of lines: train.txt and test.txt
    tables = tables or [path for path in files if path.suffix == ".txt" and split_of(path.stem)]
    if not tables and (folder / "data").is_dir():
        return folder_files(folder / "data")
    if not tables:
        raise HeedError(
            f"{folder}: expected a folder for each class with .txt files (or train and test with "
            "such folders), or tables"
        )
    return tables

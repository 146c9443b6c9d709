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
    DELIMITERS,
    FORMATS,
    Format,
    JoinedRowsError,
    RowError,
    csv_lines,
    is_table,
    join_names,
    open_text,
    read_table,
    reading,
    suffix_of,
    text_files,
    xlsx_lines,
)
from heed.files import HeedError, bounded_lines

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = 1 << 20  # characters of a file that its format is found by
IS_JSON = re.compile(r'\[?\s*\{\s*"')  # of a list of objects, or of the first object of lines
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
SPLIT_NAMES = ("split", "part", "partition", "subset", "set", "fold")
OTHER_NAMES = ("id", "name", "author", "date", "description", "url")
KNOWN_NAMES = {*TEXT_NAMES, *LABEL_NAMES, *SPLIT_NAMES, *OTHER_NAMES}
MAX_LABEL, MAX_NAME, LONG_NAME = 40, 40, 6  # characters of a label and a name; words of no name
NO_TABLES = ("dataset_info.json", "dataset_infos.json")  # of Hugging Face's
TEXT_WORDS = 2.5  # words of a column's cells, on average, from which on it is one of texts

Lines = list[list[str]]  # the fields of some rows
Choices = list[list[str]]  # likely columns with the text, or with the labels, the best first


# --- format ---------------------------------------------------------------------------------------


def find_format(path: Path, given: Format, no_header: bool) -> Format:
    """Return the format of a file or a folder, by content and declaration. Raises HeedError."""
    suffix = suffix_of(path)
    if path.is_dir():
        return dataclasses.replace(given, format="text-folder")
    if suffix == ".parquet":
        return given
    if suffix == ".xlsx":
        rows = [row for _, row in itertools.islice(xlsx_lines(path), SAMPLE)]
        columns = itertools.zip_longest(*rows)
        cells = [[cell or "" for cell in row] for row in zip(*columns, strict=True)]
        return _find_header(given, no_header, cells)
    return _find_text_format(path, given, no_header, suffix)


def _find_text_format(path: Path, given: Format, no_header: bool, suffix: str) -> Format:
    with reading(path, given.encoding), open_text(path, given.encoding) as file:
        head = file.read(HEAD)
        start = head.lstrip()
        is_json = suffix in (".json", ".jsonl") or (suffix not in FORMATS and IS_JSON.match(start))
        if not is_json:
            head += next(bounded_lines(path, file, first=1 + head.count("\n")), "")
    if not start:
        raise HeedError(f"{path}: empty: expected rows, and the names of their columns")
    if is_json:
        name = "" if suffix in FORMATS else "json" if start[0] == "[" else "jsonl"
        return dataclasses.replace(given, format=name)
    return _find_csv(path, given, no_header, head)


def describe_format(given: Format, form: Format) -> list[str]:
    """Return notes on what was found of a format and not declared."""
    notes = []
    if form.delimiter not in (None, given.delimiter):
        notes.append(f"fields are separated by {form.delimiter!r}")
    if form.quote not in (None, given.quote):
        notes.append("double quotes do not pair up: each is read as a character of its text")
    if form.header:
        names = join_names(form.header)
        notes.append(f"no names in the first row: the columns are called {names}")
    return notes


def read_found(path: Path, form: Format, given: Format) -> "tuple[pa.Table, Format]":
    """Return the table of a file, and its format, which a row far below may have corrected.

    Raises HeedError: some rows have quotes around their fields, and those of another do not fit.
    """
    quoted, plain = (dataclasses.replace(form, quote=quote) for quote in (None, ""))
    if form == quoted or given.quote is not None:
        try:
            return read_table(path, form), form
        except RowError as error:
            if given.quote is not None or isinstance(error, JoinedRowsError):
                raise
    with contextlib.suppress(HeedError):
        if not _has_quotes(table := read_table(path, plain)):
            return table, plain
    return read_table(path, quoted), quoted  # which names the row


def _has_quotes(table: "pa.Table") -> bool:
    """Return whether fields of some column stand in quotes, in half of the rows or more."""
    columns = (column.to_pylist() for column in table.columns)
    return any(
        2 * sum(str(cell)[:1] == str(cell)[-1:] == '"' for cell in cells) >= len(cells) > 0
        for cells in columns
    )


def _find_csv(path: Path, given: Format, no_header: bool, head: str) -> Format:
    default = DELIMITERS.get(suffix_of(path), ",")
    named = given.delimiter
    delimiters = [named] if named else [*dict.fromkeys(["\t", default, *TRIED_DELIMITERS])]
    quotes = ['"', ""] if given.quote is None else [given.quote]
    delimiter, quote, rows = _find_delimiter(path, head, delimiters, quotes, named or default)
    form = dataclasses.replace(
        given, format="" if suffix_of(path) in DELIMITERS else "csv",
        delimiter=None if delimiter == default else delimiter,
        quote=given.quote if quote == '"' else quote,
    )  # fmt: skip
    return _find_header(form, no_header, rows)


def _find_delimiter(
    path: Path, head: str, delimiters: list[str], quotes: list[str], default: str
) -> tuple[str, str, Lines]:
    """Return the delimiter, the quote, and the first rows.

    The delimiter is the one that divides all rows into the same number of fields, two or more; of
    several one that makes a column of labels, and then the one with most fields.
    """
    for count in (SAMPLE, FEW_ROWS):
        found = {  # of two quotes the first, which is read last
            quote: (sign, lines)
            for quote, sign in itertools.product(delimiters, reversed(quotes))
            if _width(lines := _split(path, head, quote, sign, count)) > 1
        }
        if found:
            best = max(found, key=lambda quote: _rank(found[quote][1]))
            return best, *found[best]
    few = (_split(path, head, default, sign, FEW_ROWS) for sign in (quotes[0], ""))
    return default, quotes[0], next(filter(None, few), [])


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
    return any(SampledColumn(cells).is_label for cells in zip(*rows[1:], strict=True)), _width(rows)


def _find_header(form: Format, no_header: bool, rows: Lines) -> Format:
    if not _width(rows) or (not no_header and _has_header(rows)):
        return form
    columns = [*map(SampledColumn, zip(*rows, strict=True))]
    return dataclasses.replace(form, header=tuple(_make_names(columns)))


def _make_names(columns: "list[SampledColumn]") -> list[str]:
    names = [f"column_{i}" for i in range(1, len(columns) + 1)]
    texts = [i for i, column in enumerate(columns) if column.is_text]
    labels = [i for i, column in enumerate(columns) if column.is_label]
    if len(labels) == 1:
        names[labels[0]] = "label"
    for number, i in enumerate(texts, 1):
        names[i] = "text" if len(texts) == 1 else f"text_{number}"
    return names


def _has_header(rows: Lines) -> bool:
    """Return whether the first row has names: all are known, or it does not look like the rest."""
    first, rest = [*map(str.strip, rows[0])], rows[1:]
    names = {*map(str.lower, first)}
    if not rest or names <= KNOWN_NAMES:
        return True
    columns = [*map(SampledColumn, zip(*rest, strict=True))]
    if any(col.is_label and cell in col.values for cell, col in zip(first, columns, strict=True)):
        return False
    return not names.isdisjoint(KNOWN_NAMES) or _are_names(first, columns)


def _are_names(first: list[str], columns: "list[SampledColumn]") -> bool:
    """Return whether no cell of a first row is a text, or a number above texts and labels."""
    has_roles = any(column.is_label for column in columns) and any(col.is_text for col in columns)
    return not any(map(_is_text, first)) and not (has_roles and any(map(is_number, first)))


def describe_names(names: Iterable[str]) -> list[str]:
    """Return a note where the first row, taken for names of columns, may be a text and a label."""
    several = [name for name in names if len(name.split()) > 1]
    said = "is taken for the name of a column. If the first row is a text: --no-header"
    return [f"{name!r} {said}" for name in several[:1]]


def find_text(names: Iterable[str]) -> str:
    """Return the first name of a column that looks like a text of words; "" without one."""
    of_words = (name for name in names if " " in name or not name.isascii())
    return next(filter(_is_text, of_words), "")


def _is_text(cell: str) -> bool:
    return len(cell.split()) >= LONG_NAME or len(cell) > MAX_NAME or cell.endswith((".", "!"))


def is_number(cell: str) -> bool:
    """Return whether a cell is a number, with a point or a comma."""
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


# --- columns --------------------------------------------------------------------------------------


class SampledColumn:
    """The content of a column, or of its first rows."""

    def __init__(self, cells: Sequence[str | list[str] | None]) -> None:
        filled = [cell for cell in cells[:SAMPLE] if cell]
        lists = (cell if isinstance(cell, list) else [cell.strip()] for cell in filled)
        self.cells = [value for cell in lists for value in cell if value]
        self.values = {*self.cells}
        self.words = sum(len(cell.split()) for cell in self.cells) / max(1, len(self.cells))

    @property
    def is_label(self) -> bool:
        """Whether the cells are short and repeat themselves."""
        repeats = 2 <= len(self.values) <= len(self.cells) / 2
        return repeats and max(map(len, self.values)) <= MAX_LABEL and self.words < 4

    @property
    def is_text(self) -> bool:
        """Whether the cells have several words and hardly repeat themselves."""
        return self.words >= TEXT_WORDS and len(self.values) > len(self.cells) / 2


def find_roles(table: "pa.Table", texts: list[str], labels: list[str]) -> tuple[Choices, Choices]:
    """Return the likely columns of texts and of labels: as given, or by their names or content."""
    names = [*filter(str.strip, table.column_names[1:])]  # the first is AT
    numbered = [name for name in names if re.fullmatch(r"text_\d+", name)]
    texts = texts or _first_known(names, TEXT_NAMES, labels) or numbered
    labels = labels or _first_known(names, LABEL_NAMES, texts)
    rest = [name for name in names if name not in texts + labels]
    columns = {name: SampledColumn(table.column(name)[:SAMPLE].to_pylist()) for name in rest}
    by_words = sorted(rest, key=lambda name: -columns[name].words)
    by_values = sorted(rest, key=lambda name: len(columns[name].values))
    return (
        _choices(texts, filter(lambda name: columns[name].is_text, by_words)),
        _choices(labels, filter(lambda name: columns[name].is_label, by_values)),
    )


def _choices(given: list[str], found: Iterable[str]) -> Choices:
    return [given] if given else [[name] for name in found]


def _first_known(names: Iterable[str], known: tuple[str, ...], taken: list[str]) -> list[str]:
    by_name = {name.strip().lower(): name for name in reversed([*names]) if name not in taken}
    return [by_name[name] for name in known if name in by_name][:1]


def folder_files(folder: Path) -> list[Path]:
    """Return the tables of a folder, where it is none itself. Raises HeedError without any."""
    if any((folder / name).is_file() for name in ("dataset_dict.json", "state.json")):
        raise HeedError(
            f"{folder}: save_to_disk wrote this folder, which heed does not read. Write a parquet "
            "file for each split: with the package `datasets`, for a split such as train, "
            f"load_from_disk({str(folder)!r})['train'].to_parquet('{folder.name}-train.parquet'). "
            "Then add these files"
        )
    if text_files(folder):
        return []
    files = sorted({*folder.glob("[!.]*")} - {*map(folder.joinpath, NO_TABLES)})
    of_lines = (path for path in files if suffix_of(path) == ".txt" and split_of(path.stem))
    if tables := [*filter(is_table, files)] or [*of_lines]:  # of lines: train.txt and test.txt
        return tables
    if (folder / "data").is_dir():
        return folder_files(folder / "data")
    raise HeedError(
        f"{folder}: expected a folder for each class with .txt files (or train and test with such "
        "folders), or tables"
    )

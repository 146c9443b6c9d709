"""Read the rows of a CSV, TSV, JSON, JSON-lines or parquet file; one that does not fit is an error.

A table is read row by row; only a `.json` file is read whole (json_rows.py).
"""

import contextlib
import csv
import itertools
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

from heed.corpora.json_rows import printable, read_json, read_json_lines
from heed.files import HeedError

DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_READERS = {".json": read_json, ".jsonl": read_json_lines}
SUFFIXES = (*DELIMITERS, *JSON_READERS, ".parquet")
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}  # those that are tried
TRIED_ROWS = 20  # rows below the header that a delimiter is tried on
SAMPLE_TEXT = 'text,"label"\n'  # an encoding of text gives it back

Rows = Iterator[tuple[str, list[Any]]]  # the location for messages, and the cells of each row


def read_rows(
    path: Path,
    columns: list[str],
    encoding: str | None = None,
    delimiter: str | None = None,
    quotes: bool | None = None,
) -> Rows:
    """Yield each row as its file with line or row number, and its cells of `columns`.

    A cell of a CSV file is its text: "NA" is a word, not a gap. Other cells are the values of
    JSON and parquet; a missing one is None.

    Args:
        path: a file that ends in one of SUFFIXES.
        columns: names of columns, or keys of the JSON objects.
        encoding: of the text of any but a parquet file; default: UTF-8.
        delimiter: between the fields of a CSV or TSV file; default: that of its ending.
        quotes: false: a double quote in a CSV or TSV file is a character as any other.

    Raises:
        HeedError: the file cannot be read, lacks a column, or has a row that does not fit or that
            is not text in this encoding.

    """
    suffix = _check_suffix(path, encoding, delimiter, quotes)
    with _reading(path, encoding):
        if suffix == ".parquet":
            yield from _read_parquet(path, columns)
            return
        with _open(path, encoding) as file:
            if suffix in DELIMITERS:
                delimiter = delimiter or DELIMITERS[suffix]
                yield from _read_csv(path, _csv_lines(path, file, delimiter, quotes), columns)
                return
            for location, row in JSON_READERS[suffix](path, file):
                yield location, [row[key] for key in _require_keys(location, row, columns)]


def read_columns(
    path: Path,
    encoding: str | None = None,
    delimiter: str | None = None,
    quotes: bool | None = None,
) -> list[str]:
    """Return the names of a table's columns; of JSON the keys of its first object.

    Arguments and errors are those of `read_rows`; of an empty file there are none.
    """
    suffix = _check_suffix(path, encoding, delimiter, quotes)
    with _reading(path, encoding):
        if suffix == ".parquet":
            import pyarrow.parquet  # as below

            with _reading_parquet(path):
                return list(pyarrow.parquet.read_schema(path).names)
        with _open(path, encoding) as file:
            if suffix in DELIMITERS:
                lines = _csv_lines(path, file, delimiter or DELIMITERS[suffix], quotes)
                return next((fields for _, fields in lines), [])
            return next((list(row) for _, row in JSON_READERS[suffix](path, file)), [])


def sniff_delimiter(
    path: Path, encoding: str | None = None, quotes: bool | None = None
) -> str | None:
    """Return the delimiter to declare for a CSV or TSV file; None where that of its ending is it.

    It is the one that divides the header and each of the first rows into the same number of
    fields, two or more; of several the one with most fields. None too where no delimiter does, and
    for any other file.

    Raises HeedError when the file cannot be read.
    """
    default = DELIMITERS.get(path.suffix.lower())
    if default is None:
        return None
    widths = {}
    for delimiter in dict.fromkeys([default, *DELIMITER_NAMES]):
        with _reading(path, encoding), _open(path, encoding) as file:
            lines = _csv_lines(path, file, delimiter, quotes)
            try:
                counts = {len(fields) for _, fields in itertools.islice(lines, 1 + TRIED_ROWS)}
            except _QuotesError:
                continue
        if len(counts) == 1 and (width := min(counts)) > 1:
            widths[delimiter] = width
    best = max(widths, key=widths.__getitem__, default=default)
    return None if best == default else best


def is_text_encoding(name: str) -> bool:
    """Return whether Python has an encoding of text with this name."""
    try:
        return SAMPLE_TEXT.encode(name).decode(name) == SAMPLE_TEXT
    except (LookupError, ValueError):  # unknown, or no encoding of text
        return False


def _check_suffix(
    path: Path, encoding: str | None, delimiter: str | None, quotes: bool | None
) -> str:
    """Return the ending of a table's name. Raises HeedError for one that is not read so."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise HeedError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}")
    if encoding and not is_text_encoding(encoding):
        raise HeedError(
            f"{path}: expected an encoding that Python knows, such as windows-1252, found "
            f"{encoding!r}"
        )
    if encoding and suffix == ".parquet":
        raise HeedError(f"{path}: a parquet file takes no encoding; found {encoding!r}")
    if suffix not in DELIMITERS and (delimiter or quotes is not None):
        key, value = ("delimiter", delimiter) if delimiter else ("quotes", quotes)
        raise HeedError(f"{path}: a {suffix[1:]} file takes no {key}; found {value!r}")
    return suffix


def _open(path: Path, encoding: str | None) -> IO[str]:
    # utf-8-sig: without the byte order mark that some programs write
    newline = "" if path.suffix.lower() in DELIMITERS else "\n"
    return path.open(encoding=encoding or "utf-8-sig", newline=newline)


@contextlib.contextmanager
def _reading(path: Path, encoding: str | None) -> Iterator[None]:
    """Turn what can go wrong when a file is read into a HeedError."""
    try:
        yield
    except FileNotFoundError:
        raise HeedError(f"{path}: not there") from None
    except UnicodeError as error:
        raise _undecodable(path, encoding, error) from None
    except OSError as error:
        raise HeedError(f"{path}: cannot be read: {error.strerror or error}") from None


def _csv_lines(
    path: Path, file: IO[str], delimiter: str, quotes: bool | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line of each row, and its fields; empty lines are skipped.

    Raises HeedError when quotes are not closed, or stand before other text.
    """
    csv.field_size_limit(sys.maxsize)  # a text may be longer than the limit of 131,072 characters
    quoting: Literal[0, 3] = csv.QUOTE_NONE if quotes is False else csv.QUOTE_MINIMAL
    reader = csv.reader(file, delimiter=delimiter, quoting=quoting, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise _QuotesError(
                f"{path}:{line}: not a row of a {path.suffix[1:].upper()} file ({error}). Check "
                "the quotes in this row. If quotes are characters as any other: --no-quotes of a "
                "command, or `quotes: false` of the corpus in params.yaml"
            ) from None
        if fields:
            yield line, fields


class _QuotesError(HeedError):
    """A row whose quotes do not fit."""


def _read_csv(path: Path, lines: Iterator[tuple[int, list[str]]], columns: list[str]) -> Rows:
    """Yield the rows of a CSV or TSV file below its header."""
    _, header = next(lines, (0, []))
    if not header:
        raise HeedError(f"{path}: empty: expected a line with the names of the columns")
    positions = _positions(path, header, columns)
    for line, fields in lines:
        if len(fields) != len(header):
            raise HeedError(
                f"{path}:{line}: expected {len(header)} fields, as in the header, found "
                f"{len(fields)}. A field that holds the delimiter needs quotes"
            )
        yield f"{path}:{line}", [fields[position] for position in positions]


def _positions(path: Path, header: list[str], columns: Iterable[str]) -> list[int]:
    """Return the index of each column. Raises HeedError unless it is there once."""
    for column in columns:
        if column not in header:
            names = ", ".join(map(printable, header))
            separated = (
                " The delimiter of the fields may be another: --delimiter of the command, or the "
                "corpus's `delimiter` in params.yaml"
                if len(header) == 1 and path.suffix.lower() in DELIMITERS
                else ""
            )
            raise HeedError(f"{path}: there is no column {column!r}. Columns: {names}.{separated}")
        if header.count(column) > 1:
            raise HeedError(f"{path}: {header.count(column)} columns are named {column!r}")
    return [header.index(column) for column in columns]


def _require_keys(location: str, row: dict[str, Any], columns: list[str]) -> list[str]:
    """Return the columns. Raises HeedError unless a JSON object has each as a key."""
    for column in columns:
        if column not in row:
            keys = ", ".join(map(printable, row))
            raise HeedError(f"{location}: there is no column {column!r}. Columns: {keys}")
    return columns


def _read_parquet(path: Path, columns: list[str]) -> Rows:
    """Yield the rows of a parquet file."""
    import pyarrow.parquet  # not at the top: the declarations are read without it

    with _reading_parquet(path), pyarrow.parquet.ParquetFile(path) as file:
        _positions(path, file.schema_arrow.names, columns)
        number = 0
        for batch in file.iter_batches(columns=columns):
            cells = [batch.column(column) for column in columns]
            for i in range(batch.num_rows):
                number += 1
                try:
                    yield f"{path}: row {number}", [column[i].as_py() for column in cells]
                except UnicodeDecodeError as error:
                    raise HeedError(f"{path}: row {number}: not UTF-8 ({error.reason})") from None


@contextlib.contextmanager
def _reading_parquet(path: Path) -> Iterator[None]:
    """Turn what can go wrong when a parquet file is read into a HeedError."""
    import pyarrow

    try:
        yield
    except FileNotFoundError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise HeedError(f"{path}: cannot be read as parquet: {reason}") from None


def _undecodable(path: Path, encoding: str | None, problem: UnicodeError) -> HeedError:
    """Return the error of a file that is not text in its encoding, with the first such line."""
    name, content = encoding or "utf-8", path.read_bytes()
    advice = (
        "Declare the encoding that the file has: --encoding of heed corpus add, or the corpus's "
        "`encoding` in params.yaml, such as windows-1252"
    )
    if not encoding and content.startswith((b"\xff\xfe", b"\xfe\xff")):
        advice = advice.replace("windows-1252", "utf-16, which its first bytes are of")
    try:
        content.decode(name)
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(name, errors="ignore").count("\n") + 1
        byte = content[error.start]
        return HeedError(f"{path}:{line}: not {name}: byte 0x{byte:02x}. {advice}")
    except UnicodeError:
        pass
    return HeedError(f"{path}: not {name} ({problem}). {advice}")

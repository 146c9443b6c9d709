"""Read the rows of a CSV, JSON-lines or parquet file; a row that does not fit is an error."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from heed.files import HeedError

SUFFIXES = (".csv", ".jsonl", ".parquet")

Rows = Iterator[tuple[str, list[Any]]]  # the location for messages, and the cells of each row


def read_rows(path: Path, columns: list[str], encoding: str | None = None) -> Rows:
    """Yield each row as its file with line or row number, and its cells of `columns`.

    A cell of a CSV file is its text: "NA" is a word, not a gap. Other cells are the values of
    JSON and parquet; a missing one is None.

    Args:
        path: a file that ends in one of SUFFIXES.
        columns: names of columns, or keys of the JSON objects.
        encoding: of the text of a CSV or JSON-lines file; default: UTF-8.

    Raises:
        HeedError: the file cannot be read, lacks a column, or has a row that does not fit or that
            is not text in this encoding.

    """
    readers = {".csv": _read_csv, ".jsonl": _read_json_lines}
    if path.suffix not in SUFFIXES:
        raise HeedError(f"{path}: expected a file that ends in {', '.join(SUFFIXES)}")
    if encoding and path.suffix not in readers:
        raise HeedError(f"{path}: a {path.suffix[1:]} file takes no encoding; found {encoding!r}")
    try:
        if path.suffix == ".parquet":
            yield from _read_parquet(path, columns)
            return
        # utf-8-sig: without the byte order mark that some programs write
        newline = "" if path.suffix == ".csv" else "\n"
        with path.open(encoding=encoding or "utf-8-sig", newline=newline) as file:
            yield from readers[path.suffix](path, file, columns)
    except FileNotFoundError:
        raise HeedError(f"{path}: not there") from None
    except UnicodeError as error:
        raise _undecodable(path, encoding, error) from None
    except OSError as error:
        raise HeedError(f"{path}: cannot be read: {error.strerror or error}") from None


def _read_csv(path: Path, file: IO[str], columns: list[str]) -> Rows:
    """Yield the rows of a CSV file with a header line; empty lines are skipped."""
    csv.field_size_limit(sys.maxsize)  # a text may be longer than the limit of 131,072 characters
    reader = csv.reader(file, strict=True)
    header: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise HeedError(
                f"{path}:{line}: not a row of a CSV file ({error}). Check the quotes in this row"
            ) from None
        if not row:
            continue
        if not header:
            header = row
            positions = _positions(path, header, columns)
        elif len(row) != len(header):
            raise HeedError(
                f"{path}:{line}: expected {len(header)} fields, as in the header, found "
                f"{len(row)}. A field with a comma needs quotes"
            )
        else:
            yield f"{path}:{line}", [row[position] for position in positions]
    if not header:
        raise HeedError(f"{path}: empty: expected a line with the names of the columns")


def _positions(path: Path, header: list[str], columns: Iterable[str]) -> list[int]:
    """Return the index of each column. Raises HeedError unless it is there once."""
    for column in columns:
        if column not in header:
            names = ", ".join(map(_as_printable, header))
            separated = " Fields are separated by commas." if len(header) == 1 else ""
            raise HeedError(f"{path}: there is no column {column!r}. Columns: {names}.{separated}")
        if header.count(column) > 1:
            raise HeedError(f"{path}: {header.count(column)} columns are named {column!r}")
    return [header.index(column) for column in columns]


def _as_printable(name: str) -> str:
    return name if name.isprintable() else repr(name)


def _read_json_lines(path: Path, file: IO[str], columns: list[str]) -> Rows:
    """Yield the rows of a file with one JSON object a line; empty lines are skipped."""
    for number, line in enumerate(file, 1):
        if line.strip():
            location = f"{path}:{number}"
            yield location, _parse_json_row(location, line, columns)


def _parse_json_row(location: str, line: str, columns: list[str]) -> list[Any]:
    try:
        row = json.loads(line, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise HeedError(f"{location}: not a JSON object ({error})") from None
    if not isinstance(row, dict):
        raise HeedError(f"{location}: expected a JSON object, found {type(row).__name__}")
    for column in columns:
        if column not in row:
            keys = ", ".join(map(_as_printable, row))
            raise HeedError(f"{location}: there is no column {column!r}. Columns: {keys}")
    return [row[column] for column in columns]


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict. Raises ValueError when a key occurs twice."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {max(names, key=names.count)!r} occurs twice")
    return row


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _read_parquet(path: Path, columns: list[str]) -> Rows:
    """Yield the rows of a parquet file."""
    import pyarrow  # not at the top: the declarations are read without it
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _positions(path, file.schema_arrow.names, columns)
            number = 0
            for batch in file.iter_batches(columns=columns):
                cells = [batch.column(column) for column in columns]
                for i in range(batch.num_rows):
                    number += 1
                    try:
                        yield f"{path}: row {number}", [column[i].as_py() for column in cells]
                    except UnicodeDecodeError as error:
                        raise HeedError(
                            f"{path}: row {number}: not UTF-8 ({error.reason})"
                        ) from None
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

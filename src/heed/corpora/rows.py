"""Read any file of the user's own, once, as an Arrow table of text columns.

Its format is in params.yaml, as `heed corpus add` found it (formats.py). `heed download` writes
the table as parquet; all stages after it read that.
"""

import codecs
import contextlib
import csv
import dataclasses
import functools
import gzip
import itertools
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from heed.corpora.publication import split_of
from heed.digests import require_installed
from heed.files import HeedError, bounded_lines, require_readable
from heed.terminal import SURROGATES

if TYPE_CHECKING:
    import pyarrow as pa  # elsewhere not at the top: the declarations are read without it


AT = "heed:at"  # the column with the place of each row in its file, such as `:17`
PATH, NOT_TEXT = b"heed:path", b"heed:not-text"  # metadata: the file; the first cell of no text
BATCH = 10_000  # rows of parquet that are Python objects at a time
SAMPLE_TEXT = 'text,"label"\n'  # an encoding of text gives it back
DELIMITERS = {".csv": ",", ".tsv": "\t"}
FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet",
    ".xlsx": "xlsx",
}  # fmt: skip
MOST_NAMES, MOST_SIGNS = 20, 60  # names in a message, and characters of each
EXCEL = re.compile(r'"?(sep=.)"?[;,]*\s*$', re.IGNORECASE)  # the first line of a file
FASTTEXT = re.compile(r'([^\t]*\t)?"?__label__[^\s,;|]+ ')  # a label with words after it
HIDDEN = re.compile(r"\.|__MACOSX")  # files of macOS, Jupyter and others in a folder
UNLABELLED = ("unsup", "unlabeled", "unlabelled")  # folders of texts without a label

Row = dict[str, object]  # the cells of a row, by column


def _unique(pairs: list[tuple[str, object]]) -> Row:
    """Return the object of these keys and values. Raises ValueError where a key is there twice."""
    if len(row := dict(pairs)) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"an object has the key {twice!r} twice")
    if wrong := next(filter(SURROGATES.search, row), None):
        raise ValueError(f"an object has the key {wrong!r}, which is not text")
    return row


JSON = json.JSONDecoder(  # a number is the text in the file, such as 1.10; NaN is none
    parse_float=str, parse_int=str, object_pairs_hook=_unique,
    parse_constant={"Infinity": "inf", "-Infinity": "-inf"}.get,
)  # fmt: skip
Rows = Iterator[tuple[str, Row]]  # with the place of each row in its file


@dataclasses.dataclass(frozen=True)
class Format:
    """The format of a file. Empty and None: as its ending says, in UTF-8, with double quotes."""

    format: str = ""  # one of READERS
    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None  # around fields of a CSV file; "" where none is
    header: tuple[str, ...] = ()  # the names of columns, where the first row has none


# --- tables ---------------------------------------------------------------------------------------


def read_table(path: Path, form: Format) -> "pa.Table":
    """Return the rows of a file: a column AT, then columns of text or of lists of text.

    A cell is null where it is missing, empty text where it is empty. Numbers are their text. The
    metadata of a column name the first cell that is not text. A file is read once in a process.
    Raises HeedError when the file cannot be read, or has a row that does not fit.
    """
    require_readable(path, or_folder=True)
    stat = path.stat()
    return _read_table(path, form, (stat.st_mtime_ns, stat.st_size))


@functools.lru_cache(maxsize=8)
def _read_table(path: Path, form: Format, stat: tuple[int, int]) -> "pa.Table":
    import pyarrow as pa

    if not (name := form.format or FORMATS.get(suffix_of(path), "")):
        endings = ", ".join(FORMATS)
        raise HeedError(f"{path}: expected a file that ends in {endings}, or in these and .gz")
    with reading(path, form.encoding):
        rows = [*READERS[name](path, form)]
    places = [at for at, _ in rows]
    arrays, fields = [pa.array(places, pa.string())], [pa.field(AT, pa.string())]
    for column in dict.fromkeys(column for _, row in rows for column in row):
        if column == AT:
            raise HeedError(f"{path}: column {AT!r}: heed keeps this name for itself. Rename it")
        array, metadata = _as_array([row.get(column) for _, row in rows], places)
        arrays.append(array)
        fields.append(pa.field(column, array.type, metadata=metadata))
    table = pa.Table.from_arrays(arrays, schema=pa.schema(fields))
    return table.replace_schema_metadata({PATH: str(path).encode()})


def write_table(table: "pa.Table", path: Path) -> None:
    """Write a table of `read_table` as parquet."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path, compression="zstd")


def read_batches(path: Path) -> "Iterator[pa.RecordBatch]":
    """Yield the rows of a table that `write_table` wrote, or of a table of another format."""
    import pyarrow.parquet

    if path.suffix != ".parquet":
        yield from read_table(path, Format()).to_batches()
        return
    with reading(path, None), pyarrow.parquet.ParquetFile(path) as file:
        yield from file.iter_batches(BATCH)


def _as_array(
    cells: list[object], places: list[str]
) -> "tuple[pa.Array, dict[bytes, bytes] | None]":
    import pyarrow as pa

    kinds = [*map(_kind_of, cells)]
    not_text = filter(itemgetter(1), zip(places, kinds, strict=True))
    # a list may be labels or rationale, and is named last
    first = min(not_text, key=lambda found: found[1] == "a list", default=None)
    metadata = None if first is None else {NOT_TEXT: "\t".join(first).encode()}
    pairs = zip(cells, kinds, strict=True)
    known = [cell if kind in ("", "a list") else None for cell, kind in pairs]
    if "a list" not in kinds:
        return pa.array(map(_as_text, known), pa.string()), metadata
    return pa.array(map(_as_texts, known), pa.list_(pa.string())), metadata


def _as_texts(cell: object) -> list[str] | None:
    """Return the texts of a cell of a column with lists, without empty ones; None of none."""
    items = cell if isinstance(cell, list) else [cell]
    return None if cell is None else [*filter(None, map(_as_text, items))]


def _kind_of(cell: object) -> str:
    """Return the name of a cell's kind if it is not text, "" for text, numbers and nothing."""
    if isinstance(cell, list):
        return "an object" if any(isinstance(value, dict | bytes) for value in cell) else "a list"
    return "an object" if isinstance(cell, dict) else "bytes" if isinstance(cell, bytes) else ""


def _as_text(cell: object) -> str | None:
    """Return a cell, or an item of a list, as text; a pair of numbers is a span such as `0-4`."""
    if cell is None or cell != cell:  # NaN is not equal to itself
        return None
    text = "-".join(map(str, cell)) if isinstance(cell, list) else str(cell)
    return text if text.isascii() else SURROGATES.sub("\ufffd", text)


# --- files ----------------------------------------------------------------------------------------


def check_encoding(name: str) -> None:
    """Raise ValueError unless Python has an encoding of text with this name."""
    with contextlib.suppress(LookupError, ValueError):  # unknown, or no encoding of text
        if SAMPLE_TEXT.encode(name).decode(name) == SAMPLE_TEXT:
            return
    raise ValueError(
        f"expected an encoding that Python knows, such as windows-1252, found {name!r}"
    )


def suffix_of(path: Path) -> str:
    """Return the ending of a file's name, without its compression."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def is_table(path: Path) -> bool:
    """Return whether the ending of a file's name is one of a table."""
    return suffix_of(path) in FORMATS


def open_text(path: Path, encoding: str | None, newline: str | None = "") -> TextIO:
    """Open a file, compressed or not, as text; its line ends stay as they are, or become \\n."""
    encoding = encoding or "utf-8"
    try:
        check_encoding(encoding)
    except ValueError as error:
        raise HeedError(f"{path}: {error}") from None
    if codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"  # without the byte order mark that some programs write
    if path.suffix.lower() != ".gz":
        return path.open(encoding=encoding, newline=newline)
    return gzip.open(path, "rt", encoding=encoding, newline=newline)


class EncodingError(HeedError):
    """A file that is not text in its encoding."""


class RowError(HeedError):
    """A row whose quotes do not fit, or with another number of fields than the first."""


class JoinedRowsError(RowError):
    """A row with a quoted text whose lines look like rows: a stray quote and the next one."""


@contextlib.contextmanager
def reading(path: Path, encoding: str | None) -> Iterator[None]:
    """Raise HeedError where a file cannot be read, or EncodingError with the line of no text."""
    try:
        yield
    except UnicodeError as error:
        raise EncodingError(_describe_undecodable(path, encoding or "utf-8", error)) from None
    except (OSError, EOFError, ValueError, NotImplementedError, zlib.error) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise HeedError(f"{path}: cannot be read: {reason}") from None


def _describe_undecodable(path: Path, encoding: str, problem: UnicodeError) -> str:
    found = f"{path}: not {encoding} ({problem})"
    if suffix_of(path) == ".parquet" or path.is_dir():
        return found
    with open_text(path, "latin-1") as file:  # a character a byte
        for number, line in enumerate(bounded_lines(path, file), 1):
            try:
                line.encode("latin-1").decode(encoding)
            except UnicodeError as error:  # of some encodings without the byte
                is_named = isinstance(error, UnicodeDecodeError)
                byte = f"byte 0x{error.object[error.start]:02x}" if is_named else str(error)
                found = f"{path}:{number}: not {encoding}: {byte}"
                break
    return (
        f"{found}. Declare the encoding that the file has: --encoding of heed corpus add, or the "
        "source's `encoding` in params.yaml, such as windows-1252 or utf-16"
    )


def csv_lines(
    path: Path, file: Iterable[str], delimiter: str, quote: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the first line of each row that is not empty, and its fields. Raises RowError."""
    csv.field_size_limit(sys.maxsize)  # a text may be longer than the limit of 131,072 characters
    reader = csv.reader(
        file, delimiter=delimiter, strict=True, quotechar=quote or None,
        quoting=csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
    )  # fmt: skip
    line = 1
    try:
        for fields in reader:
            if len(fields) > 1 or any(map(str.strip, fields)):
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise RowError(
            f"{path}:{line}: not a row of a CSV file ({error}). Check the quotes in this row. "
            "If quotes are characters as any other: --quote= of a command, or `quote: ''` "
            "of the source in params.yaml"
        ) from None


WRONG_FIELDS = "Complete the row, or delete it", "A field that holds the delimiter needs quotes"


def _read_csv(path: Path, form: Format) -> Rows:
    with open_text(path, form.encoding) as file:
        read, quote = _table_lines(path, file), '"' if form.quote is None else form.quote
        delimiter = form.delimiter or DELIMITERS.get(suffix_of(path), ",")
        rows = [*csv_lines(path, read, delimiter, quote)]
    header: Sequence[str] = form.header or (rows[0][1] if rows else [])
    _check_header(path, header)
    for line, fields in rows:
        if len(fields) != len(header):
            raise RowError(
                f"{path}:{line}: expected {len(header)} fields, as in the "
                f"{'first row' if form.header else 'header'}, found {len(fields)}. "
                + WRONG_FIELDS[len(fields) > len(header)]
            )
    if form.quote is None:
        _check_joined_rows(path, delimiter, rows)
    for line, fields in rows[not form.header :]:
        yield f":{line}", dict(zip(header, fields, strict=True))


def _table_lines(path: Path, file: TextIO) -> Iterator[str]:
    """Yield the lines of a table. Raises HeedError: one is of Excel or fastText."""
    for number, line in enumerate(bounded_lines(path, file), 1):
        if number == 1 and (found := EXCEL.match(line)):
            raise HeedError(
                f"{path}:1: {found[1]!r} is a line for Excel, not a row. Delete it: heed finds "
                "the delimiter itself"
            )
        if "__label__" in line and FASTTEXT.match(line):
            table = f"{re.split('[.]', path.name)[0]}.tsv"
            raise HeedError(
                f"{path}:{number}: has its label within the text, as fastText's lines do. Write a "
                'table of lines with one label: python -c "for line in open('
                f"'{path}'): print(*line.removeprefix('__label__').split(None, 1), sep='\\t', "
                f"end='')\" > {table}, then add {table}"
            )
        yield line


def _check_joined_rows(path: Path, delimiter: str, rows: "Sequence[Fields]") -> None:
    if joined := find_joined_rows(rows, delimiter):
        first, last, example = joined
        raise JoinedRowsError(
            f"{path}:{first}: a quote begins a text that ends in line {last}, and "
            f"the lines of this text look like rows, such as {join_names([example])}. If "
            "they are rows, correct this one: quotes around the text, its own quote twice. If all "
            "quotes are characters: --quote= of a command, or `quote: ''` of the source in "
            "params.yaml. If they are one text: --quote '\"', or `quote: '\"'`"
        )


def _check_header(path: Path, header: Sequence[str]) -> None:
    """Raise HeedError without columns, or where two have one name; nameless ones may be several."""
    if not header:
        raise HeedError(f"{path}: empty: expected rows, and the names of their columns")
    for column in header:
        if column and header.count(column) > 1:
            raise HeedError(f"{path}: {header.count(column)} columns are named {column!r}")


def xlsx_lines(path: Path) -> Iterator[tuple[int, list[str | None]]]:
    """Yield the number of each row of the first visible sheet that is not empty, and its cells."""
    require_installed(["openpyxl"], str(path))
    import openpyxl
    from openpyxl.utils.escape import unescape  # _x000D_, a carriage return

    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        sheet = next(sheet for sheet in book.worksheets if sheet.sheet_state == "visible")
        sheet.reset_dimensions()  # which some programs write too small
        for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
            if any(cell is not None for cell in row):
                yield number, [None if cell is None else unescape(str(cell)) for cell in row]
    except Exception as error:  # openpyxl raises whatever its XML and zip readers do
        raise HeedError(f"{path}: cannot be read as .xlsx: {error}") from None
    book.close()


def _read_xlsx(path: Path, form: Format) -> Rows:
    lines = xlsx_lines(path)
    header: Sequence[str] = form.header or [cell or "" for cell in next(lines, (0, ()))[1]]
    _check_header(path, header)
    for number, row in lines:
        if any(row[len(header) :]):
            raise HeedError(
                f"{path}: row {number}: expected {len(header)} cells, as in the first row, found "
                f"{len(row)}. Give each column a name, and delete lines above the names"
            )
        yield f": row {number}", dict(zip(header, row, strict=False))


# --- quotes ---------------------------------------------------------------------------------------
#
# Rows that a stray quote and the next one join: a file without quotes in which one text begins
# with a double quote and a later one ends with it is also a file with quotes, of fewer rows. The
# lines of that text then look like the rows of the file.

LONG = 3  # rows for each line of a text that may hold all rows of a label
SHORT = 100  # characters of a cell that other rows may have too, such as a label
LETTERS, DIGITS = re.compile(r"[^\W\d_]+"), re.compile(r"\d+")

Fields = tuple[int, list[str]]  # the number of the first line of a row, and its fields
Known = dict[int, set[str]]  # cells, reduced to what is compared, by column


class _Text(NamedTuple):
    """A row with a quoted text of several lines: its fields, and the lines, divided into fields."""

    row: Fields
    lines: list[list[str]]
    beside: list[list[int]]


def find_joined_rows(rows: Sequence[Fields], delimiter: str) -> tuple[int, int, str] | None:
    """Return the first row with a text of several lines that look like rows themselves, or None.

    That is: its first and its last line, and one of these lines.
    Such a line has as many fields as a row, and in a column whose cells repeat themselves, such as
    one of labels, a cell of other rows, or of other lines of a text that has a third as many lines
    as there are rows; without such columns, numbers where other rows have some.
    """
    texts = [text for row in rows if (text := _divide(row, delimiter))]
    if not texts:
        return None
    all_fields = [fields for _, fields in rows]
    reduce, known = _find_known(texts, all_fields)
    no_quotes = _needs_no_quotes(texts, all_fields, delimiter)
    for text in texts:
        told = _judge_lines(text, reduce, known)
        if 2 * sum(told) > len(told) or no_quotes:
            first, fields = text.row
            last = first + len(_lines("".join(fields))) - 1
            return first, last, delimiter.join(text.lines[1])
    return None


def _needs_no_quotes(texts: list[_Text], rows: list[list[str]], delimiter: str) -> bool:
    """Return whether without quotes too each line would be a row, and nothing is escaped."""
    if any('"' in cell for text in texts for cell in text.row[1]):
        return False
    lines = (filter(None, _lines(delimiter.join(fields))) for fields in rows)
    width = len(rows[0]) - 1
    return all(line.count(delimiter) == width > 0 for line in itertools.chain(*lines))


def _find_known(texts: list[_Text], rows: list[list[str]]) -> tuple[Callable[[str], str], Known]:
    """Return how cells are compared, and the known ones: themselves, or the shape of numbers."""
    long = (text.lines for text in texts if len(text.lines) * LONG > len(rows))
    joined = [line for lines in long for line in lines if len(line) == len(rows[0])]
    known = _known_cells(rows + joined, str, 2 if joined else 1)
    return (str, known) if known else (_shape, _known_cells(rows, _shape))


def _judge_lines(text: _Text, reduce: Callable[[str], str], known: Known) -> list[bool]:
    """Return whether each line, of those that can be told, looks like a row."""
    width = len(text.row[1])
    return [
        len(line) == width and any(reduce(line[i]) in known[i] for i in columns if i in known)
        for line, columns in zip(text.lines, text.beside, strict=True)
        if len(line) != width or any(i in known for i in columns)
    ]


def _divide(row: Fields, delimiter: str) -> _Text | None:
    """Return the lines of a row, or None unless most of them have as many fields as the row."""
    _, fields = row
    texts = [i for i, cell in enumerate(fields) if "\n" in cell or "\r" in cell]
    if not texts:
        return None
    lines = [*filter(None, _lines(delimiter.join(fields)))]
    fitting = sum(line.count(delimiter) == len(fields) - 1 for line in lines)
    if len(lines) < 2 or 2 * fitting <= len(lines):
        return None
    before, after = [*range(texts[0])], [*range(texts[-1] + 1, len(fields))]
    beside = [after, *[before + after] * (len(lines) - 2), before]
    return _Text(row, [line.split(delimiter) for line in lines], beside)


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _known_cells(rows: list[list[str]], reduce: Callable[[str], str], least: int = 1) -> Known:
    """Return the short cells of `least` rows, by column; none where cells mostly differ."""
    known = {}
    for i, cells in enumerate(zip(*rows, strict=True)):
        counts = Counter(map(reduce, cells))
        if 2 * len(counts) <= len(rows):
            repeated = (cell for cell, count in counts.items() if cell and count >= least)
            known[i] = {cell for cell in repeated if len(cell) <= SHORT}
    return {i: cells for i, cells in known.items() if cells}


def _shape(cell: str) -> str:
    """Return a cell with a digit for each number and a letter for each word; "" without a digit."""
    return DIGITS.sub("9", LETTERS.sub("a", cell)) if DIGITS.search(cell) else ""


# --- JSON -----------------------------------------------------------------------------------------


def _read_json_lines(path: Path, form: Format) -> Rows:
    with open_text(path, form.encoding) as file:
        for number, line in enumerate(bounded_lines(path, file), 1):
            if not line.strip():
                continue
            try:
                row = JSON.decode(line)
            except (ValueError, RecursionError) as error:
                raise HeedError(f"{path}:{number}: not a JSON object ({error})") from None
            yield f":{number}", _require_object(f"{path}:{number}", row)


def _read_json(path: Path, form: Format) -> Rows:
    """Yield the objects of a list, of the only list of objects in an object, or one a line."""
    with open_text(path, form.encoding) as file:
        text = file.read()
    try:
        document = JSON.decode(text)
    except (ValueError, RecursionError) as error:
        if getattr(error, "msg", "") == "Extra data":
            yield from _read_json_lines(path, form)
            return
        raise HeedError(f"{path}:{getattr(error, 'lineno', 1)}: not JSON ({error})") from None
    found = f"a JSON {type(document).__name__}"
    if isinstance(document, dict):
        lists = [key for key, value in document.items() if _has_objects(value)]
        found = f"an object with {len(lists)} such lists: {join_names(lists or document)}"
        document = document[lists[0]] if len(lists) == 1 else None
    if not isinstance(document, list):
        raise HeedError(
            f"{path}: expected a list of objects, an object with one, or an object a line (pandas "
            f'writes a list by to_json(orient="records")), found {found}'
        )
    for number, row in enumerate(document, 1):
        yield f": item {number}", _require_object(f"{path}: item {number}", row)


def _has_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _require_object(location: str, row: object) -> Row:
    if not isinstance(row, dict):
        raise HeedError(f"{location}: expected a JSON object, found {type(row).__name__}")
    return row


# --- parquet --------------------------------------------------------------------------------------


def _read_parquet(path: Path, form: Format) -> Rows:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        _check_header(path, file.schema_arrow.names)
        yield from _arrow_rows(file.iter_batches(BATCH), file.schema_arrow)


def _arrow_rows(batches: "Iterator[pa.RecordBatch]", schema: "pa.Schema") -> Rows:
    """Yield the rows of batches; numbers of classes become their names, -1 becomes None."""
    rows = (row for batch in batches for row in batch.to_pylist())
    classes = _class_names(schema)
    for number, row in enumerate(rows, 1):
        named = {column: _name_classes(row[column], names) for column, names in classes.items()}
        yield f": row {number}", row | named


def _class_names(schema: "pa.Schema") -> dict[str, list[str]]:
    """Return the names of classes, by column. Raises ValueError: not as `datasets` writes them."""
    content = (schema.metadata or {}).get(b"huggingface", b"{}")
    names = {}
    try:
        for key, feature in json.loads(content).get("info", {}).get("features", {}).items():
            inner = feature.get("feature", feature) if isinstance(feature, dict) else feature
            if key in schema.names and isinstance(inner, dict) and inner.get("names"):
                names[key] = [*map(str, inner["names"])]
    except (AttributeError, TypeError, ValueError):
        found = content[:MOST_SIGNS].decode(errors="replace")
        raise ValueError(f"its metadata of Hugging Face is broken: {found!r}") from None
    return names


def _name_classes(cell: object, names: list[str]) -> object:
    if isinstance(cell, list):
        return [_name_classes(value, names) for value in cell]
    return names[cell] if isinstance(cell, int) and 0 <= cell < len(names) else None


def choose_splits(files: Mapping[str, Sequence[Path]]) -> list[str]:
    """Return the splits of a published data set that make a corpus: with labels and a known name.

    A test split may be published without labels, which are -1 then; `unsupervised` is not a split.
    """
    labelled = [split for split, paths in files.items() if any(map(_has_labels, paths))]
    known = [split for split in labelled if split_of(split)]
    return known or labelled or [*files]


def _has_labels(path: Path) -> bool:
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet

    with reading(path, None):
        table = pyarrow.parquet.read_table(path)
        columns = [table[column] for column in _class_names(table.schema)]
    numbers = [column for column in columns if pa.types.is_integer(column.type)]
    highest = [pyarrow.compute.max(column).as_py() for column in numbers]
    return not numbers or any(number is not None and number >= 0 for number in highest)


# --- folders --------------------------------------------------------------------------------------


def _read_text_folder(path: Path, form: Format) -> Rows:
    """Yield the .txt files of the folders CLASS, or SPLIT/CLASS, with their label and split."""
    for file in text_files(path):
        *split, label = file.relative_to(path).parts[:-1]
        with reading(file, form.encoding), open_text(file, form.encoding, None) as text:
            row: Row = {"file": str(file.relative_to(path)), "text": text.read()}
        row["label"] = None if label.lower() in UNLABELLED else label
        yield f"/{row['file']}", row | ({"split": split[0]} if split else {})


def text_files(folder: Path) -> list[Path]:
    """Return the .txt files in a folder's folders of classes, or of splits and classes.

    Hidden files, such as macOS and Jupyter write, are left out. Raises HeedError where a file is at
    another depth.
    """
    names = _visible_files(folder)
    names = {path: parts for path, parts in names.items() if suffix_of(path) == ".txt"}
    wanted = _depth(names.values())
    chosen = [path for path, parts in names.items() if len(parts) == wanted]
    for path, parts in names.items() if chosen else ():
        # a split may have other files besides the folders of its classes
        if len(parts) != wanted and not (len(parts) == 2 and split_of(parts[0])):
            raise HeedError(
                f"{path}: is at another depth than {chosen[0]}. Put each text into the folder of "
                "its class, which may be in the folder of its split"
            )
    return chosen


def _depth(files: Iterable[tuple[str, ...]]) -> int:
    """Return the number of parts of each text's name: CLASS/FILE, or SPLIT/CLASS/FILE."""
    deep = {split_of(parts[0]) for parts in files if len(parts) == 3}
    return 3 if deep and None not in deep else 2


def describe_left_out(folder: Path) -> str:
    """Return how many files of a folder of texts are none, and their endings; "": all are."""
    others = filter(Path.is_file, _visible_files(folder).keys() - {*text_files(folder)})
    endings = Counter(path.suffix or "none" for path in sorted(others))
    found = f"{endings.total():,} files that are not texts of a class ({join_names(endings)})"
    return found * bool(endings)


def _visible_files(folder: Path) -> dict[Path, tuple[str, ...]]:
    """Return what is in the folders of a folder, with the parts of their names in it."""
    found = {*folder.rglob("*"), *folder.glob("*/*"), *folder.glob("*/*/*")}  # links too
    names = {path: path.relative_to(folder).parts for path in sorted(found)}
    return {
        path: parts
        for path, parts in names.items()
        if len(parts) > 1 and not any(map(HIDDEN.match, parts))
    }


READERS: dict[str, Callable[[Path, Format], Rows]] = {
    "csv": _read_csv, "json": _read_json, "jsonl": _read_json_lines, "parquet": _read_parquet,
    "xlsx": _read_xlsx, "text-folder": _read_text_folder,
}  # fmt: skip


# --- messages -------------------------------------------------------------------------------------


def no_column(path: Path | str, column: str, columns: Iterable[str]) -> str:
    """Return the message of a column that is not there."""
    names = [name for name in columns if name != AT]
    found = f"{path}: there is no column {column!r}. Columns: {join_names(names)}."
    if len(names) == 1 and suffix_of(Path(path)) in DELIMITERS:
        found += (
            " The delimiter of the fields may be another: --delimiter of the command, or the "
            "source's `delimiter` in params.yaml"
        )
    return found


def join_names(names: Iterable[str]) -> str:
    """Return names for a message of one line: not all of many, quoted if a terminal obeyed them."""
    names = [*names]
    shown = names if len(names) <= MOST_NAMES else [*names[: MOST_NAMES - 1], "…", names[-1]]
    cut = (name if len(name) <= MOST_SIGNS else f"{name[:MOST_SIGNS]}…" for name in shown)
    return ", ".join(name if name.isprintable() else repr(name) for name in cut)

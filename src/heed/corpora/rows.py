"""Read any file of the user's own, once, as an Arrow table of text columns.

A format is what has to be known of a file to read it: it stands in the source's section of
params.yaml, as `heed corpus add` found it (formats.py). `heed download` writes the table as
parquet; all stages after it read that.
"""

import contextlib
import csv
import dataclasses
import functools
import io
import itertools
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from heed.corpora.publication import open_compressed, split_of
from heed.files import HeedError

if TYPE_CHECKING:
    import pyarrow as pa  # elsewhere not at the top: the declarations are read without it

    from heed.corpora.declared import Source

AT = "heed:at"  # the column with the place of each row in its file, such as `:17`
PATH, NOT_TEXT = b"heed:path", b"heed:not-text"  # metadata: the file; the first cell of no text
BATCH = 10_000  # rows that are Python objects at a time
MAX_JSON = 200_000_000  # bytes of a list of objects, which is read whole
SURROGATES = re.compile("[\ud800-\udfff]")
SAMPLE_TEXT = 'text,"label"\n'  # an encoding of text gives it back
DELIMITERS = {".csv": ",", ".tsv": "\t"}
FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet",
    ".xlsx": "xlsx", ".arrow": "arrow",
}  # fmt: skip
TEXT_FORMATS = ("csv", "json", "jsonl", "fasttext", "prodigy", "label-studio")
LABELS = "labels"  # the column that flags become
MOST_NAMES, MOST_SIGNS = 20, 60  # names in a message, and characters of each
FASTTEXT_LABEL = "__label__"
FASTTEXT_LINE = re.compile(rf"\s*((?:{FASTTEXT_LABEL}\S*(?:\s+|$))*)(.*)", re.DOTALL)
UNLABELLED = ("unsup", "unlabeled", "unlabelled")  # folders of texts without a label

Cells = Iterator[tuple[str, dict[str, Any]]]  # the place of a row, and its cells by column


@dataclasses.dataclass(frozen=True)
class Format:
    """How a file is written. Empty and None: as its ending says, in UTF-8, with double quotes.

    name: one of READERS.
    quote: the character around fields of a CSV file; "" where none is.
    header: the names of the columns of a CSV or Excel file whose first row has none.
    flags: columns of 0 and 1, one a label, which become one column `labels`.
    """

    name: str = ""
    encoding: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    header: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()


def format_of(source: "Source") -> Format:
    """Return the format that the section of a source declares."""
    header, flags = tuple(source.header or ()), tuple(source.flags or ())
    return Format(
        source.format or "", source.encoding, source.delimiter, source.quote, header, flags
    )


# --- tables ---------------------------------------------------------------------------------------


def read_table(path: Path, form: Format, most: int | None = None) -> "pa.Table":
    """Return the first rows of a file as `_read_table` does, which reads it once in a process."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise HeedError(f"{path}: not there") from None
    return _read_table(path, form, most, (stat.st_mtime_ns, stat.st_size))


@functools.lru_cache(maxsize=8)
def _read_table(path: Path, form: Format, most: int | None, stat: tuple[int, int]) -> "pa.Table":
    """Return the rows of a file: a column AT, then columns of text or of lists of text.

    A cell is null where it is missing, empty text where it is empty. Numbers are their text. The
    metadata of a column name the first cell that is no text.

    Raises HeedError when the file cannot be read, or has a row that does not fit.
    """
    import pyarrow as pa

    name = check_format(path, form)
    with reading(path, form.encoding):
        rows = itertools.islice(READERS[name](path, form), most)
        tables = [_as_arrow(batch) for batch in iter(lambda: [*itertools.islice(rows, BATCH)], [])]
    table = _concatenate(tables) if tables else pa.table({AT: pa.array([], pa.string())})
    if form.flags:
        table = _join_flags(path, table, form.flags)
    return table.replace_schema_metadata({PATH: str(path).encode()})


def write_table(table: "pa.Table", path: Path) -> None:
    """Write a table of `read_table` as parquet."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path, compression="zstd")


def read_batches(path: Path) -> "Iterator[pa.RecordBatch]":
    """Yield the rows of a table that `write_table` wrote, or of any other table."""
    import pyarrow.parquet

    if path.suffix == ".parquet":
        with _arrow_errors(path, "parquet"), pyarrow.parquet.ParquetFile(path) as file:
            if AT in file.schema_arrow.names:
                yield from file.iter_batches(BATCH)
                return
    yield from read_table(path, Format()).to_batches()


def _as_arrow(rows: list[tuple[str, dict[str, Any]]]) -> "pa.Table":
    """Return rows as a table of columns of text, or of lists of text."""
    import pyarrow as pa

    places = [at for at, _ in rows]
    arrays, fields = [pa.array(places, pa.string())], [pa.field(AT, pa.string())]
    for name in dict.fromkeys(name for _, row in rows for name in row):
        array, metadata = _as_array([row.get(name) for _, row in rows], places)
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata=metadata))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _as_array(cells: list[Any], places: list[str]) -> "tuple[pa.Array, dict[bytes, bytes] | None]":
    """Return cells as an array, and what and where the first one is that is no text."""
    import pyarrow as pa

    kinds = [_kind_of(cell) for cell in cells]
    first = next((i for i, kind in enumerate(kinds) if kind), None)
    metadata = None if first is None else {NOT_TEXT: f"{places[first]}\t{kinds[first]}".encode()}
    if "a list" in kinds:
        lists = [
            [_as_text(item) for item in (cell if isinstance(cell, list) else [cell])]
            if cell is not None and kind in ("", "a list")
            else None
            for kind, cell in zip(kinds, cells, strict=True)
        ]
        return pa.array(lists, pa.list_(pa.string())), metadata
    texts = [None if kind else _as_text(cell) for kind, cell in zip(kinds, cells, strict=True)]
    try:
        return pa.array(texts, pa.string()), metadata
    except UnicodeEncodeError:  # half a character, as JSON may have
        texts = [text and SURROGATES.sub("\ufffd", text) for text in texts]
        return pa.array(texts, pa.string()), metadata


def _kind_of(cell: Any) -> str:
    """Return the name of a cell's kind if it is no text, "" for text, numbers and nothing."""
    if isinstance(cell, list):
        return "an object" if any(isinstance(each, dict | bytes) for each in cell) else "a list"
    return "an object" if isinstance(cell, dict) else "bytes" if isinstance(cell, bytes) else ""


def _as_text(cell: Any) -> str | None:
    """Return a cell, or an item of a list, as text; a pair of numbers is a span such as `0-4`."""
    if cell is None or cell != cell:  # NaN is not equal to itself
        return None
    return "-".join(map(str, cell)) if isinstance(cell, list) else str(cell)


def _concatenate(tables: "list[pa.Table]") -> "pa.Table":
    """Return one table; a column that has lists in some of the tables has lists in all."""
    import pyarrow as pa

    all_fields = [field for table in reversed(tables) for field in table.schema]
    lists = {field.name for field in all_fields if pa.types.is_list(field.type)}
    metadata = {field.name: field.metadata for field in all_fields if field.metadata}
    for i, table in enumerate(tables):
        columns = [
            pa.array([cell if cell is None else [cell] for cell in column.to_pylist()])
            if field.name in lists and not pa.types.is_list(field.type)
            else column
            for field, column in zip(table.schema, table.columns, strict=True)
        ]
        fields = [
            pa.field(name, column.type, metadata=metadata.get(name))
            for name, column in zip(table.column_names, columns, strict=True)
        ]
        tables[i] = pa.Table.from_arrays(columns, schema=pa.schema(fields))
    return pa.concat_tables(tables, promote_options="default").combine_chunks()


def _join_flags(path: Path, table: "pa.Table", flags: tuple[str, ...]) -> "pa.Table":
    """Replace columns of 0 and 1, one a label, by the column LABELS with lists of their names."""
    import pyarrow as pa

    for flag in flags:
        if flag not in table.column_names:
            raise HeedError(no_column(path, flag, table.column_names))
    rows = zip(*(table.column(flag).to_pylist() for flag in flags), strict=True)
    labels = [
        [flag for flag, cell in zip(flags, row, strict=True) if is_flag(cell)] for row in rows
    ]
    return table.drop_columns([*flags]).append_column(
        pa.field(LABELS, pa.list_(pa.string())), pa.array(labels, pa.list_(pa.string()))
    )


def is_flag(cell: str | None) -> bool:
    """Return whether the cell of a flag is set."""
    return (cell or "").strip().lower() in ("1", "1.0", "true")


# --- formats --------------------------------------------------------------------------------------


def check_format(path: Path, form: Format) -> str:
    """Return the name of the format of a file. Raises HeedError where options do not fit it."""
    name = form.name or FORMATS.get(suffix_of(path), "")
    if not name:
        raise HeedError(
            f"{path}: expected a file that ends in {', '.join(FORMATS)}, or in these and .gz"
        )
    if form.encoding and not is_text_encoding(form.encoding):
        raise HeedError(
            f"{path}: expected an encoding that Python knows, such as windows-1252, found "
            f"{form.encoding!r}"
        )
    takes = {"encoding": name in TEXT_FORMATS, "delimiter": name == "csv", "quote": name == "csv"}
    for key, is_taken in takes.items():
        value = getattr(form, key)
        if not is_taken and (value or (key == "quote" and value is not None)):
            raise HeedError(f"{path}: a file of {name} takes no {key}; found {value!r}")
    return name


def is_text_encoding(name: str) -> bool:
    """Return whether Python has an encoding of text with this name."""
    try:
        return SAMPLE_TEXT.encode(name).decode(name) == SAMPLE_TEXT
    except (LookupError, ValueError):  # unknown, or no encoding of text
        return False


def suffix_of(path: Path) -> str:
    """Return the ending of a file's name, without that of its compression."""
    return Path(path.stem if path.suffix.lower() == ".gz" else path.name).suffix.lower()


def is_table(path: Path) -> bool:
    """Return whether the ending of a file's name is one of a table."""
    return suffix_of(path) in FORMATS


def open_text(path: Path, encoding: str | None) -> IO[str]:
    """Open a file, compressed or not, as text with its line ends as they are."""
    # utf-8-sig: without the byte order mark that some programs write
    if path.suffix.lower() != ".gz":
        return path.open(encoding=encoding or "utf-8-sig", newline="")
    with open_compressed(path) as file:
        return io.TextIOWrapper(io.BytesIO(file.read()), encoding or "utf-8-sig", newline="")


class EncodingError(HeedError):
    """A file that is not text in its encoding."""


@contextlib.contextmanager
def reading(path: Path, encoding: str | None) -> Iterator[None]:
    """Raise HeedError where a file cannot be read, or EncodingError with the line of no text."""
    try:
        yield
    except UnicodeError as error:
        raise EncodingError(_describe_undecodable(path, encoding, error)) from None
    except OSError as error:
        raise HeedError(f"{path}: cannot be read: {error.strerror or error}") from None


class QuotesError(HeedError):
    """A row whose quotes do not fit."""


class WidthError(HeedError):
    """A row with another number of fields than the first."""


def csv_lines(
    path: Path, file: Iterable[str], delimiter: str, quote: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line of each row, and its fields; empty lines are skipped.

    Raises QuotesError when quotes are not closed, or stand before other text.
    """
    csv.field_size_limit(sys.maxsize)  # a text may be longer than the limit of 131,072 characters
    quotes: dict[str, Any] = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    reader = csv.reader(file, delimiter=delimiter, strict=True, **quotes)
    line = 1
    try:
        for fields in reader:
            if fields:
                yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise QuotesError(
            f"{path}:{line}: not a row of a CSV file ({error}). Check the quotes in this row. "
            "If quotes are characters as any other: --no-quotes of a command, or `quote: ''` "
            "of the source in params.yaml"
        ) from None


def _read_csv(path: Path, form: Format) -> Cells:
    """Yield the rows of a CSV file, below its header if it has one."""
    delimiter = form.delimiter or DELIMITERS.get(suffix_of(path), ",")
    with open_text(path, form.encoding) as file:
        lines = csv_lines(path, file, delimiter, '"' if form.quote is None else form.quote)
        header: Sequence[str] = form.header or next(lines, (0, []))[1]
        if not header:
            raise HeedError(f"{path}: empty: expected rows, and the names of their columns")
        _check_header(path, header)
        for line, fields in lines:
            if len(fields) != len(header):
                raise WidthError(
                    f"{path}:{line}: expected {len(header)} fields, as in the "
                    f"{'first row' if form.header else 'header'}, found {len(fields)}. A field "
                    "that holds the delimiter needs quotes"
                )
            yield f":{line}", dict(zip(header, fields, strict=True))


def _check_header(path: Path, header: Sequence[str]) -> None:
    """Raise HeedError where two columns have the same name; nameless ones may be several."""
    for column in header:
        if column and header.count(column) > 1:
            raise HeedError(f"{path}: {header.count(column)} columns are named {column!r}")


def _read_xlsx(path: Path, form: Format) -> Cells:
    """Yield the rows of the first sheet of an Excel file."""
    try:
        import openpyxl
    except ImportError:
        raise HeedError(
            f"{path}: to read Excel files: pip install openpyxl. Or save the sheet as .csv"
        ) from None
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:  # openpyxl raises whatever its XML and zip readers do
        raise HeedError(f"{path}: cannot be read as .xlsx: {error}") from None
    rows = enumerate(book.worksheets[0].iter_rows(values_only=True), 1)
    filled = ((number, row) for number, row in rows if any(cell is not None for cell in row))
    header: Sequence[str] = form.header
    if not header:
        header = ["" if cell is None else str(cell) for cell in next(filled, (0, ()))[1]]
    _check_header(path, header)
    for number, row in filled:
        yield f": row {number}", dict(zip(header, row, strict=False))
    book.close()


# --- JSON -----------------------------------------------------------------------------------------


def _read_json_lines(path: Path, form: Format) -> Cells:
    """Yield the objects of a file with one JSON object a line; empty lines are skipped."""
    with open_text(path, form.encoding) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                row = _decode_json(f"{path}:{number}", line)
                yield f":{number}", _require_object(f"{path}:{number}", row)


def _read_json(path: Path, form: Format) -> Cells:
    """Yield the objects of a list, of the only list of objects in an object, or one a line."""
    if _has_object_a_line(path, form):
        yield from _read_json_lines(path, form)
        return
    if (size := path.stat().st_size) > MAX_JSON:
        raise HeedError(
            f"{path}: {size:,} bytes: a .json file with a list is read whole, and may have "
            f"{MAX_JSON:,}. Write it as .jsonl, one object a line, which may have any size"
        )
    with open_text(path, form.encoding) as file:
        document = _decode_json(str(path), file.read())
    if isinstance(document, dict):
        document = document[_list_key(path, document)]
    if not isinstance(document, list):
        raise HeedError(f"{path}: expected a list of objects, found {type(document).__name__}")
    for number, row in enumerate(document, 1):
        yield f": item {number}", _require_object(f"{path}: item {number}", row)


def _require_object(location: str, row: Any) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise HeedError(f"{location}: expected a JSON object, found {type(row).__name__}")
    return row


def _has_object_a_line(path: Path, form: Format) -> bool:
    """Return whether the first line with text is an object, and another line follows it."""
    with open_text(path, form.encoding) as file:
        lines = (line for line in iter(lambda: file.readline(MAX_JSON), "") if line.strip())
        try:
            first = json.loads(next(lines, "")) if suffix_of(path) else None
        except (ValueError, RecursionError):
            return False
        return isinstance(first, dict) and next(lines, None) is not None


def _list_key(path: Path, document: dict[str, Any]) -> str:
    """Return the key of the only list of objects. Raises HeedError when there is none, or more."""
    lists = {key: value for key, value in document.items() if isinstance(value, list) and value}
    keys = [key for key, value in lists.items() if isinstance(value[0], dict)]
    if len(keys) == 1:
        return keys[0]
    if not keys:
        raise HeedError(
            f"{path}: expected a list of objects, or an object with one, found an object with "
            f"{join_names(document) or 'no keys'} (of a table of pandas, "
            'to_json(orient="records") writes a list)'
        )
    raise HeedError(
        f"{path}: expected one list of objects, found {len(keys)}: {join_names(keys)}. Write each "
        "to a file of its own"
    )


def _decode_json(location: str, text: str) -> Any:
    try:
        return DECODER.decode(text.strip())
    except json.JSONDecodeError as error:
        line = "" if error.lineno == 1 else f":{error.lineno}"
        raise HeedError(f"{location}{line}: not a JSON object ({error.msg})") from None
    except (ValueError, RecursionError) as error:  # numbers too long, lists too deep
        raise HeedError(f"{location}: not a JSON object ({error})") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object as a dict. Raises ValueError when a key occurs twice."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {max(names, key=names.count)!r} occurs twice")
    return row


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


DECODER = json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)


def is_binary(row: dict[str, Any]) -> bool:
    """Return whether a row of Prodigy's asks for one label, which is accepted or rejected."""
    return isinstance(row.get("label"), str) and "accept" not in row


def rejected_labels(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return the label of a text by the one that was rejected for it; of three labels none.

    Of two labels it is the other one; a single label makes a second one, `not` and its name.
    """
    labels = sorted({row["label"] for row in rows if is_binary(row)})
    if len(labels) == 1:
        return {labels[0]: f"not {labels[0]}"}
    return dict(zip(labels, labels[::-1], strict=True)) if len(labels) == 2 else {}


def _read_prodigy(path: Path, form: Format) -> Cells:
    """Yield the answers of Prodigy's JSON lines that give a label, which is in `label`."""
    rejected = rejected_labels(row for _, row in _read_json_lines(path, form))
    for at, row in _read_json_lines(path, form):
        answer, label = row.get("answer", "accept"), row.get("accept", row.get("label"))
        if answer == "reject" and is_binary(row) and label in rejected:
            answer, label = "accept", rejected[label]
        if answer == "accept":
            yield at, {"text": row.get("text"), "label": label}


def _read_label_studio(path: Path, form: Format) -> Cells:
    """Yield the tasks of Label Studio's JSON: their data, and the choices of each control."""
    for at, task in _read_json(path, form):
        row = dict(task["data"])
        given = [each for each in task.get("annotations", ()) if not each.get("was_cancelled")]
        for result in given[0]["result"] if given else ():
            if choices := result.get("value", {}).get("choices"):
                row[result.get("from_name", "label")] = choices
        yield at, row


def _read_fasttext(path: Path, form: Format) -> Cells:
    """Yield the lines of fastText's format: labels that begin with __label__, then the text."""
    with open_text(path, form.encoding) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                words, text = FASTTEXT_LINE.findall(line)[0]
                labels = [word.removeprefix(FASTTEXT_LABEL) for word in words.split()]
                yield f":{number}", {"label": labels or None, "text": text.strip()}


# --- Arrow ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _arrow_errors(path: Path, kind: str) -> Iterator[None]:
    """Raise HeedError where a file cannot be read as `kind`."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, ValueError, OSError) as error:
        reason = " ".join(str(error).split())
        raise HeedError(f"{path}: cannot be read as {kind}: {reason}") from None


def _read_parquet(path: Path, form: Format) -> Cells:
    """Yield the rows of a parquet file."""
    import pyarrow.parquet

    with _arrow_errors(path, "parquet"), pyarrow.parquet.ParquetFile(path) as file:
        _check_header(path, file.schema_arrow.names)
        yield from _arrow_rows(path, file.iter_batches(BATCH), file.schema_arrow)


def _read_arrow(path: Path, form: Format) -> Cells:
    """Yield the rows of a stream of Arrow, as `save_to_disk` of Hugging Face's datasets writes."""
    import pyarrow as pa

    with (
        _arrow_errors(path, "a stream of Arrow"),
        pa.memory_map(str(path)) as file,
        pa.ipc.open_stream(file) as stream,
    ):
        yield from _arrow_rows(path, iter(stream), stream.schema)


def _arrow_rows(path: Path, batches: "Iterator[pa.RecordBatch]", schema: "pa.Schema") -> Cells:
    """Yield the rows of batches; numbers of classes become their names, -1 becomes None."""
    number, classes = 0, _class_names(schema)
    for batch in batches:
        for row in _decode_rows(path, batch, number):
            number += 1
            for column, names in classes.items():
                row[column] = _name_classes(row[column], names)
            yield f": row {number}", row


def _decode_rows(path: Path, batch: "pa.RecordBatch", before: int) -> list[dict[str, Any]]:
    """Return the rows of a batch. Raises HeedError with the number of one that is not UTF-8."""
    try:
        return list(batch.to_pylist())
    except UnicodeDecodeError as error:
        if batch.num_rows == 1:
            raise HeedError(f"{path}: row {before + 1}: not UTF-8 ({error.reason})") from None
        slices = (_decode_rows(path, batch.slice(i, 1), before + i) for i in range(len(batch)))
        return [row for (row,) in slices]


def _class_names(schema: "pa.Schema") -> dict[str, list[str]]:
    """Return the names of the classes of each column that Hugging Face's datasets numbers."""
    features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    names = {}
    for column, feature in features.get("info", {}).get("features", {}).items():
        feature = feature if isinstance(feature, dict) else {}
        inner = feature.get("feature", feature)
        if column in schema.names and isinstance(inner, dict) and inner.get("names"):
            names[column] = list(inner["names"])
    return names


def _name_classes(cell: Any, names: list[str]) -> Any:
    if isinstance(cell, list):
        return [_name_classes(each, names) for each in cell]
    return names[cell] if isinstance(cell, int) and 0 <= cell < len(names) else None


# --- folders --------------------------------------------------------------------------------------


def _read_saved_dataset(path: Path, form: Format) -> Cells:
    """Yield the rows of a folder of `save_to_disk`; of one with splits with the column `split`."""
    splits = [""]
    if (path / "dataset_dict.json").is_file():
        splits = json.loads((path / "dataset_dict.json").read_text(encoding="utf-8"))["splits"]
    for split in splits:
        folder = path / split
        if not (folder / "state.json").is_file():
            raise HeedError(f"{folder}: expected state.json, as save_to_disk of datasets writes it")
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        for file in state["_data_files"]:
            name = (Path(split) / file["filename"]).as_posix()
            for at, row in _read_arrow(folder / file["filename"], form):
                yield f"/{name}{at}", row | ({"split": split} if split else {})


def _read_text_folder(path: Path, form: Format) -> Cells:
    """Yield the .txt files of the folders CLASS, or SPLIT/CLASS, with their label and split."""
    for file in text_files(path):
        folders = file.relative_to(path).parts[:-1]
        with reading(file, form.encoding):
            text = file.read_text(encoding=form.encoding or "utf-8-sig")
        label = None if folders[-1].lower() in UNLABELLED else folders[-1]
        name = file.relative_to(path).as_posix()
        split = {"split": folders[0]} if len(folders) == 2 else {}
        yield f"/{name}", {"file": name, "text": text, "label": label} | split


def text_files(folder: Path) -> list[Path]:
    """Return the .txt files of a folder with a folder for each class, or each split and class.

    Files that are in no folder of a class are none of them.
    """
    files = sorted(folder.glob("*/*/*.txt"))
    if files and all(split_of(file.parts[-3]) for file in files):
        return files
    return sorted(folder.glob("*/*.txt"))


READERS: dict[str, Callable[[Path, Format], Cells]] = {
    "csv": _read_csv, "json": _read_json, "jsonl": _read_json_lines, "parquet": _read_parquet,
    "arrow": _read_arrow, "xlsx": _read_xlsx, "fasttext": _read_fasttext,
    "prodigy": _read_prodigy, "label-studio": _read_label_studio, "text-folder": _read_text_folder,
    "saved-dataset": _read_saved_dataset,
}  # fmt: skip


# --- messages -------------------------------------------------------------------------------------


def no_column(path: Path | str, column: str, columns: Iterable[str]) -> str:
    """Return the message of a column that is not there."""
    names = [name for name in columns if name != AT]
    advice = (
        " The delimiter of the fields may be another: --delimiter of the command, or the source's "
        "`delimiter` in params.yaml"
    )
    has_advice = len(names) == 1 and suffix_of(Path(path)) in DELIMITERS
    found = f"{path}: there is no column {column!r}. Columns: {join_names(names)}."
    return found + (advice if has_advice else "")


def join_names(names: Iterable[str]) -> str:
    """Return names for a message of one line: not all of many, quoted if a terminal obeyed them."""
    names = [*names]
    shown = names if len(names) <= MOST_NAMES else [*names[: MOST_NAMES - 1], "…", names[-1]]
    cut = (name if len(name) <= MOST_SIGNS else f"{name[:MOST_SIGNS]}…" for name in shown)
    return ", ".join(name if name.isprintable() else repr(name) for name in cut)


def _describe_undecodable(path: Path, encoding: str | None, problem: UnicodeError) -> str:
    """Return the message of a file that is not text in its encoding, with the first such line."""
    name = encoding or "utf-8"
    if path.is_dir():
        return f"{path}: not {name} ({problem})"
    with open_text(path, "latin-1") as file:  # each byte is a character
        content = file.read().encode("latin-1")
    advice = (
        "Declare the encoding that the file has: --encoding of heed corpus add, or the source's "
        "`encoding` in params.yaml, such as windows-1252"
    )
    if not encoding and content.startswith((b"\xff\xfe", b"\xfe\xff")):
        advice = advice.replace("windows-1252", "utf-16, which its first bytes are of")
    try:
        content.decode(name)
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(name, errors="ignore").count("\n") + 1
        return f"{path}:{line}: not {name}: byte 0x{content[error.start]:02x}. {advice}"
    except UnicodeError:
        pass
    return f"{path}: not {name} ({problem}). {advice}"

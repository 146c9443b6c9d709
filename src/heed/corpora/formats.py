"""Find out how a file of the user's own is written, and which columns are texts and labels."""

import dataclasses
import io
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heed.corpora.publication import split_of
from heed.corpora.rows import (
    AT,
    DELIMITERS,
    FASTTEXT_LABEL,
    FORMATS,
    LABELS,
    READERS,
    Format,
    QuotesError,
    WidthError,
    csv_lines,
    is_binary,
    open_text,
    read_table,
    reading,
    rejected_labels,
    suffix_of,
    text_files,
)
from heed.files import HeedError

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
    "label", LABELS, "class", "category", "sentiment", "target", "topic", "intent", "emotion",
)  # fmt: skip
SPLIT_NAMES = ("split", "part", "partition", "subset")
OTHER_NAMES = ("id", "name", "author", "date", "description", "url")
MAX_LABEL, MAX_NAME, LONG_NAME = 40, 40, 6  # characters of a label and a name; words of no name
NO_TABLES = ("dataset_info.json", "dataset_infos.json", "state.json")  # of Hugging Face's
TEXT_WORDS = 2.5  # words of a column's cells, on average, from which on it is one of texts


@dataclasses.dataclass(frozen=True)
class FoundFormat:
    """The format of a file, what has to be said on it, and whether its header is in doubt."""

    form: Format
    notes: tuple[str, ...] = ()
    header_is_unclear: bool = False


def find_format(path: Path, given: Format, no_header: bool) -> FoundFormat:
    """Return the format of a file or a folder, from its content.

    `given` is what the user declared, `no_header` whether the first row has no names.

    Raises HeedError when it cannot be read, or is none that heed reads.
    """
    suffix = suffix_of(path)
    if path.is_dir():
        name = "saved-dataset" if _is_saved(path) else "text-folder"
        return FoundFormat(dataclasses.replace(given, name=name))
    if suffix == ".xlsx":
        sample = [row for _, row in itertools.islice(READERS["xlsx"](path, given), SAMPLE)]
        texts = [["" if cell is None else str(cell) for cell in row.values()] for row in sample]
        return _find_header(given, no_header, [[*sample[0]], *texts] if sample else [])
    if suffix in (".parquet", ".arrow"):
        return FoundFormat(given)
    with reading(path, given.encoding), open_text(path, given.encoding) as file:
        head = file.read(HEAD) + file.readline()
    if not head.strip():
        raise HeedError(f"{path}: empty: expected rows, and the names of their columns")
    if head.lstrip().startswith(FASTTEXT_LABEL):
        return FoundFormat(dataclasses.replace(given, name="fasttext"))
    if suffix in (".json", ".jsonl") or (suffix not in FORMATS and head.lstrip()[0] in "{["):
        return _find_json_format(path, given, head)
    form, rows = _find_delimiter(path, given, head)
    return _find_header(form, no_header, rows, quote_notes(form) if given.quote is None else ())


def _is_saved(folder: Path) -> bool:
    """Return whether `save_to_disk` of Hugging Face's datasets wrote a folder."""
    return (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file()


def _find_json_format(path: Path, given: Format, head: str) -> FoundFormat:
    """Return the format of a file of JSON: a plain one, Prodigy's or Label Studio's."""
    suffix = suffix_of(path)
    name = suffix[1:] if suffix in FORMATS else ("json" if head.lstrip()[0] == "[" else "jsonl")
    form = dataclasses.replace(given, name="" if suffix in FORMATS else name)
    with reading(path, given.encoding):
        rows = (row for _, row in READERS[name](path, form))
        first = next(rows, {})
    if isinstance(first.get("data"), dict) and {"annotations", "completions"} & {*first}:
        return FoundFormat(dataclasses.replace(given, name="label-studio"))
    if "answer" in first and {"accept", "label"} & {*first} and "text" in first:
        with reading(path, given.encoding):
            notes = _prodigy_notes([first, *rows])
        return FoundFormat(dataclasses.replace(given, name="prodigy"), notes)
    return FoundFormat(form)


def _prodigy_notes(rows: list[dict[str, Any]]) -> tuple[str, ...]:
    """Describe the rows that Prodigy's answers other than `accept` become."""
    meant, said = rejected_labels(rows), "Prodigy's answers:"
    rejected = Counter(r["label"] for r in rows if r.get("answer") == "reject" and is_binary(r))
    notes = [
        f"{said} {rejected[label]:,} that reject {label!r} have the label {other!r}"
        for label, other in meant.items()
        if rejected[label]
    ]
    used = rejected.total() if meant else 0
    if left := sum(row.get("answer") != "accept" for row in rows) - used:
        notes.append(f"{said} {left:,} that are not `accept` are left out")
    return tuple(notes)


def _find_delimiter(path: Path, given: Format, head: str) -> tuple[Format, list[list[str]]]:
    """Return the format with delimiter and quote, and the first rows.

    The delimiter is the one that divides all rows into the same number of fields, two or more; of
    several one that makes a column of labels, and then the one with most fields.
    """
    default = DELIMITERS.get(suffix_of(path), ",")
    delimiters = [given.delimiter] if given.delimiter else ["\t", default, *TRIED_DELIMITERS]
    quotes = ['"', "'", ""] if given.quote is None else [given.quote]
    found = []
    for count in (SAMPLE, FEW_ROWS):
        for delimiter in dict.fromkeys(delimiters):
            tried = {quote: _split(path, head, delimiter, quote, count) for quote in quotes}
            fitting = {quote: rows for quote, rows in tried.items() if _width(rows) > 1}
            if fitting:
                quote = _best_quote(fitting)
                found.append((_score(fitting[quote]), delimiter, quote, fitting[quote]))
        if found:
            break
    if found:
        _, delimiter, quote, rows = max(found, key=lambda each: each[0])
    else:
        delimiter, quote = given.delimiter or default, quotes[0]
        rows = _split(path, head, delimiter, quote, FEW_ROWS)
        rows = rows or _split(path, head, delimiter, "", FEW_ROWS)
    form = dataclasses.replace(
        given,
        name="" if suffix_of(path) in DELIMITERS else "csv",
        delimiter=None if delimiter == default else delimiter,
        quote=None if quote == '"' else quote,
    )
    return form, rows


def quote_notes(form: Format) -> tuple[str, ...]:
    """Describe a quote character that is none of the usual."""
    if form.quote is None:
        return ()
    if form.quote:
        return (f"fields are quoted by {form.quote}",)
    return ("double quotes do not pair up: each is read as a character of its text",)


def _split(path: Path, head: str, delimiter: str, quote: str, count: int) -> list[list[str]]:
    """Return the first rows of a text, or none where the quotes do not fit."""
    try:
        lines = csv_lines(path, io.StringIO(head, newline=""), delimiter, quote)
        return [fields for _, fields in itertools.islice(lines, count)]
    except QuotesError:
        return []


def _width(rows: list[list[str]]) -> int:
    """Return the number of fields that all rows have, or 0."""
    widths = {len(row) for row in rows}
    return widths.pop() if len(widths) == 1 else 0


def _score(rows: list[list[str]]) -> tuple[bool, int]:
    """Return whether a column may be labels, and the number of columns."""
    columns = [Column("", column) for column in zip(*rows[1:], strict=True)]
    return any(column.is_label for column in columns), _width(rows)


def _best_quote(fitting: dict[str, list[list[str]]]) -> str:
    """Return the quote to read rows with, of those with which all have the same width."""
    double, plain = fitting.get('"'), fitting.get("")
    if "'" in fitting and double is not None and _is_enclosed(double, "'"):
        return "'"
    # a stray quote joins lines until the next one
    joins_lines = double is not None and any("\n" in cell for row in double for cell in row)
    if double is not None and not (joins_lines and plain is not None):
        return '"'
    return "" if plain is not None else "'" if "'" in fitting else '"'


def _is_enclosed(rows: list[list[str]], quote: str) -> bool:
    """Return whether all cells of a column are enclosed in quotes."""
    return any(
        all(len(cell) > 1 and cell[0] == cell[-1] == quote for cell in column)
        for column in zip(*rows, strict=True)
    )


def _find_header(
    form: Format, no_header: bool, rows: list[list[str]], notes: tuple[str, ...] = ()
) -> FoundFormat:
    """Return the format with names for the columns where the first row has none."""
    if form.header or not rows or _width(rows) == 0:
        return FoundFormat(form, notes)
    has_header = False if no_header else _has_header(rows)
    if has_header is not False:
        return FoundFormat(form, notes, header_is_unclear=has_header is None)
    header = _make_header(rows)
    note = f"no names in the first row: the columns are called {', '.join(header)}"
    return FoundFormat(dataclasses.replace(form, header=tuple(header)), (*notes, note))


def _has_header(rows: list[list[str]]) -> bool | None:
    """Return whether the first row has the names of the columns; None where nothing shows it."""
    first, rest = rows[0], rows[1:]
    words = {cell.strip().lower() for cell in first}
    if words & {*TEXT_NAMES, *LABEL_NAMES, *SPLIT_NAMES, *OTHER_NAMES} or not rest:
        return True
    columns = [Column("", [row[i] for row in rest]) for i in range(len(first))]
    labels = [
        (cell, column) for cell, column in zip(first, columns, strict=True) if column.is_label
    ]
    if any(cell.strip() in column.values for cell, column in labels):
        return False
    if any(len(cell.split()) >= LONG_NAME or len(cell) > MAX_NAME for cell in first):
        return False
    if labels and any(column.is_text for column in columns):
        return not any(_is_number(cell) for cell in first)
    return None


def _make_header(rows: list[list[str]]) -> list[str]:
    """Return names for columns without any: label, text, and else the number of the column."""
    columns = [Column("", [row[i] for row in rows]) for i in range(len(rows[0]))]
    names = [f"column_{i}" for i in range(1, len(columns) + 1)]
    texts = [i for i, column in enumerate(columns) if column.is_text]
    labels = [i for i, column in enumerate(columns) if column.is_label and i not in texts]
    if len(labels) == 1:
        names[labels[0]] = "label"
    for number, i in enumerate(texts, 1):
        names[i] = "text" if len(texts) == 1 else f"text_{number}"
    return names


class Column:
    """The content of a column, or of its first rows."""

    def __init__(self, name: str, cells: Sequence[Any]) -> None:
        self.name = name
        filled = [cell for cell in cells[:SAMPLE] if cell]
        lists = (cell if isinstance(cell, list) else [cell.strip()] for cell in filled)
        self.cells = [each for cell in lists for each in cell if each]
        self.values = {*self.cells}
        self.words = sum(len(cell.split()) for cell in self.cells) / max(1, len(self.cells))

    @property
    def is_flag(self) -> bool:
        """Whether all cells are 0 or 1, and both occur."""
        values = {each.lower().removesuffix(".0") for each in self.values}
        return values in ({"0", "1"}, {"true", "false"})

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


def _is_number(cell: str) -> bool:
    return bool(re.fullmatch(r"\s*[-+]?\d+([.,]\d+)?([eE][-+]?\d+)?\s*", cell))


@dataclasses.dataclass(frozen=True)
class Roles:
    """The columns with the text and with the labels; `flags` are columns of 0 and 1."""

    texts: list[str]
    labels: list[str]
    flags: list[str] = dataclasses.field(default_factory=list)
    candidates: list[tuple[list[str], list[str]]] = dataclasses.field(default_factory=list)


def find_roles(table: "pa.Table", texts: list[str], labels: list[str]) -> Roles:
    """Find the columns of texts and labels: as given, by their names, or by their content.

    Where none can be told from others, `candidates` has likely choices of texts and labels.
    """
    names = [name for name in table.column_names if name != AT]
    by_name = {name: Column(name, table.column(name)[:SAMPLE].to_pylist()) for name in names}
    texts = texts or _first_known(names, TEXT_NAMES, labels)
    flags = [name for name in names if by_name[name].is_flag and name not in texts]
    if labels:
        flags = labels if len(labels) > 1 and {*labels} <= {*flags} else []
    else:
        labels = _first_known(names, LABEL_NAMES, texts)
        flags = [] if labels or len(flags) < 2 else flags
    if flags:
        labels = [LABELS]
    other = [column for column in by_name.values() if column.name not in (*texts, *labels, *flags)]
    likely_texts = [texts] if texts else [
        [c.name] for c in sorted(other, key=lambda c: -c.words) if c.is_text
    ]  # fmt: skip
    if not texts and all(re.fullmatch(r"text_\d", name) for [name] in likely_texts):
        likely_texts = [sorted(name for [name] in likely_texts)] if likely_texts else []
    likely = [labels] if labels else [
        [c.name] for c in sorted(other, key=lambda c: len(c.values)) if c.is_label
    ]  # fmt: skip
    texts = likely_texts[0] if len(likely_texts) == 1 else texts
    labels = likely[0] if len(likely) == 1 else labels
    if texts and labels:
        return Roles(texts, labels, flags)
    pairs = itertools.product(likely_texts[:2] or [["COLUMN"]], likely[:2] or [["COLUMN"]])
    return Roles(texts, labels, flags, [(text, label) for text, label in pairs if text != label])


def _first_known(columns: list[str], names: tuple[str, ...], taken: list[str]) -> list[str]:
    """Return the column with the first of the known names, in any case, or none."""
    by_name = {
        column.strip().lower(): column for column in reversed(columns) if column not in taken
    }
    return [by_name[name] for name in names if name in by_name][:1]


def read_found(
    path: Path, found: FoundFormat, quote_is_given: bool
) -> "tuple[pa.Table, FoundFormat]":
    """Return the table of a file, and its format, which a row far below may have corrected.

    Raises HeedError when a row does not fit, in any format.
    """
    try:
        return read_table(path, found.form), found
    except (QuotesError, WidthError):
        if quote_is_given or found.form.quote is not None:
            raise
        try:
            form = dataclasses.replace(found.form, quote="")
            table = read_table(path, form)
        except HeedError:
            pass
        else:
            notes = (*quote_notes(form), *found.notes)
            return table, dataclasses.replace(found, form=form, notes=notes)
        raise


def folder_files(folder: Path) -> list[Path]:
    """Return the tables of a folder, where it is none itself. Raises HeedError without any."""
    if _is_saved(folder) or text_files(folder):
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
            "such folders), a data set that save_to_disk wrote, or tables"
        )
    return tables

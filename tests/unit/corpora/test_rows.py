"""Rows of a table are read as they are written; a row that does not fit is named with its line."""

import gzip
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.corpora.formats import find_format
from heed.corpora.rows import AT, FORMATS, Format, read_batches, read_table, write_table
from heed.files import HeedError
from heed.study import Corpus, Split
from tests.conftest import cases
from tests.makers.tables import read_files

CASES = cases(__file__)
CORPUS = Corpus(
    source="x", kind="table", text_column="text", label_column="label",
    split=Split(kind="random", test=0.2),
)  # fmt: skip


def documents(path: Path, **form):
    return read_files({"": path}, CORPUS, Format(**form))


def texts_and_labels(path: Path, **form):
    return [(document.text, document.labels["label"]) for document in documents(path, **form)]


ROWS = '[{"text": "a", "label": "x"},\n {"text": "b\\nc",\n  "label": "y"}]'
GOOD = '{"text": "a", "label": "x"}\n\n'
WRONG = CASES["wrong"] | {
    "a key twice in a list": (
        ".json", ROWS.replace('"label"', '"text"', 1), ":1: not JSON .*the key 'text' twice",
    ),
    "too deep": (".jsonl", GOOD + "[" * 100_000, ":3: not a JSON object"),
    "a list cut off": (".json", ROWS[:-1], ":3: not JSON .Expecting ',' delimiter"),
    "a row that is no object": (
        ".json", ROWS.replace(",\n {", ",\n 5, {"), ": item 2: expected a JSON obj",
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_fit_is_named_with_file_and_line(tmp_path, wrong):
    suffix, content, message = WRONG[wrong]
    path = tmp_path / f"t{suffix}"
    path.write_text(content.replace("GOOD ", GOOD), encoding="utf-8", newline="")
    with pytest.raises(HeedError, match=f"^{path}{message}") as raised:
        documents(path)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(("content", "message"), [
    ({"text": [b"a"], "label": ["x"]}, "row 1: .*'text': expected text, found bytes"),
    ({"text": [["a"]], "label": ["x"]}, "row 1: .*'text': expected text, found a list"),
    ({"text": ["a"], "label": [["x", "y"]]}, "row 1: .*one label a document"),
    ({"text": ["a"], "label": pa.array([None], pa.string())}, "row 1: .*'label': no label"),
    ({"text": pa.array([b"a\xfc"]).view(pa.string())}, r"not utf-8 \('utf-8' codec"),
])  # fmt: skip
def test_a_cell_of_parquet_that_is_no_text_is_named_with_its_row(tmp_path, content, message):
    pa.parquet.write_table(pa.table(content), tmp_path / "t.parquet")
    with pytest.raises(HeedError, match=f"t.parquet: {message}"):
        documents(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json"])
def test_text_that_is_not_utf_8_is_refused_with_its_line_and_read_when_declared(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    lines = ["text,label", "fine,x", "grüße,y"]
    if suffix != ".csv":
        ends = ("[", ",", "]") if suffix == ".json" else ("", "", "")
        lines = [f'{ends[0]}{{"text": "fine", "label": "x"}}{ends[1]}',
                 f'{{"text": "grüße", "label": "y"}}{ends[2]}']  # fmt: skip
    path.write_bytes("\n".join(lines).encode("windows-1252"))
    with pytest.raises(HeedError, match=f"{path}:{len(lines)}: not utf-8: byte 0xfc.*--encoding"):
        documents(path)
    assert documents(path, encoding="windows-1252")[1].text == "grüße"
    path.write_bytes("\n".join(lines).encode("utf-16"))
    with pytest.raises(HeedError, match=f"{path}:1: not utf-8: byte 0xff.*utf-16"):
        documents(path)
    assert documents(path, encoding="utf-16")[1].text == "grüße"


def test_cells_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    long = "word " * 50_000  # the csv module alone stops at 131,072 characters
    path.write_text(f'\ufefftext,label\n"a, ""b""\nc",NA\n\n,1\r\n{long},x\n', "utf-8", newline="")
    assert texts_and_labels(path) == [('a, "b"\nc', "NA"), ("", "1"), (long, "x")]
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"label": 1, "text": null}\r\n{"text": 5, "label": true, "other": [1]}\n'
        '{"text": "\\ud800", "label": 1.5}'
    )
    assert texts_and_labels(path) == [("", "1"), ("5", "True"), ("\ufffd", "1.5")]
    path.write_text('{"text": "a", "label": "café"}\n{"text": "b", "label": "cafe\u0301"}\n')
    assert {label for _, label in texts_and_labels(path)} == {"café"}


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
@pytest.mark.parametrize(("number", "text"), [
    ("1.10", "1.10"), ("1e5", "1e5"), ("1E400", "1E400"), ("-0", "-0"), ("[1.10]", ["1.10"]),
    ("9007199254740993", "9007199254740993"), ("9" * 5000, "9" * 5000), ("NaN", None),
    ("-Infinity", "-inf"), ("[[0, 4]]", ["0-4"]), ("[1, null]", ["1"]), ("[null]", []),
])  # fmt: skip
def test_a_number_of_json_is_the_text_in_the_file(tmp_path, suffix, number, text):
    path = tmp_path / f"t{suffix}"
    row = f'{{"text": "a", "label": {number}}}'
    path.write_text(f"[{row}]" if suffix == ".json" else row)
    assert read_table(path, Format()).column("label").to_pylist() == [text]


@pytest.mark.parametrize(("numbers", "texts"), [
    (pa.array([0.5, 1, None], pa.float32()), ["0.5", "1.0", None]),
    (pa.array([[0.5, 2], None], pa.list_(pa.float32())), [["0.5", "2.0"], None]),
    (pa.array([0.1, 1e22]), ["0.1", "1e+22"]),
    (pa.array([2**53 + 1]), ["9007199254740993"]),
], ids=["float32", "list", "float64", "int64"])  # fmt: skip
def test_a_number_of_parquet_is_its_text(tmp_path, numbers, texts):
    pa.parquet.write_table(pa.table({"label": numbers}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", Format()).column("label").to_pylist() == texts


@pytest.mark.parametrize(("name", "before", "sign", "line"), [
    ("t.csv.gz", "text,label\n", "a", 2), ("t.tsv.gz", "", "a", 1), ("t.jsonl.gz", "{}\n", "[", 2),
    ("t.gz", "a\tx\n", "a", 2),
])  # fmt: skip
def test_a_line_beyond_the_limit_is_named(tmp_path, monkeypatch, name, before, sign, line):
    monkeypatch.setattr("heed.files.bounded_lines.__defaults__", (1 << 20, 1))
    path = tmp_path / name
    path.write_bytes(gzip.compress(f"{before}{sign * 3_000_000}".encode()))
    limit = f"t.*gz:{line}: a line of more than 1,048,576 characters, the limit of a line"
    with pytest.raises(HeedError, match=limit):
        read_table(path, find_format(path, Format(), False))


@pytest.mark.parametrize(("suffix", "content"), [
    (".json", ROWS),
    (".json", '{"version": [1],\n "rows": ' + ROWS + ', "more": []}'),
    (".json", '{"text": "a", "label": "x", "s": [{}]}\n\n{"text": "b\\nc", "label": "y"}\n'),
    (".tsv", 'text\tlabel\na\tx\n"b\nc"\ty\n'),
    (".TSV", 'text\tlabel\na\tx\n"b\nc"\ty\n'),
], ids=["list", "list in an object", "lines with lists", "tabs", "upper case"])  # fmt: skip
def test_tables_of_other_formats_have_the_same_rows(tmp_path, suffix, content):
    path = tmp_path / f"t{suffix}"
    path.write_text(content)
    assert texts_and_labels(path) == [("a", "x"), ("b\nc", "y")]


def test_delimiter_and_quotes_are_as_the_source_declares_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('text;label\n"a;b";x\na, c;y\n')
    assert [document.text for document in documents(path, delimiter=";")] == ["a;b", "a, c"]
    path = tmp_path / "t.tsv"
    path.write_text('text\tlabel\n"a" b\tx\n"c\ty\n')
    with pytest.raises(HeedError, match=r"t.tsv:2: not a row of a CSV file .*`quote: ''`"):
        documents(path)
    assert [document.text for document in documents(path, quote="")] == ['"a" b', '"c']


@pytest.mark.parametrize(("name", "content", "delimiter"), [
    ("t.csv", "text,label\na;b,x\n", None),
    ("t.csv", "text;label\na, b;x\nc;y\n", ";"),
    ("t.csv", "id\ttext\tlabel\n1\ta, b\tx\n2\tc\ty\n", "\t"),
    ("t.tsv", "text|label\na|x\n", "|"),
    ("t.tsv", "text\tlabel\na, b\tx\n", None),
    ("t.csv", "text\na\n", None),
    ("t.csv", "text;label\n" + "a;x\n" * 20 + "a;x;y\n", ";"),
    ("t.jsonl", '{"a;b": 1}', None),
])  # fmt: skip
def test_the_delimiter_divides_all_rows_into_equal_numbers(tmp_path, name, content, delimiter):
    (tmp_path / name).write_text(content)
    assert find_format(tmp_path / name, Format(), False).delimiter == delimiter


def test_a_table_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(HeedError, match=r"none.csv: not there"):
        documents(tmp_path / "none.csv")


def test_a_table_is_the_same_after_it_was_written(tmp_path):
    path = tmp_path / "t.jsonl"
    rows = [{"text": f"text {i}", "label": ["x"] if i > 10_000 else "x"} for i in range(10_005)]
    rows[3]["meta"] = {"a": 1}
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    table = read_table(path, Format())
    write_table(table, tmp_path / "copy.parquet")
    written = pa.Table.from_batches(read_batches(tmp_path / "copy.parquet"))
    assert written.to_pylist() == table.to_pylist()
    metadata = [field.metadata for field in written.schema]
    assert metadata == [field.metadata for field in table.schema] and metadata[3]
    assert table.column("label").to_pylist() == [["x"]] * len(rows), "a list in some rows"
    assert table.column(AT)[10_004].as_py() == ":10005"


def workbook(path: Path, rows: list[tuple], dimension: str = "") -> None:
    """Write an .xlsx whose first sheet is hidden; its second says that it has this `dimension`."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl reads and writes .xlsx")
    book = openpyxl.Workbook()
    book.active.append(("text", "label"))
    book.active.sheet_state = "hidden"
    sheet = book.create_sheet()
    for row in rows:
        sheet.append(row)
    if dimension:
        sheet.calculate_dimension = lambda: dimension
    book.save(path)


@pytest.mark.parametrize("dimension", ["", "A1:B41", "A1:B2", "A1:A61", "A1"])
def test_a_visible_sheet_is_read_whole_whatever_size_it_says(tmp_path, dimension):
    rows = [(f"text {i}", "ab"[i % 2]) for i in range(60)]
    workbook(tmp_path / "t.xlsx", [("text", "label"), *rows], dimension)
    with zipfile.ZipFile(tmp_path / "t.xlsx") as file:
        sheet = file.read("xl/worksheets/sheet2.xml").decode()
    assert f'<dimension ref="{dimension or "A1:B61"}"' in sheet
    assert texts_and_labels(tmp_path / "t.xlsx") == rows


def test_a_sheet_with_a_title_above_the_names_of_its_columns_is_refused(tmp_path):
    workbook(tmp_path / "t.xlsx", [("Our letters",), ("text", "label"), ("a", "x")])
    with pytest.raises(HeedError, match=r"t.xlsx: row 2: expected 1 cells, as in the fi"):
        documents(tmp_path / "t.xlsx")


NO_NAMES = ["date", "name", "description", "url", "author", "id", "split", "class", "label"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".xlsx"])
@pytest.mark.parametrize("label", NO_NAMES)
def test_a_first_row_with_a_label_of_the_others_is_no_header(tmp_path, suffix, label):
    rows = [(f"word{i} and so on", (label, "other", "more")[i % 3]) for i in range(60)]
    path = tmp_path / f"t{suffix}"
    if suffix == ".xlsx":
        workbook(path, rows)
    else:
        path.write_text("\n".join((",", "\t")[suffix == ".tsv"].join(row) for row in rows))
    form = find_format(path, Format(), False)
    assert form.header == ("text", "label") and texts_and_labels(path, **vars(form)) == rows


@pytest.mark.parametrize("case", CASES["files"])
def test_of_a_folder_each_text_is_read_or_named_and_hidden_files_are_none(tmp_path, case):
    names, expected = CASES["files"][case]
    for path in map(tmp_path.joinpath, names):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("some text")
    if isinstance(expected, list):
        table = read_table(tmp_path, Format("text-folder"))
        assert table.column("file").to_pylist() == expected
    else:
        with pytest.raises(HeedError, match=f"{tmp_path / expected}: is at another depth than"):
            read_table(tmp_path, Format("text-folder"))


MARKS = st.text(alphabet='ab,"\n\r\x00{}[]:1', max_size=60)


@pytest.mark.parametrize("suffix", sorted({*FORMATS} - {".xlsx"}))
def test_a_file_of_random_bytes_gives_one_message(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"table{suffix}"

    @settings(max_examples=100, derandomize=True, database=None, deadline=None)
    @given(st.one_of(st.binary(max_size=200), MARKS.map(str.encode)))
    def read(content: bytes) -> None:
        path.write_bytes(content)
        try:
            read_table(path, Format())
        except HeedError as error:
            assert str(error).startswith(str(path)) and len(str(error).splitlines()) == 1

    read()

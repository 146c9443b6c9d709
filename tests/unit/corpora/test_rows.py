"""Rows of a table are read as they are written; a row that does not fit is named with its line."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from heed.corpora import rows
from heed.corpora.formats import find_format
from heed.corpora.rows import AT, Format, read_batches, read_table, write_table
from heed.files import HeedError
from heed.study import Corpus, Split
from tests.makers.tables import read_files

CORPUS = Corpus(
    source="x", kind="table", text_column="text", label_column="label",
    split=Split(kind="random", test=0.2),
)  # fmt: skip


def documents(path: Path, **form):
    return read_files({"": path}, CORPUS, Format(**form))


drill = pytest.mark.drill(
    "a table with a row that does not fit, or with text or a label that is none"
)


def cases(*each: tuple[str, object, str]) -> pytest.MarkDecorator:
    """Return the mark of a test of these contents and messages; the first item is the id."""
    return pytest.mark.parametrize(
        ("content", "message"), [case[1:] for case in each], ids=[case[0] for case in each]
    )


CSV = [
    ("one field too many", "text,label\ngood,pos\npos,good,2019\n", ":3: expected 2 fields,.* 3"),
    ("a field too many in every row", "text,label\na,pos,2019\nb,neg,2019\n", ":2: expected 2 f"),
    ("one field too few", "text,label\ngood\n", ":2: expected 2 fields, .*found 1"),
    ("after a text of two lines", 'text,label\n"a\nb",x\nc\n', ":4: expected 2 fields"),
    ("a quote that is not closed", 'text,label\na,x\n"b,y\nc,z\n', ":3: not a row of a CSV file"),
    ("text after a quote", 'text,label\n"b"c,y\n', ":2: not a row of a CSV file"),
    ("a column twice", "text,label,text\na,b,c\n", "2 columns are named 'text'"),
    ("other separators", "text;label\na;b\n", "Columns: text;label. The delimiter of the f"),
    ("an empty file", "", "empty: expected rows, and the names"),
    ("no label", "text,label\na,x\nb,\n", ":3: column 'label': no label: so it is in 1 of 2 ro"),
    ("a blank label", "text,label\na,x\nb,  \n", ":3: column 'label': no label"),
    ("a newline in a label", 'text,label\na,"x\ny"\n', r"control character '\\n'"),
    ("an escape in a label", "text,label\na,\x1b[31mx\n", r"control character '\\x1b'"),
    ("a line separator in a label", "text,label\na,x\u2028y\n", r"control character '\\u2028'"),
]


@drill
@cases(*CSV)
def test_a_row_of_csv_that_does_not_fit_is_named(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_text(content, encoding="utf-8", newline="")
    with pytest.raises(HeedError, match=message) as raised:
        documents(path)
    assert str(raised.value).startswith(str(path)) and len(str(raised.value).splitlines()) == 1


JSON = [
    ("a list as text", {"text": ["a"], "label": "x"}, "column 'text': expected text, found a list"),
    ("an object as text", {"text": {"title": "a"}, "label": "x"}, "'text': .* found an object"),
    ("several labels", {"text": "a", "label": ["x", "y"]}, "one label a document, found a list"),
    ("an object as label", {"text": "a", "label": {"x": 1}}, "'label': expected text, found an o"),
    ("no label", {"text": "a", "label": None}, "column 'label': no label"),
    ("no key", {"text": "a"}, "column 'label': no label"),
    ("no object", [1], "expected a JSON object, found list"),
]  # fmt: skip


@drill
@cases(*JSON)
def test_a_row_of_json_that_does_not_fit_is_named(tmp_path, content, message):
    path = tmp_path / "t.jsonl"
    good = {"text": "a", "label": "x"}
    path.write_text("".join(json.dumps(each) + "\n" for each in (good, good, content, good)))
    with pytest.raises(HeedError, match=f"^{path}:3: .*{message}"):
        documents(path)


@drill
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a", "label": "x", "label": "y"}', "the key 'label' occurs twice"),
        ('{"text": "a", "label": NaN}', "NaN is not JSON"),
        ("[" * 100_000, "not a JSON object"),
        ('{"text": "a"', "not a JSON object"),
    ],
)
def test_a_line_that_is_not_json_is_named(tmp_path, line, message):
    (tmp_path / "t.jsonl").write_text(f'{{"text": "a", "label": "x"}}\n\n{line}\n')
    with pytest.raises(HeedError, match=f":3: .*{message}"):
        documents(tmp_path / "t.jsonl")


PARQUET = [
    ("bytes as text", {"text": [b"a"], "label": ["x"]}, "'text': expected text, found bytes"),
    ("bytes as label", {"text": ["a"], "label": [b"x"]}, "'label': expected text, found bytes"),
    ("a list as text", {"text": [["a"]], "label": ["x"]}, "'text': expected text, found a list"),
    ("several labels", {"text": ["a"], "label": [["x", "y"]]}, "one label a document"),
    ("an object as text", {"text": [{"title": "a"}], "label": ["x"]}, "text, found an object"),
    ("no label", {"text": ["a"], "label": pa.array([None], pa.string())}, "'label': no label"),
]  # fmt: skip


@drill
@cases(*PARQUET)
def test_a_cell_of_parquet_that_is_no_text_is_named_with_row_and_column(tmp_path, content, message):
    pa.parquet.write_table(pa.table(content), tmp_path / "t.parquet")
    with pytest.raises(HeedError, match=f"t.parquet: row 1: .*{message}"):
        documents(tmp_path / "t.parquet")


def test_a_parquet_string_that_is_not_utf_8_is_named_with_its_row(tmp_path):
    raw = pa.array([b"fine", b"gr\xfc\xdfe"])
    table = pa.table({"text": raw.view(pa.string()), "label": ["x", "y"]})
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(HeedError, match=r"t.parquet: row 2: not UTF-8"):
        documents(tmp_path / "t.parquet")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".tsv", ".json"])
def test_text_that_is_not_utf_8_is_refused_with_its_line_and_read_when_declared(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    rows = [("fine", "x"), ("grüße", "y")]
    lines = [f'{{"text": "{text}", "label": "{label}"}}' for text, label in rows]
    delimiter = {".csv": ",", ".tsv": "\t"}.get(suffix)
    if delimiter:
        lines = [delimiter.join(row) for row in [("text", "label"), *rows]]
    if suffix == ".json":
        lines = ["[" + lines[0] + ",", lines[1] + "]"]
    path.write_bytes("\n".join(lines).encode("windows-1252"))
    number = 3 if delimiter else 2
    with pytest.raises(HeedError, match=f"{path}:{number}: not utf-8: byte 0xfc.*--encoding"):
        documents(path)
    assert documents(path, encoding="windows-1252")[1].text == "grüße"
    path.write_bytes("\n".join(lines).encode("utf-16"))
    with pytest.raises(HeedError, match=f"{path}:1: not utf-8: byte 0xff.*utf-16"):
        documents(path)
    assert documents(path, encoding="utf-16")[1].text == "grüße"
    with pytest.raises(HeedError, match=f"{path}:1: not ascii"):
        documents(path, encoding="ascii")


def test_an_encoding_of_parquet_is_refused(tmp_path):
    pd.DataFrame({"text": ["a"], "label": ["x"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(HeedError, match="a file of parquet takes no encoding"):
        documents(tmp_path / "t.parquet", encoding="utf-8")


def test_cells_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    long = "word " * 50_000  # the csv module alone stops at 131,072 characters
    path.write_text(f'\ufefftext,label\n"a, ""b""\nc",NA\n\n,1\r\n{long},x\n', "utf-8", newline="")
    assert [(each.text, each.labels["label"]) for each in documents(path)] == [
        ('a, "b"\nc', "NA"), ("", "1"), (long, "x"),
    ]  # fmt: skip
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"label": 1, "text": null}\r\n{"text": 5, "label": true, "other": [1]}\n'
        '{"text": "\\ud800", "label": 1.5}'
    )
    assert [(each.text, each.labels["label"]) for each in documents(path)] == [
        ("", "1"), ("5", "True"), ("\ufffd", "1.5"),
    ]  # fmt: skip


def test_the_unicode_forms_of_a_label_are_one_class(tmp_path):
    (tmp_path / "t.csv").write_text("text,label\na,café\nb,cafe\u0301\n", encoding="utf-8")
    assert {each.labels["label"] for each in documents(tmp_path / "t.csv")} == {"café"}


def test_the_rows_are_those_that_pandas_reads(tmp_path, corpora):
    """Real headlines, written by pandas: what was read before is read now."""
    frame = pd.read_json(corpora / "news/few_shot_01/valid.json", lines=True).head(2000)
    frame = frame.drop(columns="label")
    frame = frame.rename(columns={"sentence": "text", "class_name": "label"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_json(tmp_path / "t.json", orient="records")
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    for suffix in (".csv", ".tsv", ".json", ".jsonl", ".parquet"):
        table = read_table(tmp_path / f"t{suffix}", Format()).select(["text", "label"])
        assert table.to_pylist() == frame[["text", "label"]].to_dict("records")


ROWS = '[{"text": "a", "label": "x"},\n {"text": "b\\nc",\n  "label": "y"}]'


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".json", ROWS),
        (".json", '{"version": [1],\n "rows": ' + ROWS + ', "more": []}'),
        (".json", '{"text": "a", "label": "x", "spans": []}\n\n{"text": "b\\nc", "label": "y"}\n'),
        (".json", '{"text": "a", "label": "x", "s": [{}]}\n{"text": "b\\nc", "label": "y"}'),
        (".tsv", 'text\tlabel\na\tx\n"b\nc"\ty\n'),
        (".TSV", "text\tlabel\na\tx\n'b\nc'\ty\n".replace("'", '"')),
    ],
    ids=["list", "list in an object", "lines", "lines with lists", "tabs", "upper case"],
)
def test_tables_of_other_formats_have_the_same_rows(tmp_path, suffix, content):
    path = tmp_path / f"t{suffix}"
    path.write_text(content)
    assert [(each.text, each.labels["label"]) for each in documents(path)] == [
        ("a", "x"), ("b\nc", "y"),
    ]  # fmt: skip


JSON = [
    ("cut off", ROWS[:-1], ":3: not a JSON object .Expecting ',' delimiter"),
    ("a row that is no object", ROWS.replace(",\n {", ",\n 5, {"), "item 2: expected a JSON obj"),
    ("a key twice", ROWS.replace('"b\\nc"', '"b", "text": "c"'), "the key 'text' occurs twice"),
    ("a key that is missing", '[\n{"text": "a"}]', "there is no column 'label'. Columns: te"),
    ("not a number", '[{"text": "a", "label": NaN}]', "NaN is not JSON"),
    ("a text", '"a"', "expected a list of objects, found str"),
    ("columns of pandas", '{"text": {"0": "a"}, "label": {"0": "x"}}', 'orient="records"'),
    ("two lists", '{"train": [{}], "test": [{}]}', "found 2: train, test. Write each to a file"),
    ("nothing", "", "not a JSON object"),
    ("too deep", "[" * 100_000, "not a JSON object"),
]


@drill
@cases(*JSON)
def test_a_json_file_that_does_not_fit_is_named_with_its_line(tmp_path, content, message):
    path = tmp_path / "t.json"
    path.write_text(content)
    with pytest.raises(HeedError, match=message) as raised:
        documents(path)
    assert str(raised.value).startswith(str(path)) and len(str(raised.value).splitlines()) == 1


def test_a_large_json_file_is_read_when_it_has_an_object_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "MAX_JSON", 60)
    path = tmp_path / "t.json"
    path.write_text(ROWS + " " * 20)
    with pytest.raises(HeedError, match=r"t.json: 8\d bytes: .* may have 60. Write it as .jsonl"):
        documents(path)
    path.write_text('{"text": "a", "label": "x"}\n' * 9)
    assert len(documents(path)) == 9


def test_fields_are_separated_by_the_declared_delimiter(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('text;label\n"a;b";x\na, c;y\n')
    assert [each.text for each in documents(path, delimiter=";")] == ["a;b", "a, c"]
    path.write_text("text;label\na;b;x\n")
    with pytest.raises(HeedError, match=r"t.csv:2: expected 2 fields, .*found 3"):
        documents(path, delimiter=";")


def test_quotes_are_characters_where_the_source_says_so(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text('text\tlabel\n"a" b\tx\n"c\ty\n')
    with pytest.raises(HeedError, match=r"t.tsv:2: not a row of a CSV file .*`quote: ''`"):
        documents(path)
    assert [each.text for each in documents(path, quote="")] == ['"a" b', '"c']


@pytest.mark.parametrize(
    ("name", "content", "delimiter"),
    [
        ("t.csv", "text,label\na;b,x\n", None),
        ("t.csv", "text;label\na, b;x\nc;y\n", ";"),
        ("t.csv", "id\ttext\tlabel\n1\ta, b\tx\n2\tc\ty\n", "\t"),
        ("t.tsv", "text|label\na|x\n", "|"),
        ("t.tsv", "text\tlabel\na, b\tx\n", None),
        ("t.csv", "text\na\n", None),
        ("t.csv", "text;label\n" + "a;x\n" * 20 + "a;x;y\n", ";"),
        ("t.jsonl", '{"a;b": 1}', None),
    ],
)
def test_the_delimiter_divides_header_and_rows_into_equal_numbers_of_fields(
    tmp_path, name, content, delimiter
):
    (tmp_path / name).write_text(content)
    assert find_format(tmp_path / name, Format(), False).form.delimiter == delimiter


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet"])
def test_only_csv_and_tsv_have_delimiters_and_quotes(tmp_path, suffix):
    (tmp_path / f"t{suffix}").touch()
    with pytest.raises(HeedError, match=f"a file of {suffix[1:]} takes no delimiter; found ';'"):
        documents(tmp_path / f"t{suffix}", delimiter=";")
    with pytest.raises(HeedError, match=f"a file of {suffix[1:]} takes no quote; found ''"):
        documents(tmp_path / f"t{suffix}", quote="")


def test_what_is_no_parquet_and_what_is_not_there_are_errors(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(HeedError, match=r"t.parquet: cannot be read as parquet"):
        documents(tmp_path / "t.parquet")
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
    assert table.column("label").to_pylist() == [["x"]] * len(rows), "lists in one batch of two"
    assert table.column(AT)[10_004].as_py() == ":10005"

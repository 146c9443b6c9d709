"""The files that people have, each by the first command: heed corpus add FILE."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from heed import cli
from heed.cli import stages
from heed.corpora.kinds import read_documents
from heed.study import load

SCREEN = 24
pytestmark = pytest.mark.usefixtures("own_clone")
Rows = list[tuple[str, str]]  # text and label
SPAM: Rows = [(f"see you at {i}, ok? I'm late", "ham") for i in range(60)]
SPAM[::4] = [(f"call {i} now, it is free;{' do not wait' * (i % 3)}", "spam")
             for i in range(0, 60, 4)]  # fmt: skip


def heed(monkeypatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["heed", *arguments])
    cli.main()


def added(monkeypatch, capsys, *arguments: str) -> tuple[str, list]:
    """Type `heed corpus add`, and return what it prints, and the documents of `heed download`."""
    capsys.readouterr()
    heed(monkeypatch, "corpus", "add", *arguments)
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= SCREEN
    (name,) = load("params.yaml").corpora
    stages.download(name)
    return printed, [*read_documents(load("params.yaml").corpora[name], Path("data/raw") / name)]


def refused(monkeypatch, *arguments: str) -> str:
    """Type `heed corpus add`, and return its error."""
    with pytest.raises(SystemExit) as stopped:
        heed(monkeypatch, "corpus", "add", *arguments)
    message = str(stopped.value.code)
    assert len(message.splitlines()) <= SCREEN and len(message) <= SCREEN * 80
    assert not Path("studies").exists()
    return message


def declared(source: str) -> dict:
    """Return what params.yaml says of a source, but for its files."""
    values = vars(load("params.yaml").sources[source]).items()
    files = ("kind", "path", "sha256", "paths", "hashes")
    return {key: value for key, value in values if value is not None and key not in files}


def texts_and_labels(documents: list) -> list[tuple]:
    return [(document.text, *document.labels.values()) for document in documents]


def write_lines(name: str, lines: list[str]) -> str:
    Path(name).write_text("\n".join([*lines, ""]), encoding="utf-8")
    return name


def lines(form: str, *first: str) -> list[str]:
    """Return a line of each row, below a first one."""
    return [*first, *(form.format(text=text, label=label) for text, label in SPAM)]


def stray_quotes() -> str:
    rows = [f"{label}\t{text}" for text, label in SPAM]
    rows[40], rows[50] = f'{rows[40]} 5"', 'ham\t"an open quote'
    return write_lines("sms.tsv", ["label\ttext", *rows])


def compressed() -> str:
    with gzip.open("spam.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines("{text}\t{label}", "text\tlabel")))
    return "spam.tsv.gz"


def json_lines(name: str, rows: list[dict]) -> str:
    return write_lines(name, [json.dumps(row) for row in rows])


FEATURES = {
    "text": {"dtype": "string", "_type": "Value"},
    "label": {"names": ["ham", "spam"], "_type": "ClassLabel"},
}


def class_labels(rows: Rows) -> pa.Table:
    """Rows as Hugging Face's datasets have them: numbers of classes, their names as metadata."""
    table = pa.table({"text": [text for text, _ in rows],
                      "label": [["ham", "spam"].index(label) for _, label in rows]})  # fmt: skip
    metadata = {"huggingface": json.dumps({"info": {"features": FEATURES}})}
    return table.replace_schema_metadata(metadata)


def hub_parquet(split: str, rows: Rows) -> str:
    Path("mails/data").mkdir(parents=True, exist_ok=True)
    path = f"mails/data/{split}-00000-of-00001.parquet"
    pyarrow.parquet.write_table(class_labels(rows), path)
    return path


def excel(*end: tuple[str, str]) -> str:
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl reads and writes .xlsx")
    book = openpyxl.Workbook()
    for row in [("text", "label"), *SPAM, *end]:
        book.active.append(row)
    book.save("spam.xlsx")
    return "spam.xlsx"


def text_files(split: str, rows: Rows) -> str:
    for i, (text, label) in enumerate(rows):
        path = Path("mails") / split / label / f"{i:02}.txt{'.gz' * (i % 3 == 2)}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if i % 3 == 2 else text.encode())
    (Path("mails") / split / "readme.txt").write_text("not a text of a class")
    return "mails"


BY_CLASS = sorted(SPAM, key=lambda row: row[1])  # stable: as a folder has them
# format → (its maker, what is printed on it, the name of the corpus, and the keys of its source)
FILES: dict[str, tuple[Callable[[], str], str, str, dict]] = {
    "no header, no ending": (
        lambda: write_lines("SMSSpamCollection", lines("{label}\t{text}")),
        "no names in the first row: the columns are called label, text",
        "smsspamcollection", {"header": ["label", "text"], "delimiter": "\t", "format": "csv"},
    ),
    "semicolons, names unknown": (
        lambda: write_lines("post.csv", lines('"{text}";{label}', "Brief;Anliegen")),
        "texts in column 'Brief'", "post", {"delimiter": ";"},
    ),
    "compressed": (compressed, "60 texts in column 'text'", "spam", {}),
    "doccano": (
        lambda: write_lines("admin.jsonl", lines('{{"text": "{text}", "label": ["{label}"]}}')),
        "2 classes: ham (75%), spam (25%)", "admin", {},
    ),
    "parquet of the Hugging Face hub": (
        lambda: hub_parquet("train", SPAM), "2 classes: ham (75%), spam (25%)", "train", {},
    ),
    "Excel": (excel, "60 texts in column 'text'", "spam", {}),
    "folders of classes": (
        lambda: text_files("", SPAM), "2 classes: ham", "mails", {"format": "text-folder"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FILES)
def test_a_file_as_people_have_it_is_read_by_the_first_command(monkeypatch, capsys, form):
    write, note, name, keys = FILES[form]
    printed, documents = added(monkeypatch, capsys, write())
    rows = BY_CLASS if form == "folders of classes" else SPAM
    assert texts_and_labels(documents) == rows and note in printed
    assert declared(name) == keys


def test_what_programs_write_beside_the_texts_is_no_part_of_them(monkeypatch, capsys):
    """Notepad's byte order mark and a last line of blanks; Excel's ends of lines."""
    text = "\r\n".join([*lines('"{text}",{label}', "text,label"), "  ", ""])
    Path("note.csv").write_text(text, encoding="utf-8-sig", newline="")
    _, documents = added(monkeypatch, capsys, "note.csv", "--encoding", "utf-8")
    assert texts_and_labels(documents) == SPAM
    shutil.rmtree("studies")
    _, documents = added(monkeypatch, capsys, excel(("Dear all,_x000D_\nbye", "spam")))
    assert documents[-1].text == "Dear all,\r\nbye"


def test_a_text_may_begin_with_a_bracket(monkeypatch, capsys):
    songs = write_lines("songs", lines("{text}\t{label}", "[Chorus] call me\tspam"))
    _, documents = added(monkeypatch, capsys, songs)
    assert texts_and_labels(documents) == [("[Chorus] call me", "spam"), *SPAM]


def test_what_is_exported_otherwise_is_said_where_heed_does_not_read_it(monkeypatch, capsys):
    """Folders of save_to_disk, Prodigy's answers, Label Studio's tasks."""
    Path("mails").mkdir()
    Path("mails/dataset_dict.json").write_text("{}")
    message = refused(monkeypatch, "mails")
    assert "load_from_disk('mails')['train'].to_parquet('mails-train.parquet')" in message
    answers = [{"text": text, "label": label, "answer": "accept"} for text, label in SPAM]
    rejected = {"text": "never", "label": "ham", "answer": "reject"}
    message = refused(monkeypatch, json_lines("answers.jsonl", [*answers, rejected]))
    assert "answers.jsonl: column 'answer' has reject, as Prodigy" in message
    tasks = [{"data": {"text": text}, "annotations": [{"id": 1}]} for text, _ in SPAM]
    message = refused(monkeypatch, json_lines("tasks.jsonl", tasks))
    assert "which column has the text and the label? Columns: data, annotations." in message
    _, documents = added(monkeypatch, capsys, json_lines("answers.jsonl", answers))
    assert texts_and_labels(documents) == SPAM


def test_lines_that_are_no_rows_are_refused(monkeypatch, capsys):
    """fastText's lines, the line of Excel; the command that is printed makes a table of lines."""
    write_lines("mails.txt", [f"__label__{label} {text}" for text, label in SPAM])
    message = refused(monkeypatch, "mails.txt")
    assert message.startswith("heed: mails.txt:1: has its label within the text, as fastText's")
    code, table = re.findall('python -c "(.*)" > (mails.tsv), then add mails.tsv$', message)[0]
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    Path(table).write_text(made.stdout)
    _, documents = added(monkeypatch, capsys, table)
    assert texts_and_labels(documents) == SPAM
    shutil.rmtree("studies")
    write_lines(table, [*made.stdout.splitlines(), "spam\t__label__ham two labels"])
    assert "mails.tsv:61: has its label within the text" in refused(monkeypatch, table)
    rows = [f'"{text}";{label}' for text, label in SPAM]
    for line in ("sep=;", '"sep=;"'):
        write_lines("mails.csv", [line, "text;label", *rows])
        message = refused(monkeypatch, "mails.csv")
        assert "mails.csv:1: 'sep=;' is a line for Excel, not a row. Delete it" in message


def lines_of_split(form: str) -> Callable[[str, Rows], object]:
    def write(split: str, rows: Rows) -> None:
        Path("mails").mkdir(exist_ok=True)
        texts = [form.format(text=text, label=label) for text, label in rows]
        write_lines(f"mails/{split}.txt", texts)

    return write


@pytest.mark.parametrize(("write", "found"), [
    (lines_of_split("{label}\t{text}"),
     {"format": "csv", "header": ["label", "text"], "delimiter": "\t"}),
    (text_files, {"format": "text-folder"}),
    (hub_parquet, {}),
], ids=["tabs", "text files", "the hub"])  # fmt: skip
def test_a_folder_of_train_and_test_is_the_users_own_split(monkeypatch, capsys, write, found):
    expected = {(*row, "train") for row in SPAM[:40]} | {(*row, "test") for row in SPAM[40:]}
    for split, rows in {"train": SPAM[:40], "test": SPAM[40:]}.items():
        write(split, rows)
    printed, documents = added(monkeypatch, capsys, "mails")
    assert "20 for test: as given" in printed
    assert {(doc.text, doc.labels["label"], doc.split) for doc in documents} == expected
    assert [*load("params.yaml").experiments] == ["mails"] and declared("mails") == found
    if write is text_files:  # of which two have the same name
        _, documents = added(monkeypatch, capsys, "mails/train", "mails/test", "--name", "again")
        assert {(doc.text, doc.labels["label"], doc.split) for doc in documents} == expected


def test_single_double_quotes_in_a_tsv_are_characters(monkeypatch, capsys):
    quoted = [f'"{text}"\t"{label}"' for text, label in SPAM]
    write_lines("all.tsv", ['"text"\t"label"', *quoted, '"a "bad" one"\t"ham"'])
    assert "all.tsv:62: not a row of a CSV file" in refused(monkeypatch, "all.tsv")
    printed, documents = added(monkeypatch, capsys, stray_quotes())
    assert "double quotes do not pair up" in printed
    rows = [*SPAM]
    rows[40], rows[50] = (f'{SPAM[40][0]} 5"', SPAM[40][1]), ('"an open quote', "ham")
    assert texts_and_labels(documents) == rows and load("params.yaml").sources["sms"].quote == ""


def test_several_texts_of_a_file_without_header_are_joined(monkeypatch, capsys):
    rows = [(str(i % 4 + 1), f"A title, the {i}th", f"All of story {i} is here") for i in range(60)]
    lines = ['"{}","{}","{}"'.format(*row) for row in rows]
    write_lines("train.csv", lines[:40])
    write_lines("test.csv", lines[40:])
    printed, documents = added(monkeypatch, capsys, "train.csv", "test.csv", "--name", "agnews")
    assert "called label, text_1, text_2" in printed
    expected = [(f"{a} {b}", label, i >= 40) for i, (label, a, b) in enumerate(rows)]
    found = [(doc.text, doc.labels["label"], doc.split == "test") for doc in documents]
    assert sorted(found) == sorted(expected)


def test_labels_with_blanks_and_rows_without_a_label_are_counted(monkeypatch, capsys):
    labels = [f"{' ' * (i < 5)}{label if i % 10 else ''}" for i, (_, label) in enumerate(SPAM)]
    rows = [f"text {i} of all,{label}" for i, label in enumerate(labels)]
    write_lines("spam.csv", ["text,label", *rows])
    assert refused(monkeypatch, "spam.csv") == (
        "heed: spam.csv:2: column 'label': no label; 6 of 60 rows have none, and this is the "
        "first. Run one of these:\n  heed corpus add spam.csv --drop-unlabelled"
    )
    printed, documents = added(monkeypatch, capsys, "spam.csv", "--drop-unlabelled")
    assert "6 of 60 rows have no label and are left out" in printed
    assert [doc.labels["label"] for doc in documents] == [*filter(None, map(str.strip, labels))]
    assert documents[0].id == "row/2"


HEADING = "What did you like about the product?"
MORE = [f"text {i} of some words,{('order', 'refund')[i % 2]}" for i in range(60)]


@pytest.mark.parametrize(("lines", "question", "command"), [
    (["text,label", *(f"a flat of {i} rooms,{i}.5" for i in range(1500))],
     "column 'label' has 1,500 different numbers in 1,500 rows: is it a label", "--as-labels"),
    (["text,label", *(f"text {i} of some words,{i % 2}{'.0' * (i < 30)}" for i in range(60))],
     "column 'label': the classes '0' and '0.0' are one value that is written in two ways",
     "--as-labels"),
    (["text,label", *(f"text {i} of it,{('no', 'yes', '<NA>')[i % 3]}" for i in range(60))],
     "'<NA>'", "--as-labels"),
    (["text, label", *(f'text {i} of some words, "{i % 2}"' for i in range(60))],
     "column ' label': the quotes around \"0\" would be a part of the class", "--as-labels"),
    (["text,label", *(f"text {i} of it,{('no', 'True', 'true')[i % 3]}" for i in range(60))],
     "labels that look the same would be 2 classes: mine.csv:3 'True'", "--similar-labels"),
    (["text,label", '"a, b",x', '"c,x', "d,y", 'e",x', *(f"text {i},y" for i in range(9))],
     "mine.csv:3: a quote begins a text that ends in line 5, and the lines of this text look "
     "like rows, such as d,y. If they are rows, correct this one", "--quote="),
    (["text,label", '"a, b",x', '"c,x', "d,y", 'e",x', *(f"text {i},y" for i in range(9))],
     "If they are one text: --quote '\"', or `quote: '\"'`. Run one of these:", "--quote '\"'"),
    ([f"word{i},{i}" for i in range(60)],
     "which column has the text and the label? Columns: word0, 0. Or is the first row a text",
     "--no-header"),
    ([",".join([*(f"measured_{i}_{'x' * 300}" for i in range(400)), "label"]),
      *(",".join(["1"] * 401) for _ in range(5))],
     "which column has the text? Columns: measured_0_", "--text-column COLUMN --label-column"),
    (["what,label", *(f"{i},{'ab'[i % 2]}" for i in range(60))],
     "which column has the text? Columns: what, label.",
     "--text-column COLUMN --label-column label"),
    (["I would like to have my money back please,text", *MORE],
     "the first row has 'I would like to have my money back please': is that the name of a column",
     "--no-header"),
    ([f"{HEADING},label", *MORE], "is that the name of a column, or", f"--text-column '{HEADING}'"),
    (["comment,Which of the topics fits it best?", *MORE],
     "is that the name of a column", "--label-column 'Which of the topics fits it best?'"),
    (["hi you,text", *MORE], "which column has the label? Columns: hi you, text. Or is the first",
     "--no-header"),
], ids=["numbers", "1.0", "missing", "quotes", "true", "rows", "one text", "header", "wide", "text",
        "eaten", "survey", "label", "short"])  # fmt: skip
def test_what_is_in_doubt_stops_with_a_question(monkeypatch, lines, question, command):
    message = refused(monkeypatch, write_lines("mine.csv", lines))
    assert question in message and f"  heed corpus add mine.csv {command}" in message


@pytest.mark.parametrize(("name", "label", "options"), [
    ("hi you", "label", []), ("Money back", "complaint", []),
    ("hi you", "text", ["--no-header", "--as-labels"]),
    (HEADING, "label", ["--text-column", HEADING]),
])  # fmt: skip
def test_a_first_row_may_be_a_text_unless_the_user_says(monkeypatch, capsys, name, label, options):
    write_lines("mine.csv", [f"{name},{label}", *MORE])
    printed, documents = added(monkeypatch, capsys, "mine.csv", *options)
    said = f"{name!r} is taken for the name of a column. If the first row is a text: --no-header"
    assert (said in printed) == ("taken for the name" in printed) == (not options)
    is_text = "--no-header" in options
    assert len(documents) == 60 + is_text
    expected = {"order", "refund", *([label] if is_text else [])}
    assert {found for document in documents for found in document.labels.values()} == expected


def test_files_of_a_folder_that_are_no_texts_are_counted(monkeypatch, capsys):
    for split in ("train", "test"):
        text_files(split, BY_CLASS)
    for name in ("train/ham/a.html", "train/ham/b.html", "test/spam/LICENSE", "test/.hidden/a.md"):
        Path("mails", name).parent.mkdir(exist_ok=True)
        Path("mails", name).write_text("not a text")
    printed, documents = added(monkeypatch, capsys, "mails")
    assert len(documents) == 2 * len(SPAM)
    assert "left out: 5 files that are not texts of a class (.txt, none, .html)" in printed


@pytest.mark.parametrize(("encoding", "answers"), [
    ("utf-16", ["utf-16"]), ("windows-1252", ["windows-1252", "windows-1250"]),
])  # fmt: skip
def test_the_encoding_that_is_proposed_is_the_one_that_a_file_begins_with(
    monkeypatch, capsys, encoding, answers
):
    Path("mine.csv").write_text("\n".join(["text,label", *MORE, "für uns alle,order"]), encoding)
    message = refused(monkeypatch, "mine.csv")
    assert [line.split()[-1] for line in message.splitlines()[1:]] == answers
    _, documents = added(monkeypatch, capsys, "mine.csv", "--encoding", answers[0])
    assert documents[-1].text == "für uns alle"

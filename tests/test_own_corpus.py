"""A user adds a corpus with one command and changes only params.yaml (docs/own-corpus.md)."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from heed import cli
from heed.corpora.kinds import read_documents
from heed.corpora.table import KIND
from heed.files import HeedError, sha256
from heed.study import load
from heed.study.own_corpus import add_corpus, changed_file_warnings
from tests.conftest import ROOT

TABLE = pd.DataFrame(
    {
        "text": [f"{('fine', 'poor')[i % 2]} thing number {i}" for i in range(60)],
        "label": [("good", "bad")[i % 2] for i in range(60)],
        "part": ["train"] * 40 + ["validation"] * 10 + ["test"] * 10,
    }
)

COLUMNS = {"text_column": "text", "label_column": "label"}
NO_COLUMNS = ("file", "name")


@pytest.fixture
def clone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text((ROOT / "workflow/studies/sample.yaml").read_text())
    return tmp_path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_file_becomes_a_corpus_with_models_to_compare(clone, suffix):
    path = Path(f"my_reviews{suffix}")
    if suffix == ".csv":
        TABLE.to_csv(path, index=False)
    elif suffix == ".jsonl":
        TABLE.to_json(path, orient="records", lines=True)
    else:
        TABLE.to_parquet(path)
    cli.corpus_add(path, **COLUMNS, split_column="part")
    params = load("params.yaml")
    assert {"my-reviews-baseline", "my-reviews-mean", "my-reviews-attention"} <= set(params.models)
    assert params.experiments["my-reviews"].task == "classification"
    assert params.experiments["my-reviews"].data.label == "label"
    assert "# `mean` is a control" in Path("params.yaml").read_text(), "comments are kept"
    cli.download("my-reviews")
    cli.tokenize("my-reviews")
    table = pd.read_parquet("data/tokens/my-reviews/documents.parquet")
    assert table["split"].tolist() == TABLE["part"].tolist()
    assert table["label_label"].tolist() == TABLE["label"].tolist()
    assert [*changed_file_warnings(params)] == []
    with pytest.raises(HeedError, match="is there already"):
        cli.corpus_add(path, **COLUMNS, split_column="part")
    path.write_bytes(path.read_bytes() + b"\n")
    assert [line.rpartition(": ")[2] for line in changed_file_warnings(params)] == [sha256(path)]


def test_a_column_with_nearly_as_many_classes_as_rows_is_doubted(clone):
    TABLE.to_csv("table.csv", index=False)
    columns = {"text_column": "label", "label_column": "text"}
    message = add_corpus(Path("table.csv"), "mine", columns, Path("params.yaml"))
    assert (
        f"'text' has {TABLE['text'].nunique()} classes in {len(TABLE)} rows: is it a label?"
        in message
    )
    message = add_corpus(Path("table.csv"), "ours", COLUMNS, Path("params.yaml"))
    assert "is it a label?" not in message


REFUSED = [
    ({"text_column": "txt"}, "table.csv: there is no column 'txt'. Columns: text, label, part"),
    ({"name": "My Corpus"}, "is no name"),
    ({"name": "sample"}, "sources: sample is there already"),
    ({"file": "none.csv"}, "none.csv: not there"),
    ({"file": "table.txt"}, "ends in .csv, .tsv, .json, .jsonl, .parquet"),
    ({"label_column": "same"}, "column 'same' has 1 class in 60 rows"),
    ({"label_column": "text"}, "the column 'text' is both text and label"),
    ({"text_column": "none"}, "column 'none' has no text in any row"),
    (
        {"split_column": "label"},
        "table.csv:2: column 'label': expected train, validation, test (or ",
    ),
    ({"split_column": "no test"}, "column 'no test': the given split needs documents to train an"),
    ({"split_column": "by class"}, "the part train has 1 class (label 'good'): there is nothing t"),
    ({"encoding": "klingon"}, "encoding: expected an encoding that Python knows"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_a_corpus_that_cannot_be_added_is_an_error_and_params_are_unchanged(
    clone, changes, message
):
    table = TABLE.assign(same="x", none="")
    table["no test"] = ["train"] * 50 + ["validation"] * 10
    table["by class"] = [("train", "test")[i % 2] for i in range(60)]
    table.to_csv("table.csv", index=False)
    before = Path("params.yaml").read_text()
    columns = COLUMNS | {key: value for key, value in changes.items() if key not in NO_COLUMNS}
    file, name = Path(changes.get("file", "table.csv")), changes.get("name", "mine")
    with pytest.raises(HeedError, match=re.escape(message)):
        add_corpus(file, name, columns, Path("params.yaml"))
    assert Path("params.yaml").read_text() == before


@pytest.mark.drill("a table too small to learn from")
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["fine thing,good"], "has 1 class in 1 row: there is nothing to learn"),
        ([], "no row below the names of the columns"),
        (["fine,good", "poor,bad"], "the split leaves 1 documents to train and 1 to test, of 2"),
        (["a,good", "b,bad", "c,good", "d,"], r"table.csv:5: column 'label': no label"),
    ],
)
def test_a_corpus_too_small_to_learn_from_is_refused_when_it_is_added(clone, rows, message):
    Path("table.csv").write_text("\n".join(["text,label", *rows, ""]))
    with pytest.raises(HeedError, match=message):
        add_corpus(Path("table.csv"), "mine", COLUMNS, Path("params.yaml"))


def test_a_changed_file_is_checked_again_when_it_is_tokenised(clone):
    TABLE.to_csv("table.csv", index=False)
    add_corpus(Path("table.csv"), "mine", COLUMNS, Path("params.yaml"))
    with Path("table.csv").open("a") as file:
        file.write("a text, with a comma,good,train\n")
    text, old = Path("params.yaml").read_text(), load("params.yaml").sources["mine"].sha256
    Path("params.yaml").write_text(text.replace(old, sha256("table.csv")))
    cli.download("mine")
    message = r"data/raw/mine/table.csv:62: expected 3 fields, .*found 4"
    with pytest.raises(HeedError, match=message):
        cli.tokenize("mine")
    assert not Path("data/tokens/mine").exists()


def test_a_declared_encoding_is_written_and_used(clone):
    table = TABLE.assign(text=[f"größer als {i}" for i in range(60)])
    table.to_csv("table.csv", index=False, encoding="windows-1252")
    with pytest.raises(HeedError, match=r"table.csv:2: not utf-8: byte 0xf6. .*--encoding"):
        add_corpus(Path("table.csv"), "mine", COLUMNS, Path("params.yaml"))
    columns = COLUMNS | {"encoding": "windows-1252"}
    add_corpus(Path("table.csv"), "mine", columns, Path("params.yaml"))
    cli.download("mine")
    documents = read_documents(load("params.yaml").corpora["mine"], Path("data/raw/mine"))
    assert [document.text for document in documents] == table["text"].tolist()


def test_a_column_of_evidence_is_checked_written_and_read(clone, monkeypatch):
    table = TABLE.assign(why="0-4")
    table.assign(why="0-400").to_csv("table.csv", index=False)
    command = "corpus add table.csv --text-column text --label-column label --evidence-column why"
    monkeypatch.setattr(sys, "argv", ["heed", *command.split(), "--name", "mine"])
    before = Path("params.yaml").read_text()
    with pytest.raises(SystemExit, match=r"table.csv:2: column 'why': the span 0-400 goes beyond"):
        cli.main()
    assert Path("params.yaml").read_text() == before
    table.to_csv("table.csv", index=False)
    cli.main()
    cli.download("mine")
    for document in read_documents(load("params.yaml").corpora["mine"], Path("data/raw/mine")):
        ((start, end),) = document.evidence
        assert document.text[start:end] in ("fine", "poor")


@pytest.mark.slow
@pytest.mark.drill("two edits of params.yaml at once")
def test_corpora_added_at_once_are_all_there(clone):
    """Both processes read and write params.yaml; without a lock the second undoes the first."""
    Path("params.yaml").write_text((ROOT / "workflow/studies/desk.yaml").read_text())
    TABLE.to_csv("table.csv", index=False)
    names = ["one", "two"]
    command = [sys.executable, "-m", "heed.cli", "corpus", "add", "table.csv"]
    command += ["--text-column", "text", "--label-column", "label", "--name"]
    processes = [
        subprocess.Popen([*command, name], stderr=subprocess.PIPE, text=True) for name in names
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert set(names) <= set(load("params.yaml").corpora)


def test_a_real_corpus_with_one_damaged_row_is_refused_at_that_row(clone, corpora):
    lines = (corpora / "sst_wiki/dev.txt").read_text(encoding="utf-8").split("\n")
    rows = [["label", "text"], *(line.split("\t") for line in lines if line)]
    assert len(rows) == 873
    write_csv(Path("sst.csv"), rows)
    add_corpus(Path("sst.csv"), "sst", COLUMNS, Path("params.yaml"))
    cli.download("sst")
    documents = read_documents(load("params.yaml").corpora["sst"], Path("data/raw/sst"))
    assert [document.labels["label"] for document in documents] == [row[0] for row in rows[1:]]
    rows[600].append("one more")
    write_csv(Path("sst.csv"), rows)
    with pytest.raises(HeedError, match=r"sst.csv:601: expected 2 fields, .*found 3"):
        add_corpus(Path("sst.csv"), "again", COLUMNS, Path("params.yaml"))


def write_csv(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def test_the_documentation_names_the_command_and_the_columns_as_they_are():
    text = (ROOT / "docs/own-corpus.md").read_text()
    assert re.search(r"heed corpus add \S+ --text-column \S+ --label-column \S+", text)
    _, _, reference = (ROOT / "docs/corpora.md").read_text().partition("## A table of yours")
    for key in (*KIND.keys, "sha256", "path", "paths", "hashes"):
        assert f"`{key}" in reference

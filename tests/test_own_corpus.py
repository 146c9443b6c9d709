"""A user adds a corpus with one command and changes only params.yaml (docs/own-corpus.md)."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

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
    heed = [sys.executable, "-m", "heed.cli"]
    command = [
        *heed,
        "corpus",
        "add",
        str(path),
        "--text-column",
        "text",
        "--label-column",
        "label",
        "--split-column",
        "part",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    params = load("params.yaml")
    assert {"my-reviews-baseline", "my-reviews-mean", "my-reviews-attention"} <= set(params.models)
    assert params.experiments["my-reviews"].task == "classification"
    assert params.experiments["my-reviews"].data.label == "label"
    assert "# `mean` is a control" in Path("params.yaml").read_text(), "comments are kept"
    for stage in ("download", "tokenize"):
        subprocess.run([*heed, stage, "my-reviews"], check=True, capture_output=True)
    table = pd.read_parquet("data/tokens/my-reviews/documents.parquet")
    assert table["split"].tolist() == TABLE["part"].tolist()
    assert table["label_label"].tolist() == TABLE["label"].tolist()
    assert [*changed_file_warnings(params)] == []
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 1 and "is there already" in again.stderr
    path.write_bytes(path.read_bytes() + b"\n")
    assert [line.rpartition(": ")[2] for line in changed_file_warnings(params)] == [sha256(path)]


def test_a_column_with_nearly_as_many_classes_as_rows_is_doubted(clone):
    TABLE.to_csv("table.csv", index=False)
    message = add_corpus(Path("table.csv"), "mine", "label", "text", "", Path("params.yaml"))
    assert (
        f"'text' has {TABLE['text'].nunique()} classes in {len(TABLE)} rows: is it a label?"
        in message
    )
    message = add_corpus(Path("table.csv"), "ours", "text", "label", "", Path("params.yaml"))
    assert "is it a label?" not in message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text_column": "txt"}, r"no column 'txt'. Columns: text, label, part"),
        ({"name": "My Corpus"}, "is no name"),
        ({"name": "sample"}, "sources: sample is there already"),
        ({"file": Path("none.csv")}, "none.csv: not there"),
        ({"file": Path("table.txt")}, "ends in .csv, .jsonl, .parquet"),
        ({"label_column": "same"}, "has 1 class"),
        ({"split_column": "label"}, "column 'label': expected train, validation, test, found "),
    ],
)
def test_a_corpus_that_cannot_be_added_is_an_error_and_params_are_unchanged(
    clone, changes, message
):
    TABLE.assign(same="x").to_csv("table.csv", index=False)
    if "text_column" in changes:
        TABLE.to_csv("table.csv", index=False)
    before = Path("params.yaml").read_text()
    arguments = {
        "file": Path("table.csv"),
        "name": "mine",
        "text_column": "text",
        "label_column": "label",
        "split_column": "",
    }
    with pytest.raises(HeedError, match=message):
        add_corpus(**(arguments | changes), params=Path("params.yaml"))
    assert Path("params.yaml").read_text() == before


def test_the_documentation_names_the_command_and_the_columns_as_they_are():
    text = (ROOT / "docs/own-corpus.md").read_text()
    assert re.search(r"heed corpus add \S+ --text-column \S+ --label-column \S+", text)
    for key in ("text_column", "label_column", "split_column", "sha256", "path"):
        assert f"`{key}`" in text

"""`heed classify --table`: a prediction for each row, in batches, written whole or not at all."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import heed
from heed import cli
from heed.files import HeedError
from heed.study.reader import model_text_columns
from heed.tasks.classification import texts as module
from heed.tasks.classification.texts import TextTable, classify, classify_table
from heed.tasks.texts import read_text
from tests.conftest import make_workplace, train

TEXTS = ["w1 fine w2", "", "w5 nobody", "fine", "w2 w2"]
STUDY = """
study: {name: own, title: Own}
seeds: [1]
sources: {tiny: {kind: table, path: t.csv, sha256: "%s"}}
corpora: {tiny: {source: tiny, kind: table, label_column: y, split: {kind: random, test: 0.2}}}
experiments: {tiny: {task: classification, corpus: tiny, data: {label: y}, title: Tiny}}
searches: {}
defaults: {classification: {pooling: mean}}
models:
  tiny-attention:
    {experiment: tiny, corpus: tiny, variant: attention, search: none,
     match_parameters_of: tiny-attention, pooling: attention}
""" % ("0" * 64)
COLUMNS = ["name", "predicted", "p:bad", "p:good"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        make_workplace(folder, patch)
        for seed in (1, 2):
            train("tiny-attention", seed)
    table = pd.DataFrame({"review": TEXTS, "name": list("abcde")})
    table.to_csv(folder / "texts.csv", index=False)
    return folder


@pytest.fixture
def table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> TextTable:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(module, "AT_ONCE", 2)
    return TextTable(Path("texts.csv"), ("review",), id_column="name")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """The command that classifies with these arguments."""

    def run(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["heed", "classify", "tiny-attention", *arguments])
        cli.main()

    return run


def expected() -> np.ndarray:
    runs = [heed.load_run("tiny-attention", seed) for seed in (1, 2)]
    return np.mean([run.predict(TEXTS).probabilities for run in runs], 0)


def test_every_row_has_the_mean_of_all_runs_in_each_format(table):
    for suffix, read in (
        (".csv", pd.read_csv),
        (".parquet", pd.read_parquet),
        (".jsonl", lambda path: pd.DataFrame(map(json.loads, Path(path).read_text().splitlines()))),
    ):
        summary = classify_table("tiny-attention", table, Path(f"out{suffix}"))
        rows, unknown = summary.split("; ")
        assert rows == f"out{suffix}: 5 rows, mean of 2 runs of tiny-attention"
        assert unknown == "1 without a prediction: the model knows no word of it"
        result = read(f"out{suffix}")
        assert list(result) == ["id", *COLUMNS[1:]] and result["id"].tolist() == list("abcde")
        probabilities = result[COLUMNS[2:]].to_numpy(float)
        assert np.allclose(probabilities, expected(), atol=1e-6, equal_nan=True)
        assert np.isnan(probabilities[1]).all() and result["predicted"].isna().tolist()[1]
        named = [("bad", "good")[i] for i in probabilities.argmax(1)]
        assert result["predicted"].drop(1).tolist() == [*named[:1], *named[2:]]
    assert json.loads(Path("out.jsonl").read_text().splitlines()[1])["p:bad"] is None


def test_a_text_of_unknown_words_alone_has_no_prediction(table):
    texts = ["w1 nobody", "nobody knows", "\u2603 \u200b", "w1\u200b"]
    result = heed.load_run("tiny-attention", 1).predict(texts)
    assert [name is None for name in result.predicted] == [False, True, True, True]
    with pytest.raises(HeedError, match="tiny-attention: the text has no word that the model kno"):
        classify("tiny-attention", "nobody knows")


def test_without_an_output_the_command_prints_csv_with_row_numbers(table, command, capsys):
    command("--table", "texts.csv", "--text-column", "review")
    printed = capsys.readouterr()
    result = pd.read_csv(io.StringIO(printed.out))
    assert list(result) == ["row", *COLUMNS[1:]] and result["row"].tolist() == [1, 2, 3, 4, 5]
    assert np.allclose(result[COLUMNS[2:]].to_numpy(), expected(), atol=1e-6, equal_nan=True)
    assert "texts.csv: 5 rows" in printed.err


def test_a_table_without_rows_gives_the_columns_alone(table):
    Path("empty.csv").write_text("review,name\n")
    for suffix in (".csv", ".parquet"):
        empty = TextTable(Path("empty.csv"), ("review",))
        classify_table("tiny-attention", empty, Path(f"x{suffix}"))
    assert Path("x.csv").read_text() == "row,predicted,p:bad,p:good\n"
    assert pd.read_parquet("x.parquet").dtypes.astype(str).tolist()[2:] == ["float32"] * 2


@pytest.mark.parametrize(
    ("column", "output", "message"),
    [
        ("review", "out.txt", r"--output out\.txt: expected a file that ends in \.csv, \.jsonl"),
        ("review", "texts.csv", "this is the table itself"),
        ("text", "out.csv", r"there is no column 'text'\. Columns: review, name"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_written(table, column, output, message):
    before = Path("texts.csv").read_text()
    with pytest.raises(HeedError, match=message):
        classify_table("tiny-attention", TextTable(table.path, (column,)), Path(output))
    assert Path("texts.csv").read_text() == before


def test_several_columns_are_joined_as_the_models_corpus_joins_them(table, command, monkeypatch):
    Path("two.tsv").write_text("head\tbody\nw1\tfine w2\n\t\nw5\tnobody\n")
    assert model_text_columns("tiny-attention") == (("text",), " "), "there is no params.yaml"
    classify_table("tiny-attention", TextTable(Path("two.tsv"), ("head", "body")), Path("t.csv"))
    probabilities = pd.read_csv("t.csv")[COLUMNS[2:]].to_numpy()
    assert np.allclose(probabilities, expected()[:3], atol=1e-6, equal_nan=True)
    study = yaml.safe_load(STUDY)
    study["corpora"]["tiny"] |= {"text_columns": ["head", "body"], "text_separator": "\n"}
    Path("params.yaml").write_text(yaml.safe_dump(study))
    assert model_text_columns("another") == (("text",), " ")
    found: list[TextTable] = []
    monkeypatch.setattr(module, "classify_table", lambda _, rows, to: str(found.append(rows)))
    command("--table", "two.tsv", "--text-separator", "\\t", "--output", "o.csv")
    command("--table", "two.tsv", "--output", "o.csv")
    Path("params.yaml").unlink()
    assert [(rows.text_columns, rows.separator) for rows in found] == [
        (("head", "body"), "\t"), (("head", "body"), "\n"),
    ]  # fmt: skip


def test_delimiter_and_quotes_are_declared(table, command, capsys):
    Path("quotes.csv").write_text('text;b\n"fine w1;1\nw2 "w2" fine;2\n')
    options = ["--table", "quotes.csv", "--delimiter", ";"]
    with pytest.raises(SystemExit, match=r"quotes\.csv:2: not a row.*--no-quotes"):
        command(*options)
    assert capsys.readouterr().out == ""
    command(*options, "--no-quotes")
    assert [line[:2] for line in capsys.readouterr().out.splitlines()] == ["ro", "1,", "2,"]
    with pytest.raises(SystemExit):
        command("--table", "quotes.csv", "--delimiter", ";;")
    assert "one character, or \\t for a tab, found ';;'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothere.csv"], "nothere.csv: not there"),
        (["broken.csv", "--text-column", "review"], r"^heed: broken\.csv:5: expected 2 fields"),
        (["texts.csv", "--text-column", "review", "--encoding", "rot13"], "that Python knows"),
        (["texts.csv", "--delimiter", ";"], "--delimiter of the command"),
    ],
)
def test_a_table_that_cannot_be_read_leaves_the_older_output_alone(
    table, command, arguments, message
):
    Path("broken.csv").write_text("review,name\na,1\nb,2\nc,3\nd\n")
    Path("older.csv").write_text("as it was")
    with pytest.raises(SystemExit, match=message):
        command("--table", *arguments, "--output", "older.csv")
    assert Path("older.csv").read_text() == "as it was"


@pytest.mark.parametrize("given", [[], ["a text", "--table", "texts.csv"]])
def test_a_text_and_a_table_at_once_and_neither_of_them_are_refused(command, capsys, given):
    with pytest.raises(SystemExit) as stopped:
        command(*given)
    assert stopped.value.code == 2 and "--table" in capsys.readouterr().err


def test_what_is_written_for_a_program_has_every_character_of_the_table(
    table, command, capfdbinary
):
    pd.DataFrame({"text": ["fine", "w1"], "id": ["a\u200fb", "\x1b[2J"]}).to_csv("odd.csv")
    command("--table", "odd.csv", "--id-column", "id", "--text-column", "text")
    printed = pd.read_csv(io.BytesIO(capfdbinary.readouterr().out))
    assert printed["id"].tolist() == ["a\u200fb", "\x1b[2J"]


def test_an_id_that_a_spreadsheet_would_compute_is_text_in_csv_and_as_it_is_elsewhere(
    table, command, capsys
):
    ids, quoted = ["=1+1", "@ada", "-1.5"], ["'=1+1", "'@ada", "-1.5"]
    pd.DataFrame({"text": ["fine", "w1", "w2"], "id": ids}).to_csv("odd.csv", index=False)
    columns = ("--id-column", "id", "--text-column", "text")
    command("--table", "odd.csv", *columns)
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out), dtype=str)
    assert printed["id"].tolist() == quoted
    for name in ("o.csv", "o.jsonl", "o.parquet"):
        command("--table", "odd.csv", *columns, "--output", name)
    assert pd.read_csv("o.csv", dtype=str)["id"].tolist() == quoted
    assert pd.read_json("o.jsonl", lines=True, dtype=False)["id"].tolist() == ids
    assert pd.read_parquet("o.parquet")["id"].tolist() == ids


def test_the_file_that_a_text_names_is_read_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("\ufeffa splendid film", encoding="utf-8")
    Path("notes").write_text("of a file")
    assert read_text("a.txt") == "a splendid film", "without the byte order mark"
    assert read_text("./notes") == "of a file"
    assert capsys.readouterr().err == ""
    assert read_text("notes") == "notes"
    assert "notes is taken as the text: the file is ./notes" in capsys.readouterr().err

    def refuse(*_arguments: object, **_options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(HeedError, match=r"a\.txt: cannot be read \(Permission denied\)"):
        read_text("a.txt")

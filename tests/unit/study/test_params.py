"""What a text may be that is no study; tables, and all studies (mistakes: test_mistakes.py)."""

import itertools
import json
import re

import pytest
from docs.params import json_schema, reference

from heed import study
from heed.files import HeedError
from tests.conftest import ROOT, cases

CASES = cases(__file__)
SAMPLE = (ROOT / "tests/studies/small.yaml").read_text()
TABLE = re.sub(r"sample: \{kind: sample, [^}]*\}", "sample: {kind: table, FILES}", SAMPLE)


def error_message(text: str) -> str:
    with pytest.raises(HeedError) as caught:
        study.parse(text)
    return str(caught.value)


def test_all_mistakes_are_reported_and_keys_that_a_terminal_would_obey_are_escaped():
    text = SAMPLE.replace("seeds:", '"a\\e[31m\\nb": 1\nseeds:', 1)
    text = text.replace("epochs: 6", "epochs: x")
    first, second = error_message(text).splitlines()
    assert first.startswith("params.yaml:42: defaults.classification.epochs: ")
    assert second.startswith("params.yaml:10: 'a\\x1b[31m\\nb': unknown key. Allowed: study, ")


def bomb(line: str) -> str:
    """Return YAML in which each name stands for ten of the one before."""
    names = itertools.pairwise("abcdefghi")
    ten = ((b, line.replace("NAMES", ", ".join([f"*{a}"] * 10))) for a, b in names)
    return "".join(f"{b}: &{b} {text}\n" for b, text in ten)


@pytest.mark.parametrize(("text", "expected"), [
    *CASES["texts"],
    ("a: " + "[" * 600, "params.yaml:1: not valid YAML"),
    (f"a: &a [{', '.join('x' * 10)}]\n" + bomb("[NAMES]"), ":1: more than 100,000 values"),
    ("a: &a {x: 1}\n" + bomb("{<<: [NAMES]}"), "params.yaml:1: more than 100,000 values"),
    (f"seeds: [{'9' * 5000}]", "params.yaml:1: not valid YAML: Exceeds the limit"),
])  # fmt: skip
def test_text_that_no_study_has_is_an_error_of_one_line(text, expected):
    (message,) = error_message(text).splitlines()
    assert expected in message and len(message) < 300


def table_study(columns: str) -> str:
    text = re.sub(r"kind: sample-(sentiment|letters),", f"kind: table, {columns},", TABLE)
    return text.replace("FILES", f"path: x.csv, sha256: {'a' * 64}")


@pytest.mark.parametrize(("columns", "known"), [
    ("text_column: t, label_column: sort", "sort"),
    ("text_columns: [t, u], label_columns: [sort, tone]", "sort, tone"),
])  # fmt: skip
def test_the_labels_of_a_table_have_the_names_of_their_columns(columns, known):
    text = re.sub(r"\{label: \w+\}", "{label: sort}", table_study(columns))
    assert study.parse(text)
    message = error_message(text.replace("{label: sort}", "{label: label}", 1))
    assert f".data.label: corpus sample-sentiment has no label label. Known: {known} (" in message


@pytest.mark.parametrize(("keys", "column", "is_valid"), CASES["splits"])
def test_a_column_or_the_keys_of_files_give_the_splits(keys, column, is_valid):
    paths, hashes = {key: f"{key}.csv" for key in keys}, dict.fromkeys(keys, "a" * 64)
    text = table_study(f"text_column: t, label_column: l{column}")
    text = re.sub(r"path: [^}]*\}", f"paths: {paths}, hashes: {hashes}}}", text)
    text = re.sub(r"\{label: \w+\}", "{label: l}", text)
    text = re.sub(r"split: \{[^}]*\}", "split: {kind: given}", text)
    if is_valid:
        assert study.parse(text)
    else:
        assert "split kind given needs either split_column, or a source" in error_message(text)


@pytest.mark.parametrize(("files", "message"), CASES["files"])
def test_the_files_of_a_table_are_declared_with_their_hashes(files, message):
    assert message in error_message(TABLE.replace("FILES", files.replace("HASH", "a" * 64)))


def test_a_missing_file_and_an_unknown_name_say_what_to_do(tmp_path):
    with pytest.raises(HeedError, match="heed study sample"):
        study.load(tmp_path / "params.yaml")
    with pytest.raises(HeedError, match=r"^params.yaml: corpora: there is no corpus x\. Known: "):
        study.parse(SAMPLE).section("corpora", "x")


def test_1e_minus_4_is_a_number_as_dvc_reads_it():
    params = study.parse(SAMPLE.replace("0.01\n", "1e-2\n"))
    assert params.hyperparameters("sample-author-average").learning_rate == 0.01


@pytest.mark.parametrize(
    "path", sorted((ROOT / "workflow/studies").glob("*.yaml")), ids=lambda path: path.stem
)
def test_every_study_is_valid_and_named_as_its_file(path):
    loaded = study.load(path)
    assert loaded.study.name == path.stem
    for name in loaded.models:
        assert loaded.hyperparameters(name).epochs > 0


def test_the_documented_schema_is_the_one_in_the_code():
    assert (ROOT / "docs/reference/params.md").read_text() == reference(), "run `make schema`"
    written = json.loads((ROOT / "docs/params.schema.json").read_text())
    assert written == json_schema(), "run `make schema`"

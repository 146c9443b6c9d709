"""What a large corpus needs of memory: a part at a time, with the same results."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from benchmarks import size
from benchmarks.generated import write_texts

from heed.cli import program
from heed.inputs import vocabulary
from heed.tokens import arrays
from heed.tokens.arrays import load_tokens

SHOW_TUNABLES = (
    "import os, sys; from heed.cli.program import restart_without_cache; "
    "print('started', flush=True); restart_without_cache(); print(os.environ['GLIBC_TUNABLES'])"
)


def test_documents_read_a_part_at_a_time_are_those_of_the_file(workplace, monkeypatch):
    tokens = load_tokens("data/tokens/tiny")
    columns = ["text", "id", "label_kind"]
    rows = np.asarray([17, 3, 30, 3, 0])
    expected = tokens.documents(columns).iloc[rows].reset_index(drop=True)
    monkeypatch.setattr(arrays, "READ_AT_ONCE", 7)
    found = tokens.documents(columns, rows)
    pd.testing.assert_frame_equal(found, expected)
    assert len(tokens.documents(["id"], rows[:0])) == 0
    assert tokens.rows_of(found["id"][[0, 4, 2]]).tolist() == [17, 0, 30]


def test_types_counted_a_part_at_a_time_are_counted_once(workplace, monkeypatch):
    tokens = load_tokens("data/tokens/tiny")
    rows = tokens.rows("train", 0)
    counts = np.bincount(
        np.concatenate([tokens.ids[slice(*tokens.offsets[row : row + 2])] for row in rows]),
        minlength=len(tokens.lexicon),
    )
    monkeypatch.setattr(vocabulary, "COUNTED_AT_ONCE", 3)
    ranked = vocabulary.rank_types(tokens, rows, lowercase=False)
    assert ranked == {tokens.lexicon[i]: counts[i] for i in np.flatnonzero(counts)}


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's setting")
@pytest.mark.parametrize(
    ("before", "after", "starts"),
    [
        (None, "glibc.malloc.tcache_count=0", 2),
        ("glibc.malloc.check=0", "glibc.malloc.check=0:glibc.malloc.tcache_count=0", 2),
        ("glibc.malloc.tcache_count=5", "glibc.malloc.tcache_count=5", 1),
    ],
)
def test_a_training_restarts_once_without_the_cache(before, after, starts):
    environment = {key: value for key, value in os.environ.items() if key != "GLIBC_TUNABLES"}
    if before:
        environment["GLIBC_TUNABLES"] = before
    done = subprocess.run(
        [sys.executable, "-c", SHOW_TUNABLES, "train"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["started"] * starts + [after]


def test_a_process_that_runs_a_command_for_others_is_not_restarted(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["heed", "train", "no-argument-of-this-process"])
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("replaced the process"))
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    program.restart_without_cache()
    assert "GLIBC_TUNABLES" not in os.environ


def test_the_generated_texts_are_of_two_classes_and_71_tokens(tmp_path):
    write_texts(tmp_path / "texts.csv", 1000)
    table = pd.read_csv(tmp_path / "texts.csv")
    assert table["text"].str.split().str.len().mean() == pytest.approx(71, rel=0.05)
    assert table["label"].value_counts().to_dict() == pytest.approx({"a": 500, "b": 500}, rel=0.1)


def test_the_sizes_of_a_failed_command_and_of_those_that_need_it_say_so(tmp_path, monkeypatch):
    monkeypatch.setitem(size.ARGUMENTS, "tokenize", ["no-such-corpus"])
    monkeypatch.setitem(size.PREPARATION, "tokenize", [])
    cells = size.measure(10, ["tokenize", "score"], tmp_path, 60)
    assert cells["tokenize"].startswith("failed with 1 at ")
    assert cells["score"] == "without train"
    with pytest.raises(size.FailedError, match="not finished after 0 s"):
        size.run(["check"], tmp_path, 0)


@pytest.mark.slow
def test_the_sizes_of_all_commands_are_measured(tmp_path):
    cells = size.measure(300, list(size.NEEDS), tmp_path, 300)
    assert list(cells) == list(size.NEEDS)
    assert all(cell.endswith(" s") and " GB, " in cell for cell in cells.values())

"""What a large corpus needs of memory: a part at a time, with the same results."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

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
@pytest.mark.parametrize(("before", "after", "starts"), [
    (None, "glibc.malloc.tcache_count=0", 2),
    ("glibc.malloc.check=0", "glibc.malloc.check=0:glibc.malloc.tcache_count=0", 2),
    ("glibc.malloc.tcache_count=5", "glibc.malloc.tcache_count=5", 1),
])  # fmt: skip
def test_a_training_restarts_once_without_the_cache(before, after, starts):
    environment = {key: value for key, value in os.environ.items() if key != "GLIBC_TUNABLES"}
    if before:
        environment["GLIBC_TUNABLES"] = before
    done = subprocess.run(
        [sys.executable, "-c", SHOW_TUNABLES, "train"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["started"] * starts + [after]

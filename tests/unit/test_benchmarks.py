"""The benchmarks run, and count what they say; their times are not tested."""

import subprocess
import sys

import pytest
from benchmarks.__main__ import ALL

from tests.conftest import ROOT


def test_training_times_of_a_study_are_relative_to_the_baseline(workplace):
    from benchmarks.study import measure_variants

    from heed.recipe import read_model_recipe
    from heed.tokens.arrays import load_tokens

    recipe = read_model_recipe("tiny-attention")
    plain = recipe.changed({"attention": "none"})
    tokens = load_tokens("data/tokens/tiny")
    rows = measure_variants(
        "tiny", {"baseline": plain, "attention": recipe}, tokens, documents=20, rounds=1
    )
    assert [row.metric for row in rows] == ["tiny: baseline", "tiny: attention"]
    assert rows[0].value == "1.00x" and rows[1].value.endswith("x")


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_benchmark_runs(name):
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| ")

"""Benchmarks are no timed tests; that they still run against today's code is one."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from benchmarks import workload
from benchmarks.__main__ import ALL

from heed.params import Hyperparameters
from tests.conftest import ROOT


def test_the_settings_written_out_are_the_schemas():
    assert Hyperparameters(**workload.SETTINGS).model_dump() == workload.SETTINGS


def test_the_generated_lengths_are_like_imdbs():
    lengths = workload.imdb_lengths(50_000)
    assert np.mean(lengths) == pytest.approx(268.5, rel=0.03) and np.median(lengths) == pytest.approx(201, rel=0.03)


def test_useful_flops_count_what_torch_counts_without_padding():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from heed.models.classifier import Classifier

    for attention in ("none", "multi-head"):
        h = workload.SETTINGS | {"attention": attention, "max_tokens": 20}
        texts = workload.encoded(4, h)
        model = Classifier(workload.VOCABULARY, workload.CLASSES, h)
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            batch = texts.batch(np.arange(4))
            states = model.network.encoder.attention
            if states is not None:
                states(torch.randn(4, 20, 512), torch.zeros(4, 20, dtype=torch.bool))
        lengths = batch.lengths.numpy()
        assert (lengths == 20).all()
        plain = workload.useful_flops(lengths, h | {"attention": "none"})
        assert workload.useful_flops(lengths, h) == pytest.approx(plain + 3 * counter.get_total_flops())
        assert plain == 3 * 2 * 4 * (20 * 2 * 4 * 256 * (128 + 256) + 512 * 64)


def test_the_gpu_script_says_so_where_there_is_no_gpu():
    if torch.cuda.is_available():
        pytest.skip("a GPU is there")
    done = subprocess.run([sys.executable, "-m", "benchmarks.gpu"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1 and "no GPU" in done.stderr and "Traceback" not in done.stderr


def test_the_cost_of_a_study_is_told_against_the_baseline(workplace):
    from benchmarks.study import measured

    from heed.recipe import read_recipe
    from heed.text.tokens import load_tokens

    recipe = read_recipe("results/recipe/tiny-attention.yaml")
    plain = recipe | {"hyperparameters": recipe["hyperparameters"] | {"attention": "none"}}
    tokens = load_tokens("data/tokens/tiny")
    rows = measured("tiny", {"baseline": plain, "attention": recipe}, tokens, documents=20, rounds=1)
    assert [row.figure for row in rows] == ["tiny: baseline", "tiny: attention"]
    assert rows[0].value == "1.00x" and rows[1].value.endswith("x")


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_benchmark_runs(name):
    done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| ")

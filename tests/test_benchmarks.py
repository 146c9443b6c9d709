"""Benchmarks are no timed tests; that they still run against today's code is one."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks import workload
from benchmarks.__main__ import ALL

from tests.conftest import ROOT


def test_the_generated_lengths_are_like_imdbs():
    lengths = workload.imdb_lengths(50_000)
    assert np.mean(lengths) == pytest.approx(268.5, rel=0.03) and np.median(
        lengths
    ) == pytest.approx(201, rel=0.03)


def test_useful_flops_count_what_torch_counts_without_padding():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from heed.models.classifier import Classifier

    for attention in ("none", "multi-head"):
        h = dataclasses.replace(workload.SETTINGS, attention=attention, max_tokens=20)
        texts = workload.encoded(4, h)
        model = Classifier(workload.VOCABULARY, workload.CLASSES, h)
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            batch = texts.batch(np.arange(4))
            attend = model.network.encoder.attention
            if attend is not None:
                states = torch.randn(4, 20, 512)
                attend(states, states, states, torch.zeros(4, 20, dtype=torch.bool))
        lengths = batch.lengths.numpy()
        assert (lengths == 20).all()
        plain = workload.useful_flops(lengths, dataclasses.replace(h, attention="none"))
        assert workload.useful_flops(lengths, h) == pytest.approx(
            plain + 3 * counter.get_total_flops()
        )
        assert plain == 3 * 2 * 4 * (20 * 2 * 4 * 256 * (128 + 256) + 512 * 64)


def test_the_gpu_script_says_so_where_there_is_no_gpu():
    if torch.cuda.is_available():
        pytest.skip("a GPU is there")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 1 and "no GPU" in done.stderr and "Traceback" not in done.stderr


def test_the_cost_of_a_study_is_told_against_the_baseline(workplace):
    from benchmarks.study import measured

    from heed.recipe import read_model_recipe
    from heed.tokens.arrays import load_tokens

    recipe = read_model_recipe("tiny-attention")
    plain = recipe.changed({"attention": "none"})
    tokens = load_tokens("data/tokens/tiny")
    rows = measured(
        "tiny", {"baseline": plain, "attention": recipe}, tokens, documents=20, rounds=1
    )
    assert [row.figure for row in rows] == ["tiny: baseline", "tiny: attention"]
    assert rows[0].value == "1.00x" and rows[1].value.endswith("x")


def test_trainings_go_to_a_machine_without_engines_and_come_back(workplace, tmp_path_factory):
    from heed.paths import recipe_file
    from heed.recipe import read_model_recipe, write_recipe

    plain = dataclasses.replace(
        read_model_recipe("tiny-attention"), model="tiny-baseline", variant="baseline"
    )
    plain = plain.changed({"attention": "none"})
    write_recipe(recipe_file("tiny-baseline"), plain)
    there = tmp_path_factory.mktemp("there")
    without = tmp_path_factory.mktemp("without")
    for engine in ("pydantic", "ruamel", "dvc", "snakemake", "ray", "spacy"):
        (without / f"{engine}.py").write_text(
            f"raise ImportError('{engine} is not on the bare machine')"
        )
    environment = os.environ | {"PYTHONPATH": f"{without}:{ROOT}:{ROOT / 'src'}"}

    def remote(*words: str, cwd: Path) -> str:
        command = [sys.executable, "-m", "benchmarks.remote", *words]
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=True
        ).stdout

    remote("pack", f"{there}/pack.tar.xz", "tiny-attention", "tiny-baseline", cwd=workplace)
    none = remote("run", "pack.tar.xz", "--seeds", "1,2", "--seconds", "0", cwd=there)
    assert "| tiny-attention | 0 of 2 seeds | |" in none
    said = remote(
        "run", "pack.tar.xz", "--seeds", "1,2", "--at-once", "2", "--into", "back", cwd=there
    )
    assert re.search(
        r"\| tiny: gain \| [+-]\d+\.\d\d \([+-].* to [+-].*\) p\.p\. \| corrected p ", said
    ), said
    assert "text" not in pd.read_parquet(there / "pack/data/tokens/tiny/documents.parquet")
    with tarfile.open(there / "back/done.tar.gz") as archive:
        assert sum(name.endswith("statistics.parquet") for name in archive.getnames()) == 4
    shutil.rmtree(there / "pack")
    again = remote(
        "run",
        "pack.tar.xz",
        "--done",
        "back/done.tar.gz",
        "--seeds",
        "1,2",
        "--seconds",
        "0",
        cwd=there,
    )
    assert again.partition("|")[2] == said.partition("|")[2], "nothing was trained again"
    write_recipe(recipe_file("tiny-baseline"), dataclasses.replace(plain, folds=5))
    refused = subprocess.run(
        [
            sys.executable,
            "-m",
            "benchmarks.remote",
            "pack",
            f"{there}/folds.tar.xz",
            "tiny-baseline",
        ],
        env=environment,
        capture_output=True,
        text=True,
        cwd=workplace,
    )
    assert refused.returncode == 1 and "the corpus is in folds" in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_benchmark_runs(name):
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| ")

"""The benchmarks of a GPU machine: one without a GPU, and trainings on one without the engines."""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pandas as pd
import pytest
import torch

from heed.paths import recipe_file
from heed.recipe import read_model_recipe, write_recipe
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Return the environment of a process that can import none of the engines."""
    engines = tmp_path_factory.mktemp("engines")
    for engine in ("ruamel", "dvc", "snakemake", "ray", "spacy", "optuna"):
        (engines / f"{engine}.py").write_text(
            f"raise ImportError('{engine} is not on the bare machine')"
        )
    return os.environ | {"PYTHONPATH": f"{engines}:{ROOT}:{ROOT / 'src'}"}


def test_the_gpu_benchmark_without_engines_and_gpu_says_so(bare):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu"], capture_output=True, text=True, env=bare
    )
    assert done.returncode == 1 and "no GPU" in done.stderr and "Traceback" not in done.stderr


@pytest.fixture
def remote(bare):
    """Return a function that runs benchmarks.remote where none of the engines can be imported."""

    def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "benchmarks.remote", *arguments]
        return subprocess.run(command, cwd=cwd, env=bare, capture_output=True, text=True)

    return run


@pytest.fixture
def baseline(workplace):
    """Write the recipe `tiny-baseline`, of the same experiment as `tiny-attention`; return it."""
    recipe = dataclasses.replace(
        read_model_recipe("tiny-attention"), model="tiny-baseline", variant="baseline"
    ).changed({"attention": "none"})
    write_recipe(recipe_file("tiny-baseline"), recipe)
    return recipe


@pytest.mark.slow
def test_trainings_go_to_a_machine_without_engines_and_come_back(
    workplace, baseline, remote, tmp_path
):
    machine = tmp_path / "machine"
    machine.mkdir()

    def run(*options: str) -> str:
        done = remote("run", "pack.tar.xz", "--seeds", "1,2", *options, cwd=machine)
        assert done.returncode == 0, done.stderr
        return done.stdout

    packed = remote(
        "pack", f"{machine}/pack.tar.xz", "tiny-attention", "tiny-baseline", cwd=workplace
    )
    assert packed.returncode == 0, packed.stderr
    assert "| tiny-attention | 0 of 2 seeds | |" in run("--seconds", "0")
    output = run("--at-once", "2", "--into", "back")
    gain = r"\| tiny: gain \| [+-]\d+\.\d\d \([+-].* to [+-].*\) p\.p\. \| corrected p "
    assert re.search(gain, output), output
    assert "text" not in pd.read_parquet(machine / "pack/data/tokens/tiny/documents.parquet")
    with tarfile.open(machine / "back/done.tar.gz") as archive:
        assert sum(name.endswith("statistics.parquet") for name in archive.getnames()) == 4
    shutil.rmtree(machine / "pack")
    again = run("--done", "back/done.tar.gz", "--seconds", "0")
    assert again.partition("|")[2] == output.partition("|")[2], "nothing was trained again"


def test_a_corpus_in_folds_is_not_packed(workplace, baseline, remote, tmp_path):
    write_recipe(recipe_file("tiny-baseline"), dataclasses.replace(baseline, folds=5))
    refused = remote("pack", f"{tmp_path}/folds.tar.xz", "tiny-baseline", cwd=workplace)
    assert refused.returncode == 1 and "the corpus is in folds" in refused.stderr

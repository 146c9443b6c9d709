"""The benchmarks run, and trainings on a machine without the engines; times are not tested."""

import dataclasses
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pandas as pd
import pytest
from benchmarks import remote as remote_module
from benchmarks.__main__ import ALL

from heed.files import write_json
from heed.paths import recipe_file, timing_file
from heed.recipe import read_model_recipe, write_recipe
from tests.conftest import ROOT, run_heed, train


@pytest.fixture
def baseline(workplace):
    """Write the recipe `tiny-last-state`, of the experiment of `tiny-self-attention`; return it."""
    recipe = dataclasses.replace(
        read_model_recipe("tiny-self-attention"), model="tiny-last-state", variant="last-state"
    ).changed({"attention": "none"})
    write_recipe(recipe_file("tiny-last-state"), recipe)
    return recipe


def test_of_an_archive_all_runs_are_adopted_or_none(workplace, baseline, monkeypatch, tmp_path):
    for model in ("tiny-self-attention", "tiny-last-state"):
        train(model, 1)
    write_json(tmp_path / "code.json", {"classification": "a"})
    with tarfile.open(tmp_path / "runs.tar", "w") as archive:
        archive.add(tmp_path / "code.json", "code.json")
        archive.add("results/train")
        archive.add("results/timing")
    shutil.rmtree("results/train")
    monkeypatch.setattr(remote_module, "clone_code", lambda task, model: "ab"["last" in model])
    monkeypatch.setattr(sys, "argv", ["remote", "adopt", str(tmp_path / "runs.tar")])
    message = "tiny-last-state/1 was trained by another recipe, or by other code"
    with pytest.raises(SystemExit, match=message):
        remote_module.main()
    assert not Path("results/train").exists()


@pytest.mark.slow
def test_trainings_go_to_a_bare_machine_and_come_back(workplace, baseline, tmp_path):
    models, machine = ("tiny-self-attention", "tiny-last-state"), tmp_path / "machine"
    machine.mkdir()
    for engine in ("ruamel", "dvc", "snakemake", "ray", "spacy"):  # which it has not
        (tmp_path / f"{engine}.py").write_text(f"raise ImportError('{engine} is not here')")
    bare = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}:{ROOT / 'src'}"}

    def run(*arguments: str, cwd: Path) -> str:
        command = [sys.executable, "-m", "benchmarks.remote", *arguments]
        done = subprocess.run(command, cwd=cwd, env=bare, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("pack", f"{tmp_path}/pack.tar.xz", *models, cwd=workplace)
    with tarfile.open(tmp_path / "pack.tar.xz") as archive:
        archive.extractall(machine)
    assert "text" not in pd.read_parquet(machine / "data/tokens/tiny/documents.parquet")
    jobs = [f"{model}/2" for model in models]
    assert "tiny-last-state/2 epoch 1: " in run("run", ".", *jobs, "--at-once", "2", cwd=machine)
    assert run("run", ".", *jobs, cwd=machine) == "", "nothing is trained again"
    with tarfile.open(tmp_path / "runs.tar", "w") as archive:
        for name in ("code.json", "results"):
            archive.add(machine / name, name)
    adopting = run("adopt", f"{tmp_path}/runs.tar", cwd=workplace)
    assert adopting.endswith("dvc commit --force train@tiny-last-state train@tiny-self-attention\n")
    adopted = timing_file("tiny-last-state", 2).read_text()
    assert run_heed("train", "tiny-last-state", "--seeds", "2").returncode == 0
    assert timing_file("tiny-last-state", 2).read_text() == adopted, "it is not trained again"


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_benchmark_runs(name):
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| ")

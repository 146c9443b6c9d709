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
from tests.conftest import ROOT, train


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Return the environment of a process that can import none of the engines."""
    engines = tmp_path_factory.mktemp("engines")
    for engine in ("ruamel", "dvc", "snakemake", "ray", "spacy"):
        (engines / f"{engine}.py").write_text(f"raise ImportError('{engine} is not here')")
    return os.environ | {"PYTHONPATH": f"{engines}:{ROOT}:{ROOT / 'src'}"}


@pytest.fixture
def remote(bare):
    """Return a function that runs benchmarks.remote where none of the engines can be imported."""

    def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "benchmarks.remote", *arguments]
        return subprocess.run(command, cwd=cwd, env=bare, capture_output=True, text=True)

    return run


@pytest.fixture
def baseline(workplace):
    """Write the recipe `tiny-last-state`, of the experiment of `tiny-self-attention`; return it."""
    recipe = dataclasses.replace(
        read_model_recipe("tiny-self-attention"), model="tiny-last-state", variant="last-state"
    ).changed({"attention": "none"})
    write_recipe(recipe_file("tiny-last-state"), recipe)
    return recipe


def pack_runs(archive: Path, **code: str) -> None:
    with tarfile.open(archive, "w") as files:
        if code:
            write_json(archive.with_name("code.json"), code)
            files.add(archive.with_name("code.json"), "code.json")
        files.add("results/train")
        files.add("results/timing")


def adopt(monkeypatch, archive: Path) -> str:
    monkeypatch.setattr(sys, "argv", ["remote", "adopt", str(archive)])
    with pytest.raises(SystemExit) as ended:
        remote_module.main()
    return str(ended.value)


def test_of_an_archive_all_runs_are_adopted_or_none(workplace, baseline, monkeypatch, tmp_path):
    for model in ("tiny-self-attention", "tiny-last-state"):
        train(model, 1)
    pack_runs(tmp_path / "runs.tar", classification="a")
    shutil.rmtree("results/train")
    monkeypatch.setattr(remote_module, "clone_code", lambda task, model: "ab"["last" in model])
    message = adopt(monkeypatch, tmp_path / "runs.tar")
    assert "tiny-last-state/1 was trained by another recipe, or by other code" in message
    assert not Path("results/train").exists()


@pytest.mark.slow
def test_trainings_go_to_a_bare_machine_and_come_back(workplace, baseline, remote, tmp_path):
    models, machine = ("tiny-self-attention", "tiny-last-state"), tmp_path / "machine"
    machine.mkdir()

    def run(*arguments: str, cwd: Path) -> str:
        done = remote(*arguments, cwd=cwd)
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
    command = [sys.executable, "-m", "heed.cli", "train", "tiny-last-state", "--seeds", "2"]
    subprocess.run(command, check=True, cwd=workplace)
    assert timing_file("tiny-last-state", 2).read_text() == adopted, "it is not trained again"


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_benchmark_runs(name):
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| ")

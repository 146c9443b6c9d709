"""One declaration, two drivers: whatever runs a stage, the other has nothing left to do, and both run the same.

The real dvc.yaml and Snakefile, with a stand-in for the command `heed` that writes small files (toy/heed.py) and logs
what was really executed.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.conftest import ROOT

pytestmark = pytest.mark.xdist_group("drivers")

DVC, SNAKEMAKE = ["dvc", "repro", "--quiet"], ["snakemake", "--cores", "2"]
BOTH = pytest.mark.parametrize("driver", [DVC, SNAKEMAKE], ids=["dvc", "snakemake"])


class Toy:
    """A clone with a toy study, whose `heed` only writes small files."""

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path.parent / "log.jsonl"
        self.params = path / "params.yaml"
        tools = os.pathsep.join([str(path.parent / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
        author = {f"GIT_{who}_{what}": "toy@heed" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        self.environment = os.environ | author | {"PATH": tools, "TOY_LOG": str(self.log)}

    def start(self, *command: str, **environment: str) -> subprocess.Popen:
        return subprocess.Popen(
            command, cwd=self.path, env=self.environment | environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def try_(self, *command: str, **environment: str) -> tuple[int, str]:
        process = self.start(*command, **environment)
        output = process.communicate(timeout=300)[0]
        return process.returncode, output

    def run(self, *command: str, **environment: str) -> str:
        code, output = self.try_(*command, **environment)
        assert code == 0, output
        return output

    def executed(self, *command: str, **environment: str) -> list[str]:
        """Run, and return the heed commands that were really executed, sorted."""
        self.log.write_text("")
        self.run(*command, **environment)
        return self.logged()

    def logged(self) -> list[str]:
        return sorted(record[0] for record in map(json.loads, self.log.read_text().splitlines()))

    def change(self, old: str, new: str) -> None:
        text = self.params.read_text()
        assert old in text
        self.params.write_text(text.replace(old, new))

    def copy(self, path: Path) -> "Toy":
        shutil.copytree(self.path, path / "clone", symlinks=True)
        write_stub(path / "bin")
        return Toy(path / "clone")


def write_stub(path: Path) -> None:
    """Write the command `heed` that the toy study finds first. sh finds python, for a #! line takes no space."""
    path.mkdir(parents=True)
    stub = path / "heed"
    stub.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/tests/toy/heed.py" "$@"\n')
    stub.chmod(0o755)


def make_clone(path: Path, params: Path) -> None:
    """Make a git repository at `path` of this tree's pipeline, with the given params.yaml."""
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src/heed", "workflow", "data/published"):
        shutil.copytree(ROOT / name, path / name, ignore=skip)
    for name in ("Snakefile", "dvc.yaml", ".dvcignore", ".gitignore", ".dvc/config", ".dvc/.gitignore"):
        (path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, path / name)
    shutil.copy(params, path / "params.yaml")
    (path / "profiles").symlink_to("workflow/profiles")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """The toy study, run by Snakemake in a folder whose name has a space, and committed."""
    room = tmp_path_factory.mktemp("toy study")
    make_clone(room / "clone", ROOT / "tests/toy/params.yaml")
    write_stub(room / "bin")
    toy = Toy(room / "clone")
    toy.run("git", "init", "--quiet")
    toy.run("git", "add", "--all")
    toy.run("git", "commit", "--quiet", "--message", "toy")
    assert len(toy.executed(*SNAKEMAKE)) == 21
    toy.run("git", "add", "--all")
    toy.run("git", "commit", "--quiet", "--message", "run")
    return toy


@pytest.fixture
def toy(finished: Toy, tmp_path: Path) -> Iterator[Toy]:
    yield finished.copy(tmp_path / "a copy")


def planned(toy: Toy) -> list[str]:
    """Return the stages that `snakemake -n` says may run."""
    lines = toy.run("snakemake", "-n").splitlines()
    return sorted(line.split()[2] for line in lines if line.startswith("Job ") and "  (" in line)


def as_stages(executed: list[str]) -> list[str]:
    names = [name.replace("search none", "untuned").replace(" ", "@", 1).replace(" ", "-") for name in executed]
    return sorted(names)


def test_after_snakemake_neither_driver_has_anything_to_do(toy: Toy) -> None:
    assert "up to date" in toy.run("dvc", "status")
    assert toy.executed(*DVC) == []
    assert toy.executed(*SNAKEMAKE) == []
    output = toy.run("snakemake", "-n")
    assert "all 21 stages are up to date" in output
    assert "Job" not in output
    for stage in ("compare", "train@feelings-attention-1"):
        assert (toy.path / f"logs/{stage}.log").exists()
        assert (toy.path / f"logs/{stage}.tsv").read_text().startswith("s\t")


MODELS = ("feelings-baseline", "feelings-attention", "author-baseline")


def below(*models: str, seeds: tuple[int, ...] = (1, 2)) -> list[str]:
    """Return the commands that a change of these models' recipes sets off."""
    runs = [f"train {model} {seed}" for model in models for seed in seeds]
    return sorted([*(f"recipe {m}" for m in models), *runs, *(f"evaluate {m}" for m in models), "compare", "report"])


CHANGES: dict[str, tuple[str, str, list[str]]] = {
    "a hyperparameter of one model": ("dropout: 0.2", "dropout: 0.3", below("author-baseline")),
    "a default that one model uses": ("heads: 2", "heads: 4", sorted([*below("feelings-attention"), *(f"recipe {m}" for m in MODELS[::2])])),
    "one more seed": ("[1, 2]", "[1, 2, 3]", sorted([*(f"train {m} 3" for m in MODELS), *(f"evaluate {m}" for m in MODELS), "compare", "report"])),
    "one seed less": ("[1, 2]", "[1]", sorted([*(f"evaluate {m}" for m in MODELS), "compare", "report"])),
    "the title of the study": ("title: Toy", "title: Other", ["report"]),
    "one model less": ("  feelings-attention: {experiment", "#  feelings-attention: {experiment", ["compare", "report"]),
    "a corpus": ("kind: sample-letters, split: {kind: random, test: 0.25}", "kind: sample-letters, split: {kind: random, test: 0.5}",
                 sorted([*below("author-baseline"), "tokenize letters", "opponents author"])),
    "a search, named by a model": ("searches: {}", "searches: {hunt: {corpus: feelings}}", ["search hunt"]),
}  # fmt: skip


@BOTH
@pytest.mark.parametrize("what", CHANGES)
def test_a_change_runs_exactly_the_stages_below_it(toy: Toy, driver: list[str], what: str) -> None:
    old, new, expected = CHANGES[what]
    toy.change(old, new)
    assert toy.executed(*driver) == expected
    if driver == SNAKEMAKE:
        assert "up to date" in toy.run("dvc", "status")
    else:
        swept = {"one seed less": 5, "one model less": 2}  # Snakemake then deletes the orphans, and says so
        assert len(planned(toy)) == swept.get(what, 0)

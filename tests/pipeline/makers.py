"""Makers of the pipeline's tests: clones of this tree, with a stub of `heed` or with the real one.

A toy study has the real dvc.yaml and Snakefile, with a stub of the command `heed` that writes small
files (toy/stub.py) and logs the commands that really ran.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# a study of the real heed with every kind of stage, and the same study without its search
TINY = """
study: {name: tiny, title: Tiny}
seeds: [1]
sources: {sample: {kind: sample, documents: 200, seed: 3}}
corpora: {letters: {source: sample, kind: sample-letters, split: {kind: random, test: 0.25}}}
experiments: {author: {task: classification, corpus: letters, data: {label: author}, title: Author}}
searches:
  hunt: {experiment: author, model: author-attention, trials: 2,
      scheduler: none, space: {learning_rate: {uniform: [0.001, 0.01]}}}
defaults: {classification: {hidden_size: 4, embedding_dim: 4, linear_size: 4, epochs: 1,
    device: cpu}}
models:
  author-attention: {experiment: author, pooling: attention}
explain: {documents: 0.02, models: {author-attention: {noise: letters}}}
adversaries:
  liar: {model: author-attention, goal: deceive, strength: 1, epochs: 1}
"""
UNTUNED = re.sub("searches:\n(  .*\n)+", "searches: {}\n", TINY)
DVC, SNAKEMAKE = ["dvc", "repro", "--quiet"], ["snakemake", "--cores", "2"]


class Toy:
    """A clone with a toy study, whose `heed` only writes small files."""

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path.parent / "log.jsonl"
        self.params = path / "params.yaml"
        tools = os.pathsep.join(
            [str(path.parent / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
        )
        author = {
            f"GIT_{role}_{field}": "toy@heed"
            for role in ("AUTHOR", "COMMITTER")
            for field in ("NAME", "EMAIL")
        }
        self.environment = (
            os.environ
            | author
            | {"PATH": tools, "TOY_LOG": str(self.log), "PYTHONPATH": str(ROOT / "src")}
        )

    def start(self, *command: str, **environment: str) -> subprocess.Popen:
        return subprocess.Popen(
            command, cwd=self.path, env=self.environment | environment, text=True,
            start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def try_(self, *command: str, **environment: str) -> tuple[int, str]:
        process = self.start(*command, **environment)
        output = process.communicate(timeout=900)[0]
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

    def commit(self, message: str) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def logged(self) -> list[str]:
        return sorted(record[0] for record in map(json.loads, self.log.read_text().splitlines()))

    def change(self, old: str, new: str) -> None:
        text = self.params.read_text()
        assert old in text
        self.params.write_text(text.replace(old, new))

    def copy(self, path: Path) -> "Toy":
        shutil.copytree(self.path, path / "clone", symlinks=True, dirs_exist_ok=True)
        write_stub(path / "bin")
        return Toy(path / "clone")


def write_stub(path: Path) -> None:
    """Write the stub of `heed`, and a `python` that logs when the stage `code` runs.

    Both are shell scripts, since a #! line cannot have spaces in its path.
    """
    path.mkdir(parents=True)
    note = """[ "$1" = workflow/digests.py ] && echo '["code", 0, 0, null]' >> "$TOY_LOG"\n"""
    for name, text in {
        "heed": f'exec "{sys.executable}" "{ROOT}/tests/toy/stub.py" "$@"\n',
        "python": f'{note}exec "{sys.executable}" "$@"\n',
    }.items():
        (path / name).write_text(f"#!/bin/sh\n{text}")
        (path / name).chmod(0o755)


def make_clone(path: Path, params: Path) -> None:
    """Copy this tree's pipeline to `path`, with `params` as its params.yaml."""
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in ("src/heed", "workflow", "data/published", ".dvc/plots"):
        shutil.copytree(ROOT / name, path / name, ignore=skip)
    for name in (
        "Snakefile",
        "dvc.yaml",
        ".dvcignore",
        ".gitignore",
        ".dvc/config",
        ".dvc/.gitignore",
    ):
        (path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, path / name, follow_symlinks=False)
    shutil.copy(params, path / "params.yaml")
    (path / "profiles").symlink_to("workflow/profiles")


@contextlib.contextmanager
def shared_folder(factory: pytest.TempPathFactory, name: str) -> Iterator[Path]:
    """Yield a folder that all workers of this test run share, to one worker at a time."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with folder.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def make_finished(folder: Path) -> Toy:
    """Make the toy study in a folder, run by Snakemake and committed, unless it is there."""
    toy = Toy(folder / "clone")
    if (folder / "finished").exists():
        return toy
    make_clone(toy.path, ROOT / "tests/toy/params.yaml")
    write_stub(folder / "bin")
    toy.run("git", "init", "--quiet")
    toy.commit("toy")
    assert len(toy.executed(*SNAKEMAKE)) == 18
    toy.commit("run")
    (folder / "finished").touch()
    return toy


def make_real_study(folder: Path, params: str) -> Toy:
    """Make a small study in a folder, run by the real heed and committed, unless it is there."""
    study = Toy(folder / "clone")  # without a stub
    study.environment["OMP_NUM_THREADS"] = "1"
    if (folder / "finished").exists():
        return study
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(params)
    make_clone(study.path, folder / "params.yaml")
    study.run("git", "init", "--quiet")
    study.run(*SNAKEMAKE)
    study.commit("run")
    (folder / "finished").touch()
    return study


def copy_of(study: Toy, path: Path) -> Toy:
    """Return a copy of a finished clone, with its results and its cache."""
    shutil.copytree(study.path, path, symlinks=True)
    copy = Toy(path)
    copy.environment = study.environment | {}
    return copy


def planned(toy: Toy) -> list[str]:
    """Return the stages that may run according to `snakemake -n`."""
    lines = toy.run("snakemake", "-n").splitlines()
    return sorted(line.split()[2] for line in lines if line.startswith("Job ") and "  (" in line)


MODELS = ("feelings-baseline", "feelings-attention", "author-baseline")


def below(*models: str, seeds: str = " 1 2") -> list[str]:
    """Return the commands that must run after a change of these models' recipes."""
    stages = ("recipe {}", "train {}" + seeds, "score {}")
    commands = [stage.format(model) for stage in stages for model in models]
    return sorted(["code", *commands, "compare", "report"])


SCORED = [f"score {model}" for model in MODELS]


TRAINED = [command for command in below(*MODELS) if not command.startswith("recipe ")]


# change: (text of params.yaml, its replacement, the commands that must run)
CHANGES: dict[str, tuple[str, str, list[str]]] = {
    "a hyperparameter of one model": ("dropout: 0.2", "dropout: 0.3", below("author-baseline")),
    "a default that one model uses": (
        "heads: 2",
        "heads: 4",
        sorted([*below("feelings-attention"), *(f"recipe {m}" for m in MODELS[::2])]),
    ),
    "one more seed": (
        "[1, 2]",
        "[1, 2, 3]",
        [command.replace(" 1 2", " 3") for command in TRAINED],
    ),
    "one seed less": ("[1, 2]", "[1]", [command.replace(" 1 2", "") for command in TRAINED]),
    # compare reads the study's question: the whole section, since DVC tracks no default
    "the title of the study": ("title: Toy", "title: Other", ["code", "compare", "report"]),
    "one model less": (
        "  feelings-attention: {experiment",
        "#  feelings-attention: {experiment",
        ["code", "compare", "report"],
    ),
    "a corpus": (
        "kind: sample-letters, split: {kind: random, test: 0.25}",
        "kind: sample-letters, split: {kind: random, test: 0.5}",
        sorted([*below("author-baseline"), "tokenize letters", "opponents author"]),
    ),
    "a search, named by a model": (
        "searches: {}",
        ("searches: {hunt: {experiment: feelings, model: feelings-attention}}"),
        # the recipes of its experiment, which come out the same
        ["code", *(f"recipe {model}" for model in sorted(MODELS[:2])), "report", "search hunt"],
    ),
    "a model to be explained": (
        "searches: {}",
        ("searches: {}\nexplain: {documents: 1, models: {author-baseline: {noise: letters}}}"),
        ["code", "explain author-baseline", "report"],
    ),
    "an adversary": (
        "searches: {}",
        "searches: {}\nexplain: {documents: 1, models: {feelings-attention: "
        "{noise: feelings}}}\nadversaries: {liar: {model: feelings-attention, "
        "goal: differ, strength: 1, epochs: 1}}",
        ["adversaries liar", "code", "explain feelings-attention", "report"],
    ),
}


def add_to(path: str, text: str) -> Callable[[Toy], None]:
    """Return a function that appends to a file, or makes it."""

    def edit(toy: Toy) -> None:
        with (toy.path / path).open("a") as file:
            file.write(text)

    return edit


ATTENTION = "src/heed/models/attention.py"


def wait_for_output(process: subprocess.Popen, text: str) -> None:
    """Read the output of a process up to a line with `text`."""
    assert process.stdout
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"ended without: {text}")


@contextlib.contextmanager
def held(
    toy: Toy, driver: list[str], command: str
) -> Iterator[tuple[subprocess.Popen, Callable[[], None]]]:
    """Start a driver; yield it, and a function that resumes `command`.

    `command` has written its first file and waits.
    """
    held_file = Path(f"{toy.log}.held")
    process = toy.start(*driver, TOY_HOLD=command)
    end = time.monotonic() + 120
    while not held_file.exists() or not held_file.read_text():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "the stage was not reached"
        time.sleep(0.05)
    try:
        yield process, held_file.unlink
    finally:
        held_file.unlink(missing_ok=True)
        process.communicate(timeout=120)


def by_driver(whats: Iterable[str], fast: set[tuple[str, str]]) -> list:
    """Return the cases (what, driver) of a test, those slow that are not `fast`."""
    return [
        pytest.param(
            what,
            driver,
            id=f"{what}-{driver[0]}",
            marks=[] if (what, driver[0]) in fast else pytest.mark.slow,
        )
        for what in whats
        for driver in (["dvc", "repro"], SNAKEMAKE)
    ]

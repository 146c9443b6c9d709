"""Makers of the pipeline's tests: clones of this tree, with a stub of `heed` or with the real one.

A toy study has the real dvc.yaml and Snakefile, with a stub of the command `heed` that writes small
files (toy/stub.py) and logs the commands that really ran."""

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

# A small study of the real heed; the same with a search; one model with every other kind of stage.
SMALL = (ROOT / "tests/studies/parts/author.yaml").read_text()
SEARCH = """{hunt: {experiment: author, model: author-self-attention, trials: 2, scheduler: none,
    space: {learning_rate: {uniform: [0.001, 0.01]}}}}"""
SEARCHED = SMALL.replace("heads: 2}", "heads: 2, search: hunt}").replace("{}", SEARCH)
ALONE = re.sub(", longer_training: false|, 2(?=])|.*author-last-state.*\n", "", SMALL)
EXPLAINED = f"""{ALONE.replace("attention: multi-head, heads: 2", "pooling: attention")}
explain: {{documents: 0.02, models: {{author-self-attention: {{noise: letters}}}}}}
adversarial_attention:
  liar: {{model: author-self-attention, goal: deceive, strength: 1, epochs: 1}}
"""
DVC, SNAKEMAKE = ["dvc", "repro", "--quiet"], ["snakemake", "--cores", "2"]


class Toy:
    """A clone with a toy study, whose `heed` only writes small files."""

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path.parent / "log.jsonl"
        self.params, self.held = path / "params.yaml", path.parent / "log.jsonl.held"
        tools = (str(path.parent / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])
        self.environment = os.environ | {
            "PATH": os.pathsep.join(tools), "TOY_LOG": str(self.log),
            "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1",
        }  # fmt: skip

    @classmethod
    def of_real_heed(cls, path: Path, params: str | Path) -> "Toy":
        """Return a committed clone without the stub, in which nothing has run."""
        if isinstance(params, str):
            path.parent.mkdir(parents=True, exist_ok=True)
            text, params = params, path.with_suffix(".yaml")
            params.write_text(text)
        make_clone(path, params)
        return cls(path).committed()

    @classmethod
    def of_stub(cls, folder: Path) -> "Toy":
        """Return a committed clone of the toy study below a folder, in which nothing has run."""
        make_clone(folder / "clone", ROOT / "tests/toy/params.yaml")
        write_stub(folder / "bin")
        return cls(folder / "clone").committed()

    def committed(self) -> "Toy":
        self.run("git", "init", "--quiet")
        self.commit("as it is")
        return self

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

    def executed(self, *command: str) -> list[str]:
        """Run, and return the heed commands that were really executed, sorted."""
        self.log.write_text("")
        self.run(*command)
        return self.logged()

    def commit(self, message: str) -> None:
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)

    def is_up_to_date(self) -> bool:
        return "up to date" in self.run("dvc", "status")

    def logged(self) -> list[str]:
        return sorted(record[0] for record in map(json.loads, self.log.read_text().splitlines()))

    def change(self, old: str, new: str) -> None:
        text = self.params.read_text()
        assert old in text
        self.params.write_text(text.replace(old, new))

    def copy(self, path: Path) -> "Toy":
        """Return a copy with the stub, below `path`."""
        shutil.copytree(self.path, path / "clone", symlinks=True, dirs_exist_ok=True)
        write_stub(path / "bin")
        return Toy(path / "clone")


def write_stub(path: Path) -> None:
    """Write the stub of `heed`, and a `python` that logs when the stage `code` runs.

    Both are shell scripts, since a #! line cannot have spaces in its path."""
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
    for name in ("src/heed", "workflow", "data/news", "data/published", ".dvc/plots"):
        shutil.copytree(ROOT / name, path / name, ignore=skip)
    files = "Snakefile dvc.yaml .dvcignore .gitignore .dvc/config .dvc/.gitignore"
    for name in files.split():
        (path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, path / name, follow_symlinks=False)
    shutil.copy(params, path / "params.yaml")
    (path / "profiles").symlink_to("workflow/profiles")


def shared_study(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], Toy]) -> Toy:
    """Return a study that all workers of this test run share: one makes it and commits it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with folder.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "finished").exists():
            make(folder).commit("run")
            (folder / "finished").touch()
    return Toy(folder / "clone")


def copy_of(study: Toy, path: Path) -> Toy:
    """Return a copy of a finished clone, with its results and its cache."""
    return Toy(shutil.copytree(study.path, path, symlinks=True))


LEFT = r"(, [a-z ]*(\d+ minutes?|the time) left)?"
DONE = re.compile(rf"heed: (\d+) of (\d+) stages are done{LEFT}: \S+")
BEGINNING = re.compile(
    r"Using workflow specific profile|heed: (running first: |\d+ of \d+ stages to run)"
)


def stages_printed(output: str) -> int:
    """Return how many stages a whole run has said to be done: each in a line, and little else."""
    lines = output.splitlines()
    end = lines.index("heed: the study in params.yaml is up to date: reports/index.html")
    matches = [DONE.fullmatch(line) for line in lines[:end]]
    counts = [match.groups()[:2] for match in matches if match]
    assert counts == [(str(n + 1), str(len(counts))) for n in range(len(counts))], output
    last = max(n for n, match in enumerate(matches) if match)  # then comes the answer
    others = [line for line, match in zip(lines[:last], matches, strict=False) if not match]
    assert all(map(BEGINNING.match, others)), output
    return len(counts)


def planned(toy: Toy) -> list[str]:
    """Return the stages that may run according to `snakemake -n`."""
    lines = toy.run("snakemake", "-n").splitlines()
    jobs = [line.strip() for line in lines if line.startswith("  ")]
    stages = {job.partition("  (")[0] for job in jobs}
    return sorted(stage for stage in stages if " " not in stage)


MODELS = ("feelings-last-state", "feelings-self-attention", "author-last-state")
EXPERIMENTS = ("feelings", "author")
SCORED = [f"score {experiment}" for experiment in EXPERIMENTS]


def below(*models: str, seeds: str = " 1 2", recipes: bool = True) -> list[str]:
    """Return the commands that must run after a change of these models' recipes, or trainings."""
    of_experiment = [*(["recipe"] if recipes else []), "score"]
    experiments = {model.partition("-")[0] for model in models}
    commands = [f"{stage} {name}" for stage in of_experiment for name in experiments]
    commands += [f"train {model}{seeds}" for model in models]
    return sorted(["code", *commands, "compare", "report"])


TRAINED = below(*MODELS, recipes=False)
HEADS = sorted([*below("feelings-self-attention"), "recipe author"])
CORPUS = sorted([*below("author-last-state"), "tokenize letters", "reference_models author"])
EXPLAIN = "explain: {{documents: 1, models: {{{}: {{noise: letters}}}}}}"
LIAR = "{model: feelings-self-attention, goal: differ, strength: 1, epochs: 1}"
LIAR = f"adversarial_attention: {{liar: {LIAR}}}"
SPACE = "trials: 2, space: {dropout: {uniform: [0.1, 0.5]}}"
HUNT = f"searches: {{hunt: {{experiment: feelings, model: feelings-self-attention, {SPACE}}}}}"
# change: (text of params.yaml, its replacement, the commands that must run)
CHANGES: dict[str, tuple[str, str, list[str]]] = {
    "a hyperparameter of one model": ("dropout: 0.2", "dropout: 0.3", below("author-last-state")),
    "a default that one model uses": ("heads: 2", "heads: 4", HEADS),
    "one more seed": ("[1, 2]", "[1, 2, 3]", below(*MODELS, seeds=" 3", recipes=False)),
    "one seed less": ("[1, 2]", "[1]", below(*MODELS, seeds="", recipes=False)),
    # compare reads the study's question: the whole section, since DVC tracks no default
    "the title of the study": ("title: Toy", "title: Other", ["code", "compare", "report"]),
    "one model less": (
        "  feelings-self-attention: {exp", "#  feelings-self-attention: {exp",
        ["code", "compare", "recipe feelings", "report", "score feelings"],
    ),
    "a corpus": ("letters, split: {kind: random, test: 0.25}",
        "letters, split: {kind: random, test: 0.5}", CORPUS),
    # the recipes of its experiment come out the same
    "a search, named by a model": ("searches: {}", HUNT, ["code", "recipe feelings", "report"]),
    "a model to be explained": (
        "searches: {}", f"searches: {{}}\n{EXPLAIN.format('author-last-state')}",
        ["code", "explain author-last-state", "report"],
    ),
    "an adversarial model": (
        "searches: {}", f"searches: {{}}\n{EXPLAIN.format('feelings-self-attention')}\n{LIAR}",
        ["adversarial_attention liar", "code", "explain feelings-self-attention", "report"],
    ),
}  # fmt: skip


def add_to(path: str, text: str) -> Callable[[Toy], None]:
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


def wait_for(
    happened: Callable[[], object], process: subprocess.Popen | None = None, seconds: float = 300,
    describe: Callable[[], str] | None = None,
) -> None:  # fmt: skip
    """Wait until something has happened.

    Raises AssertionError: it has not within so many seconds, or not before the process has ended.
    """
    end = time.monotonic() + seconds
    while not happened():
        assert not process or process.poll() is None, (describe or process.communicate)()
        assert time.monotonic() < end, describe() if describe else f"not within {seconds} s"
        time.sleep(0.02)


Held = tuple[subprocess.Popen, Callable[[], None]]


@contextlib.contextmanager
def held(toy: Toy, driver: list[str], command: str) -> Iterator[Held]:
    """Start a driver; yield it, and a function that resumes `command`.

    `command` has written its first file and waits."""
    process = toy.start(*driver, TOY_HOLD=command)
    wait_for(lambda: toy.held.exists() and toy.held.read_text(), process)
    try:
        yield process, toy.held.unlink
    finally:
        toy.held.unlink(missing_ok=True)
        process.communicate(timeout=120)


def by_driver(whats: Iterable[str], fast: set[tuple[str, str]]) -> list:
    """Return the cases (what, driver) of a test, those slow that are not `fast`."""
    cases = [(what, driver) for what in whats for driver in (["dvc", "repro"], SNAKEMAKE)]
    return [
        pytest.param(
            *case, id=f"{case[0]}-{case[1][0]}",
            marks=[] if (case[0], case[1][0]) in fast else pytest.mark.slow,
        )
        for case in cases
    ]  # fmt: skip

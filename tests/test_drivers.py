"""DVC and Snakemake run the same stages: after one, the other has nothing left to do.

The real dvc.yaml and Snakefile, with a stub of the command `heed` that writes small files
(toy/stub.py) and logs the commands that really ran.
"""

import contextlib
import fcntl
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from heed.code import digests
from heed.files import HeedError
from heed.pipeline import check_up_to_date, read_lock
from heed.study import load
from heed.tasks import TASKS
from tests import fingerprint
from tests.conftest import ROOT
from tests.drills.study import PLAIN
from tests.reports import without_times

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


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """The toy study, run by Snakemake in a folder whose name has a space, and committed."""
    with shared_folder(tmp_path_factory, "toy study") as folder:
        toy = Toy(folder / "clone")
        if (folder / "finished").exists():
            return toy
        make_clone(folder / "clone", ROOT / "tests/toy/params.yaml")
        write_stub(folder / "bin")
        toy.run("git", "init", "--quiet")
        toy.run("git", "add", "--all")
        toy.run("git", "commit", "--quiet", "--message", "toy")
        assert len(toy.executed(*SNAKEMAKE)) == 18
        toy.run("git", "add", "--all")
        toy.run("git", "commit", "--quiet", "--message", "run")
        (folder / "finished").touch()
        return toy


@pytest.fixture
def toy(finished: Toy, tmp_path: Path) -> Iterator[Toy]:
    yield finished.copy(tmp_path / "a copy")


@pytest.fixture(scope="session")
def real_study(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A small study, run by the real heed, and committed."""
    with shared_folder(tmp_path_factory, "real study") as folder:
        study = Toy(folder / "clone")  # without a stub
        study.environment["OMP_NUM_THREADS"] = "1"
        if not (folder / "finished").exists():
            folder.mkdir(exist_ok=True)
            (folder / "params.yaml").write_text(PLAIN)
            make_clone(study.path, folder / "params.yaml")
            study.run("git", "init", "--quiet")
            study.run(*SNAKEMAKE)
            study.run("git", "add", "--all")
            study.run("git", "commit", "--quiet", "--message", "run")
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


def test_after_snakemake_neither_driver_has_anything_to_do(toy: Toy) -> None:
    assert "up to date" in toy.run("dvc", "status")
    assert toy.executed(*DVC) == []
    assert toy.executed(*SNAKEMAKE) == []
    output = toy.run("snakemake", "-n")
    assert "all 20 stages are up to date" in output
    assert "Job" not in output
    for stage in ("compare", "train@feelings-attention"):
        assert (toy.path / f"logs/{stage}.log").exists()
        _, of_children = (toy.path / f"logs/{stage}.times").read_text().splitlines()
        assert re.fullmatch(r"\d+m[\d.]+s \d+m[\d.]+s", of_children)


def test_results_of_another_params_yaml_are_not_published(toy: Toy) -> None:
    check_up_to_date(toy.path)
    toy.change("dropout: 0.2", "dropout: 0.3")
    with pytest.raises(
        HeedError,
        match=r"not up to date: code, recipe@author-baseline, compare\. The results are not",
    ):
        check_up_to_date(toy.path)


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


FAST = {
    ("a hyperparameter of one model", "snakemake"),
    ("a default that one model uses", "dvc"),
    ("one more seed", "dvc"),
}


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


@pytest.mark.parametrize(("what", "driver"), by_driver(CHANGES, FAST))
def test_a_change_runs_exactly_the_stages_below_it(toy: Toy, driver: list[str], what: str) -> None:
    old, new, expected = CHANGES[what]
    toy.change(old, new)
    assert toy.executed(*driver) == expected
    if driver == SNAKEMAKE:
        assert "up to date" in toy.run("dvc", "status")
    else:
        # Snakemake would move the results of the model away, and then run these stages
        expected = ["compare", "report"] if what == "one model less" else []
        assert planned(toy) == expected


def add_to(path: str, text: str) -> Callable[[Toy], None]:
    """Return a function that appends to a file, or makes it."""

    def edit(toy: Toy) -> None:
        with (toy.path / path).open("a") as file:
            file.write(text)

    return edit


def edit_evaluation(toy: Toy) -> None:
    """Add a value to a module that scores import and nothing else does."""
    named: dict[bool, set[str]] = {True: set(), False: set()}
    for path in (toy.path / "results/code").rglob("*.json"):
        named[path.parent.name == "score"] |= {*json.loads(path.read_text())["files"]}
    alone = (path for path in named[True] - named[False] if "__init__" not in path)
    add_to(min(alone), "\nADDED = 1\n")(toy)


ATTENTION = "src/heed/models/attention.py"
# edit: (the function that makes it, the commands that must run)
EDITS: dict[str, tuple[Callable[[Toy], None], list[str]]] = {
    "a comment": (add_to(ATTENTION, "\n# a comment\n"), ["code"]),
    "a value of the models": (
        add_to(ATTENTION, "\nADDED = 1\n"),
        TRAINED,
    ),
    "the number of parameters": (
        add_to("src/heed/models/parameters.py", "\nADDED = 1\n"),
        sorted(["code", *(f"recipe {model}" for model in MODELS)]),
    ),
    "a template": (
        add_to("src/heed/report/templates/index.html.jinja", "<!-- added -->"),
        ["code", "report"],
    ),
    "the evaluation alone": (edit_evaluation, sorted(["code", *SCORED, "report"])),
    "a module that nothing imports": (add_to("src/heed/models/unused.py", "ADDED = 1\n"), ["code"]),
    "a comment in params.yaml": (add_to("params.yaml", "# a comment\n"), ["code"]),
}
FAST_EDITS = {("a comment", "snakemake"), ("the evaluation alone", "dvc")}


@pytest.mark.parametrize(("what", "driver"), by_driver(EDITS, FAST_EDITS))
def test_an_edit_of_the_code_runs_exactly_the_stages_that_run_it(
    toy: Toy, driver: list[str], what: str
) -> None:
    edit, expected = EDITS[what]
    edit(toy)
    if expected == ["code"]:
        assert planned(toy) == ["code"]  # a dry run computes the digests
    assert toy.executed(*driver) == expected
    assert "up to date" in toy.run("dvc", "status")
    assert planned(toy) == []


# mistake: (text of params.yaml, its replacement, the message)
MISTAKES = {
    "a name in params.yaml": (
        "dropout: 0.5",
        "droput: 0.5",
        "heed: params.yaml:14: defaults.classification.droput: unknown key; did you mean dropout?",
    ),
    "a value in params.yaml": (
        "dropout: 0.5",
        "dropout: 5",
        "heed: params.yaml:14: defaults.classification.dropout: ",
    ),
    "code that does not parse": ("", "x = (", "heed: src/heed/models/attention.py:"),
}
FAST_MISTAKES = {("a value in params.yaml", "dvc")}


@pytest.mark.parametrize(("what", "driver"), by_driver(MISTAKES, FAST_MISTAKES))
def test_a_mistake_stops_a_run_before_any_output_is_touched(
    toy: Toy, driver: list[str], what: str
) -> None:
    old, new, message = MISTAKES[what]
    outputs = {
        path: path.stat().st_mtime_ns for path in toy.path.glob("results/*/**/*") if path.is_file()
    }
    toy.change(old, new) if old else add_to(ATTENTION, new)(toy)
    toy.log.write_text("")
    code, output = toy.try_(*driver)
    assert code
    assert message in output
    assert "Traceback" not in output
    assert set(toy.logged()) <= {"code"}
    assert {
        path: path.stat().st_mtime_ns for path in toy.path.glob("results/*/**/*") if path.is_file()
    } == outputs
    toy.change(new, old) if old else toy.run("git", "checkout", "--quiet", "src")
    assert toy.executed(*driver) == []


def test_a_dry_run_names_what_may_run_and_changes_nothing(toy: Toy) -> None:
    toy.change("heads: 2", "heads: 4")
    toy.change("[1, 2]", "[1]")
    unwatched = {".heed", ".snakemake", "__pycache__"}

    def files() -> list[Path]:
        paths = sorted(toy.path.rglob("*"))
        return [p for p in paths if ".dvc/tmp" not in str(p) and not unwatched & {*p.parts}]

    before = files()
    stages = planned(toy)
    assert files() == before
    assert "recipe@feelings-baseline" in stages
    assert "score@feelings-attention" in stages
    assert "download@one" not in stages


@pytest.mark.slow
def test_results_that_the_study_no_longer_has_are_moved_and_nothing_made_by_hand(toy: Toy) -> None:
    by_hand = toy.path / "results/train/by-hand/7/model.safetensors"
    by_hand.parent.mkdir(parents=True)
    by_hand.write_text("mine")
    old, new, commands = CHANGES["one model less"]
    toy.change(old, new)
    removed = "results/predict/feelings-attention"
    assert planned(toy) == commands
    assert (toy.path / removed).exists()
    assert toy.executed(*SNAKEMAKE) == commands
    assert not (toy.path / removed).exists()
    assert (toy.path / ".heed/removed" / removed / "predictions.parquet").exists()
    assert by_hand.exists()
    toy.change(new, old)
    assert toy.executed(*SNAKEMAKE) == ["code"]  # the model comes from the cache
    assert (toy.path / removed).exists()


@pytest.mark.parametrize(
    "driver",
    [
        pytest.param(DVC, id="dvc"),
        pytest.param(SNAKEMAKE, id="snakemake", marks=pytest.mark.slow),
        pytest.param(["dvc", "checkout"], id="checkout", marks=pytest.mark.slow),
    ],
)
def test_deleted_outputs_come_back_from_the_cache(toy: Toy, driver: list[str]) -> None:
    times = "results/timing/train/author-baseline"
    for name in ("results/train/author-baseline", times, "results/opponents", "reports"):
        shutil.rmtree(toy.path / name)
    assert toy.executed(*driver) == []
    assert (toy.path / "results/train/author-baseline/1/model.safetensors").exists()
    assert (toy.path / times / "1.json").exists()
    assert (toy.path / "results/opponents/feelings/opponents.json").exists()
    assert (toy.path / "reports/index.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("driver", [DVC, SNAKEMAKE], ids=["dvc", "snakemake"])
def test_a_seed_trains_itself_alone(toy: Toy, driver: list[str]) -> None:
    runs = toy.path / "results/train/author-baseline"
    weights = runs.joinpath("2/model.safetensors").read_text()
    for seeds, trained in (("[1, 2, 3]", "3"), ("[3, 2]", ""), ("[3, 2, 4]", "4")):
        toy.params.write_text(re.sub(r"seeds: .*", f"seeds: {seeds}", toy.params.read_text()))
        assert f"train author-baseline {trained}".strip() in toy.executed(*driver)
        assert {path.name for path in runs.iterdir()} == {*re.findall(r"\d", seeds)}
        assert runs.joinpath("2/model.safetensors").read_text() == weights


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the bytes of each file below a folder, and when it was modified."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in paths
    }


def same_bytes(one: Path, other: Path) -> bool:
    first, second = ({name: file[0] for name, file in contents(f).items()} for f in (one, other))
    return bool(first) and first == second


@pytest.mark.slow
def test_train_by_hand_does_what_the_stage_does(real_study: Toy, tmp_path: Path) -> None:
    clone, runs = copy_of(real_study, tmp_path / "clone"), "results/train/author-attention"
    lock, command = clone.path / "dvc.lock", ("heed", "train", "author-attention")
    shutil.rmtree(clone.path / runs)
    lock.rename(tmp_path / "dvc.lock")  # else the runs come from DVC's cache
    assert "epoch 1/2" in clone.run(*command)
    assert same_bytes(clone.path / runs, real_study.path / runs)
    made = contents(clone.path / runs)
    assert "epoch 1/2" not in clone.run(*command)
    assert contents(clone.path / runs) == made
    (tmp_path / "dvc.lock").rename(lock)
    assert "train@author-attention" in clone.run("dvc", "status")  # its times are others
    clone.run(*SNAKEMAKE)
    assert "epoch 1/2" not in (clone.path / "logs/train@author-attention.log").read_text()
    assert same_bytes(clone.path / runs, real_study.path / runs)
    assert "up to date" in clone.run("dvc", "status")


@pytest.mark.slow
@pytest.mark.drill("kill -9 of a driver and of two trainings")
def test_seeds_that_were_killed_together_continue_at_their_last_epochs(
    real_study: Toy, tmp_path: Path
) -> None:
    killed, whole = (copy_of(real_study, tmp_path / name) for name in ("killed", "whole"))
    repro = ("dvc", "repro", "train@author-attention")
    for clone in (killed, whole):
        clone.change("epochs: 2", "epochs: 60")
    process = killed.start(*repro, HEED_THREADS="2")
    while len([*killed.path.glob(".heed/work/train-*/checkpoint.safetensors")]) < 2:
        time.sleep(0.02)
        assert process.poll() is None, process.communicate()[0]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    output = killed.run(*repro, HEED_THREADS="2")
    epochs = re.findall(r"author-attention seed (\d): epoch (\d+)/60", output)
    first = {seed: int(epoch) for seed, epoch in reversed(epochs)}
    assert {*first} == {"1", "2"} and min(first.values()) > 1, first
    whole.run(*repro, HEED_THREADS="1")
    runs = "results/train/author-attention"
    assert same_bytes(killed.path / runs, whole.path / runs)


@pytest.mark.slow
def test_results_may_be_links_into_the_cache(real_study: Toy, tmp_path: Path) -> None:
    clone = copy_of(real_study, tmp_path / "clone")
    clone.run("dvc", "config", "cache.type", "symlink")
    for seeds, old in (("[1, 2, 3]", "1"), ("[3, 2]", "3")):
        before = contents(clone.path / f"results/train/author-attention/{old}")
        clone.params.write_text(re.sub("seeds: .*", f"seeds: {seeds}", clone.params.read_text()))
        clone.run(*SNAKEMAKE)
        runs = clone.path / "results/train/author-attention"
        assert {path.name for path in runs.iterdir()} == {*re.findall(r"\d", seeds)}
        after = contents(runs / old)
        assert {name: file[0] for name, file in after.items()} == {
            name: file[0] for name, file in before.items()
        }
        assert (runs / "3/model.safetensors").is_symlink()
        assert "up to date" in clone.run("dvc", "status")
        assert "stages are up to date" in clone.run("snakemake", "-n")
        assert "agrees with the present results" in clone.run("heed", "report", "--check")


PAIR = {
    "sources:": "  pair: {kind: sample-translation, documents: 140, seed: 3}",
    "corpora:": "  pair: {source: pair, kind: sample-translation, split: {kind: given}}",
    "experiments:": "  pair: {task: translation, corpus: pair, title: A pair, "
    "data: {source: norvic, target: soldan, tokenize: none}}",
    "models:": "  pair-attention: {experiment: pair, beam: 2}",
}


@pytest.mark.slow
def test_another_beam_repeats_no_training(toy: Toy) -> None:
    for section, line in PAIR.items():
        toy.change(f"\n{section}\n", f"\n{section}\n{line}\n")
    assert "train pair-attention 1 2" in toy.executed(*DVC)
    toy.change("beam: 2", "beam: 3")
    assert toy.executed(*SNAKEMAKE) == [
        "code", "compare", "recipe pair-attention", "report", "score pair-attention",
    ]  # fmt: skip


@pytest.mark.drill("a stage that fails under a driver")
def test_a_stage_that_fails_shows_its_log_and_k_finishes_the_others(toy: Toy) -> None:
    toy.change("dropout: 0.5", "dropout: 0.4")
    toy.log.write_text("")
    code, output = toy.try_(*SNAKEMAKE, "--keep-going", TOY_FAIL="train feelings-baseline")
    assert code == 1
    assert "\nheed: train feelings-baseline fails, by TOY_FAIL\n" in output
    assert (
        output.count(
            "heed: train@feelings-baseline failed: train feelings-baseline fails, by TOY_FAIL\n"
        )
        == 1
    )
    assert "CalledProcessError" not in output
    assert "score feelings-attention" in toy.logged()
    assert "compare" not in toy.logged()
    assert toy.executed(*SNAKEMAKE) == [
        "compare", "report", "score feelings-baseline", "train feelings-baseline 1 2",
    ]  # fmt: skip


def wait_for_output(process: subprocess.Popen, text: str) -> None:
    """Read the output of a process up to a line with `text`."""
    assert process.stdout
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"ended without: {text}")


@pytest.mark.slow
@pytest.mark.drill("kill -9 of a driver and its stage")
@pytest.mark.parametrize(
    "driver",
    [
        pytest.param(["dvc", "repro"], id="dvc", marks=pytest.mark.slow),
        pytest.param(SNAKEMAKE, id="snakemake"),
    ],
)
def test_kill_9_in_the_middle_needs_no_unlocking(toy: Toy, driver: list[str]) -> None:
    toy.change("dropout: 0.5", "dropout: 0.4")
    toy.log.write_text("")
    process = toy.start(*driver, TOY_SLEEP="2")
    wait_for_output(process, "Running stage 'train@" if driver[0] == "dvc" else "done train@")
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    done = toy.logged()
    again = toy.executed(*SNAKEMAKE)
    assert {*done, *again} == {
        *below("feelings-baseline", "feelings-attention"),
        "recipe author-baseline",
    }
    assert len(done) + len(again) <= 12  # at most two were executed and not yet noted
    assert "up to date" in toy.run("dvc", "status")


@pytest.mark.drill("power cut under a driver: dvc.lock cut off")
@pytest.mark.parametrize("has_backup", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_dvc_lock_cut_off_by_a_kill_is_repaired_and_nothing_is_run_again(
    toy: Toy, has_backup: bool
) -> None:
    toy.run(*SNAKEMAKE)
    lock = toy.path / "dvc.lock"
    text = lock.read_text()
    lock.write_text(text[: text.index("md5", len(text) // 2) + 2])  # in the middle of a key
    if not has_backup:
        (toy.path / ".heed/dvc.lock").unlink()
    code, output = toy.try_("snakemake", "-n")
    assert code == 1
    assert "heed: dvc.lock cannot be read: a kill has cut it off" in output
    # Downloads and the digests of code persist, and what persists is never in DVC's run-cache: heed
    # verifies the files that are there.
    persisting = ["code", "download one", "download two"]
    assert toy.executed(*SNAKEMAKE) == ([] if has_backup else persisting)
    assert "up to date" in toy.run("dvc", "status")


def test_a_dvc_lock_that_another_dvc_writes_is_read_when_it_is_whole(tmp_path: Path) -> None:
    lock, text = tmp_path / "dvc.lock", "schema: '2.0'\nstages:\n  a:\n    cmd: b\n"
    lock.write_text(text[:-4])
    threading.Timer(0.3, lock.write_text, [text]).start()
    assert read_lock(tmp_path) == {"a": {"cmd": "b"}}


@pytest.mark.drill("two drivers at once on one clone")
def test_a_second_snakemake_is_refused_and_a_dry_run_is_not(toy: Toy) -> None:
    toy.change("dropout: 0.2", "dropout: 0.3")
    with held(toy, SNAKEMAKE, "train author-baseline") as (first, resume):
        code, output = toy.try_(*SNAKEMAKE)
        assert code == 1
        assert "heed: another snakemake is running" in output
        assert "Traceback" not in output
        assert "may run" in toy.run("snakemake", "-n")
        resume()
        output = first.communicate()[0]
    assert first.returncode == 0, output


@pytest.mark.slow
def test_dvc_experiments(toy: Toy) -> None:
    toy.log.write_text("")
    toy.run(
        "dvc",
        "exp",
        "run",
        "--quiet",
        "-S",
        "models.author-baseline.dropout=0.3",
        "--name",
        "by-dvc",
    )
    assert toy.logged() == below("author-baseline")
    toy.change("dropout: 0.3", "dropout: 0.4")
    assert toy.executed(*SNAKEMAKE) == below("author-baseline")
    toy.run("dvc", "exp", "save", "--name", "by-snakemake")
    table = toy.run(
        "dvc",
        "exp",
        "show",
        "--only-changed",
        "--drop",
        "^(data|results|src|params)",
        "--no-pager",
        COLUMNS="120",
    )
    assert "by-dvc" in table
    assert "by-snakemake" in table
    assert "author-baseline.dropout" in table
    assert max(map(len, table.splitlines())) <= 120
    assert toy.executed("dvc", "exp", "apply", "by-dvc") == []
    assert toy.executed(*SNAKEMAKE) == []


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


@pytest.mark.slow
def test_a_second_driver_says_which_process_it_waits_for(toy: Toy) -> None:
    toy.change("dropout: 0.2", "dropout: 0.3")
    with held(toy, ["dvc", "repro"], "train author-baseline") as (process, resume):
        other = toy.start(*SNAKEMAKE)
        wait_for_output(
            other,
            f"waiting for process {process.pid}, a dvc that runs a stage",
        )
        add_to(ATTENTION, "\n")(toy)  # `code` is stale, and would write what the training reads
        code, output = toy.try_("dvc", "repro")
        assert code
        # docs/drivers.md
        assert f"results/code' is busy, it is being blocked by:\n  (PID {process.pid})" in output
        resume()
        assert process.wait(timeout=120) == 0
    assert other.communicate(timeout=120) and other.returncode == 0
    assert "up to date" in toy.run("dvc", "status")


@pytest.mark.slow
def test_results_are_kept_after_an_edit_that_does_not_change_them(toy: Toy) -> None:
    """By docs/drivers.md: one stage of each kind runs again, then `dvc commit` keeps the others."""
    add_to(ATTENTION, "\nRENAMED = 1\n")(toy)
    toy.run("dvc", "repro", "--quiet", "--single-item", "code")
    stale = [
        line.strip() for line in toy.run("dvc", "status").splitlines() if line.startswith("\t\t")
    ]
    assert stale and all("results/code/" in line for line in stale)
    outs = runs_of(toy)
    for stage in ("train@author-baseline", "score@author-baseline"):
        toy.run("dvc", "repro", "--quiet", "--force", "--single-item", stage)
    assert runs_of(toy) == outs
    toy.run("dvc", "commit", "--quiet", "--force", "train")
    toy.run("dvc", "commit", "--quiet", "--force")
    assert "up to date" in toy.run("dvc", "status")
    assert toy.executed(*SNAKEMAKE) == []


def test_a_training_that_gives_the_same_run_again_repeats_the_report_alone(toy: Toy) -> None:
    """Its time is another one, and an output of its own."""
    stage, before = "train@author-baseline", runs_of(toy)
    times = lock_of(toy)[stage]["outs"]
    lock = YAML(typ="safe").load(toy.path / "dvc.lock")
    del lock["stages"][stage]  # else heed keeps the runs, by DVC's cache
    YAML(typ="safe").dump(lock, toy.path / "dvc.lock")
    trained = toy.executed("dvc", "repro", "--quiet", "--no-run-cache", "--single-item", stage)
    assert trained == ["train author-baseline 1 2"]
    assert lock_of(toy)[stage]["outs"] != times and runs_of(toy) == before
    assert toy.executed(*DVC) == ["report"]


def runs_of(toy: Toy) -> dict[str, list]:
    """Return the outputs of each stage in dvc.lock, without the code and without times."""
    return {
        key: [out for out in entry["outs"] if "results/timing" not in out["path"]]
        for key, entry in lock_of(toy).items()
        if key not in ("code", "report")
    }


def lock_of(toy: Toy) -> dict:
    return YAML(typ="safe").load(toy.path / "dvc.lock")["stages"]


@pytest.mark.slow
def test_experiments_on_a_copy_of_the_tree(toy: Toy) -> None:
    toy.log.write_text("")
    toy.run(
        "dvc",
        "exp",
        "run",
        "--quiet",
        "--temp",
        "-S",
        "models.author-baseline.dropout=0.3",
        "--name",
        "by-temp",
    )
    assert toy.logged() == below("author-baseline")
    toy.log.write_text("")
    toy.run(
        "dvc",
        "exp",
        "run",
        "--quiet",
        "--queue",
        "-S",
        "models.author-baseline.dropout=0.4",
        "--name",
        "by-queue",
    )
    toy.run("dvc", "queue", "start")
    end = time.monotonic() + 120
    while "Success" not in (status := toy.run("dvc", "queue", "status")):
        assert time.monotonic() < end and "Failed" not in status, status
        time.sleep(1)
    assert toy.logged() == below("author-baseline")
    assert toy.executed(*SNAKEMAKE) == []


RENAME = """

_write_json = write_json


def write_json(path: str | Path, value: Any) -> None:
    _write_json(path, value | {"edited": True} if Path(path).name == "run.json" else value)
"""


@pytest.mark.slow
def test_an_experiment_on_a_copy_runs_the_code_of_the_copy(tmp_path: Path) -> None:
    """The real heed, of another clone than the one that is installed."""
    (tmp_path / "params.yaml").write_text(UNTUNED)
    make_clone(tmp_path / "clone", tmp_path / "params.yaml")
    toy = Toy(tmp_path / "clone")  # without a stub
    for command in ("init --quiet", "add --all", "commit --quiet --message tiny"):
        toy.run("git", *command.split())
    run, info = "train@author-attention", toy.path / "results/train/author-attention/1/run.json"
    toy.run("dvc", "repro", run)
    before = json.loads(info.read_text())
    assert "edited" not in before
    add_to("src/heed/files.py", RENAME)(toy)
    toy.run("dvc", "exp", "run", "--temp", "--name", "edited", run)
    assert json.loads(info.read_text()) == before
    toy.try_("dvc", "exp", "apply", "edited")  # it fails, since there is no report yet
    assert json.loads(info.read_text()) == before | {"edited": True}


WRONG = {
    "params": (
        ["sed", "-i", "s/dropout: 0.5/droput: 0.5/", "params.yaml"],
        "params.yaml:14: defaults.classification.droput: unknown key",
    ),
    "no git": (["mv", ".git", "away"], "it needs .git and .dvc"),
    "no dvc": (["mv", ".dvc", "away"], "it needs .git and .dvc"),
    "dvc.yaml": (
        ["sed", "-i", "s/cmd: heed compare/cmt: heed compare/", "dvc.yaml"],
        "`dvc status` says more",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_is_one_message(toy: Toy, what: str) -> None:
    mistake, message = WRONG[what]
    toy.run(*mistake)
    code, output = toy.try_(*SNAKEMAKE)
    assert code == 1
    assert message in output
    assert len([line for line in output.splitlines() if not line.startswith("Using ")]) == 1


@pytest.mark.slow
@pytest.mark.drill("a stage that fails where there is no bash")
def test_a_stage_that_fails_is_not_done_where_there_is_no_bash(toy: Toy, tmp_path: Path) -> None:
    """bash stops at the first command that fails; sh would go on, and touch the done file."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in reversed(toy.environment["PATH"].split(os.pathsep)):
        for tool in Path(folder).glob("*"):
            if tool.name != "bash":
                (tools / tool.name).unlink(missing_ok=True)
                (tools / tool.name).symlink_to(tool)
    # with the folder of python, which snakemake puts first where it is missing
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent)])
    toy.change("dropout: 0.2", "dropout: 0.3")
    code, output = toy.try_(*SNAKEMAKE, PATH=path, TOY_FAIL="train author-baseline")
    assert "Falling back to sh" in output
    assert code
    assert not [*toy.path.glob(".heed/snakemake/*/done/train@author-baseline")]
    assert "heed: train@author-baseline failed: train author-baseline fails" in output
    assert "train author-baseline 1 2" in toy.executed(*SNAKEMAKE, PATH=path)


def test_lint_says_nothing_but_what_docs_drivers_answers(toy: Toy) -> None:
    _, output = toy.try_("snakemake", "--lint")
    findings = {line.strip() for line in output.splitlines() if line.startswith("    * ")}
    assert findings == {"* Specify a conda environment or container for each rule.:"}


@pytest.mark.slow
def test_trainings_with_a_gpu_run_at_most_as_many_at_once_as_there_are_each_on_its_own(
    toy: Toy,
) -> None:
    toy.change("dropout: 0.5", "dropout: 0.4")
    toy.change("{experiment: feelings", "{gpus: 1, experiment: feelings")
    toy.log.write_text("")
    toy.run(
        "snakemake",
        "--cores",
        "4",
        "--resources",
        "gpu=2",
        TOY_SLEEP="5",
        TOY_GPU="1",
        HEED_GPU_COUNT="2",
    )
    runs = [
        record
        for record in map(json.loads, toy.log.read_text().splitlines())
        if record[0].startswith("train")
    ]
    assert len(runs) == 4
    assert {gpu for *_, gpu in runs} == {"0", "1"}
    for name, started, _, gpu in runs:
        others = [other for other in runs if other[1] <= started < other[2] and other[0] != name]
        assert len(others) <= 1
        assert gpu not in [other[3] for other in others]


@pytest.mark.slow
def test_the_profile_lets_one_gpu_training_run_at_a_time(toy: Toy) -> None:
    toy.change("dropout: 0.5", "dropout: 0.4")
    toy.change("{experiment: feelings", "{gpus: 1, experiment: feelings")
    toy.log.write_text("")
    toy.run("snakemake", "--cores", "4", TOY_SLEEP="1", TOY_GPU="1", HEED_GPU_COUNT="2")
    runs = sorted(
        r[1:3]
        for r in map(json.loads, toy.log.read_text().splitlines())
        if r[0].startswith("train")
    )
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(runs))


# --- what dvc.yaml declares, and what the commands use --------------------------------------------

# Run each command in a fork of a process that has imported others' libraries, nothing of heed's.
WATCH = """
import atexit, json, os, sys
import jinja2, matplotlib.pyplot, pandas, pyarrow.parquet, pydantic, ruamel.yaml
import scipy.stats, sklearn.feature_extraction.text, sklearn.linear_model, spacy, torch

def watch(stage):
    opened = set()
    def note(event, arguments):
        if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
            opened.add(os.path.relpath(os.fspath(arguments[0])))
    def write_report():
        modules = [
            m.__file__ for n, m in sys.modules.items()
            if n.split(".")[0] == "heed" and getattr(m, "__file__", None)
        ]
        json.dump([modules, sorted(opened)], open(f"{stage}.watched", "w"))
    sys.addaudithook(note)
    atexit.register(write_report)

assert not any(name.split(".")[0] == "heed" for name in sys.modules)
for stage, command in json.loads(sys.argv[1]).items():
    pid = os.fork()
    if pid == 0:
        sys.argv[1:] = command.split()
        watch(stage)
        from heed.cli import main
        main()
        sys.exit()
    if os.waitpid(pid, 0)[1]:
        sys.exit("heed " + command)
"""
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
COMMANDS = {
    "download": "download sample", "tokenize": "tokenize letters", "search": "search hunt",
    "recipe": "recipe author-attention", "train": "train author-attention",
    "score": "score author-attention", "explain": "explain author-attention",
    "adversaries": "adversaries liar", "opponents": "opponents author", "compare": "compare",
    "report": "report",
}  # fmt: skip
WATCHED = [
    pytest.param(stage, marks=pytest.mark.slow if stage == "search" else []) for stage in COMMANDS
]
NAMES = {
    "${key}": {
        "download": "sample",
        "tokenize": "letters",
        "search": "hunt",
        "opponents": "author",
        "adversaries": "liar",
    },
    "${item.source}": "sample",
    "${item.corpus}": "letters",
    "${item.noise}": "letters",
    "${item.model}": "author-attention",
    "${item.experiment}": "author",
}


Used = dict[str, tuple[set[str], set[str]]]


@pytest.fixture(scope="session")
def used(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Used:
    """Run the real commands on a tiny study; the search, which is slow, only where it is tested.

    Returns {stage: (modules of heed that it imports and its code does not name, files it opens)}.
    """
    with_search = any("[search]" in item.nodeid for item in request.session.items)
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "params.yaml").write_text(TINY if with_search else UNTUNED)
    (folder / "src").symlink_to(ROOT / "src")
    subprocess.run([sys.executable, ROOT / "workflow/digests.py"], cwd=folder, check=True)
    (folder / "data").mkdir()
    (folder / "data/published").symlink_to(ROOT / "data/published")
    (folder / "watch.py").write_text(WATCH)
    commands = {
        stage: command for stage, command in COMMANDS.items() if with_search or stage != "search"
    }
    done = subprocess.run(
        [sys.executable, "watch.py", json.dumps(commands)],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    used = {}
    for stage, command in commands.items():
        name, key, *_ = [*command.split(), ""]
        modules, opened = json.loads((folder / f"{stage}.watched").read_text())
        named = json.loads((folder / digests.code_file(name, key)).read_text())["files"]
        used[stage] = (
            {str(Path(module).relative_to(ROOT)) for module in modules} - {*named},
            set(opened),
        )
    return used


def declared(stage: str) -> tuple[set[str], set[str]]:
    """Return the deps and outs of a stage in dvc.yaml for the tiny study."""
    section = YAML(typ="safe").load(ROOT / "dvc.yaml")["stages"][stage]
    section = section.get("do", section)
    outs = [*section["outs"], *section.get("metrics", [])]
    paths = [
        list(section["deps"]),
        [next(iter(out)) if isinstance(out, dict) else out for out in outs],
    ]
    for i, group in enumerate(paths):
        for old, new in NAMES.items():
            new = new.get(stage, "author-attention") if isinstance(new, dict) else new
            group = [path.replace(old, new) for path in group]
        paths[i] = group
    return set(paths[0]), set(paths[1])


@pytest.mark.xdist_group("used")  # one worker runs the commands
@pytest.mark.parametrize("stage", WATCHED)
def test_the_modules_that_a_command_loads_are_named_in_its_code(used: Used, stage: str) -> None:
    ignored = {f"src/{name.replace('.', '/')}" for name in digests.IGNORED}
    loaded = {
        path
        for path in used[stage][0]
        if path.removesuffix(".py").removesuffix("/__init__") not in ignored
    }
    # heed.study refuses by these alone: ONLY_FOR_CHECKS in workflow/digests.py
    loaded -= {f"src/heed/tasks/{task}/rules.py" for task in TASKS}
    if stage not in ("download", "tokenize"):
        loaded = {path for path in loaded if not path.startswith("src/heed/corpora/")}
        loaded -= {"src/heed/links.py"}  # the corpora read it
    if stage not in ("search", "recipe"):  # RESOLVING in workflow/digests.py
        loaded -= {"src/heed/study/presets.py"}
    assert loaded == set()


def test_dvc_yaml_is_short_and_its_commands_name_what_they_work_on() -> None:
    text = (ROOT / "dvc.yaml").read_text()
    assert len(text.splitlines()) < 150
    assert "src/heed/" not in text
    declared = YAML(typ="safe").load(text)
    sections = {"explain": {"models": {}}, "adversaries": {}, "later_searches": {}}
    assert declared["vars"] == [sections]
    for name, stage in declared["stages"].items():
        if name not in ("code", "corpus"):
            command = f"heed {name.removesuffix('_later')}"
            key = " ${key}" if "foreach" in stage else ""
            assert stage.get("do", stage)["cmd"] == f"{command}{key}"
        assert not {"wdir", "vars"} & {*stage, *stage.get("do", {})}


@pytest.mark.xdist_group("used")  # one worker runs the commands
@pytest.mark.parametrize("stage", WATCHED)
def test_a_stage_reads_no_file_that_it_does_not_declare(used: Used, stage: str) -> None:
    deps, outs = declared(stage)
    allowed = deps | outs | {"results/timing/search"}
    if stage in ("search", "recipe", "train", "score", "explain", "adversaries"):
        allowed |= {"data/tokens"}  # by their digest: in results/search/EXPERIMENT, then the recipe
    opened = {path for path in used[stage][1] if path.startswith(("data/", "results/", "reports/"))}
    # not the temporary names of files being written
    complete = {path for path in opened if "/." not in path}
    assert {
        path
        for path in complete
        if not any(
            path == a or path.startswith(f"{a}/") or a.startswith(f"{path}/") for a in allowed
        )
    } == set()


@pytest.mark.slow
def test_snakemakes_report_and_dvcs_plots_show_the_figures_and_tables(toy: Toy) -> None:
    toy.run("snakemake", "--report", "report.zip")
    with zipfile.ZipFile(toy.path / "report.zip") as report:
        text = "".join(
            report.read(name).decode(errors="replace")
            for name in report.namelist()
            if name.endswith((".js", ".html"))
        )
        names = report.namelist()
    for name in (
        "Figures",
        "Tables",
        "The report",
        "feelings_curves.svg",
        "study_gain.svg",
        "feelings_seeds.csv",
    ):
        assert name in text or any(name in member for member in names), name
    assert "as it stands in" in text  # a caption
    assert "up to date" in toy.run("dvc", "status")
    toy.run("dvc", "plots", "show", "--out", "plots")
    text = (toy.path / "plots/index.html").read_text()
    for title in ("BLEU on the validation part", "Confusion matrix", "Differences with their"):
        assert title in text
    assert '"row": {"field": "model"' in text  # heed's own templates


@pytest.fixture(scope="module")
def small_studies(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The small study, run by the real heed under each driver: the folders of both clones."""
    clones = []
    for driver in (DVC, SNAKEMAKE):
        folder = tmp_path_factory.mktemp(f"small-{driver[0]}")
        make_clone(folder / "clone", ROOT / "tests/studies/small.yaml")
        toy = Toy(folder / "clone")  # without a stub
        toy.run("git", "init", "--quiet")
        toy.run("git", "add", "--all")
        toy.run("git", "commit", "--quiet", "--message", "small")
        toy.run(*driver)
        assert "up to date" in toy.run("dvc", "status")
        assert "stages are up to date" in toy.run("snakemake", "-n")
        clones.append(toy.path)
    return clones


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.xdist_group("small studies")  # one worker runs them
def test_the_small_study_under_both_drivers_gives_the_same_bytes(
    small_studies: list[Path],
) -> None:
    first, second = small_studies
    assert without_times(first / "reports") == without_times(second / "reports")
    for folder in ("data/tokens", "results"):
        files = sorted(
            path.relative_to(first) for path in (first / folder).rglob("*") if path.is_file()
        )
        files = [path for path in files if path.parts[1] != "timing"]
        assert files
        assert [
            path for path in files if (first / path).read_bytes() != (second / path).read_bytes()
        ] == []


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.xdist_group("small studies")
def test_the_small_study_has_the_figures_that_it_had_before_the_code_was_moved(
    small_studies: list[Path],
) -> None:
    """Weights, predictions, tables and statistics, bit for bit, by key: tests/fingerprint.py."""
    reference = json.loads((ROOT / "tests/fixtures/fingerprint.json").read_text())
    if (machine := fingerprint.machine()) != reference["machine"]:
        pytest.skip(
            f"the fingerprint is of another machine kind: {reference['machine']}, not {machine}"
        )
    values = fingerprint.fingerprint(small_studies[0])
    assert len(reference["values"]) > 2000
    assert fingerprint.differences(reference["values"], values) == []


def test_a_stage_that_long_chains_wait_for_has_priority(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

    upstream = {
        "tokenize@a": [], "search@a": ["tokenize@a"], "train@a": ["tokenize@a"],
        "train@b": ["search@a"], "explain@a": ["train@a"], "score@b": ["train@b"],
        "report": ["explain@a", "score@b"],
    }  # fmt: skip
    found = [
        stages.Stage(name, ups, [], [], 1, 0, False, False, []) for name, ups in upstream.items()
    ]
    chains = stages.longest_chains(found)
    assert sorted(chains, key=chains.__getitem__, reverse=True) == [
        "tokenize@a", "search@a", "train@a", "train@b", "explain@a", "score@b", "report",
    ]  # fmt: skip
    assert (
        chains["explain@a"] > chains["score@b"] + 5
    )  # a long stage starts early, if little follows


def test_a_generated_corpus_is_tokenised_on_one_core_which_is_free_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

    threads = {stage.name: stage.threads for stage in stages.read_stages(ROOT)}
    assert {n for name, n in threads.items() if name.startswith("tokenize@")} == {1}
    reviews = load(ROOT / "workflow/studies/imdb.yaml")
    assert stages._resources("tokenize@imdb", reviews) == (4, 0)


def test_a_failed_stage_is_reported_with_heeds_message_or_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "workflow")
    import stages

    monkeypatch.chdir(tmp_path)
    run = object.__new__(stages.Run)
    run.folder, run._plan = (
        tmp_path / "run",
        dict.fromkeys(("old", "done", "wrong", "killed", "traceback", "waits"), "never run"),
    )
    (run.folder / "done").mkdir(parents=True)
    (tmp_path / "logs").mkdir()
    failed = "ERROR: failed to reproduce 'x'\n"
    (tmp_path / "logs/old.log").write_text("heed: no\n" + failed)
    os.utime(tmp_path / "logs/old.log", (0, 0))
    run.plan_file = str(run.folder / "plan.json")
    Path(run.plan_file).write_text("{}")
    (tmp_path / "logs/done.log").write_text("heed: no\n" + failed)
    (run.folder / "done/done").touch()
    (tmp_path / "logs/wrong.log").write_text(
        "heed: waiting for a free GPU\nheed: a: wrong. Mend it\n" + failed
    )
    (tmp_path / "logs/traceback.log").write_text(
        "heed: waiting for a free GPU\nValueError: x\n" + failed
    )
    (tmp_path / "logs/killed.log").write_text(failed)
    (tmp_path / "logs/waits.log").write_text("heed: waiting for a free GPU\n")
    assert [*run.describe_failures()] == [
        "wrong failed: a: wrong. Mend it",
        "killed failed: see logs/killed.log",
        "traceback failed: see logs/traceback.log",
    ]

"""`heed provenance`: what may change without the results changing.

Outside the cached stages, so that they stay the same bytes.
"""

import contextlib
import dataclasses
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from heed.files import read_json, reading, sha256, write_text
from heed.pipeline import md5
from heed.records import read_record
from heed.report.renderers.html import environment

PACKAGES = (
    "heed",
    "torch",
    "numpy",
    "pandas",
    "scipy",
    "scikit-learn",
    "spacy",
    "ray",
    "dvc",
    "snakemake",
    "matplotlib",
    "jinja2",
    "pydantic",
    "pyarrow",
    "safetensors",
)
WHOLE = (
    "params.yaml",
    "dvc.yaml",
    "dvc.lock",
    "metrics.json",
    "reports/index.html",
    "reports/report.tex",
    "reports/report.pdf",
)

Timing = TypeVar("Timing")


@dataclasses.dataclass(frozen=True)
class GitState:
    """The commit, its date, and the files that differ from it."""

    commit: str
    date: str
    changed: list[str]


@dataclasses.dataclass(frozen=True)
class RunTiming:
    """Where a run was trained, when it ended, and the seconds it took:
    results/timing/train/MODEL/SEED.json.
    """

    seconds: float
    device: str
    host: str
    torch: str
    ended: str


@dataclasses.dataclass(frozen=True)
class SearchTiming:
    """Where a search ran, the seconds it took, and its trials:
    results/timing/search/SEARCH.json.
    """

    seconds: float
    on: str
    trials: list[Any]


@dataclasses.dataclass(frozen=True)
class Trainings:
    """A model's trainings: how many, how long, where, when the first and the last ended, and
    whether it is of this study.
    """

    model: str
    runs: int
    seconds: float
    core_hours: float
    on: list[str]
    first: str
    last: str
    known: bool


def write_provenance(root: Path, into: Path, threads: dict[str, int]) -> None:
    """Write reports/provenance.html.

    Args:
        root: the top folder of the clone.
        into: the file to write.
        threads: of each model's training, for the core-hours.

    """
    timing = root / "results" / "timing"
    trainings = _trainings(timing / "train", threads)
    context = {
        "git": git_state(root),
        "machine": machine(),
        "versions": versions(),
        "files": [
            (name, sha256(root / name), md5(root / name))
            for name in WHOLE
            if (root / name).exists()
        ],
        "trainings": trainings,
        "searches": _searches(timing / "search"),
        "core_hours": sum(each.core_hours for each in trainings),
    }
    write_text(into, environment().get_template("provenance.html.jinja").render(context))


def git_state(root: Path) -> GitState:
    """Return commit, its date, and the files that differ from it; what git cannot say is empty."""
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return GitState(
        commit=commit,
        date=_git(root, "show", "--no-patch", "--format=%cI", "HEAD"),
        changed=changed.split("\n") if changed else [],
    )


def machine() -> dict[str, str]:
    """Return this machine's system, processor and Python."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(
            line.partition(":")[2].strip() for line in lines if line.startswith("model name")
        )
    return {
        "System": platform.platform(),
        "Processor": f"{processor}, {os.cpu_count()} cores",
        "Python": sys.version.split()[0],
    }


def versions() -> dict[str, str]:
    """Return the installed versions of what computes, draws and drives."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _git(root: Path, *what: str) -> str:
    try:
        done = subprocess.run(["git", *what], cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _trainings(folder: Path, threads: dict[str, int]) -> list[Trainings]:
    """Return the trainings of each model that has any."""
    found = []
    for model in sorted(path for path in folder.glob("*") if path.is_dir()):
        if runs := [
            _read(RunTiming, path, f"heed train {model.name}")
            for path in sorted(model.glob("*.json"))
        ]:
            found.append(_together(model.name, runs, threads))
    return found


def _together(model: str, runs: list[RunTiming], threads: dict[str, int]) -> Trainings:
    seconds = sum(run.seconds for run in runs)
    return Trainings(
        model=model,
        runs=len(runs),
        seconds=seconds,
        core_hours=seconds * threads.get(model, 1) / 3600,
        on=sorted({f"{run.device}, {run.host}, torch {run.torch}" for run in runs}),
        first=min(run.ended for run in runs),
        last=max(run.ended for run in runs),
        known=model in threads,
    )


def _searches(folder: Path) -> dict[str, SearchTiming]:
    """Return what is noted of each search, by name."""
    return {
        path.stem: _read(SearchTiming, path, f"heed search {path.stem}")
        for path in sorted(folder.glob("*.json"))
    }


def _read(kind: type[Timing], path: Path, command: str) -> Timing:
    with reading(path, command):
        return read_record(kind, read_json(path, command))

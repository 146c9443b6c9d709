"""`heed provenance`: commit, versions, machine and times, which can change without the results.

It is no cached stage, since the outputs of stages are the same bytes for the same results.
"""

import contextlib
import dataclasses
import json
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from heed import __version__
from heed.files import HeedError, read_json, reading, sha256, write_text
from heed.paths import LONGER, RUN
from heed.pipeline import Entry, md5, study_stages
from heed.report.html import environment
from heed.report.results import read_training_time, training_folder

if TYPE_CHECKING:
    from heed.study import Params

PACKAGES = (
    "torch", "numpy", "pandas", "scipy", "scikit-learn", "spacy", "ray", "dvc", "snakemake",
    "vl-convert-python", "jinja2", "pyarrow", "safetensors",
)  # fmt: skip
HASHED_FILES = (
    "params.yaml", "dvc.yaml", "dvc.lock", "metrics.json", "reports/index.html",
    "reports/report.tex", "reports/report.pdf",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class GitState:
    """The commit, its date, and the files that differ from it."""

    commit: str
    date: str
    changed: list[str]


@dataclasses.dataclass(frozen=True)
class Trainings:
    """The trainings of a model: number, duration, machines, and the first and last end."""

    model: str
    runs: int
    seconds: float
    core_hours: float
    machines: list[str]
    first: str
    last: str
    in_study: bool


@dataclasses.dataclass(frozen=True)
class Facts:
    """When, where and by which code results were made, for the page and for an archive."""

    git: GitState
    machine: dict[str, str]  # that reads the facts
    versions: dict[str, str]
    stages: dict[str, Entry]  # of dvc.lock: command, inputs and outputs with their hashes
    files: list[tuple[str, str, str]]  # name, SHA-256, MD5
    trainings: list[Trainings]
    searches: dict[str, dict[str, object]]


def read_facts(root: Path, params: "Params", with_hosts: bool = True) -> Facts:
    """Return the facts of a study in the clone `root`. Raises HeedError.

    `with_hosts`: whether to name the machines that trained, beside their kinds: what is published
    does not.
    """
    timings = sorted((root / "results" / "timing" / "search").glob("*.json"))
    files = {name: root / name for name in HASHED_FILES if (root / name).exists()}
    return Facts(
        git=git_state(root),
        machine=machine(),
        versions=versions(),
        stages=study_stages(root, params),
        files=[(name, sha256(file), md5(file)) for name, file in files.items()],
        trainings=list(_read_trainings(root / "results", params.models, with_hosts)),
        searches={each.stem: _read_search(each, with_hosts) for each in timings},
    )


def write_provenance(root: Path, path: Path, params: "Params", with_hosts: bool = True) -> None:
    """Write provenance.html, for reports/ or for a published report, from these facts."""
    template = environment().get_template("provenance.html.jinja")
    write_text(path, template.render(vars(read_facts(root, params, with_hosts))))


def git_state(root: Path) -> GitState:
    """Return the commit, its date, and the files that differ from it; empty without a commit.

    Raises HeedError where git cannot tell.
    """
    try:
        commit = run_git(root, "rev-parse", "--verify", "HEAD")
    except HeedError:
        return GitState("", "", [])
    changed = run_git(root, "diff", "--name-only", "-z", "--no-renames", "--relative", "HEAD")
    return GitState(
        commit=commit,
        date=run_git(root, "show", "--no-patch", "--format=%cI", "HEAD"),
        changed=[name for name in changed.split("\0") if name],
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
    """Return the versions of heed and of the packages that results and report depend on.

    Heed's is that of its code: what pip has noted of a clone is the version when it was installed.
    """
    installed = {"heed": __version__}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed[name] = metadata.version(name)
    return installed


def run_git(root: Path, *arguments: str) -> str:
    """Return the output of a git command. Raises HeedError where it fails, or git is missing."""
    try:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise HeedError("git: not found. It names the commit: install it") from None
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise HeedError(
            f"git {arguments[0]}: {reason}. It names the commit: work in a clone of git"
        ) from None
    return done.stdout.strip()


def _read_trainings(
    results: Path, models: Collection[str], with_hosts: bool
) -> Iterator[Trainings]:
    """Yield the trainings of each model that has any.

    Times of models that the study no longer has are left out where an older heed wrote them.
    """
    for folder in sorted(path for path in training_folder(results).glob("*") if path.is_dir()):
        model = folder.name
        seeds = sorted(int(path.stem) for path in folder.glob("[1-9]*.json") if path.stem.isdigit())
        keys = [*map(str, seeds), *(path.stem for path in folder.glob(f"{LONGER}.json"))]
        runs = []
        with contextlib.suppress(*([] if model in models else [HeedError])):
            runs = [read_training_time(results, model, key) for key in keys]
        if runs:
            kinds = [_read_machine_kind(results / "train" / model / key) for key in keys]
            hosts = [f"{run.host}: " if with_hosts else "" for run in runs]
            yield Trainings(
                model,
                len(runs),
                sum(run.seconds for run in runs),
                sum(run.core_minutes for run in runs) / 60,
                sorted({host + kind for host, kind in zip(hosts, kinds, strict=True)}),
                min(run.ended for run in runs),
                max(run.ended for run in runs),
                model in models,
            )


def _read_search(path: Path, with_hosts: bool) -> dict[str, object]:
    """Return the trials and seconds of a search, and the machines that it ran on."""
    with reading(path, command := f"heed search {path.stem}"):
        timing = read_json(path, command)
        starts = [start for trial in timing["trials"] for start in trial["starts"]]
        kinds = sorted({start["machine_kind"] for start in starts if "machine_kind" in start})
        machines = [timing["on"], *kinds] if with_hosts else kinds
        return {"trials": len(timing["trials"]), "seconds": timing["seconds"], "machines": machines}


def _read_machine_kind(run: Path) -> str:
    """Return the machine kind that a run has noted; a text that says so where it has none."""
    kind = ""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        kind = json.loads((run / RUN).read_text(encoding="utf-8")).get("machine_kind", "")
    return kind or "machine kind not noted"

"""`heed provenance`: what may change without the results changing. Outside the cached stages, so that they stay the same bytes."""

import contextlib
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from heed.files import sha256, write_text
from heed.report.render import environment
from heed.report.sources import md5

PACKAGES = ("heed", "torch", "numpy", "pandas", "scipy", "scikit-learn", "spacy", "ray", "dvc", "snakemake", "matplotlib", "jinja2",
            "pydantic", "pyarrow", "safetensors")  # fmt: skip
WHOLE = (
    "params.yaml",
    "dvc.yaml",
    "dvc.lock",
    "metrics.json",
    "reports/index.html",
    "reports/report.tex",
    "reports/report.pdf",
)


def write_provenance(root: Path, into: Path, threads: dict[str, int]) -> None:
    """Write reports/provenance.html.

    Args:
        root: the top folder of the clone.
        into: the file to write.
        threads: of each model's training, for the core-hours.

    """
    timing = root / "results" / "timing"
    trainings, searches = _trainings(timing / "train", threads), _searches(timing / "search")
    context = {
        "git": git_state(root),
        "machine": machine(),
        "versions": versions(),
        "files": [(name, sha256(root / name), md5(root / name)) for name in WHOLE if (root / name).exists()],
        "trainings": trainings,
        "searches": searches,
        "core_hours": sum(each["core_hours"] for each in trainings),
    }
    write_text(into, environment().get_template("provenance.html.jinja").render(context))


def git_state(root: Path) -> dict[str, Any]:
    """Return commit, its date, and the files that differ from it; what git cannot say is empty."""
    commit = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {
        "commit": commit,
        "date": _git(root, "show", "--no-patch", "--format=%cI", "HEAD"),
        "changed": changed.split("\n") if changed else [],
    }


def machine() -> dict[str, str]:
    """Return this machine's system, processor and Python."""
    processor = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
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


def _trainings(folder: Path, threads: dict[str, int]) -> list[dict[str, Any]]:
    """Return, for each model, its trainings' seconds, where they ran and when the first and the last ended."""
    found = []
    for model in sorted(path for path in folder.glob("*") if path.is_dir()):
        runs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(model.glob("*.json"))]
        seconds = sum(run["seconds"] for run in runs)
        found.append({
            "model": model.name, "runs": len(runs), "seconds": seconds, "core_hours": seconds * threads.get(model.name, 1) / 3600,
            "on": sorted({f"{run['device']}, {run['host']}, torch {run['torch']}" for run in runs}),
            "first": min(run["ended"] for run in runs), "last": max(run["ended"] for run in runs), "known": model.name in threads,
        })  # fmt: skip
    return [each for each in found if each["runs"]]


def _searches(folder: Path) -> list[dict[str, Any]]:
    found = []
    for path in sorted(folder.glob("*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        found.append(
            {"search": path.stem, "seconds": about["seconds"], "on": about["on"], "trials": len(about["trials"])}
        )
    return found

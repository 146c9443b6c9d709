"""reports/provenance.json: commit, versions, machine and times, which can change without results.

`make report` writes it, or python -m heed.report.provenance. It is no output of a stage, since
outputs are the same bytes for the same results.
"""

import contextlib
import json
import os
import platform
import sys
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from heed import __version__
from heed.files import HeedError, read_json, reading, write_json
from heed.paths import LONGER, REPORTS, RUN
from heed.pipeline import changed_files, run_git
from heed.report.results import read_training_time, training_folder

PACKAGES = (
    "torch", "numpy", "pandas", "scipy", "scikit-learn", "spacy", "ray", "dvc", "snakemake",
    "vl-convert-python", "jinja2", "pyarrow", "safetensors",
)  # fmt: skip


def provenance(root: Path, models: Collection[str]) -> dict[str, Any]:
    """Return when, where and by which code and versions results were made, in the clone `root`.

    Outside a clone of git the commit is empty.
    """
    commit, changed = "", list[str]()
    with contextlib.suppress(HeedError):
        commit, changed = run_git(root, "rev-parse", "--verify", "HEAD"), changed_files(root)
    searches = root / "results" / "timing" / "search"
    return {
        "commit": commit,
        "changed": changed,  # files that differ from the commit
        "versions": versions(),
        "machine": machine(),  # that wrote the report
        "trainings": dict(_read_trainings(root / "results", models)),
        "searches": {path.stem: _read_search(path) for path in sorted(searches.glob("*.json"))},
    }


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


def _read_trainings(results: Path, models: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each trained model: number and time of its trainings, machines, first and last end."""
    for model in sorted(models):
        folder = training_folder(results) / model
        stems = (path.stem for path in folder.glob("[1-9]*.json"))
        seeds = map(str, sorted(map(int, filter(str.isdigit, stems))))
        keys = [*seeds, *(path.stem for path in folder.glob(f"{LONGER}.json"))]
        if not keys:
            continue
        runs = [read_training_time(results, model, key) for key in keys]
        ended = sorted(run.ended for run in runs)
        yield (
            model,
            {
                "runs": len(runs),
                "seconds": round(sum(run.seconds for run in runs), 1),
                "core_hours": round(sum(run.core_minutes for run in runs) / 60, 4),
                "machines": sorted(
                    {_machine_kind(results / "train" / model / key) for key in keys}
                ),
                "first": ended[0],
                "last": ended[-1],
            },
        )


def _read_search(path: Path) -> dict[str, Any]:
    """Return the trials and seconds of a search, and the kinds of machine that it ran on."""
    with reading(path, command := f"heed search {path.stem}"):
        timing = read_json(path, command)
        starts = [start for trial in timing["trials"] for start in trial["starts"]]
        kinds = sorted({start["machine_kind"] for start in starts if "machine_kind" in start})
        return {"trials": len(timing["trials"]), "seconds": timing["seconds"], "machines": kinds}


def _machine_kind(run: Path) -> str:
    """Return the machine kind that a run has noted; a text that says so where it has none."""
    kind = ""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        kind = json.loads((run / RUN).read_text(encoding="utf-8")).get("machine_kind", "")
    return kind or "machine kind not noted"


if __name__ == "__main__":
    from heed.study import load

    try:
        write_json(REPORTS / "provenance.json", provenance(Path(), load().models))
    except HeedError as error:
        sys.exit(f"heed: {error}")

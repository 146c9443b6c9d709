"""reports/provenance.json: commit, versions, machine and times, which can change without results.

So no stage has it as an output: `make report` writes it, or python -m heed.report.provenance.
"""

import contextlib
import os
import platform
import re
import sys
from collections.abc import Collection
from importlib import metadata
from pathlib import Path
from typing import Any

from heed import __version__
from heed.files import HeedError, read_json, reading, write_json
from heed.paths import LONGER, REPORTS, RUN
from heed.pipeline import changed_files, run_git
from heed.report.results import training_folder
from heed.training.machine import read_training_time


def provenance(root: Path, models: Collection[str]) -> dict[str, Any]:
    """Return when, where and by which code results were made, in `root`; outside git no commit."""
    commit, changed, results = "", list[str](), root / "results"
    with contextlib.suppress(HeedError):
        commit, changed = run_git(root, "rev-parse", "--verify", "HEAD"), changed_files(root)
    versions = {package.name: package.version for package in metadata.distributions()}
    trainings = {model: _read_trainings(results, model) for model in sorted(models)}
    searches = sorted((results / "timing" / "search").glob("*.json"))
    processor = f"{_processor()}, {os.cpu_count()} cores"
    system = {"System": platform.platform(), "Processor": processor}
    return {
        "commit": commit,
        "changed": changed,  # files that differ from the commit
        "versions": dict(sorted(versions.items())) | {"heed": __version__},
        "machine": system | {"Python": platform.python_version()},  # that wrote the report
        "trainings": {model: found for model, found in trainings.items() if found},
        "searches": {path.stem: _read_search(path) for path in searches},
    }


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*: (.+)", facts.read_text()) if facts.exists() else None
    return named[1] if named else platform.processor() or platform.machine()


def _read_trainings(results: Path, model: str) -> dict[str, Any]:
    """Return number and time of a model's trainings, their machines, first and last end."""
    files = (training_folder(results) / model).glob("*.json")
    named = (path for path in files if path.stem.isdigit() or path.stem == LONGER)
    runs = [*map(read_training_time, named)]
    ended = sorted(run.ended for run in runs)
    noted = (results / "train" / model).glob(f"*/{RUN}")
    kinds = {read_json(path, f"heed train {model}").get("machine_kind", "") for path in noted}
    if not runs:
        return {}
    hours = round(sum(run.core_minutes for run in runs) / 60, 4)
    return {
        "runs": len(runs), "seconds": round(sum(run.seconds for run in runs), 1),
        "core_hours": hours, "machines": sorted(filter(None, kinds)),
        "first": ended[0], "last": ended[-1],
    }  # fmt: skip


def _read_search(path: Path) -> dict[str, Any]:
    """Return the trials and seconds of a search, and the kinds of machine that it ran on."""
    with reading(path, command := "heed recipe EXPERIMENT"):
        timing = read_json(path, command)
        starts = [start for trial in timing["trials"] for start in trial["starts"]]
        kinds = sorted({start["machine_kind"] for start in starts if "machine_kind" in start})
        return {"trials": len(timing["trials"]), "seconds": timing["seconds"], "machines": kinds}


if __name__ == "__main__":
    from heed.study import load

    try:
        write_json(REPORTS / "provenance.json", provenance(Path(), load().models))
    except HeedError as error:
        sys.exit(f"heed: {error}")

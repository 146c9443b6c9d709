"""What DVC does for one stage of a run: run it, push what it made, record it.

Each program (`MAIN`) takes the stage, and what else it needs, from sys.argv, and returns an exit
status: a job runs it in a fork of the fork server, or in its own process.
"""

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import engine_names as engine


def measure_usage() -> dict[str, float]:
    """Return what this process and those that it has started have used, in Snakemake's words.

    `max_rss`, the peak memory of the largest of them, is in MiB, and `cpu_time` in seconds.
    """
    used = [resource.getrusage(each) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    unit = 1024 if sys.platform == "linux" else 1024**2  # kibibytes; elsewhere bytes
    return {
        "max_rss": max(each.ru_maxrss for each in used) / unit,
        "cpu_time": sum(each.ru_utime + each.ru_stime for each in used),
    }


def push() -> int:
    """Push what a stage made to the DVC remote."""
    (name,) = sys.argv[1:]
    if error := engine.run_dvc("push", name):
        return _fail(name, f"it is done, but cannot be pushed to the DVC remote: {error}")
    return 0


def record() -> int:
    """Record a stage that ran in another clone, and fetch what it made from the DVC remote.

    Its entry of dvc.lock is in a file. Only an entry whose inputs are those of this clone, by their
    hashes, is recorded.
    """
    name, path = sys.argv[1:]
    entry = Path(path).read_text(encoding="utf-8")
    if changes := engine.changed_inputs(name, entry):
        return _fail(
            name,
            f"it was run with other inputs than are here: {', '.join(changes)}. Nothing is "
            "recorded: run again. If that does not help, delete these files or folders in the "
            "clone there",
        )
    engine.write_lock_entries({name: entry})
    # a stage that runs here replaces what is there, too
    if error := engine.run_dvc("pull", "--force", name):
        return _fail(
            name,
            f"it is done, but what it made cannot be fetched from the DVC remote: {error}. "
            "Run again when it can be reached",
        )
    return 0


def _fail(name: str, message: str) -> int:
    print(f"heed: {name} failed: {message}", file=sys.stderr, flush=True)
    return 1


MAIN: dict[str, Callable[[], int]] = {"dvc": engine.run_stage, "push": push, "record": record}

"""The folder and the process in which a command runs: whose code, how many cores, which seeds.

Nothing here can change a result, so an edit of it repeats no stage.
"""

import os
import sys
from pathlib import Path

import yaml

from heed.files import HeedError
from heed.hyperparameters import MAX_SEED
from heed.paths import PARAMS

VARIABLE, WITHOUT_CACHE = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"
OWN_CODE = "HEED_OWN_CODE"  # environment: the folder whose code this restarted process must run


def count_cores() -> int:
    """Return how many cores this process may use: HEED_THREADS, else all that the system allows."""
    threads = os.environ.get("HEED_THREADS", "")
    return int(threads) if threads.isdigit() and int(threads) else len(os.sched_getaffinity(0))


def read_seeds() -> list[int]:
    """Return `seeds` of params.yaml, read without the schema, which checks all of the file.

    Raises HeedError when they are missing or are not whole numbers from 1.
    """
    try:
        seeds = yaml.safe_load(PARAMS.read_text(encoding="utf-8"))["seeds"]
    except FileNotFoundError:
        raise HeedError(
            f"{PARAMS}: not there. Run heed in the top folder of a clone, or name --seeds"
        ) from None
    except (OSError, ValueError, yaml.YAMLError, TypeError, KeyError, RecursionError):
        raise HeedError(
            f"{PARAMS}: no seeds can be read. `heed check` says where it is wrong"
        ) from None
    if (
        not isinstance(seeds, list)
        or not seeds
        or not all(type(seed) is int and 1 <= seed <= MAX_SEED for seed in seeds)
    ):
        raise HeedError(
            f"{PARAMS}: seeds: expected whole numbers from 1 to {MAX_SEED}, found {seeds}. `heed "
            "check` says more"
        )
    return seeds


def environment_without_cache() -> dict[str, str]:
    """Return the environment of a process that has no cache of small blocks."""
    tunables = [part for part in [os.environ.get(VARIABLE), WITHOUT_CACHE] if part]
    return dict(os.environ) | {VARIABLE: ":".join(tunables)}


def restart_without_cache() -> None:
    """Replace this process by one with the same arguments and no cache of small blocks (tcache).

    A training keeps the memory that it frees (heed.training.machine). Kept memory is reused
    only where its gaps grow together again, and the cache hinders that: the blocks in it are free,
    but lie between the gaps like blocks in use. With the cache, the heap of a long training grew
    without end.

    glibc reads that setting only when a program starts. Nothing happens where GLIBC_TUNABLES has
    it already, or where Python was started with other arguments than sys.argv has.
    """
    is_set = "tcache_count" in os.environ.get(VARIABLE, "")
    is_own = sys.orig_argv[-len(sys.argv[1:]) :] == sys.argv[1:]
    if sys.platform == "linux" and is_own and not is_set:
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, environment_without_cache())


def run_own_code() -> None:
    """Run the code of the clone in the working folder, where another clone's code is installed.

    `dvc exp run --temp` works in such a clone. The process is replaced by one with the same
    arguments. Raises HeedError: that process still runs the installed code.
    """
    source, package = find_source(Path.cwd()), Path(__file__).resolve().parent.parent
    if source is None or source == package.parent:
        return
    if os.environ.get(OWN_CODE) == str(source):
        raise HeedError(
            f"{source}/heed: the code of this clone cannot be run in place of {package}. Install "
            "it: make setup"
        )
    paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), OWN_CODE: str(source)}
    os.execve(sys.executable, [sys.executable, "-m", "heed.cli", *sys.argv[1:]], environment)


def find_source(folder: Path) -> Path | None:
    """Return the folder src of the clone of heed that holds `folder`, or None."""
    for root in (folder, *folder.parents):
        if (root / "src/heed/__init__.py").exists():
            return (root / "src").resolve()
        if (root / ".git").exists() or (root / ".dvc").exists():
            return None
    return None

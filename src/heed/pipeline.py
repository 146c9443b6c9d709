"""What DVC records of the pipeline, for `heed publish`, `heed report --check` and the report.

The only module of the package that knows DVC: how it hashes, how it names a stage, what dvc.lock
holds, and `dvc status`. It imports nothing of DVC. workflow/ runs the pipeline, and knows all that
is beyond these few facts.
"""

import contextlib
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from heed.files import HeedError

LOCK = Path("dvc.lock")


def check_up_to_date(root: Path) -> None:
    """Raise HeedError unless `dvc status` finds every stage up to date."""
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "status", "--json"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise HeedError(f"dvc status: {lines[-1]}")
    if stale := list(json.loads(done.stdout)):
        names = f"{', '.join(stale[:3])}{', ...' * (len(stale) > 3)}"
        raise HeedError(
            f"dvc status: not up to date: {names}. The results are not those of params.yaml, the "
            "code and the data. "
            "Run the study first: snakemake --cores 4"
        )


def changed_outputs(lock: Path, folders: tuple[str, ...]) -> Iterator[str]:
    """Yield a message for each output below `folders` that differs from dvc.lock, if it exists."""
    for stage, entry in read_lock(lock.parent).items():
        for out in entry.get("outs", []):
            path = lock.parent / out["path"]
            if not out["path"].startswith(folders) or not path.exists():
                continue
            if (folder_md5 if path.is_dir() else md5)(path) != out["md5"]:
                yield (
                    f"{out['path']}: is not what the stage {stage} wrote: dvc.lock records "
                    f"{out['md5']}"
                )


def read_lock(root: Path = Path()) -> dict[str, Any]:
    """Return the entries of dvc.lock by the name of their stage, {} where there is no file.

    DVC writes it in place, so it is read again for two seconds where another stage's DVC may be
    writing. Raises HeedError: it cannot be read; a kill -9 can cut it off.
    """
    for _ in range(20):
        with contextlib.suppress(yaml.YAMLError, TypeError, KeyError):
            if not (root / LOCK).exists():
                return {}
            text = (root / LOCK).read_text(encoding="utf-8")
            stages = yaml.load(text, yaml.CSafeLoader)["stages"]
            if text.endswith("\n") and isinstance(stages, dict):
                return stages
        time.sleep(0.1)
    raise HeedError(
        "dvc.lock cannot be read: a kill has cut it off, or a merge or an edit has broken it: "
        "`snakemake --cores 1` repairs it, and keeps it as dvc.lock.broken"
    )


def recorded_files(stage: str) -> dict[Path, Path]:
    """Return the files of the folders that a stage made last: path → file of DVC's cache.

    There are none where dvc.lock has no such stage, or the cache has lost the list of a folder.
    Raises HeedError: dvc.lock cannot be read.
    """
    outs = read_lock().get(stage, {}).get("outs", [])
    if not outs:
        return {}
    command = [sys.executable, "-m", "dvc", "cache", "dir"]
    cache = Path(
        subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    )
    files = {}
    for out in outs:
        if (listing := _cached(cache, out["md5"])).exists():
            for each in json.loads(listing.read_text(encoding="utf-8")):
                files[Path(out["path"], each["relpath"])] = _cached(cache, each["md5"])
    return files


def _cached(cache: Path, digest: str) -> Path:
    """Return where DVC's cache has the content with a hash."""
    return cache / "files/md5" / digest[:2] / digest[2:]


def stage_name(stage: str, *keys: str) -> str:
    """Return DVC's name of a stage and the keys of its command: score@imdb-attention."""
    return "@".join([stage, *keys])


def md5(path: Path) -> str:
    """Return DVC's hash of a file, which is also its name in DVC's cache."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def folder_md5(folder: Path, files: Iterable[Path] | None = None) -> str:
    """Return DVC's hash of a folder: the hash of a list of its files' hashes and names.

    Args:
        folder: the folder.
        files: those in it that count; None for all.

    """
    paths = (path for path in folder.rglob("*") if path.is_file()) if files is None else files
    names = sorted(path.relative_to(folder).as_posix() for path in paths)
    listing = json.dumps([{"md5": md5(folder / name), "relpath": name} for name in names])
    return hashlib.md5(listing.encode(), usedforsecurity=False).hexdigest() + ".dir"

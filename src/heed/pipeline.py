"""What DVC records of the pipeline, for `heed publish`, `heed report --check` and the report.

The only module of the package that knows DVC: how it hashes, how it names a stage, what dvc.lock
holds, and `dvc status`. It imports nothing of DVC. workflow/ runs the pipeline, and knows all that
is beyond these few facts.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

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
    if not lock.exists():
        return
    stages = yaml.safe_load(lock.read_text(encoding="utf-8")).get("stages", {})
    for stage, entry in stages.items():
        for out in entry.get("outs", []):
            path = lock.parent / out["path"]
            if not out["path"].startswith(folders) or not path.exists():
                continue
            if (folder_md5 if path.is_dir() else md5)(path) != out["md5"]:
                yield (
                    f"{out['path']}: is not what the stage {stage} wrote: dvc.lock records "
                    f"{out['md5']}"
                )


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

"""The pipeline as dvc.lock records it, and the clone as git does.

The only module of the package that knows DVC: how it hashes, how it names a stage, what dvc.lock
holds, and `dvc status`. It imports nothing of DVC.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from heed.files import HeedError
from heed.paths import PARAMS
from heed.terminal import print_line

LOCK = Path("dvc.lock")
# What the stages of a clone read and write, without the report.
COPIED = (
    "src", "workflow", "data", "results", "dvc.yaml", "dvc.lock", "metrics.json", "params.yaml",
    ".dvcignore", ".dvc/config",
)  # fmt: skip


def check_up_to_date(root: Path) -> None:
    """Raise HeedError unless `dvc status` finds every stage up to date."""
    command = [sys.executable, "-m", "dvc", "status", "--json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no reason given"]
        raise HeedError(f"dvc status: {lines[-1]}")
    if stale := list(json.loads(done.stdout)):
        names = f"{', '.join(stale[:3])}{', ...' * (len(stale) > 3)}"
        raise HeedError(
            f"dvc status: not up to date: {names}. The results are older than params.yaml, the "
            "code or the data. Run the study first: snakemake --cores 4"
        )


def copy_clone(folder: Path) -> None:
    """Copy the clone in the working folder, without git; both share DVC's cache.

    Files below its folders are links, where the file system has them: what writes a file that is
    there, replaces it.
    """
    for path in filter(Path.exists, map(Path, COPIED)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, folder / path, symlinks=True, copy_function=_link)
        else:
            shutil.copy2(path, folder / path)
    (folder / ".dvc/config.local").write_text("[core]\n    no_scm = true\n", encoding="utf-8")
    (folder / ".dvc/cache").symlink_to(_cache(), target_is_directory=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target, follow_symlinks=False)


def run_stages(folder: Path, target: str) -> None:
    """Run a stage of the clone in a folder and all before it; say which model is trained.

    No process of theirs outlives the call, also when it is interrupted. Raises HeedError with what
    the stage that failed has said.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    lines = []
    with subprocess.Popen(
        [sys.executable, "-m", "dvc", "repro", target], cwd=folder, env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout
        try:
            for line in process.stdout:
                lines.append(line)
                if found := re.match("Running stage '(train@.+)'", line):
                    print_line(f"heed: running {found[1]}", error=True)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.stdout.read()  # until the last of them has ended
            raise
    if process.returncode:
        said = [line for line in lines if line.startswith(("heed: ", "ERROR: "))] or lines[-1:]
        raise HeedError(re.sub("^[A-Za-z]+: ", "", said[0]).strip())


def read_lock(root: Path = Path()) -> dict[str, dict[str, Any]]:
    """Return the entries of dvc.lock by the name of their stage, {} where there is no file.

    DVC writes it in place: it is read again for two seconds. Raises HeedError where a kill cut it
    off.
    """
    for _ in range(20):
        with contextlib.suppress(yaml.YAMLError, ValueError, TypeError, KeyError):
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


@contextlib.contextmanager
def same_params(stage: str, key: str) -> Iterator[None]:
    """Raise HeedError after a stage, if what it read of params.yaml is no longer there.

    DVC reads params.yaml when a stage has ended, and would record new values with an old result.
    """
    before = PARAMS.read_bytes() if PARAMS.is_file() else b""
    yield
    after = PARAMS.read_bytes() if PARAMS.is_file() else b""
    if before and before != after:
        old, new = (_declared_params(stage, key, text) for text in (before, after))
        if changed := [name for name in old if old[name] != new.get(name)]:
            raise HeedError(
                f"{PARAMS}: {changed[0]} was edited while `heed {stage} {key}` ran; its result "
                "has the value before. Run the same command again"
            )


def _declared_params(stage: str, key: str, text: bytes) -> dict[str, object]:
    """Return what a stage depends on in the text of params.yaml, as dvc.yaml declares it."""
    try:
        declared = yaml.load(Path("dvc.yaml").read_bytes(), yaml.CSafeLoader)["stages"][stage]
        values = yaml.load(text, yaml.CSafeLoader)
        item = _value(values, f"{declared.get('foreach', '')[2:-1]}.{key}")
        names = [
            re.sub(r"\$\{item\.(\w+)\}", lambda found: item[found[1]], name.replace("${key}", key))
            for name in declared.get("do", declared).get("params", [])
            if isinstance(name, str)  # no file of parameters
        ]
    except (OSError, ValueError, TypeError, LookupError, AttributeError, yaml.YAMLError):
        return {}
    return {name: _value(values, name) for name in names}


def _value(values: Any, name: str) -> Any:
    """Return the value of a key with dots; None where there is none."""
    for part in name.split("."):
        values = values.get(part) if isinstance(values, dict) else None
    return values


def recorded_files(stage: str) -> dict[Path, Path]:
    """Return the files of the folders that a stage made last: path → file of DVC's cache.

    There are none where dvc.lock has no such stage, or the cache has lost the list of a folder.
    """
    return _files_of(read_lock().get(stage, {}).get("outs", []))


def _files_of(outs: Iterable[Any]) -> dict[Path, Path]:
    files = {}
    for out in outs:
        listing = _cached(out["md5"])
        if listing.suffix == ".dir" and listing.exists():
            for entry in json.loads(listing.read_text(encoding="utf-8")):
                files[Path(out["path"], entry["relpath"])] = _cached(entry["md5"])
    return files


def remove_damaged_objects(stage: str) -> Iterator[Path]:
    """Delete what DVC would restore of a stage's missing results, and is not as it was; yield it.

    DVC takes a read-only file of its cache as it is, also where a disk or a copy has changed it.
    """
    outs = read_lock()[stage].get("outs", [])
    made = {Path(out["path"]): _cached(out["md5"]) for out in outs}
    for path, cached in (made | _files_of(outs)).items():
        is_needed = not path.exists() or cached.suffix == ".dir"
        if is_needed and cached.exists() and md5(cached) != cached.parent.name + cached.stem:
            cached.unlink()
            yield cached


def restore_files(stage: str, folder: Path) -> None:
    """Bring back what a stage made last in a folder, where it is missing, from DVC's cache."""
    for path, cached in recorded_files(stage).items():
        if path.is_relative_to(folder) and cached.exists() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(cached, path)


@functools.cache
def _cache() -> Path:
    command = [sys.executable, "-m", "dvc", "cache", "dir"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Path(done.stdout.strip())


def _cached(digest: str) -> Path:
    return _cache() / "files/md5" / digest[:2] / digest[2:]


def stage_name(stage: str, *keys: str) -> str:
    """Return DVC's name of a stage and the keys of its command: score@imdb-self-attention."""
    return "@".join([stage, *keys])


def md5(path: Path) -> str:
    """Return DVC's hash of a file, which is also its name in DVC's cache."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def folder_md5(folder: Path, files: Iterable[Path] | None = None) -> str:
    """Return DVC's hash of a folder, or of some `files` in it: a hash of their hashes and names."""
    paths = (path for path in folder.rglob("*") if path.is_file()) if files is None else files
    names = sorted(path.relative_to(folder).as_posix() for path in paths)
    listing = json.dumps([{"md5": md5(folder / name), "relpath": name} for name in names])
    return hashlib.md5(listing.encode(), usedforsecurity=False).hexdigest() + ".dir"


def run_git(root: Path, *arguments: str) -> str:
    """Return the output of a git command. Raises HeedError where it fails, or git is missing."""
    try:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise HeedError("git: not found. DVC and heed need it: install it") from None
    except subprocess.CalledProcessError as error:
        reason = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise HeedError(
            f"git {arguments[0]}: {reason}. DVC and heed need it: work in a clone of git"
        ) from None
    return done.stdout.strip()


def changed_files(root: Path) -> list[str]:
    """Return the files that differ from the present commit. Raises HeedError."""
    changed = run_git(root, "diff", "--name-only", "-z", "--no-renames", "--relative", "HEAD")
    return [name for name in changed.split("\0") if name]

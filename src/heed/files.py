"""Whole files or none: every writer of heed writes to a temporary name and renames; and the errors
users see.
"""

import contextlib
import glob
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

SUMS = "SHA256SUMS"


class HeedError(Exception):
    """Something the user can mend.

    The message names file, key or line, what was found and what to do.
    """


@contextlib.contextmanager
def _staged(path: Path) -> Iterator[Path]:
    """Yield a name beside `path` to write under, and remove what is left there, a killed writer's
    too.

    A full disk is one clear message.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
            if not _runs(left.name.split(".")[-2]):
                _remove(left)
        yield temporary
    except OSError as error:
        reason = error.strerror or error
        raise HeedError(
            f"{path}: cannot be written: {reason}. Free space or mend the rights, and run again."
        ) from error
    finally:
        _remove(temporary)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _runs(process: str) -> bool:
    """Whether there is a process of this id on this machine; its temporary files are its own."""
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return True


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; renamed to `path` when the block ends well, removed
    when it does not.
    """
    with _staged(Path(path)) as temporary:
        yield temporary
        temporary.replace(path)


@contextlib.contextmanager
def writing_folder(path: str | Path, sealed: bool = False) -> Iterator[Path]:
    """Yield an empty temporary folder beside `path`; it replaces `path` when the block ends well.

    A folder that is sealed has the hashes of its files beside them, and `check` finds what was
    changed or cut off since.
    """
    with _staged(Path(path)) as temporary:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        yield temporary
        if sealed:
            seal(temporary)
        shutil.rmtree(path, ignore_errors=True)
        temporary.replace(path)


@contextlib.contextmanager
def reading(path: str | Path, made_by: str) -> Iterator[None]:
    """Turn what goes wrong while `path` is read into a clear message; `made_by` is the command that
    writes it.
    """
    try:
        yield
    except FileNotFoundError:
        raise HeedError(f"{path}: not there. Run: {made_by}") from None
    except (OSError, ValueError) as error:
        raise HeedError(f"{path}: cannot be read ({error}). Run again: {made_by}") from None


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends, whole or not at all."""
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as indented JSON, keys in the order given, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | Path, made_by: str) -> Any:
    """Return the JSON in `path`; `made_by` is the command that writes it, named when it is missing
    or broken.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HeedError(f"{path}: not there. Run: {made_by}") from None
    except ValueError as error:
        raise HeedError(f"{path}: not valid JSON ({error}). Run again: {made_by}") from None


def write_yaml(path: str | Path, value: Any) -> None:
    """Write `value` as YAML, keys in the order given, with the line `...` that ends a document."""
    write_text(path, yaml.safe_dump(value, sort_keys=False, allow_unicode=True, explicit_end=True))


def read_yaml(path: str | Path, made_by: str) -> Any:
    """Return the YAML in `path`, as `read_json` does; a file that was cut off is often still YAML,
    but lacks its end.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
        if not text.endswith("\n...\n"):
            raise HeedError(f"{path}: cut off: its last line is not `...`. Run again: {made_by}")
        return yaml.safe_load(text)
    except FileNotFoundError:
        raise HeedError(f"{path}: not there. Run: {made_by}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise HeedError(f"{path}: not valid YAML ({reason}). Run again: {made_by}") from None


def seal(folder: Path) -> None:
    """Write the hashes of the files directly in `folder`, as `sha256sum --check` reads them."""
    write_text(folder / SUMS, "".join(f"{sha256(file)}  {file.name}\n" for file in _sealed(folder)))


def check(folder: str | Path, made_by: str) -> None:
    """Raise HeedError unless the files in `folder` are those that `seal` saw; a folder that was
    never sealed passes.
    """
    sums = Path(folder) / SUMS
    if not sums.is_file():
        return
    known = {
        name: found
        for found, _, name in (
            line.partition("  ") for line in sums.read_text("utf-8").splitlines()
        )
    }
    files = {file.name: file for file in _sealed(Path(folder))}
    for name in sorted({*known, *files}):
        if name not in files or name not in known or sha256(files[name]) != known[name]:
            what = "not there" if name not in files else "not as it was made: changed, or cut off"
            raise HeedError(
                f"{Path(folder) / name}: {what} ({sums.name} says so). Run again: {made_by}"
            )


def _sealed(folder: Path) -> list[Path]:
    """Return the files to be hashed; hidden ones are not a stage's: a desktop's, or those of a
    writer that was killed.
    """
    return sorted(
        file for file in folder.iterdir() if file.name != SUMS and not file.name.startswith(".")
    )


def sha256(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def git_blob(path: str | Path) -> str:
    """Return the hash git gives to a file's content: SHA-1 of "blob <size>\\0" and the bytes."""
    digest = hashlib.sha1(f"blob {Path(path).stat().st_size}\0".encode(), usedforsecurity=False)
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def digest_folder(path: str | Path) -> str:
    """Return one SHA-256 over the names and contents of the files directly in a folder."""
    digest = hashlib.sha256()
    for file in sorted(Path(path).iterdir()):
        digest.update(f"{file.name}\0{sha256(file)}\n".encode())
    return digest.hexdigest()

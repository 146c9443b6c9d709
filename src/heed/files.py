"""Whole files or none: every writer of heed writes to a temporary name and renames; and the errors users see."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class HeedError(Exception):
    """Something the user can mend. The message names file, key or line, what was found and what to do."""


@contextlib.contextmanager
def _staged(path: Path) -> Iterator[Path]:
    """Yield a name beside `path` to write under, and remove what is left there; a full disk is one clear message."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
    except OSError as error:
        reason = error.strerror or error
        raise HeedError(
            f"{path}: cannot be written: {reason}. Free space or mend the rights, and run again."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True) if temporary.is_dir() else temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; renamed to `path` when the block ends well, removed when it does not."""
    with _staged(Path(path)) as temporary:
        yield temporary
        temporary.replace(path)


@contextlib.contextmanager
def writing_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty temporary folder beside `path`; it replaces `path` when the block ends well."""
    with _staged(Path(path)) as temporary:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        yield temporary
        shutil.rmtree(path, ignore_errors=True)
        temporary.replace(path)


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends, whole or not at all."""
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` as indented JSON, keys in the order given, whole or not at all."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | Path, made_by: str) -> Any:
    """Return the JSON in `path`; `made_by` is the command that writes it, named when it is missing or broken."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise HeedError(f"{path}: not there. Run: {made_by}") from None
    except ValueError as error:
        raise HeedError(f"{path}: not valid JSON ({error}). Run again: {made_by}") from None


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

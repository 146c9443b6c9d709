"""Atomic writing, reading and checksums of files, and the error that users see.

Every writer of heed writes to a temporary name and renames it: a file is complete or absent.
"""

import contextlib
import fcntl
import functools
import glob
import hashlib
import itertools
import json
import os
import shutil
import stat
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, AnyStr

import yaml

from heed.terminal import print_line

CHECKSUMS = "SHA256SUMS"
MAX_LINE = 1 << 26  # of a line: a few compressed bytes may be a line that no memory holds
# control characters, lone surrogates (of bytes that are not UTF-8), separators of lines, paragraphs
REFUSED_IN_NAMES = ("Cc", "Cs", "Zl", "Zp")
# by the first letter of what `ls -l` shows
NO_FILES = {"p": "a pipe", "s": "a socket", "c": "a device", "b": "a device", "d": "a folder"}


class HeedError(Exception):
    """An error that the user can repair: it names file, key or line, what is there, what to do."""


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise HeedError(
            f"{path}: cannot be written: {reason}. Free space or correct the permissions, and run "
            "again."
        ) from error


@contextlib.contextmanager
def _temporary_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path, removed when the block ends; files of killed writers are too."""
    whole = path.absolute()  # `.` has no name
    temporary = whole.with_name(f".{whole.name}.{os.getpid()}.tmp")
    try:
        with _writable(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            for leftover in path.parent.glob(f".{glob.escape(whole.name)}.*.tmp"):
                if not _is_running(leftover.name.split(".")[-2]):
                    remove(leftover)
            yield temporary
    finally:
        remove(temporary)


def remove(path: Path) -> None:
    """Delete a file, or a folder and all that is in it, if it is there."""
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def _is_running(process: str) -> bool:
    with contextlib.suppress(PermissionError):  # a process of another user
        try:
            os.kill(int(process), 0)
        except (ProcessLookupError, ValueError, OverflowError):
            return False
    return True


@contextlib.contextmanager
def writing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to `path` unless the block raises."""
    with _temporary_path(Path(path)) as temporary:
        yield temporary
        temporary.replace(path)


@contextlib.contextmanager
def writing_folder(path: str | Path, checksums: bool = False) -> Iterator[Path]:
    """Yield an empty folder that replaces `path` unless the block raises, with its `checksums`."""
    with _temporary_path(Path(path)) as temporary:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        yield temporary
        if checksums:
            write_checksums(temporary)
        shutil.rmtree(path, ignore_errors=True)
        temporary.replace(path)


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Hold the lock in the file `path`; where another process does, print `busy` and wait.

    The kernel releases it when the process ends, also by kill -9.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as lock:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print_line(busy, error=True)
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kind_of(path: Path) -> str:
    """Return what a path names: "a file", "a folder", "a pipe", ...; OSError where nothing is."""
    return NO_FILES.get(stat.filemode(path.stat().st_mode)[0], "a file")


def _refuse_pipe(path: Path, made_by: str) -> None:
    """Raise HeedError where a pipe, a device or a socket is in place of what heed writes."""
    with contextlib.suppress(OSError):
        if (found := kind_of(path)) not in ("a file", "a folder"):
            raise HeedError(f"{path}: not a file, but {found}. Remove it, and run again: {made_by}")


@contextlib.contextmanager
def reading(path: str | Path, made_by: str, problem: str = "cannot be read") -> Iterator[None]:
    """Raise HeedError for any error of reading `path`; `made_by` is the command that writes it."""
    _refuse_pipe(Path(path), made_by)
    try:
        yield
    except FileNotFoundError:
        raise HeedError(f"{path}: not there. Run: {made_by}") from None
    except (OSError, EOFError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise HeedError(f"{path}: {problem} ({reason}). Run again: {made_by}") from None


def bounded_lines(
    path: str | Path, file: IO[AnyStr], limit: int = MAX_LINE, first: int = 1
) -> Iterator[AnyStr]:
    """Yield the lines of an open file, from the number `first` on, with their line ends.

    Raises HeedError, before a line is in memory that is longer than the limit.
    """
    lines = iter(functools.partial(file.readline, limit + 1), file.readline(0))
    for number, line in enumerate(lines, first):
        if len(line) > limit:
            raise HeedError(
                f"{path}:{number}: a line of more than {limit:,} "
                f"{'characters' if isinstance(line, str) else 'bytes'}, the limit of a line. "
                "Divide it, or make the file again"
            )
        yield line


def write_text(path: str | Path, text: str) -> None:
    """Write `text` atomically, as UTF-8 with Unix line ends."""
    with writing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several texts as `write_text`: all, in this order, or none."""
    with contextlib.ExitStack() as stack:
        written = {path: stack.enter_context(_temporary_path(path)) for path in texts}
        ending = f"old.{os.getpid()}.tmp"
        old = {path: path.with_name(f".{path.name}.{ending}") for path in texts}
        for path, text in texts.items():
            with _writable(path):
                stack.callback(remove, old[path])
                written[path].write_text(text, encoding="utf-8", newline="\n")
                if path.is_file():  # its copy comes back by a renaming, which needs no space
                    shutil.copy2(path, old[path])
        done: list[Path] = []
        try:
            for path, temporary in written.items():
                with _writable(path):
                    temporary.replace(path)
                    done.append(path)
        except HeedError:
            for path in done:
                if old[path].exists():
                    old[path].replace(path)
                else:
                    path.unlink()
            raise


def write_json(path: str | Path, value: Any) -> None:
    """Write `value` atomically as indented JSON; keys keep their order."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | Path, made_by: str) -> Any:
    """Return the JSON in `path`. Raises HeedError, naming the command `made_by`."""
    with reading(path, made_by, "not valid JSON"):
        return json.loads(Path(path).read_text(encoding="utf-8"))


def write_yaml(path: str | Path, value: Any) -> None:
    """Write `value` as YAML, ended by the line `...`; keys keep their order."""
    write_text(path, yaml.safe_dump(value, sort_keys=False, allow_unicode=True, explicit_end=True))


def read_yaml(path: str | Path, made_by: str) -> Any:
    """Return the YAML in `path`. Raises HeedError, naming the command `made_by`.

    YAML that was cut off is often valid, but lacks the line `...`.
    """
    with reading(path, made_by, "not valid YAML"):
        text = Path(path).read_text(encoding="utf-8")
        if not text.endswith("\n...\n"):
            raise HeedError(f"{path}: cut off: its last line is not `...`. Run again: {made_by}")
        return yaml.safe_load(text)


def write_checksums(folder: Path) -> None:
    """Write the hashes of all files in `folder`, as `sha256sum --check` reads them."""
    lines = [f"{sha256(file)}  {name}\n" for name, file in _hashed_files(folder).items()]
    write_text(folder / CHECKSUMS, "".join(lines))


def require_readable(path: Path, advice: str = "", or_folder: bool = False) -> None:
    """Raise HeedError unless a user's path is a file with a plain name, or a folder of such files.

    `advice` is for a file that is not there.
    """
    _require_plain_name(path)
    try:
        found = kind_of(path)
    except FileNotFoundError:
        raise HeedError(f"{path}: not there{advice}") from None
    except (OSError, ValueError) as error:  # such as a link to itself
        raise HeedError(f"{path}: cannot be read: {getattr(error, 'strerror', error)}") from None
    if found == "a folder" and or_folder:
        for file in itertools.filterfalse(Path.is_dir, path.rglob("*")):
            require_readable(file)
    elif found == "a folder":
        raise HeedError(f"{path}: expected a file, found a folder. Name a file in it")
    elif found != "a file":
        raise HeedError(
            f"{path}: expected a file, found {found}, which can be read once or has no end. Write "
            "its content to a file, and name that"
        )


def _require_plain_name(path: Path) -> None:
    signs = "" if str(path).isprintable() else str(path)  # most are, which is fast to tell
    if refused := [sign for sign in signs if unicodedata.category(sign) in REFUSED_IN_NAMES]:
        problem = "is not UTF-8" if refused[0] >= "\ud800" else f"has U+{ord(refused[0]):04X} in it"
        raise HeedError(f"{str(path)!r}: the name {problem}, and cannot be printed. Rename it")


def read_text(text: str) -> str:
    """Return the text, the content of the file it names (with . or /), or of standard input: -."""
    if text == "-":
        lines = bounded_lines("standard input", sys.stdin.buffer)
        return _say_undecoded(b"".join(lines).decode("utf-8-sig", errors="replace"), "the input")
    if os.path.lexists(text) and (os.path.sep in text or "." in text):
        require_readable(Path(text))
        try:
            with Path(text).open(encoding="utf-8-sig", errors="replace") as file:
                return _say_undecoded("".join(bounded_lines(text, file)), text)
        except OSError as error:
            raise HeedError(f"{text}: cannot be read ({error.strerror})") from None
    if os.path.isfile(text):  # noqa: PTH113 — Path's raises for a text that is too long
        print_line(f"heed: {text} is taken as the text: the file is ./{text}", error=True)
    elif len(text.split()) == 1 and Path(text).suffix:  # a word with the suffix of a file name
        print_line(f"heed: there is no file {text}: taken as the text itself", error=True)
    return text


def _say_undecoded(content: str, name: str) -> str:
    if "\ufffd" in content:
        print_line(f"heed: {name}: what is not UTF-8 in it is read as \ufffd", error=True)
    return content


def package_folder(name: str, pattern: str) -> Path:
    """Return the folder with the first file of a pattern in an installed Python package.

    Raises HeedError: there is no such package, or it has no such file.
    """
    from importlib import metadata  # here: it takes 20 ms, and few commands need it

    try:
        files = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        raise HeedError(f"the package {name} is not installed. Run: pip install {name}") from None
    found = next((file for file in files if file.match(pattern)), None)
    if found is None:
        raise HeedError(f"the package {name} has no file {pattern}")
    return Path(str(found.locate())).parent


def verify_checksums(folder: str | Path, made_by: str) -> None:
    """Raise HeedError unless `folder` has the hashed files, unchanged, or no checksums.

    With checksums or without, all in it must be files or folders.
    """
    files = _hashed_files(Path(folder))
    for path in files.values():
        _refuse_pipe(path, made_by)
    checksums = Path(folder) / CHECKSUMS
    if not checksums.is_file():
        return
    with reading(checksums, made_by):
        lines = checksums.read_text("utf-8").splitlines()
    expected = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for name in sorted({*expected, *files}):
        if name not in files or sha256(files[name]) != expected.get(name):
            problem = "not as it was made: changed, or cut off" if name in files else "not there"
            raise HeedError(
                f"{Path(folder) / name}: {problem} (by its hash in {CHECKSUMS}). Run again: "
                f"{made_by}"
            )


def _hashed_files(folder: Path) -> dict[str, Path]:
    files = {path.relative_to(folder): path for path in sorted(folder.rglob("*"))}
    return {
        name.as_posix(): path
        for name, path in files.items()
        if not path.is_dir()
        and name.name != CHECKSUMS
        and not any(part.startswith(".") for part in name.parts)
    }


def sha256(path: str | Path) -> str:
    """Return the hexadecimal SHA-256 of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_as_key(*texts: str) -> str:
    """Return the SHA-256 of texts, one after the other, as YAML with this one key and no value.

    DVC tracks such a file as parameters. `dvc exp show` has a column for each file of `deps` and
    for each value of a parameter, and so none for this one.
    """
    return f"{hashlib.sha256(''.join(texts).encode()).hexdigest()}: {{}}\n"


def git_blob(path: str | Path) -> str:
    """Return git's hash of a file's content: SHA-1 of "blob <size>\\0" and the bytes."""
    digest = hashlib.sha1(f"blob {Path(path).stat().st_size}\0".encode(), usedforsecurity=False)
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, lambda: digest).hexdigest()


def digest_folder(path: str | Path, *patterns: str) -> str:
    """Return one SHA-256 over the paths and contents of a folder's files: all, or of `patterns`."""
    digest = hashlib.sha256()
    found = itertools.chain.from_iterable(map(Path(path).rglob, patterns or ["*"]))
    for file in sorted({*found}):
        if not file.is_dir():
            digest.update(f"{file.relative_to(path).as_posix()}\0{sha256(file)}\n".encode())
    return digest.hexdigest()

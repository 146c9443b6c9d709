"""The declarations of a publication: its files, the kind of its source, the kinds of its corpora.

A declaration is data. The schema of params.yaml, the commands and the cost of a study read it
through the registry (kinds.py). Untrusted archives are read as a stream: nothing is unpacked to
disk.
"""

import contextlib
import dataclasses
import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from heed.annotations import Link, RationaleKind, Span
from heed.files import HeedError, git_blob, sha256
from heed.terminal import print_line

if TYPE_CHECKING:
    import tarfile

    from heed.corpora.declared import Corpus, Source, SplitKind

SPLITS = ("train", "validation", "test")
NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
# limits for the whole archive: far above any corpus here, far below a decompression bomb
MAX_BYTES, MAX_MEMBERS = 2 << 30, 1_000_000
# decompressed bytes for each compressed one, above the first 16 MiB: text has up to 10, zeros 1000
MAX_RATIO, FREE_BYTES = 100, 16 << 20
MAX_HEADER = 1 << 20  # bytes before the content of a member: long names and PAX headers
BROKEN_GZIP = (EOFError, OSError, zlib.error)

ANY_SPLIT: "tuple[SplitKind, ...]" = ("given", "random", "folds")


@dataclasses.dataclass(frozen=True)
class File:
    """A published file.

    `hashes` are "sha256:…" or "blob:…" (git's); several when the same content has several archives.
    """

    name: str
    mirror: str  # path below HEED_MIRROR
    hashes: tuple[str, ...]
    url: str = ""  # "" when the host requires a login; `instructions` are for the user then
    instructions: str = ""
    on_request: bool = False  # downloaded only when `files` in params.yaml names it

    def mismatch(self, path: Path) -> str:
        """Return how the file at `path` differs from the hashes, or "" when one is right."""
        hash_file = {"sha256": sha256, "blob": git_blob}
        kinds = {entry.split(":")[0] for entry in self.hashes}
        hashes = [f"{kind}:{hash_file[kind](path)}" for kind in kinds]
        if {*hashes} & {*self.hashes}:
            return ""
        size = path.stat().st_size
        return f"expected {' or '.join(self.hashes)}, found {' '.join(hashes)} ({size:,} bytes)"


@dataclasses.dataclass(frozen=True)
class Links:
    """The gold alignment of two texts; words are what white space separates.

    `sure` links are right; `possible` ones, besides these, are not wrong (Och and Ney 2003, A
    systematic comparison of various statistical alignment models).
    """

    sure: tuple[Link, ...]
    possible: tuple[Link, ...] = ()


@dataclasses.dataclass(frozen=True)
class Document:
    """A text with its labels, as in its source, or a text in several languages.

    A label that is a tuple has any number of values. `rationale` are the character spans of the
    words that decide the label, where they are known; a text with a rationale is a str. A document
    in several languages has `texts`, by language, in place of `text`, and `alignments`:
    "SOURCE-TARGET" (two of its languages) → the links of their words, where they are known.
    """

    id: str
    text: str | bytes = ""
    labels: Mapping[str, str | tuple[str, ...]] = dataclasses.field(default_factory=dict)
    group: str = ""
    split: str = ""  # train, validation or test when the source has a split of its own
    rationale: tuple[Span, ...] = ()
    texts: Mapping[str, str | bytes] = dataclasses.field(default_factory=dict)
    alignments: dict[str, Links] = dataclasses.field(default_factory=dict)


Documents = Iterator[Document]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceKind:
    """A kind of source: its published files, or the function that makes its files."""

    name: str
    files: tuple[File, ...] = ()
    # (name of the source, its section, folder) → names of the files
    make: Callable[[str, "Source", Path], list[str]] | None = None
    required_keys: tuple[str, ...] = ()  # of its section in params.yaml
    alternative_keys: tuple[tuple[str, ...], ...] = ()  # groups, of which one is required
    optional_keys: tuple[str, ...] = ("files",)
    parallel: bool = False  # the keys of its `paths` are languages
    size: float = 0  # bytes of the published files


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of corpus: the rules that make documents from the files of a source.

    The documents have labels, or, of a `parallel` kind, a text in each of several languages.
    """

    name: str
    source: SourceKind
    # (folder with the files, its section)
    read: Callable[[Path, "Corpus"], Documents]
    parallel: bool = False
    languages: tuple[str, ...] = ()  # of a parallel kind; empty when params.yaml names them
    splits: "tuple[SplitKind, ...]" = ("random", "folds")  # given: the documents have a split
    grouped: bool = False  # the documents have groups, which a split can keep together
    one_of_keys: tuple[tuple[str, ...], ...] = ()  # groups, of each of which one key is required
    optional_keys: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # empty when they are the columns that params.yaml names
    generated: bool = False  # the text is generated by heed: results say nothing about language
    rationale: RationaleKind | None = None  # None: no document has a rationale
    documents: int = 0  # 0: the number in the source's section
    learned: int = 0  # documents that a given split trains or validates on; 0: not known
    validated: int = 0  # of these, documents of its own validation split; 0: it is drawn from them
    added: int = 0  # documents that a given split alone has
    joined: float = 1  # documents of the source that make one of the corpus, on average
    tokens_per_document: int = 0  # mean, as in meta.json; 0: known only from the file

    @property
    def keys(self) -> set[str]:
        """The keys of its section in params.yaml, beyond those of all kinds."""
        return {*sum(self.one_of_keys, ()), *self.optional_keys}


def require_file(folder: Path, name: str) -> Path:
    """Return the path of a raw file. Raises HeedError when the file is missing."""
    path = folder / name
    if not path.is_file():
        raise HeedError(
            f"{path}: not there. Run: heed download {folder.name} (and check that "
            f"`sources.{folder.name}.files` names it)"
        )
    return path


def read_published_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number, object) of a JSON-lines file.

    Raises HeedError, naming the line, when one is not a JSON object; for a broken .gz file, too.
    """
    with open_compressed(path) if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line.decode("utf-8", errors="replace"))
            except (ValueError, RecursionError) as error:
                raise HeedError(f"{path}:{number}: not a JSON object ({error})") from None
            if not isinstance(row, dict):
                raise HeedError(
                    f"{path}:{number}: expected a JSON object, found {type(row).__name__}"
                )
            yield number, row


def text_field(path: Path, number: int, row: dict[str, Any], key: str) -> str:
    """Return `row[key]`. Raises HeedError, naming file and line, when it is not a string."""
    value = row.get(key)
    if not isinstance(value, str):
        raise HeedError(
            f"{path}:{number}: expected text under {key!r}, found {type(value).__name__}"
        )
    return value


# --- the splits of a corpus, and the names that users have for them


def split_of(name: str) -> str | None:
    """Return the split that a name stands for, in any case; None for any other name.

    `eval` is none: some mean the validation split by it, others the test split.
    """
    return NAMES.get(name.strip().lower())


def split_of_key(key: str) -> str | None:
    """Return the split that the key of a file names: `train`, `dev`, `train_1`; or None."""
    return split_of(re.sub(r"_[0-9]+$", "", key))


class SplitNames:
    """The names that a table has for the splits of its rows, and what they became."""

    def __init__(self, subject: str) -> None:
        """`subject` is what has the names, for messages: a column, or the files."""
        self._subject = subject
        self._parts: dict[str, str] = {}

    def read(self, name: Any, location: str) -> str:
        """Return the split that a name stands for. Raises HeedError for no split."""
        split = split_of(name) if isinstance(name, str) else None
        if split is None:
            ambiguous = isinstance(name, str) and name.strip().lower() in ("eval", "evaluation")
            reason = ", which some say for validation, others for test" if ambiguous else ""
            raise HeedError(
                f"{location}: {self._subject}: expected {', '.join(SPLITS)} (or dev, valid, val, "
                f"training, testing), found {name!r}{reason}"
            )
        self._parts[name] = split
        return split

    def add(self, name: str, part: str) -> None:
        """Remember a name whose part is known."""
        self._parts[name] = part

    def print_changes(self) -> None:
        """Print the names that are not heed's own, and the part that each became."""
        changed = [f"{name} is {part}" for name, part in self._parts.items() if name != part]
        if changed:
            print_line(f"{self._subject}: {', '.join(changed)}")


# --- archives


class _Decompressed(io.RawIOBase):
    """The content of the .gz file `path`; reading more than `allowed` bytes raises HeedError."""

    def __init__(self, path: Path, file: gzip.GzipFile, max_bytes: int) -> None:
        """Allow all bytes within the limits."""
        self._path, self._file, self.bytes_read = path, file, 0
        self.limit = min(max_bytes, max(FREE_BYTES, MAX_RATIO * path.stat().st_size))
        self.allowed = self.limit

    def readable(self) -> bool:
        """Say that it can be read, as io.RawIOBase asks."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read the next bytes into `buffer`; return their number."""
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        self.bytes_read += len(block)
        self.check(self.bytes_read)
        if self.bytes_read > self.allowed:
            raise HeedError(
                f"{self._path}: refused: more than {MAX_HEADER:,} bytes before a member's content"
            )
        return len(block)

    def check(self, size: int) -> None:
        """Raise HeedError if `size` bytes are more than the limit."""
        if size > self.limit:
            raise HeedError(
                f"{self._path}: refused: more than {self.limit:,} bytes when it is decompressed"
            )


@contextlib.contextmanager
def open_compressed(path: Path, max_bytes: int = MAX_BYTES) -> Iterator[io.BufferedReader]:
    """Open a .gz file for reading.

    Raises HeedError when the file is broken; its content is too large, or far larger than the file.
    """
    with _broken_is_one_message(path, BROKEN_GZIP), gzip.open(path) as file:
        yield io.BufferedReader(_Decompressed(path, file, max_bytes))


def read_members(
    path: Path, max_bytes: int = MAX_BYTES, max_members: int = MAX_MEMBERS
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each regular file of a .tar.gz archive.

    Raises HeedError when a member has an absolute path, leads out of the folder, or is a link, a
    device or a sparse file; the archive is too large or broken.
    """
    import tarfile  # takes longer to import than all declarations together

    broken = (tarfile.TarError, ValueError, ArithmeticError, LookupError, RecursionError)
    # gzip and tarfile apart: tarfile alone reads a truncated stream without an error
    with _broken_is_one_message(path, BROKEN_GZIP + broken), gzip.open(path) as file:
        content = _Decompressed(path, file, max_bytes)
        content.allowed = MAX_HEADER
        with tarfile.open(fileobj=content, mode="r|") as archive:
            for count, member in enumerate(archive, 1):
                archive.members.clear()  # type: ignore[attr-defined]  # it keeps all members
                if count > max_members:
                    raise HeedError(f"{path}: refused: more than {max_members:,} members")
                _check_member(path, member)
                content.check(content.bytes_read + member.size)
                content.allowed = content.bytes_read + member.size + MAX_HEADER
                if member.isreg() and (member_file := archive.extractfile(member)):
                    yield member.name, member_file.read()
        content.allowed = content.limit
        while content.read(1 << 20):
            pass


def _check_member(path: Path, member: "tarfile.TarInfo") -> None:
    """Raise HeedError unless a member is a file or folder, within the archive's folder."""
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts:
        raise HeedError(
            f"{path}: refused: member {member.name!r} leads out of the archive's folder"
        )
    if not (member.isdir() or member.isreg()) or member.issparse() or member.size < 0:
        raise HeedError(
            f"{path}: refused: member {member.name!r} is a link, a device or a sparse file, not a "
            "plain file"
        )


@contextlib.contextmanager
def _broken_is_one_message(path: Path, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    """Raise HeedError for these errors of gzip and tarfile."""
    try:
        yield
    except errors as error:
        raise HeedError(
            f"{path}: not a whole archive ({error}). Remove it and run the download again"
        ) from None

"""The declarations of a publication: its files, the kind of its source, the kinds of its corpora.

A declaration is data. The schema of params.yaml, the commands and the cost of a study read it
through the registry (kinds.py).
"""

import contextlib
import dataclasses
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from heed.annotations import Link, RationaleKind, Span
from heed.files import HeedError, git_blob, sha256
from heed.terminal import print_line

if TYPE_CHECKING:
    from heed.corpora.declared import Corpus, Source, SplitKind

SPLITS = ("train", "validation", "test")
NAMES = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "val", "dev", "development"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
GZIP = b"\x1f\x8b"  # the first bytes of a gzip file

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


def read_published_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield (line number, object) of a JSON-lines file. Raises HeedError when it is broken."""
    with open_compressed(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    yield number, json.loads(line.decode(errors="replace"))
                except ValueError as error:
                    raise HeedError(f"{path}:{number}: not a JSON object ({error})") from None


@contextlib.contextmanager
def open_compressed(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, decompressed if it is gzip's. Raises HeedError when it is broken."""
    try:
        with path.open("rb") as file:
            is_compressed = file.peek(len(GZIP)).startswith(GZIP)
            yield cast(IO[bytes], gzip.GzipFile(fileobj=file)) if is_compressed else file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise HeedError(f"{path}: not a whole gzip file ({error}). Get it again") from None


def read_members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each regular file of a .tar.gz archive; nothing is unpacked."""
    import tarfile  # takes longer to import than all declarations together

    with tarfile.open(path, "r|gz") as archive:
        for member in archive:
            archive.members.clear()  # type: ignore[attr-defined]  # it keeps all members
            if member.isreg() and (file := archive.extractfile(member)):
                yield member.name, file.read()


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
            is_ambiguous = str(name).strip().lower() in ("eval", "evaluation")
            reason = ", which some say for validation, others for test" if is_ambiguous else ""
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

"""What a module of this package declares of its publication: its files, the kind of its source, the
kinds of its corpora.

A declaration is data: it is read by the schema of params.yaml, by the commands and by the cost of a
study (see kinds.py).
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from heed.files import HeedError, git_blob, sha256

if TYPE_CHECKING:
    from heed.study import Corpus, Source

SplitKind = Literal["given", "random", "folds"]


@dataclasses.dataclass(frozen=True)
class File:
    """A published file.

    `hashes` are "sha256:…" or "blob:…" (git's); several are several archives of the same content.
    """

    name: str
    mirror: str  # path below HEED_MIRROR
    hashes: tuple[str, ...]
    url: str = ""  # none: the host wants a login, and `by_hand` says how to get the file
    by_hand: str = ""
    on_request: bool = False  # fetched only where `files` of params.yaml names it

    def fault(self, path: Path) -> str:
        """Return what is wrong with the file at `path`, or nothing when one of the hashes is its
        own.
        """
        found = {"sha256": sha256, "blob": git_blob}
        known = {kind: found[kind](path) for kind in {entry.split(":")[0] for entry in self.hashes}}
        if any(known[kind] == value for kind, value in (entry.split(":") for entry in self.hashes)):
            return ""
        have = " ".join(f"{kind}:{value}" for kind, value in known.items())
        return f"expected {' or '.join(self.hashes)}, found {have} ({path.stat().st_size:,} bytes)"


@dataclasses.dataclass(frozen=True)
class Document:
    """A text with its labels, as its source has it.

    `evidence` are character spans (start, end) of planted cues.
    """

    id: str
    text: str | bytes
    labels: dict[str, str]
    group: str = ""
    split: str = ""  # train, validation or test where the source has a split of its own
    evidence: tuple[tuple[int, int], ...] = ()


Documents = Iterator[Document]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceKind:
    """A kind of source: the files as published, or what makes the one file where nobody publishes
    it.
    """

    name: str
    files: tuple[File, ...] = ()
    # (source, its section, folder) → the name of the file
    make: Callable[[str, "Source", Path], str] | None = None
    needs: tuple[str, ...] = ()  # keys of its section in params.yaml
    takes: tuple[str, ...] = ("files",)  # further keys
    size: float = 0  # bytes as published


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of corpus: the rules that make documents with labels from the files of a source."""

    name: str
    source: SourceKind
    read: Callable[[Path, "Corpus"], Documents]  # (folder with the files, its section)
    splits: tuple[SplitKind, ...] = ("random", "folds")  # given: the documents come with a split
    grouped: bool = False  # the documents come with groups, and folds can keep those together
    needs: tuple[str, ...] = ()  # keys of its section in params.yaml that other kinds do not take
    takes: tuple[str, ...] = ()  # further ones
    labels: tuple[str, ...] = ()  # none: known when the file is read
    generated: bool = False  # the text is heed's own: figures on it say nothing about language
    documents: int = 0  # none: as many as the source's section says
    # of a document on average (meta.json says); none: not known before the file is read
    tokens: int = 0


def need(folder: Path, name: str) -> Path:
    """Return the path of a raw file. Raises HeedError when it is not there."""
    path = folder / name
    if not path.is_file():
        raise HeedError(
            f"{path}: not there. Run: heed download {folder.name} (and see that "
            f"`sources.{folder.name}.files` names it)"
        )
    return path

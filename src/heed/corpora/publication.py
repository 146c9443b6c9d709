"""What a published file is called, where it is, and by which hashes it is known."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from heed.files import HeedError, git_blob, sha256


@dataclasses.dataclass(frozen=True)
class File:
    """A published file. `hashes` are "sha256:…" or "blob:…" (git's); several are several archives of the same content."""

    name: str
    mirror: str  # path below HEED_MIRROR
    hashes: tuple[str, ...]
    url: str = ""  # none: the host wants a login, and `by_hand` says how to get the file
    by_hand: str = ""

    def fault(self, path: Path) -> str:
        """Return what is wrong with the file at `path`, or nothing when one of the hashes is its own."""
        found = {"sha256": sha256, "blob": git_blob}
        known = {kind: found[kind](path) for kind in {entry.split(":")[0] for entry in self.hashes}}
        if any(known[kind] == value for kind, value in (entry.split(":") for entry in self.hashes)):
            return ""
        have = " ".join(f"{kind}:{value}" for kind, value in known.items())
        return f"expected {' or '.join(self.hashes)}, found {have} ({path.stat().st_size:,} bytes)"


@dataclasses.dataclass(frozen=True)
class Document:
    """A text with its labels, as its source has it. `evidence` are character spans (start, end) of planted cues."""

    id: str
    text: str | bytes
    labels: dict[str, str]
    group: str = ""
    split: str = ""  # train, validation or test where the source has a split of its own
    evidence: tuple[tuple[int, int], ...] = ()


Documents = Iterator[Document]


def need(folder: Path, name: str) -> Path:
    """Return the path of a raw file. Raises HeedError when it is not there."""
    path = folder / name
    if not path.is_file():
        raise HeedError(
            f"{path}: not there. Run: heed download {folder.name} (and see that `sources.{folder.name}.files` names it)"
        )
    return path

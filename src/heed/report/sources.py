"""Where numbers come from: a file, its DVC hash, the stage and the command that write it."""

import dataclasses
from pathlib import Path

from heed.pipeline import md5, stage_name


@dataclasses.dataclass(frozen=True)
class Source:
    """A file that the report reads. `md5` is DVC's hash: the name of its content in DVC's cache."""

    path: str
    md5: str
    stage: str  # as DVC names it; empty for what is in git
    command: str

    @property
    def key(self) -> str:
        """The id of its row in the page."""
        return "from-" + "-".join(Path(self.path).with_suffix("").parts[1:])

    @property
    def says(self) -> str:
        """All of it in one line, shown where a reader's pointer rests on a number."""
        by = f"stage {self.stage}, again: {self.command}" if self.stage else "in git"
        return f"{self.path} · md5 {self.md5} · {by}"


class Sources:
    """The sources of a report: a file is hashed once, when a block first names it."""

    def __init__(self) -> None:
        self._named: dict[Path, Source] = {}

    def of(self, *paths: Path) -> tuple[Source, ...]:
        """Return the sources of these files."""
        for path in paths:
            if path not in self._named:
                self._named[path] = source(path)
        return tuple(self._named[path] for path in paths)

    def all(self) -> list[Source]:
        """Return every source that was named, by path."""
        return sorted(self._named.values(), key=lambda each: each.path)


def source(path: Path) -> Source:
    """Return the source of a file in results/ or data/published/."""
    if "published" in path.parts:
        return Source(f"data/published/{path.name}", md5(path), "", "")
    kind, *names = path.parts[-3:-1] if path.parts[-2] != "compare" else path.parts[-2:-1]
    named = Path("results", kind, *names, path.name).as_posix()
    return Source(named, md5(path), stage_name(kind, *names), " ".join(["heed", kind, *names]))

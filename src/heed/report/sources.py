"""Where every number comes from: the file it stands in, that file's DVC hash, the stage and the command that write it."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from heed.pipeline import md5, stage_name


@dataclasses.dataclass(frozen=True)
class Source:
    """A file that the report reads. `md5` is DVC's hash of a file: its content lies under that name in DVC's cache."""

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


def source(path: Path) -> Source:
    """Return the source of a file in results/ or data/published/."""
    if "published" in path.parts:
        return Source(f"data/published/{path.name}", md5(path), "", "")
    kind, *names = path.parts[-3:-1] if path.parts[-2] != "compare" else path.parts[-2:-1]
    shown = Path("results", kind, *names, path.name).as_posix()
    return Source(shown, md5(path), stage_name(kind, *names), " ".join(["heed", kind, *names]))


def sources(paths: Iterable[Path]) -> dict[str, Source]:
    """Return the sources of these files, each once, by path as given."""
    return {str(path): source(path) for path in dict.fromkeys(paths)}

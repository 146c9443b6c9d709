"""The files that a report reads, each with its hash and the command that makes it again."""

import dataclasses
from pathlib import Path

from heed.pipeline import folder_md5, md5, stage_name

# of other folders it has their name
STAGE_OF_FOLDER = {"predict": "score", "evaluate": "score", "search": "recipe"}


@dataclasses.dataclass(frozen=True)
class Source:
    """A file or a folder that the report reads.

    `md5` is DVC's hash: the name of a file's content in DVC's cache.
    """

    path: str
    md5: str
    stage: str  # DVC's name of it; empty for a file in git
    command: str

    @property
    def key(self) -> str:
        """The id of its row in the page."""
        return "from-" + "-".join(Path(self.path).with_suffix("").parts[1:])

    @property
    def name(self) -> str:
        """Its name beside others of its folder."""
        return Path(self.path).stem

    @property
    def label(self) -> str:
        """Its name beside those of other folders: that of the folder of a file."""
        path = Path(self.path)
        return path.parent.name if path.suffix else path.name

    @property
    def description(self) -> str:
        """The source in one line, for the tooltip of tables and figures."""
        origin = f"stage {self.stage}, again: {self.command}" if self.stage else "in git"
        return f"{self.path} · md5 {self.md5} · {origin}"


class Sources:
    """The sources of a report; a file is hashed once, when it is first added."""

    def __init__(self, folder: Path) -> None:
        """Start with no source; `folder` is results/."""
        self._folder = folder
        self._sources: dict[Path, Source] = {}

    def add(self, *paths: Path) -> tuple[Source, ...]:
        """Add these files, unless they are there; return their sources."""
        for path in paths:
            if path not in self._sources:
                self._sources[path] = read_source(path, self._folder)
        return tuple(self._sources[path] for path in paths)

    def add_files(self, folder: Path, files: list[Path], path: str, command: str) -> Source:
        """Add files of one stage in `folder`; return their one source: a row for each is too many.

        Its hash is DVC’s of a folder of these files, and `path` that folder in a clone.
        """
        if folder not in self._sources:
            digest, stage = folder_md5(folder, files), command.split()[1]
            self._sources[folder] = Source(path, digest, stage, command)
        return self._sources[folder]

    def all(self) -> list[Source]:
        """Return every source that was added, by path."""
        return sorted(self._sources.values(), key=lambda source: source.path)


def read_source(path: Path, results: Path) -> Source:
    """Return the source of a file in `results`, which is results/, or in data/published/."""
    if "published" in path.parts:
        return Source(f"data/published/{path.name}", md5(path), "", "")
    below = path.relative_to(results)
    folder, *keys = below.parts[:-1][:2]
    stage, name = STAGE_OF_FOLDER.get(folder, folder), f"results/{below.as_posix()}"
    return Source(name, md5(path), stage_name(stage, *keys), " ".join(["heed", stage, *keys]))

"""What two clones must have in common so that a stage does the same in both.

That is the code, byte for byte, and the versions of the packages that can change a result.
"""

import dataclasses
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

# the code of this clone, whatever is installed
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
from heed.code.digests import DISTRIBUTIONS, versions
from heed.files import HeedError, sha256

# in a clone that takes stages of a run: they change these two files, and git would not replace them
PULL = "git checkout params.yaml dvc.lock && git pull"


@dataclasses.dataclass(frozen=True)
class Clone:
    """The code and the packages of a clone."""

    commit: str  # of git, for messages; empty without git
    files: dict[str, str]  # path: SHA-256
    versions: dict[str, str]  # distribution: version

    def difference(self, here: "Clone") -> str:
        """Return in words what is otherwise in the clone `here`, or an empty string."""
        paths = sorted(dict(self.files.items() ^ here.files.items()))
        if paths:
            more = f" and {len(paths) - 1} more files" * (len(paths) > 1)
            return (
                f"other code than in the clone where the run was started: {paths[0]}{more} (commit "
                f"{here.commit[:10]}, and {self.commit[:10]} where the run was started). Make both "
                f"the same; where a run has changed params.yaml and dvc.lock, `{PULL}`"
            )
        for name, version in self.versions.items():
            if version != here.versions.get(name):
                return (
                    f"{name} is {here.versions.get(name, 'missing')}, and {version} in the clone "
                    "where the run was started: make setup"
                )
        return ""


def describe_clone(root: Path) -> Clone:
    """Return the code and the packages of a clone. Raises HeedError: a package is missing."""
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    )
    try:
        installed = versions(DISTRIBUTIONS)
    except PackageNotFoundError as error:
        raise HeedError(f"{root}: the package {error.name} is not installed: make setup") from None
    files = {path.relative_to(root).as_posix(): sha256(path) for path in _code_files(root)}
    return Clone(done.stdout.strip(), files, installed)


def _code_files(root: Path) -> Iterator[Path]:
    """Yield the files that decide what a stage does."""
    yield root / "dvc.yaml"
    yield root / "workflow/safe-names.yaml"
    yield from sorted(root.glob("workflow/*.py"))
    for path in sorted(root.glob("src/heed/**/*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
            yield path


def read_clone(description: dict[str, Any]) -> Clone:
    """Return a clone from what `dataclasses.asdict` has made of it."""
    return Clone(**description)

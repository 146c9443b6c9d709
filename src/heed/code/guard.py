"""What a stage has run is what DVC records: the code that a command loads is compared with what the
stage was planned with.

DVC notes the digests of a stage's code before it runs. An edit that is made while the stage runs,
and taken back, would be recorded under the old digest. So each module is compared when it is
loaded, in the processes that a stage starts too, and all files when the stage begins and ends.
Nothing is compared where a person runs a command.
"""

import contextlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

from heed.code.digests import DISTRIBUTIONS, PACKAGE, code_file, digest_file, versions
from heed.files import HeedError, read_json, write_json, write_text

PLANNED = "HEED_PLANNED"  # environment: the plan of the stage that started this process
OWN_CODE = "HEED_OWN_CODE"  # environment: the folder whose code this process was started again for
FOLDER = Path(".heed/planned")
AGAIN = "Run dvc repro or snakemake again: they plan with what is there now"
ANEW = "Run: dvc repro --force --single-item code; then again"


class Plan(importlib.abc.MetaPathFinder):
    """The code that a stage was planned with, as the stage `code` wrote it."""

    def __init__(self, path: Path) -> None:
        """Read the plan. Raises HeedError: it is not there."""
        plan = read_json(path, "dvc repro --single-item code")
        self.digests: dict[str, str] = plan["files"]
        self.versions: dict[str, str] = plan["versions"]
        # a process of the stage has found another file than planned
        self.note = path.with_suffix(".changed")
        # read at any time
        self.data = {path: _state(path) for path in self.digests if not path.endswith(".py")}

    def compare(self, path: str) -> None:
        """Raise HeedError when a file is not as planned; `path` begins with src/heed."""
        try:
            same = digest_file(_file(path)) == self.digests[path]
        except FileNotFoundError:
            same = False
        if not same or (path in self.data and self.data[path] != _state(path)):
            raise HeedError(f"{path}: not as it was when this stage was planned. {AGAIN}")

    def compare_all(self) -> None:
        """Raise HeedError when a file or a version is not as planned, or a process of this stage
        has found one that was not.
        """
        if self.note.exists():
            raise HeedError(self.note.read_text(encoding="utf-8"))
        for path in self.digests:
            self.compare(path)
        distributions = {distribution: package for package, distribution in DISTRIBUTIONS.items()}
        for name, version in versions(distributions[name] for name in self.versions).items():
            if version != self.versions[name]:
                raise HeedError(
                    f"{name} is {version}, and this stage was planned with {self.versions[name]}. "
                    f"{ANEW}"
                )

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Compare a module of heed when it is loaded; others find it. Raises HeedError."""
        if name.startswith("heed."):
            base = f"src/{name.replace('.', '/')}"
            for file in {f"{base}.py", f"{base}/__init__.py"} & {*self.digests}:
                try:
                    self.compare(file)
                except HeedError as error:
                    write_text(self.note, str(error))
                    raise
        return None


def _file(path: str) -> Path:
    return PACKAGE.joinpath(*Path(path).parts[2:])


def _state(path: str) -> tuple[int, int] | None:
    """Return what differs after an edit, one that was taken back too: None where there is
    no file.
    """
    with contextlib.suppress(FileNotFoundError):
        state = _file(path).stat()
        return state.st_ino, state.st_mtime_ns
    return None


@contextlib.contextmanager
def guarded(stage: str, key: str, command: str) -> Iterator[None]:
    """Compare the code of `heed STAGE KEY` with its plan before, while and after it runs, where DVC
    runs it.

    Args:
        stage: the command.
        key: its first argument, or nothing.
        command: the command with all its arguments: no other process of this folder has the same.

    Raises:
        HeedError: the code is not what the stage was planned with.

    """
    if "DVC_STAGE" not in os.environ:
        yield
        return
    kept = (
        FOLDER / f"{command.replace('/', '-')}.json"
    ).resolve()  # the stage `code` may write its file anew meanwhile
    write_json(kept, read_json(code_file(stage, key), "dvc repro --single-item code"))
    plan = Plan(kept)
    plan.note.unlink(missing_ok=True)
    os.environ[PLANNED] = str(kept)
    sys.meta_path.insert(0, plan)
    try:
        plan.compare_all()
        yield
        plan.compare_all()
    except Exception:
        # what a process of the stage has said is the reason for all that came of it
        if plan.note.exists():
            raise HeedError(plan.note.read_text(encoding="utf-8")) from None
        raise
    finally:
        sys.meta_path.remove(plan)
        del os.environ[PLANNED]
        kept.unlink()
        plan.note.unlink(missing_ok=True)


def join() -> None:
    """Compare what this process loads, too: one that a guarded stage has started
    (heed/__init__.py).
    """
    path = Path(os.environ[PLANNED])
    if path.exists() and not any(isinstance(finder, Plan) for finder in sys.meta_path):
        sys.meta_path.insert(0, Plan(path))


def run_own_code() -> None:
    """Run the code of the clone that this is, where another's is installed: in a copy by `dvc exp
    run --temp`, say.

    The process is replaced by one with the same arguments. Raises HeedError: it runs the other's
    code all the same.
    """
    source = own_source(Path.cwd())
    if source is None or source == PACKAGE.resolve().parent:
        return
    if os.environ.get(OWN_CODE) == str(source):
        raise HeedError(
            f"{source}/heed: the code of this clone cannot be run in place of {PACKAGE}. Install "
            "it: make setup"
        )
    paths = [str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), OWN_CODE: str(source)}
    os.execve(sys.executable, [sys.executable, "-m", "heed.cli", *sys.argv[1:]], environment)


def own_source(folder: Path) -> Path | None:
    """Return the folder src of the clone that holds `folder`, or None where it is no clone
    of heed.
    """
    for root in (folder, *folder.parents):
        if (root / "src/heed/cli.py").exists():
            return (root / "src").resolve()
        if (root / ".git").exists() or (root / ".dvc").exists():
            return None
    return None

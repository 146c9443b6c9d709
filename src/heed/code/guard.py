"""Compares the code that a command loads with the code that its stage was planned with.

DVC reads the digests of a stage's code before the stage runs. If someone edits the code while the
stage runs, and reverts the edit, DVC would record the results under the old digest. So each module
is compared when it is loaded, in the processes that a stage starts too, and all files when the
stage begins and ends. A command that a person runs is not compared.
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
from heed.code.stage import running_stage
from heed.files import HeedError, read_json, write_json, write_text

PLANNED = "HEED_PLANNED"  # environment: the plan of the stage that started this process
OWN_CODE = "HEED_OWN_CODE"  # environment: the folder whose code this restarted process must run
FOLDER = Path(".heed/planned")
RUN_AGAIN = "Run dvc repro or snakemake again: they plan with the present code"
UPDATE_PLAN = "Run: dvc repro --force --single-item code; then again"


class Plan(importlib.abc.MetaPathFinder):
    """The code that a stage was planned with, as the stage `code` wrote it."""

    def __init__(self, path: Path) -> None:
        """Read the plan. Raises HeedError: the file does not exist."""
        plan = read_json(path, "dvc repro --single-item code")
        self.digests: dict[str, str] = plan["files"]
        self.versions: dict[str, str] = plan["versions"]
        # written by a process of the stage that loads a module which is not as planned
        self.error_file = path.with_suffix(".changed")
        # templates and the like may be read at any time, so a reverted edit counts too
        self.data_files = {path: _state(path) for path in self.digests if not path.endswith(".py")}

    def compare(self, path: str) -> None:
        """Raise HeedError when a file is not as planned; `path` begins with src/heed."""
        try:
            same = digest_file(_absolute(path)) == self.digests[path]
        except FileNotFoundError:
            same = False
        if not same or (path in self.data_files and self.data_files[path] != _state(path)):
            raise HeedError(f"{path}: not as it was when this stage was planned. {RUN_AGAIN}")

    def compare_all(self) -> None:
        """Raise HeedError when a file, a version or a child process's module is not as planned."""
        if self.error_file.exists():
            raise HeedError(self.error_file.read_text(encoding="utf-8"))
        for path in self.digests:
            self.compare(path)
        distributions = {distribution: package for package, distribution in DISTRIBUTIONS.items()}
        for name, version in versions(distributions[name] for name in self.versions).items():
            if version != self.versions[name]:
                raise HeedError(
                    f"{name} is {version}, and this stage was planned with {self.versions[name]}. "
                    f"{UPDATE_PLAN}"
                )

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Compare a module of heed when it is loaded, and leave finding it to others.

        Raises HeedError: it is not as planned.
        """
        if name.startswith("heed."):
            base = f"src/{name.replace('.', '/')}"
            for file in {f"{base}.py", f"{base}/__init__.py"} & {*self.digests}:
                try:
                    self.compare(file)
                except HeedError as error:
                    write_text(self.error_file, str(error))
                    raise
        return None


def _absolute(path: str) -> Path:
    """Return the file of this clone's package at a path that begins with src/heed."""
    return PACKAGE.joinpath(*Path(path).parts[2:])


def _state(path: str) -> tuple[int, int] | None:
    """Return inode and time of modification, which a reverted edit changes too; None if no file."""
    with contextlib.suppress(FileNotFoundError):
        state = _absolute(path).stat()
        return state.st_ino, state.st_mtime_ns
    return None


@contextlib.contextmanager
def guarded(stage: str, key: str, command: str) -> Iterator[None]:
    """Compare the code of `heed STAGE KEY` with its plan before, while and after it runs under DVC.

    Args:
        stage: the command.
        key: its first argument, or an empty string.
        command: the command with all its arguments, unique among the processes of this folder.

    Raises:
        HeedError: the code is not the code that the stage was planned with.

    """
    if not running_stage():
        yield
        return
    # a copy: the stage `code` may rewrite its own file meanwhile
    plan_file = (FOLDER / f"{command.replace('/', '-')}.json").resolve()
    write_json(plan_file, read_json(code_file(stage, key), "dvc repro --single-item code"))
    plan = Plan(plan_file)
    plan.error_file.unlink(missing_ok=True)
    os.environ[PLANNED] = str(plan_file)
    sys.meta_path.insert(0, plan)
    try:
        plan.compare_all()
        yield
        plan.compare_all()
    except Exception:
        # the error of a process of the stage is the cause of the errors that follow from it
        if plan.error_file.exists():
            raise HeedError(plan.error_file.read_text(encoding="utf-8")) from None
        raise
    finally:
        sys.meta_path.remove(plan)
        del os.environ[PLANNED]
        plan_file.unlink()
        plan.error_file.unlink(missing_ok=True)


def guard_child_process() -> None:
    """Compare the modules of this process, which a guarded stage has started (heed/__init__.py)."""
    path = Path(os.environ[PLANNED])
    if path.exists() and not any(isinstance(finder, Plan) for finder in sys.meta_path):
        sys.meta_path.insert(0, Plan(path))


def run_own_code() -> None:
    """Run the code of the clone in the working folder, where another clone's code is installed.

    `dvc exp run --temp` works in such a clone. The process is replaced by one with the same
    arguments. Raises HeedError: that process still runs the installed code.
    """
    source = find_source(Path.cwd())
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


def find_source(folder: Path) -> Path | None:
    """Return the folder src of the clone of heed that holds `folder`, or None."""
    for root in (folder, *folder.parents):
        if (root / "src/heed/__init__.py").exists():
            return (root / "src").resolve()
        if (root / ".git").exists() or (root / ".dvc").exists():
            return None
    return None

"""The program `heed`: reads the command line, runs the command, and reports what went wrong."""

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from heed.files import HeedError, locked
from heed.paths import LOCKS, PARAMS, RESULTS, is_name
from heed.progress import INTERRUPTED
from heed.terminal import STDOUT, SURROGATES, open_streams, visible

VARIABLE, WITHOUT_CACHE = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"
# what torch, oneDNN and spaCy say where memory runs out
OUT_OF_MEMORY = re.compile(r"memory|could not create a primitive|BLIS support requires blis")
OWN_CODE = "HEED_OWN_CODE"  # environment: the folder whose code this restarted process must run


def main() -> None:
    """Run the command line; an error that the user can repair is one message and exit code 1."""
    try:
        open_streams()
        _require_utf8()
        run_own_code()
        _run_command()
    except HeedError as error:
        sys.exit(visible(f"heed: {error}"))
    except BrokenPipeError:  # the reader of a pipe has read enough, as `head` does
        sys.exit(141)
    except OSError as error:
        file, reason = f"{error.filename}: " * bool(error.filename), error.strerror or error
        advice = "Free space or correct the permissions, and run the same command again"
        if error.filename == STDOUT:
            advice = "What the command prints is lost; what it writes may be there"
        sys.exit(visible(f"heed: {file}{reason}. {advice}"))
    except (MemoryError, RuntimeError, ValueError) as error:
        if not isinstance(error, MemoryError) and not OUT_OF_MEMORY.search(str(error)):
            raise
        reason = " ".join(str(error).split())[:200]
        advice = "Make the model, the batch or the corpus smaller"
        sys.exit(f"heed: out of memory: {reason}. {advice}")
    except KeyboardInterrupt:
        sys.exit(f"heed: {INTERRUPTED}")


def _require_utf8() -> None:
    if (encoding := sys.getfilesystemencoding()) != "utf-8":
        raise HeedError(
            f"in this locale Python reads arguments and names of files as {encoding}, and not as "
            "UTF-8. Run the same command again with: export PYTHONUTF8=1"
        )


def _run_command() -> None:
    from heed.cli.commands import make_parser
    from heed.cli.stages import STAGES, recipe, train

    for text in sys.argv:
        if SURROGATES.search(text):
            raise HeedError(f"{text}: is not UTF-8: type it as UTF-8, or rename the file")
    arguments = vars(make_parser().parse_args())
    function = arguments.pop("function")
    _refuse_path(arguments.get("model", ""))
    if function in (train, recipe):
        restart_without_cache()
    if function not in STAGES:
        function(**arguments)
        return
    from heed.pipeline import same_params  # here, since no code of a stage depends on it

    name = next((value for value in arguments.values() if isinstance(value, str)), "")
    stage = function.__name__
    with _lock_command(f"{stage} {name}".strip()), same_params(stage, name):
        function(**arguments)


def _refuse_path(model: str) -> None:
    """Raise HeedError if a path was given in place of a model's name."""
    if "/" in model:
        names = [part for part in Path(model).parts if is_name(part) and not part.isdigit()]
        meant = f"the model's name: {names[-1]}" if names else "a model's name"
        raise HeedError(f"{model}: is a path. Give {meant}")


@contextlib.contextmanager
def _lock_command(command: str) -> Iterator[None]:
    """Wait for another process with this command here, such as a stage of a dvc that was killed."""
    if not PARAMS.exists() and not RESULTS.exists():  # not a clone: write nothing here
        yield
        return
    busy = f"another `heed {command}` is running here: waiting for it"
    with locked(LOCKS / command.replace("/", "-"), busy):
        yield


def environment_without_cache() -> dict[str, str]:
    """Return the environment of a process that has no cache of small blocks."""
    tunables = [part for part in [os.environ.get(VARIABLE), WITHOUT_CACHE] if part]
    return dict(os.environ) | {VARIABLE: ":".join(tunables)}


def restart_without_cache() -> None:
    """Replace this process by one with the same arguments and no cache of small blocks (tcache).

    A training keeps the memory that it frees (heed.training.machine), and reuses it only where
    gaps grow together; blocks in the cache lie between them, and the heap grew without end. Nothing
    happens where GLIBC_TUNABLES is set, or Python was started with other arguments than sys.argv.
    """
    is_set = "tcache_count" in os.environ.get(VARIABLE, "")
    is_own = sys.orig_argv[-len(sys.argv[1:]) :] == sys.argv[1:]
    if sys.platform == "linux" and is_own and not is_set:
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, environment_without_cache())


def run_own_code() -> None:
    """Replace this process by one with the code of the clone in the working folder.

    `dvc exp run --temp` works in such a clone, with another clone's code installed.
    """
    source, package = find_source(Path.cwd()), Path(__file__).resolve().parent.parent
    if source is None or source == package.parent:
        return
    if os.environ.get(OWN_CODE) == str(source):
        raise HeedError(
            f"{source}/heed: the code of this clone cannot be run in place of {package}. Install "
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

"""The program `heed`: reads the command line, runs the command, and reports what went wrong."""

import contextlib
import os
import sys
from collections.abc import Iterator

from heed.cli.workspace import restart_without_cache, run_own_code
from heed.files import HeedError, locked
from heed.paths import LOCKS, PARAMS, RESULTS
from heed.progress import INTERRUPTED
from heed.terminal import visible


def main() -> None:
    """Run the command line; an error that the user can repair is one message and exit code 1."""
    try:
        run_own_code()
        _run_command()
    except HeedError as error:
        sys.exit(visible(f"heed: {error}"))
    except BrokenPipeError:  # the reader of a pipe has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except OSError as error:
        reason = error.strerror or error
        problem = f"{error.filename}: {error.strerror}" if error.filename else reason
        sys.exit(
            visible(
                f"heed: {problem}. Free space or correct the permissions, and run the same command "
                "again"
            )
        )
    except (MemoryError, RuntimeError) as error:
        # torch raises RuntimeError when memory runs out
        if not isinstance(error, MemoryError) and "memory" not in str(error):
            raise
        sys.exit(
            f"heed: out of memory: {' '.join(str(error).split())[:200]}. Make the model, the "
            "batch or the corpus smaller"
        )
    except KeyboardInterrupt:
        sys.exit(f"heed: {INTERRUPTED}")


def _run_command() -> None:
    """Run the command in the arguments of this process; that of a stage alone in its folder."""
    from heed.cli.parser import make_parser
    from heed.cli.stages import STAGES, search, train

    arguments = vars(make_parser().parse_args())
    function = arguments.pop("function")
    if function in (train, search):
        restart_without_cache()
    if function not in STAGES:
        function(**arguments)
        return
    name = next((value for value in arguments.values() if isinstance(value, str)), "")
    with _lock_command(f"{function.__name__} {name}".strip()):
        function(**arguments)


@contextlib.contextmanager
def _lock_command(command: str) -> Iterator[None]:
    """Hold a lock, so that two processes do not run the same command in this folder; wait for it.

    When dvc or snakemake was killed, its stage may still be running while the next one starts the
    same stage.
    """
    if not PARAMS.exists() and not RESULTS.exists():  # not a clone: write nothing here
        yield
        return
    busy = f"another `heed {command}` is running here: waiting for it"
    with locked(LOCKS / command.replace("/", "-"), busy):
        yield

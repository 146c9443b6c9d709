"""The program `heed`: reads the command line, runs the command, and reports what went wrong."""

import os
import sys

from heed.fork_client import run_in_fork


def main() -> None:
    """Run the command line; an error that the user can repair is one message and exit code 1."""
    if run_in_fork("heed") is not None:
        return
    from heed.code.guard import run_own_code
    from heed.files import HeedError
    from heed.terminal import visible

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
        from heed.progress import INTERRUPTED

        sys.exit(f"heed: {INTERRUPTED}")


def _run_command() -> None:
    """Run the command in the arguments of this process."""
    from heed.cli.parser import make_parser
    from heed.cli.stage_run import run_stage
    from heed.cli.stages import STAGES, search, train

    arguments = vars(make_parser().parse_args(_read_arguments()))
    function = arguments.pop("function")
    if function in (train, search):
        from heed.training.allocator import restart_without_cache

        restart_without_cache()
    if function in STAGES:
        run_stage(function, arguments)
    else:
        function(**arguments)


def _read_arguments() -> list[str]:
    """Return the arguments of the command line; a command alone gets those of DVC's stage.

    Raises HeedError: the stage has a name that params.yaml may not have.
    """
    from heed.code.stage import stage_arguments

    arguments = sys.argv[1:]
    return arguments + (stage_arguments(arguments[0]) if len(arguments) == 1 else [])

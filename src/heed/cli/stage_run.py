"""Runs the command of a stage: alone in its folder, with the code that was planned."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from heed.paths import LOCKS, PARAMS, RESULTS


def run_stage(function: Callable[..., None], arguments: dict[str, Any]) -> None:
    """Run the command of a stage: alone in this folder, with the code that was planned."""
    from heed.code.guard import guarded

    names = [
        str(value)
        for option, value in arguments.items()
        if isinstance(value, str | int) and value and option != "address"
    ]
    command = " ".join([function.__name__, *names])
    key = next((value for value in arguments.values() if isinstance(value, str)), "")
    with _lock_command(command), guarded(function.__name__, key, command):
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
    from heed.files import locked

    busy = f"another `heed {command}` is running here: waiting for it"
    with locked(LOCKS / command.replace("/", "-"), busy):
        yield

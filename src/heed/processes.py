"""Work that is shared by several processes."""

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Literal

from heed.files import HeedError


@contextlib.contextmanager
def process_pool(processes: int, method: Literal["fork", "spawn"]) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, which end with this one, also when it is killed.

    Not multiprocessing.Pool, which waits for ever for a process that was killed. A `fork` has what
    is in memory here. Raises HeedError when a process was killed.
    """
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(processes, context, initializer=_begin) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            # Before 3.11.5 Python would wait for ever for somebody to read what it was sending
            # (gh-94777); from then on it closes this itself, and must not find it closed.
            if sys.version_info < (3, 11, 5):
                pool._call_queue._reader.close()  # type: ignore[attr-defined]
            raise HeedError(
                "a process of this command was killed; the system does that when memory runs out. "
                "Run the same command again, with fewer processes (HEED_THREADS=1) if it was memory"
            ) from None


def _begin() -> None:
    """Begin a process: it ends when the one that started it is killed, or would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_with_parent() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()

"""The number of cores that a command uses."""

import os


def count_cores() -> int:
    """Return how many cores this process may use: HEED_THREADS, else all that the system allows."""
    threads = os.environ.get("HEED_THREADS", "")
    return int(threads) if threads.isdigit() and int(threads) else len(os.sched_getaffinity(0))

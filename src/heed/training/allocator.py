"""Configuration of the C library's allocator: keep the memory that a training frees, and reuse it.

Two settings belong together. Kept memory is reused only where its gaps grow together again, and
glibc's cache of small blocks (tcache) hinders that: the blocks in it are free, but lie between the
gaps like blocks in use. With the cache, the heap of a long training grew without end.
"""

import ctypes
import os
import sys

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # glibc's malloc.h
NEVER = 2**31 - 1
VARIABLE, WITHOUT_CACHE = "GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"


def keep_memory() -> bool:
    """Make glibc allocate large tensors on its heap and never shrink it; return whether it did.

    Otherwise every tensor above some size is mapped, faulted in page by page and unmapped again, in
    every step (benchmarks/training.py measures the difference). The environment variables
    MALLOC_MMAP_MAX_ and MALLOC_TRIM_THRESHOLD_ do the same, but only before a process starts.
    Without glibc nothing happens.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return (
        mallopt is not None and bool(mallopt(MMAP_MAX, 0)) and bool(mallopt(TRIM_THRESHOLD, NEVER))
    )


def environment_without_cache() -> dict[str, str]:
    """Return the environment of a process that has no cache of small blocks."""
    tunables = [part for part in [os.environ.get(VARIABLE), WITHOUT_CACHE] if part]
    return dict(os.environ) | {VARIABLE: ":".join(tunables)}


def restart_without_cache() -> None:
    """Replace this process by one with the same arguments and no cache of small blocks.

    glibc reads that setting only when a program starts. Nothing happens where GLIBC_TUNABLES has
    it already, or where Python was started with other arguments than sys.argv has.
    """
    is_set = "tcache_count" in os.environ.get(VARIABLE, "")
    is_own = sys.orig_argv[-len(sys.argv[1:]) :] == sys.argv[1:]
    if sys.platform == "linux" and is_own and not is_set:
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, environment_without_cache())

"""Configuration of the C library's allocator: keep the memory that a training frees."""

import ctypes
import sys

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # glibc's malloc.h
NEVER = 2**31 - 1


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

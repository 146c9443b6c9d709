"""The C library's allocator, told to keep what a training frees."""

import ctypes
import sys

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # glibc's malloc.h
NEVER = 2**31 - 1


def keep_memory() -> bool:
    """Let glibc serve large tensors from its heap and never give that back; return whether it could
    be told.

    Otherwise every tensor above some size is mapped, faulted in page by page and unmapped again, in
    every step (benchmarks/training.py measures the difference). The environment variables
    MALLOC_MMAP_MAX_ and MALLOC_TRIM_THRESHOLD_ do the same, but only before a process starts. Where
    there is no glibc nothing happens.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return (
        mallopt is not None and bool(mallopt(MMAP_MAX, 0)) and bool(mallopt(TRIM_THRESHOLD, NEVER))
    )

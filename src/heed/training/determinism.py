"""The process of a training: same seed, same bytes; and memory that is kept.

All randomness of a training is controlled here, and nowhere else.
"""

import ctypes
import os
import random
import sys

import numpy as np
import torch

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # glibc's malloc.h
NEVER = 2**31 - 1


def make_deterministic() -> None:
    """Make torch use only deterministic algorithms, no denormal numbers, and one thread."""
    # cuBLAS is not deterministic without
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # The same as use_deterministic_algorithms(True), which imports torch's compiler: 1.6 s.
    torch.set_deterministic_debug_mode("error")
    # Otherwise torch fills every new tensor with NaN: 15% of a CPU training (docs/performance.md).
    # That finds reads of uninitialised memory, and makes nothing more deterministic.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    # Numbers under 1e-38 are 0: such gradients come back through long texts, and Intel cores with
    # AVX-512 are many times slower with them (docs/performance.md). Set before torch has threads,
    # which inherit it. It returns False where the cores cannot.
    torch.set_flush_denormal(True)
    torch.backends.cudnn.deterministic = True
    # the talk's True lets cuDNN choose other kernels in every run
    torch.backends.cudnn.benchmark = False
    torch.set_num_threads(1)


def seed_everything(seed: int, epoch: int = 0) -> None:
    """Seed python, numpy, torch and CUDA for one epoch (0: initialisation).

    Because each epoch is seeded by its number, a resumed training needs no saved generator state.
    """
    mixed = int(np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint32)[0])
    random.seed(mixed)
    np.random.seed(mixed)
    torch.manual_seed(mixed)  # CUDA's generators too


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

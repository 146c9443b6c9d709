"""Same seed, same bytes: everything random of a training is set here, and nowhere else."""

import os
import random

import numpy as np
import torch


def make_deterministic(threads: int) -> None:
    """Let torch use deterministic algorithms alone, and `threads` threads."""
    # cuBLAS is not deterministic without
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    # With it, torch fills every tensor it makes with NaN before use: 15% of a CPU training
    # (docs/performance.md). That finds reads of memory nobody wrote; it makes nothing deterministic
    # that was not.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.backends.cudnn.deterministic = True
    # the talk's True lets cuDNN choose other kernels in every run
    torch.backends.cudnn.benchmark = False
    torch.set_num_threads(threads)


def seed_everything(seed: int, epoch: int = 0) -> None:
    """Seed python, numpy, torch and CUDA for one epoch (0: initialisation).

    Seeding each epoch anew means that a resumed training needs no saved generator state to go on as
    if never stopped.
    """
    mixed = int(np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint32)[0])
    random.seed(mixed)
    np.random.seed(mixed)
    torch.manual_seed(mixed)  # CUDA's generators too

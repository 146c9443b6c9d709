"""The time that a network takes to train on a document: multiply-adds, times a measured speed.

torch counts the multiply-adds. How fast this machine does them is measured by some training steps
of a network on random documents, or by a product of matrices: by one thread and in processor time,
so that other work on the machine hardly counts.
"""

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from heed.hyperparameters import CorpusSizes
from heed.task import task_module

# Seconds of a training step = 6 x multiply-adds / CORE_FLOPS + STEP_SECONDS + AdamW's for each
# parameter, on one core of 2.4 GHz with AVX2 or AVX-512; chosen by hand for the models of two
# studies of classifiers (docs/performance.md).
CORE_FLOPS = 75e9
STEP_SECONDS = 0.003
PARAMETER_SECONDS = 1.5e-9
FORWARD_SHARE = 0.4  # of a training step's matrix products: a third, and less overlap
MATRIX, MATRIX_SECONDS, REPEATS = 512, 0.0023, 8  # a product of two matrices, on that core
COUNTED = 20  # tokens whose multiply-adds are counted: one, two and three times as many
MAX_STEP_TOKENS = 6144  # of a measured step: a larger one is as fast by token
PADDED = 1.1  # tokens of a training with padding, to those without
MEASURED_SECONDS = 3.0


@dataclasses.dataclass(frozen=True)
class Workload:
    """The work of a training step; `lengths` are tokens read of documents, as in the corpus."""

    task: str
    hyperparameters: Any
    lengths: tuple[int, ...]
    sizes: CorpusSizes

    def build(self) -> Any:
        """Return the untrained network."""
        return task_module(self.task, "learning").build(self.hyperparameters, self.sizes)


@dataclasses.dataclass(frozen=True)
class Speed:
    """Seconds of one core: to train on a document, to predict one, and between two epochs."""

    training: float
    prediction: float
    epoch: float


@functools.cache
def parameters(workload: Workload) -> int:
    """Return the number of trainable parameters of a network."""
    from heed.models.size import count_parameters  # here and below: torch takes 1.5 s

    return count_parameters(workload.build)


@functools.cache
def multiply_adds(task: str, hyperparameters: Any, sizes: CorpusSizes) -> tuple[float, ...]:
    """Return the multiply-adds of a forward pass over n tokens: c, b and a of c + bn + an^2.

    They are counted at three lengths, through which one parabola goes.
    """
    from heed.models.size import count_multiply_adds

    network, h = task_module(task, "learning"), hyperparameters
    longest = getattr(h, "max_tokens", 0) or h.max_source_tokens
    lengths = [max(1, min(COUNTED, longest // 3)) * times for times in (1, 2, 3)]
    counts = []
    for length in lengths:
        run = functools.partial(network.loss, batch=network.random_batch(h, sizes, [length]))
        counts.append(count_multiply_adds(lambda: network.build(h, sizes), run))
    exact = np.linalg.solve(np.vander(lengths, increasing=True).astype(float), counts)
    return tuple(float(each) for each in np.rint(exact))


def expected_speed(workload: Workload, factor: float = 1.0) -> Speed:
    """Return the speed of a workload where all takes `factor` times as long as by the constants."""
    h, updates = workload.hyperparameters, _update_seconds(workload)
    products = statistics.fmean(_product_seconds(workload, n) for n in workload.lengths)
    training = products + (STEP_SECONDS + updates) / h.batch_size
    return Speed(factor * training, factor * FORWARD_SHARE * products, factor * 4 * updates)


def _update_seconds(workload: Workload) -> float:
    times = 2 if workload.hyperparameters.ema_decay else 1
    return times * PARAMETER_SECONDS * parameters(workload)


def _product_seconds(workload: Workload, tokens: int) -> float:
    """Return the seconds of the matrix products to train on a document of so many tokens."""
    once, linear, quadratic = multiply_adds(workload.task, workload.hyperparameters, workload.sizes)
    return 6 / CORE_FLOPS * (once + tokens * linear + tokens**2 * quadratic)


def machine_factor() -> float:
    """Return how many times as long a product of matrices takes here as on the core above.

    By one thread: waiting for another takes processor time too.
    """
    from threadpoolctl import threadpool_limits

    matrix = np.ones((MATRIX, MATRIX), np.float32)
    with threadpool_limits(1):
        return min(_seconds(lambda: matrix @ matrix) for _ in range(REPEATS)) / MATRIX_SECONDS


def _seconds(function: Callable[[], object]) -> float:
    started = time.process_time()
    function()
    return time.process_time() - started


def measure(workload: Workload, seconds: float = MEASURED_SECONDS) -> float:
    """Return how many times as long as expected training steps take here, within `seconds`."""
    import torch

    from heed.training import machine
    from heed.training.loop import AdamW

    machine.make_deterministic()
    machine.keep_memory()
    machine.seed_everything(1)
    network, model = task_module(workload.task, "learning"), workload.build().train()
    optimizer = AdamW(model.parameters(), fused=True)
    mean, h = statistics.fmean(workload.lengths), workload.hyperparameters
    is_shorter = h.precision == "bfloat16" and bool(machine.bfloat16_instructions())
    size = int(max(1, min(h.batch_size, MAX_STEP_TOKENS // mean)))
    generator = np.random.default_rng(1)

    def step(lengths: list[int]) -> None:
        batch = network.random_batch(h, workload.sizes, lengths)
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=is_shorter):
            loss = network.loss(model, batch)
        loss.backward()
        optimizer.step()

    step([max(workload.lengths)] * size)
    spent, expected = 0.0, 0.0
    while spent <= seconds:
        # documents of like lengths stand together in a batch of a training
        lengths = [int(generator.choice(workload.lengths))] * size
        spent += _seconds(functools.partial(step, lengths))
        products = size * _product_seconds(workload, lengths[0])
        expected += products + STEP_SECONDS + _update_seconds(workload)
    return PADDED * spent / expected

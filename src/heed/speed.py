"""The time that a network takes to train on a document: multiply-adds, times a measured speed.

`heed cost` measures some training steps of each distinct network on random documents, by one thread
and in processor time, so that other work on the machine hardly counts. Networks that were not
measured are as much faster or slower than expected as those that were.
"""

import dataclasses
import functools
import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
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
BATCHES = 5  # of different lengths, as a window of a training has them
MAX_STEP_TOKENS = 6144  # of a measured step: a larger one is as fast by token
PADDED = 1.1  # tokens of a training with padding, to those without
BUDGET = 10.0  # seconds for a study
MIN_SECONDS, MAX_SECONDS = 0.15, 1.0  # for one network


@dataclasses.dataclass(frozen=True)
class Workload:
    """The work of a training step: equal workloads take equally long.

    lengths: tokens that are read of some documents, spread as those of the corpus.
    """

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
    """Return the multiply-adds of a forward pass over a document: c, b and a of c + bn + an^2.

    n is the number of tokens. They are counted at three lengths, through which one parabola goes.
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


def expected_speed(workload: Workload) -> Speed:
    """Return the speed of a workload on the core that the constants are of, without measuring."""
    h, updates = workload.hyperparameters, _update_seconds(workload)
    products = statistics.fmean(_product_seconds(workload, workload.lengths))
    training = products + (STEP_SECONDS + updates) / h.batch_size
    return Speed(training, FORWARD_SHARE * products, 4 * updates)


def _update_seconds(workload: Workload) -> float:
    """Return the seconds of one change of all weights, and of their moving average."""
    return (
        PARAMETER_SECONDS * parameters(workload) * (2 if workload.hyperparameters.ema_decay else 1)
    )


def _product_seconds(workload: Workload, lengths: Sequence[int]) -> list[float]:
    """Return the seconds of the matrix products to train on documents of these lengths."""
    once, linear, quadratic = multiply_adds(workload.task, workload.hyperparameters, workload.sizes)
    return [6 / CORE_FLOPS * (once + n * linear + n**2 * quadratic) for n in lengths]


def machine_factor() -> float:
    """Return how many times as long a product of matrices takes here as on the core above.

    By one thread: on a busy machine several would wait for each other, and waiting takes processor
    time too.
    """
    from threadpoolctl import threadpool_limits

    matrix = np.ones((MATRIX, MATRIX), np.float32)
    with threadpool_limits(1):
        return min(_seconds(lambda: matrix @ matrix) for _ in range(REPEATS)) / MATRIX_SECONDS


def _seconds(function: Callable[[], object]) -> float:
    """Return the processor time of a call."""
    started = time.process_time()
    function()
    return time.process_time() - started


def speed_of(workload: Workload, measured: Mapping[Workload, float], factor: float) -> Speed:
    """Return the speed of a workload here.

    `measured` has the times of some workloads, as multiples of what was expected. Of a workload
    that is not among them it is the mean of those with the same lengths, else of all, and of these
    of the same task where there are any. Where nothing was measured it is the machine's `factor`.
    """
    alike = [each for each in measured if each.lengths == workload.lengths] or list(measured)
    alike = [each for each in alike if each.task == workload.task] or alike
    if workload in measured:
        factor = measured[workload]
    elif alike:
        factor = statistics.geometric_mean(measured[each] for each in alike)
    return Speed(*(factor * each for each in dataclasses.astuple(expected_speed(workload))))


def measure_all(workloads: Sequence[Workload], budget: float = BUDGET) -> dict[Workload, float]:
    """Return the measured times of workloads, the most expensive first, until the budget is spent.

    The budget is in seconds of processor time; the last measurement may end after it.
    """
    measured: dict[Workload, float] = {}
    started = time.process_time()
    for done, workload in enumerate(workloads):
        left = budget - (time.process_time() - started)
        if left <= 0:
            break
        share = left / (len(workloads) - done)
        measured[workload] = measure(workload, min(max(share, MIN_SECONDS), MAX_SECONDS))
    return measured


def measure(workload: Workload, seconds: float) -> float:
    """Return how many times as long as expected the training steps of a workload take here.

    One is measured, or as many as fit in `seconds`, after a first one in which memory is allocated.
    """
    from heed.training.loop import AdamW
    from heed.training.machine import keep_memory, make_deterministic, seed_everything

    make_deterministic()
    keep_memory()
    seed_everything(1)
    network, model = task_module(workload.task, "learning"), workload.build().train()
    optimizer = AdamW(model.parameters(), fused=True)
    batches = _batches_of_lengths(workload)

    def step(lengths: list[int]) -> None:
        batch = network.random_batch(workload.hyperparameters, workload.sizes, lengths)
        optimizer.zero_grad()
        network.loss(model, batch).backward()
        optimizer.step()

    step(batches[-1])
    spent, expected = 0.0, 0.0
    for lengths in itertools.cycle(batches):
        spent += _seconds(functools.partial(step, lengths))
        padded = _product_seconds(workload, [max(lengths)] * len(lengths))
        expected += sum(padded) + STEP_SECONDS + _update_seconds(workload)
        if spent > seconds:
            return PADDED * spent / expected
    raise AssertionError("a cycle has no end")


def _batches_of_lengths(workload: Workload) -> list[list[int]]:
    """Return the lengths of the documents of some steps: each step has one fifth of all lengths."""
    mean = statistics.fmean(workload.lengths)
    size = int(max(1, min(workload.hyperparameters.batch_size, MAX_STEP_TOKENS // mean)))
    ranks = (np.arange(BATCHES * size) + 0.5) / (BATCHES * size)
    lengths = np.quantile(workload.lengths, ranks, method="nearest").astype(int).tolist()
    return [lengths[i * size : (i + 1) * size] for i in (2, 0, 4, 1, 3)]

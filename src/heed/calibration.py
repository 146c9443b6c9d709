"""Measure how fast this machine trains the models of a study, in seconds, before the study starts.

Each distinct shape of a model takes some steps of the real training loop on random documents with
the lengths of its corpus, on one thread. Times are those of the processor, so that other work on
the machine hardly counts.
"""

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heed.inputs.batches import MAX_PADDED_TOKENS
from heed.study.cost.speed import Speed, Workload
from heed.tasks import task_module
from heed.tasks.interface import Learner
from heed.training.determinism import keep_memory, make_deterministic, seed_everything
from heed.training.loop import LAST, Progress, train

BATCHES = 5  # of different lengths, as a window of a training has them
MAX_STEP_TOKENS = 2 * MAX_PADDED_TOKENS  # of a measured step: a larger one is as fast by token
PADDED = 1.1  # tokens of a training with padding, to those without
BUDGET = 10.0  # seconds for a study
MIN_SECONDS, MAX_SECONDS = 0.15, 1.0  # for one shape


class _MeasuredError(Exception):
    """Ends a training that has been measured."""


def calibrate(workloads: Sequence[Workload], budget: float = BUDGET) -> dict[Workload, Speed]:
    """Return the speeds of different workloads, in their order, until the budget is spent.

    Args:
        workloads: the most expensive first.
        budget: seconds of processor time. The last measurement may end after it.

    """
    make_deterministic()
    keep_memory()
    speeds: dict[Workload, Speed] = {}
    started = time.process_time()
    for done, workload in enumerate(workloads):
        left = budget - (time.process_time() - started)
        if left <= 0:
            break
        share = left / (len(workloads) - done)
        speeds[workload] = measure(workload, min(max(share, MIN_SECONDS), MAX_SECONDS))
    return speeds


def measure(workload: Workload, seconds: float) -> Speed:
    """Return the speed of a workload, from two training steps or as many as fit in `seconds`."""
    part = task_module(workload.task, "calibration")
    mean = float(np.mean(workload.lengths))
    batch = int(max(1, min(workload.hyperparameters.batch_size, MAX_STEP_TOKENS // mean)))
    h = dataclasses.replace(
        workload.hyperparameters,
        batch_size=batch, epochs=1000, patience=0, select=LAST, precision="float32",
    )  # fmt: skip
    # documents of evenly spaced ranks by length: each batch has one fifth of all lengths
    ranks = (np.arange(BATCHES * batch) + 0.5) / (BATCHES * batch)
    lengths = np.quantile(workload.lengths, ranks, method="nearest").astype(np.int64)
    seed_everything(1)
    learner = part.random_learner(h, np.maximum(1, lengths), workload.vocabulary, workload.outputs)
    timed = _TimedLearner(learner, part.padded_tokens, seconds)
    with tempfile.TemporaryDirectory() as work, contextlib.suppress(_MeasuredError):
        train(timed, h, 1, "cpu", Path(work), timed.report)
    started = time.process_time()
    learner.validate(learner.model, every=BATCHES)
    prediction = (time.process_time() - started) / batch
    return Speed(
        timed.seconds_per_token() * PADDED * mean, prediction, timed.seconds_between_epochs()
    )


class _TimedLearner(Learner):
    """A learner whose training steps are timed, and that is not validated."""

    def __init__(
        self, learner: Learner, count_tokens: Callable[[Any], int], seconds: float
    ) -> None:
        """Store the arguments: a learner, the tokens of a batch, the seconds that are enough."""
        self.model, self.items = learner.model, learner.items
        self._learner, self._count_tokens, self._enough = learner, count_tokens, seconds
        self._step_tokens = 0
        self._steps: list[tuple[float, int]] = []  # seconds and tokens of each
        self._epoch_ends: list[float] = []  # seconds of each
        self._last = time.process_time()

    def steps(self, epoch: int, max_tokens: int | None) -> Iterator[list[Any]]:
        """Yield the learner's steps, and count their tokens."""
        for batches in self._learner.steps(epoch, max_tokens):
            self._step_tokens = sum(map(self._count_tokens, batches))
            yield batches

    def size(self, batch: Any) -> int:
        """Return the number of items in a batch."""
        return self._learner.size(batch)

    def weight(self, batch: Any) -> float:
        """Return what the loss of a batch is a sum over."""
        return self._learner.weight(batch)

    def loss(self, model: Any, batch: Any) -> Any:
        """Return the learner's loss."""
        return self._learner.loss(model, batch)

    def rate(self, parameter: str) -> float:
        """Return the learner's factor on the learning rate."""
        return self._learner.rate(parameter)

    def validate(self, model: Any, every: int = 1) -> dict[str, float]:
        """Return no metric."""
        return {}

    def write(self, folder: Path) -> None:
        """Write nothing."""

    def report(self, progress: Progress) -> None:
        """Note the time of a step, or of the end of an epoch.

        Raises _MeasuredError when the time is over and there are two steps.
        """
        now = time.process_time()
        if progress.validation is None:
            self._steps.append((now - self._last, self._step_tokens))
        else:
            self._epoch_ends.append(now - self._last)
        spent = sum(seconds for seconds, _ in self._steps) + sum(self._epoch_ends)
        if spent > self._enough and len(self._steps) > 1:
            raise _MeasuredError
        self._last = time.process_time()

    def seconds_per_token(self) -> float:
        """Return the mean of all steps but the first, in which memory is allocated too."""
        seconds, tokens = zip(*self._steps[1:], strict=True)
        return sum(seconds) / sum(tokens)

    def seconds_between_epochs(self) -> float:
        """Return how long it takes to keep the weights and write a checkpoint."""
        return min(self._epoch_ends, default=0.0)

"""What chose the library of float32 products, and bfloat16 attention (docs/internals/decisions.md).

Steps of trainings with MKL's and with oneDNN's float32 products, in turns, and attention by torch's
fused kernel and by two products. One thread, processor time. With AMX oneDNN rounds to bfloat16, so
its times are of another computation there.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks import translation
from benchmarks.recurrent import median_seconds_in_turns
from benchmarks.workload import SETTINGS, Row, learner, print_rows
from heed.inputs.batches import MAX_PADDED_TOKENS
from heed.models.attention import MultiHeadAttention
from heed.training import loop
from heed.training.machine import keep_memory, make_deterministic

STEPS, SKIPPED = 9, 2  # of each training, with each library; of them not counted
LIBRARIES = {"MKL": "ieee", "oneDNN": "bf16"}
TEXTS, LENGTH, SIZE, HEADS = 15, 400, 512, 4  # of attention


def compare_libraries(name: str, step: Callable[[Any], object], batches: Any) -> Row:
    """Return the row of a training whose steps take each batch twice, once with each library."""
    seconds: dict[str, list[float]] = {library: [] for library in LIBRARIES}
    for number in range(STEPS):
        batch = next(batches)
        for library in [*LIBRARIES][:: 1 if number % 2 else -1]:
            torch.backends.mkldnn.matmul.fp32_precision = LIBRARIES[library]
            started = time.thread_time()
            step(batch)
            seconds[library].append(time.thread_time() - started)
    mkl, onednn = (sum(times[SKIPPED:]) for times in seconds.values())
    note = f"{mkl:.2f} s with MKL, {onednn:.2f} s with oneDNN"
    return Row(f"{name}: time with oneDNN's products", f"{onednn / mkl:.2f}x", "", note)


def library_rows() -> list[Row]:
    """Return the rows of translators and classifiers."""
    rows, translators = [], {"output, general": {}, "input, additive": {"score": "additive"}}
    for name, changes in translators.items():
        training = translation.heed(decoder=name.partition(",")[0], **changes)
        rows.append(compare_libraries(name, training.step, training.batches))
    for attention in ("none", "multi-head"):
        h = dataclasses.replace(SETTINGS, attention=attention)
        task_learner = learner(64 * STEPS, 64, h)
        optimizer = loop._make_optimizer(task_learner, h)
        task_learner.model.train()

        def step(batches: Any, of: Any = task_learner, optimizer: Any = optimizer) -> None:
            loop._step(of, batches, optimizer, 0.0)

        batches = task_learner.steps(1, MAX_PADDED_TOKENS)
        rows.append(compare_libraries(f"classifier, attention {attention}", step, batches))
    return rows


def attention_row() -> Row:
    """Return the row of multi-head attention without its projections, forward and backward."""
    attention, times = MultiHeadAttention(SIZE, HEADS), {}
    attention.output = torch.nn.Identity()  # type: ignore[assignment]
    mask = torch.ones(TEXTS, 1, 1, LENGTH, dtype=torch.bool)
    ways: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "fused": lambda x: F.scaled_dot_product_attention(*[attention._split(x)] * 3, mask),
        "heed's": lambda x: attention.attend_projected(x, x, x, mask),
    }
    for dtype in (torch.float32, torch.bfloat16):
        states = torch.randn(TEXTS, LENGTH, SIZE, dtype=dtype)
        seconds = median_seconds_in_turns([*ways.values()], states)
        for way, value in zip(ways, seconds, strict=True):
            times[f"{way} {str(dtype).removeprefix('torch.')}"] = 1e3 * value
    note = "; ".join(f"{name} {value:.0f} ms" for name, value in times.items())
    ratio = times["fused bfloat16"] / times["heed's bfloat16"]
    metric = f"attention in bfloat16, {TEXTS} texts of {LENGTH} tokens, against the fused kernel"
    return Row(metric, f"{ratio:.1f}x", "", note)


def main() -> None:
    make_deterministic()
    keep_memory()
    print_rows([*library_rows(), attention_row()])


if __name__ == "__main__":
    main()

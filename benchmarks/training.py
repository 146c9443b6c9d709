"""Documents a second of heed's training loop against that of tutorials, and its share of GEMM.

The tutorials' loop: random batches, padded to the longest text of the batch, a bidirectional
nn.LSTM (packed, or wrong at the edges), default Adam, the allocator as it is. All with one thread
and the same texts, sizes and number of steps.
"""

import dataclasses
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.workload import (
    BATCH,
    CLASSES,
    SETTINGS,
    VOCABULARY,
    Row,
    encoded,
    gemm_flops,
    launch,
    learner,
    numbers,
    print_rows,
    useful_flops,
)
from heed.inputs.batches import Batch
from heed.training.loop import train
from heed.training.machine import keep_memory, make_deterministic, seed_everything

DOCUMENTS, VALIDATION = 1280, 64


class Tutorial(nn.Module):
    """The model as tutorials write it; `packed`: pack padded sequences for the LSTM."""

    def __init__(self, packed: bool) -> None:
        super().__init__()
        self.packed = packed
        self.embedding = nn.Embedding(VOCABULARY, SETTINGS.embedding_dim, padding_idx=0)
        self.lstm = nn.LSTM(
            SETTINGS.embedding_dim, SETTINGS.hidden_size, batch_first=True, bidirectional=True
        )
        self.linear = nn.Linear(2 * SETTINGS.hidden_size, SETTINGS.linear_size)
        self.output = nn.Linear(SETTINGS.linear_size, CLASSES)
        self.dropout = nn.Dropout(0.3)

    def forward(self, batch: Batch) -> torch.Tensor:
        states = self.embedding(batch.ids)
        if self.packed:
            packed = nn.utils.rnn.pack_padded_sequence(
                states, batch.lengths, batch_first=True, enforce_sorted=False
            )
            states = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)[0]
        else:
            states = self.lstm(states)[0]
        hidden = nn.functional.gelu(self.linear(self.dropout(states.mean(1))))
        return self.output(self.dropout(hidden))


def measure_tutorial(packed: bool, steps: int, **changes: Any) -> float:
    """Return documents a second over `steps` random batches."""
    seed_everything(1)
    torch.set_num_threads(1)
    model, texts = Tutorial(packed), encoded(DOCUMENTS, dataclasses.replace(SETTINGS, **changes))
    optimizer = torch.optim.Adam(model.parameters())
    order = np.random.default_rng(0).permutation(DOCUMENTS)
    labels = torch.from_numpy(order % CLASSES)
    started = 0.0
    for step in range(steps + 1):
        if step == 1:
            started = time.perf_counter()  # the first step is not counted
        rows = order[step * BATCH : (step + 1) * BATCH]
        loss = nn.functional.cross_entropy(model(texts.batch(rows)), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    return steps * BATCH / (time.perf_counter() - started)


def measure_heed(
    attention: str = "none", memory: bool = True, **changes: Any
) -> tuple[float, float]:
    """Return documents a second of heed's loop, and its FLOP/s without those on padding."""
    make_deterministic()
    if memory:
        keep_memory()
    seed_everything(1)
    h = dataclasses.replace(SETTINGS, attention=attention, **changes)
    task_learner = learner(DOCUMENTS, VALIDATION, h)
    times: list[float] = []
    with tempfile.TemporaryDirectory() as work:
        train(
            task_learner, h, 1, "cpu", Path(work), lambda progress: times.append(progress.seconds)
        )
    seconds = times[-2]  # of the last epoch: the first one also allocates memory
    lengths = task_learner.encoded.lengths(task_learner.train)
    return DOCUMENTS / seconds, useful_flops(lengths, h) / seconds


UNCUT = {"max_tokens": 10_000}
MEASUREMENTS = {
    "heed": lambda: measure_heed(), "plain-allocator": lambda: measure_heed(memory=False),
    "attention": lambda: measure_heed("multi-head"), "packed": lambda: (measure_tutorial(True, 3),),
    "padded": lambda: (measure_tutorial(False, 12),), "uncut": lambda: measure_heed(**UNCUT),
    "padded-uncut": lambda: (measure_tutorial(False, 6, **UNCUT),), "gemm": lambda: (gemm_flops(),),
}  # fmt: skip


def speedup_row(metric: str, rate: float, tutorial_rate: float) -> Row:
    """Return heed's documents a second over those of a tutorial's loop."""
    note = f"{rate:.1f} documents/s, {tutorial_rate:.1f} there"
    return Row(metric, f"{rate / tutorial_rate:.1f}x", ">= 4x", note)


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] in MEASUREMENTS:
        torch.set_num_threads(1)
        print(*MEASUREMENTS[sys.argv[1]]())
        return
    results = {name: numbers(launch("benchmarks.training", name)) for name in MEASUREMENTS}
    rates = {name: result[0] for name, result in results.items()}
    gemm = max(rates["gemm"], numbers(launch("benchmarks.training", "gemm"))[0])
    against = "training, against the tutorials' loop"
    print_rows(
        [
            speedup_row(f"{against}, packed", rates["heed"], rates["packed"]),
            speedup_row(f"{against}, padded (wrong at the edges)", rates["heed"], rates["padded"]),
            speedup_row("the same without a length cap", rates["uncut"], rates["padded-uncut"]),
            Row(
                "the allocator's settings", f"{rates['heed'] / rates['plain-allocator']:.2f}x", "",
                "heed's loop with and without",
            ),
            Row(
                "useful FLOPs against GEMM, baseline", f"{results['heed'][1] / gemm:.0%}", ">= 75%",
                f"GEMM {gemm / 1e9:.0f} GFLOP/s",
            ),
            Row(
                "useful FLOPs against GEMM, with attention",
                f"{results['attention'][1] / gemm:.0%}", ">= 70%",
                f"{rates['attention']:.1f} documents/s",
            ),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()

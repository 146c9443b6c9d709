"""Documents a second of heed's training loop against that of tutorials, and its share of GEMM.

The tutorials' loop: random batches, padded to the longest text of the batch, a bidirectional
nn.LSTM (packed, or wrong at the edges), default Adam. All with one thread, the same texts, sizes
and settings of the allocator, in processor time; each measurement is a process of its own, and all
are made in turns, several times.
"""

import dataclasses
import sys
import time
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
    training_seconds,
    useful_flops,
)
from heed.inputs.batches import Batch
from heed.training.machine import (
    bfloat16_instructions,
    keep_memory,
    make_deterministic,
    seed_everything,
)

DOCUMENTS, VALIDATION, ROUNDS = 1280, 64, 2
ATTENTION = "multi-head"


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
    keep_memory()
    model, texts = Tutorial(packed), encoded(DOCUMENTS, dataclasses.replace(SETTINGS, **changes))
    optimizer = torch.optim.Adam(model.parameters())
    order = np.random.default_rng(0).permutation(DOCUMENTS)
    labels = torch.from_numpy(order % CLASSES)
    started = 0.0
    for step in range(steps + 1):
        if step == 1:
            started = time.process_time()  # the first step is not counted
        rows = order[step * BATCH : (step + 1) * BATCH]
        loss = nn.functional.cross_entropy(model(texts.batch(rows)), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    return steps * BATCH / (time.process_time() - started)


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
    seconds = training_seconds(task_learner, h, "cpu")
    lengths = task_learner.encoded.lengths(task_learner.train)
    return DOCUMENTS / seconds, useful_flops(lengths, h) / seconds


UNCUT, SHORT = {"max_tokens": 10_000}, {"precision": "bfloat16"}
MEASUREMENTS = {
    "heed": lambda: measure_heed(), "packed": lambda: (measure_tutorial(True, 3),),
    "padded": lambda: (measure_tutorial(False, 12),), "attention": lambda: measure_heed(ATTENTION),
    "uncut": lambda: measure_heed(**UNCUT), "plain-allocator": lambda: measure_heed(memory=False),
    "padded-uncut": lambda: (measure_tutorial(False, 6, **UNCUT),), "gemm": lambda: (gemm_flops(),),
}  # fmt: skip
if bfloat16_instructions():
    MEASUREMENTS |= {
        "heed-bfloat16": lambda: measure_heed(**SHORT),
        "attention-bfloat16": lambda: measure_heed(ATTENTION, **SHORT),
        "gemm-bfloat16": lambda: (gemm_flops(precision="bfloat16"),),
    }


def speedup_row(metric: str, rate: float, other: float, target: str = "") -> Row:
    """Return heed's documents a second over those of a tutorial's loop."""
    note = f"{rate:.1f} documents/s, {other:.1f} there"
    return Row(metric, f"{rate / other:.1f}x", target, note)


def speedup_rows(rates: dict[str, float]) -> list[Row]:
    """Return the rows of heed's loop against the tutorials', and of its own settings."""
    against, padded = "training, against the tutorials' loop", "padded (wrong at the edges)"
    rows = []
    for name, precision in (("heed", ""), ("heed-bfloat16", ", bfloat16")):
        if name in rates:
            for loop, target in (("packed", ">= 20x" if precision else ">= 12x"), (padded, "")):
                other = rates["packed" if loop == "packed" else "padded"]
                rows.append(
                    speedup_row(f"{against}, {loop}{precision}", rates[name], other, target)
                )
    rows.append(
        speedup_row("the same without a length cap", rates["uncut"], rates["padded-uncut"], ">= 4x")
    )
    settings = rates["heed"] / rates["plain-allocator"]
    rows.append(Row("the allocator's settings", f"{settings:.2f}x", "", "heed's with and without"))
    return rows


def share_rows(rates: dict[str, float], flops: dict[str, float]) -> list[Row]:
    """Return the rows of the useful FLOPs against those of a product, in each precision."""
    rows = []
    for model, title in (("heed", "baseline"), ("attention", "with attention")):
        for precision in ("", "-bfloat16"):
            if (name := f"{model}{precision}") in flops:
                gemm = rates[f"gemm{precision}"]
                note = f"{rates[name]:.1f} documents/s, GEMM {gemm / 1e9:.0f} GFLOP/s"
                metric = f"useful FLOPs against GEMM, {title}{precision.replace('-', ', ')}"
                rows.append(Row(metric, f"{flops[name] / gemm:.0%}", "", note))
    return rows


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] in MEASUREMENTS:
        torch.set_num_threads(1)
        print(*MEASUREMENTS[sys.argv[1]]())
        return
    results: dict[str, list[list[float]]] = {name: [] for name in MEASUREMENTS}
    for _ in range(ROUNDS):
        for name, found in results.items():
            found.append(numbers(launch("benchmarks.training", name)))
    means = {name: np.mean(found, 0).tolist() for name, found in results.items()}
    rates = {name: mean[0] for name, mean in means.items()}
    flops = {name: mean[1] for name, mean in means.items() if len(mean) > 1}
    print_rows([*speedup_rows(rates), *share_rows(rates, flops)])


if __name__ == "__main__":
    main()

"""Training documents a second, heed's loop against the one of common tutorials; and the share of
the machine's own rate.

The tutorials' loop: batches at random, padded to the longest text of the batch, a bidirectional
nn.LSTM (packed, or wrong at the edges), default Adam, the allocator as it is. All with one thread,
the same texts, sizes and number of steps.
"""

import dataclasses
import subprocess
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
    learner,
    show,
    useful_flops,
)
from heed.inputs.batches import Batch
from heed.training.allocator import keep_memory
from heed.training.determinism import make_deterministic, seed_everything
from heed.training.loop import train

DOCUMENTS, VALIDATION = 1280, 64


class Tutorial(nn.Module):
    """The model as tutorials write it; `packed` says how it treats padding."""

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


def tutorial(packed: bool, steps: int, **changes: Any) -> float:
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
            started = time.perf_counter()  # the first is not counted
        rows = order[step * BATCH : (step + 1) * BATCH]
        loss = nn.functional.cross_entropy(model(texts.batch(rows)), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    return steps * BATCH / (time.perf_counter() - started)


def ours(attention: str = "none", memory: bool = True, **changes: Any) -> tuple[float, float]:
    """Return documents a second of heed's own loop, and its useful FLOP/s: multiplications on
    padding do not count.
    """
    make_deterministic(1)
    if memory:
        keep_memory()
    seed_everything(1)
    h = dataclasses.replace(SETTINGS, attention=attention, **changes)
    learning = learner(DOCUMENTS, VALIDATION, h)
    seen: list[float] = []
    with tempfile.TemporaryDirectory() as work:
        train(learning, h, 1, "cpu", Path(work), lambda progress: seen.append(progress.seconds))
    seconds = seen[-2]  # of the last epoch: in the first, memory is touched for the first time
    return DOCUMENTS / seconds, useful_flops(learning.encoded.lengths(learning.train), h) / seconds


def alone(what: str) -> list[float]:
    """Run one measurement in a process of its own: the allocator's settings stay with it."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.training", what],
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(number) for number in done.stdout.split()]


WHOLE = {"max_tokens": 10_000}
MEASUREMENTS = {
    "ours": lambda: ours(),
    "plain-allocator": lambda: ours(memory=False),
    "attention": lambda: ours("multi-head"),
    "packed": lambda: (tutorial(True, 3),),
    "padded": lambda: (tutorial(False, 12),),
    "whole": lambda: ours(**WHOLE),
    "padded-whole": lambda: (tutorial(False, 6, **WHOLE),),
    "gemm": lambda: (gemm_flops(),),
}


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] in MEASUREMENTS:
        torch.set_num_threads(1)
        print(*MEASUREMENTS[sys.argv[1]]())
        return
    found = {what: alone(what) for what in MEASUREMENTS}
    rate, gemm = found["ours"][0], max(found["gemm"][0], alone("gemm")[0])
    documents = f"{rate:.1f} documents/s"
    padded, packed = found["padded"][0], found["packed"][0]
    show(
        [
            Row(
                "training, against the tutorials' loop, packed",
                f"{rate / packed:.1f}x",
                ">= 4x",
                f"{documents}, {packed:.1f} there",
            ),
            Row(
                "training, against the tutorials' loop, padded (wrong at the edges)",
                f"{rate / padded:.1f}x",
                ">= 4x",
                f"{documents}, {padded:.1f} there",
            ),
            Row(
                "the same without a length cap",
                f"{found['whole'][0] / found['padded-whole'][0]:.1f}x",
                ">= 4x",
                f"{found['whole'][0]:.1f} documents/s, {found['padded-whole'][0]:.1f} there",
            ),
            Row(
                "the allocator's settings",
                f"{rate / found['plain-allocator'][0]:.2f}x",
                "",
                "heed's loop with and without",
            ),
            Row(
                "useful FLOPs against GEMM, baseline",
                f"{found['ours'][1] / gemm:.0%}",
                ">= 75%",
                f"GEMM {gemm / 1e9:.0f} GFLOP/s",
            ),
            Row(
                "useful FLOPs against GEMM, with attention",
                f"{found['attention'][1] / gemm:.0%}",
                ">= 70%",
                f"{found['attention'][0]:.1f} documents/s",
            ),
        ]
    )


if __name__ == "__main__":
    main()

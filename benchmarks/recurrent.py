"""The exact two-pass BiLSTM against torch's packed and padded ones, forward and backward.

In turns, in processor time, with heed's settings of the allocator for all.
"""

import statistics
import time

import torch

from benchmarks.workload import Row, print_rows
from heed.models.recurrent import Bidirectional
from heed.training.machine import keep_memory

BATCH, TIME, INPUT, HIDDEN, REPEATS = 64, 200, 128, 256, 3


def main() -> None:
    torch.set_num_threads(1)
    keep_memory()
    torch.manual_seed(0)
    lengths = torch.randint(150, TIME + 1, (BATCH,))
    lengths[0] = TIME
    inputs = torch.randn(BATCH, TIME, INPUT)
    exact = Bidirectional("lstm", INPUT, HIDDEN)
    bidirectional = torch.nn.LSTM(INPUT, HIDDEN, batch_first=True, bidirectional=True)

    def packed(x: torch.Tensor) -> torch.Tensor:
        sequence = torch.nn.utils.rnn.pack_padded_sequence(
            x, lengths, batch_first=True, enforce_sorted=False
        )
        states = bidirectional(sequence)[0]
        return torch.nn.utils.rnn.pad_packed_sequence(states, batch_first=True)[0]

    layers = (packed, lambda x: exact(x, lengths), lambda x: bidirectional(x)[0])
    seconds: tuple[list[float], ...] = ([], [], [])
    for _ in range(REPEATS + 1):
        for layer, times in zip(layers, seconds, strict=True):
            started = time.process_time()
            layer(inputs.clone().requires_grad_()).sum().backward()
            times.append(time.process_time() - started)
    # the first time is not counted
    packed_seconds, exact_seconds, padded_seconds = (statistics.median(t[1:]) for t in seconds)
    note = (
        f"{packed_seconds:.2f} s packed, {exact_seconds:.2f} s exact, {padded_seconds:.2f} s "
        "padded (wrong at the edges)"
    )
    print_rows(
        [
            Row(
                "exact BiLSTM, forward and backward, against packed",
                f"{packed_seconds / exact_seconds:.1f}x", ">= 7x", note,
            )
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()

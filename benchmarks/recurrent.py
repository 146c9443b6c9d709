"""The exact two-pass BiLSTM against torch's packed and padded ones, forward and backward, one thread: ratios in one run.

Run: python benchmarks/recurrent.py   (about a minute; docs/decisions.md and DESIGN say what it decides)
"""

import statistics
import time
from collections.abc import Callable

import torch

from heed.models.recurrent import BiLSTM

BATCH, TIME, INPUT, HIDDEN, REPEATS = 64, 200, 128, 256, 3


def seconds(step: Callable[[torch.Tensor], torch.Tensor], inputs: torch.Tensor) -> float:
    """Median seconds of a forward and backward pass, the first not counted."""
    times = []
    for _ in range(REPEATS + 1):
        fresh = inputs.clone().requires_grad_()
        start = time.perf_counter()
        step(fresh).sum().backward()
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lengths = torch.randint(150, TIME + 1, (BATCH,))
    lengths[0] = TIME
    inputs = torch.randn(BATCH, TIME, INPUT)
    exact = BiLSTM(INPUT, HIDDEN)
    both = torch.nn.LSTM(INPUT, HIDDEN, batch_first=True, bidirectional=True)

    def packed(x: torch.Tensor) -> torch.Tensor:
        sequence = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return torch.nn.utils.rnn.pad_packed_sequence(both(sequence)[0], batch_first=True)[0]

    ours = seconds(lambda x: exact(x, lengths), inputs)
    print(f"{'exact, two passes':32} {ours:8.3f} s  1.0x")
    for name, step in (("padded (wrong at the edges)", lambda x: both(x)[0]), ("packed", packed)):
        other = seconds(step, inputs)
        print(f"{name:32} {other:8.3f} s  {other / ours:.1f}x")


if __name__ == "__main__":
    main()

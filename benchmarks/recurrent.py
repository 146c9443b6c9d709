"""The exact BiLSTM against torch's packed and padded ones, and against a transformer layer; an
LSTM with its cell at each sentence's own end, against one that returns it after the padding.

Forward and backward, in turns, with heed's settings of the allocator for all: in processor time, or
in seconds for the transformer where there is a GPU.
"""

import functools
import itertools
import statistics
import time
from collections.abc import Callable, Sequence

import torch

from benchmarks.workload import Row, print_rows
from heed.models.recurrent import Bidirectional, State, padding_mask, run_layer, run_to_end
from heed.models.transformer import TransformerEncoder
from heed.training.machine import keep_memory

Layer = Callable[[torch.Tensor], torch.Tensor]
PRECISIONS = torch.float32, torch.bfloat16
BATCH, TIME, INPUT, HIDDEN, REPEATS = 64, 200, 128, 256, 3
# Of the transformer and of a BiLSTM with as many parameters: tokens of a batch, and of a text in it
SIZE, BATCH_TOKENS, LENGTHS = 256, 4096, (16, 64, 256, 1024)


def transformer_row(length: int) -> Row:
    """Time both on texts of one length in tokens."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = torch.randn(BATCH_TOKENS // length, length, SIZE, device=device)
    lengths = torch.full((len(inputs),), length, device=device)
    padding = padding_mask(lengths, length)
    recurrent = Bidirectional("lstm", SIZE, SIZE // 2).to(device)
    transformer = TransformerEncoder(SIZE, 1, 4, SIZE, 0.0).to(device)
    layers = (lambda x: recurrent(x, lengths), lambda x: transformer(x, padding))
    recurrence, attention = median_seconds_in_turns(layers, inputs)
    return Row(
        f"transformer layer against BiLSTM, {length} tokens, {device}",
        f"{recurrence / attention:.2f}x", ">= 1x",
        f"{1000 * recurrence:.1f} and {1000 * attention:.1f} ms for {BATCH_TOKENS} tokens",
    )  # fmt: skip


def cell_row(size: int, precision: torch.dtype) -> Row:
    """Time an encoder's layer on sentences of similar length, as a training reads them."""
    layer, lengths = torch.nn.LSTM(size, size, batch_first=True), torch.randint(8, 16, (BATCH,))
    lengths[0] = 15

    def read(run: Callable[..., tuple[torch.Tensor, State]]) -> Layer:
        def states_and_cell(x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", torch.bfloat16, enabled=precision == torch.bfloat16):
                states, (_, cell) = run(layer, x)
            return torch.cat([states.flatten(1), cell], 1).float()

        return states_and_cell

    layers = read(functools.partial(run_to_end, lengths=lengths)), read(run_layer)
    exact, padded = median_seconds_in_turns(layers, torch.randn(BATCH, 15, size), 20)
    return Row(
        f"LSTM with the cell at the end against after the padding, {size}, {precision}",
        f"{exact / padded:.2f}x", "<= 1.1x", f"{1000 * exact:.1f} and {1000 * padded:.1f} ms",
    )  # fmt: skip


def median_seconds_in_turns(
    layers: Sequence[Layer], inputs: torch.Tensor, repeats: int = REPEATS
) -> list[float]:
    """Return the median time of each layer, forward and backward; the first is not counted."""
    seconds: list[list[float]] = [[] for _ in layers]
    for _ in range(repeats + 1):
        for layer, times in zip(layers, seconds, strict=True):
            started = now(inputs.device.type)
            layer(inputs.clone().requires_grad_()).sum().backward()
            times.append(now(inputs.device.type) - started)
    return [statistics.median(times[1:]) for times in seconds]


def now(device: str) -> float:
    """Return the processor time, or with a GPU the time when it is done, in seconds."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


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
    packed_seconds, exact_seconds, padded_seconds = median_seconds_in_turns(layers, inputs)
    note = (
        f"{packed_seconds:.2f} s packed, {exact_seconds:.2f} s exact, {padded_seconds:.2f} s "
        "padded (wrong at the edges)"
    )
    print_rows(
        [
            Row(
                "exact BiLSTM, forward and backward, against packed",
                f"{packed_seconds / exact_seconds:.1f}x", ">= 7x", note,
            ),
            *(cell_row(*kind) for kind in itertools.product((64, 256), PRECISIONS)),
            *(transformer_row(length) for length in LENGTHS),
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()

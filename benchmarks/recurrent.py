"""The exact BiLSTM against torch's packed and padded ones, and against a transformer layer; an
LSTM with its cell at each sentence's own end, against one that returns it after the padding.

Forward and backward, in turns, with heed's settings of the allocator for all: in processor time, or
in seconds for the transformer where there is a GPU.
"""

import statistics
import time
from collections.abc import Callable, Sequence

import torch

from benchmarks.workload import Row, print_rows
from heed.models.recurrent import Bidirectional, State, padding_mask, run_layer, run_to_end
from heed.models.transformer import TransformerEncoder
from heed.training.machine import keep_memory

Layer = Callable[[torch.Tensor], torch.Tensor]
BATCH, TIME, INPUT, HIDDEN, REPEATS = 64, 200, 128, 256, 3
# Of the transformer and of a BiLSTM with as many parameters: tokens of a batch, and of a text in it
SIZE, BATCH_TOKENS, LENGTHS = 256, 4096, (16, 64, 256, 1024)


def transformer_row(length: int) -> Row:
    """Time both on texts of one length in tokens."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = torch.randn(BATCH_TOKENS // length, length, SIZE, device=device)
    lengths = torch.full((len(inputs),), length, device=device)
    padding = padding_mask(lengths, length)
    recurrent = Bidirectional(SIZE, SIZE // 2).to(device)
    transformer = TransformerEncoder(SIZE, 1, 4, SIZE, 0.0).to(device)
    layers = (lambda x: recurrent(x, lengths), lambda x: transformer(x, padding))
    recurrence, attention = median_seconds_in_turns(layers, inputs)
    return Row(
        f"transformer layer against BiLSTM, {length} tokens, {device}",
        f"{recurrence / attention:.2f}x", ">= 1x",
        f"{1000 * recurrence:.1f} and {1000 * attention:.1f} ms for {BATCH_TOKENS} tokens",
    )  # fmt: skip


def cell_row(size: int) -> Row:
    """Time an encoder's layer on sentences of similar length, as a training reads them."""
    layer, lengths = torch.nn.LSTM(size, size, batch_first=True), torch.randint(8, 16, (BATCH,))
    lengths[0] = 15

    def joined(states: torch.Tensor, end: State) -> torch.Tensor:
        return torch.cat([states.flatten(1), end[1]], 1)

    layers = (
        lambda x: joined(*run_to_end(layer, x, lengths)), lambda x: joined(*run_layer(layer, x)),
    )  # fmt: skip
    exact, padded = median_seconds_in_turns(layers, torch.randn(BATCH, 15, size), 20)
    return Row(
        f"LSTM with the cell at the end against after the padding, {size}",
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


def packed_row(batch: int, time: int, size: int, hidden: int, device: str) -> Row:
    """Time the exact two passes, and torch's layer on packed and on padded texts.

    Raises AssertionError: the packed layer has other states than the exact one."""
    torch.manual_seed(0)
    lengths = torch.randint(150, time + 1, (batch,)).sort(descending=True).values
    lengths[0] = time
    inputs, on_device = torch.randn(batch, time, size, device=device), lengths.to(device)
    exact = Bidirectional(size, hidden).to(device)
    bidirectional = torch.nn.LSTM(size, hidden, batch_first=True, bidirectional=True).to(device)
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        getattr(bidirectional, name).data.copy_(getattr(exact.forward_lstm, name).data)
        reverse = getattr(bidirectional, f"{name}_reverse")
        reverse.data.copy_(getattr(exact.backward_lstm, name).data)

    def packed(x: torch.Tensor) -> torch.Tensor:
        sequence = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        states = bidirectional(sequence)[0]
        return torch.nn.utils.rnn.pad_packed_sequence(states, batch_first=True)[0]

    with torch.no_grad():
        is_padding = padding_mask(on_device, time)
        difference = (exact(inputs, on_device) - packed(inputs))[~is_padding].abs().max()
        assert difference < 1e-4, difference
    layers = (packed, lambda x: exact(x, on_device), lambda x: bidirectional(x)[0])
    packed_seconds, exact_seconds, padded_seconds = median_seconds_in_turns(layers, inputs)
    note = (
        f"{1e3 * packed_seconds:.1f} ms packed, {1e3 * exact_seconds:.1f} ms exact, "
        f"{1e3 * padded_seconds:.1f} ms padded (wrong at the edges)"
    )
    metric = f"exact BiLSTM, H = {hidden}, forward and backward, against packed, {device}"
    target = ">= 7x" if device == "cpu" else ""
    return Row(metric, f"{packed_seconds / exact_seconds:.1f}x", target, note)


def main() -> None:
    torch.set_num_threads(1)
    keep_memory()
    transformers = (transformer_row(length) for length in LENGTHS)
    packed = packed_row(BATCH, TIME, INPUT, HIDDEN, "cpu")
    print_rows([packed, cell_row(64), cell_row(256), *transformers])


if __name__ == "__main__":
    main()

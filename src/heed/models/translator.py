"""The interface of a translator, and its loss.

`encode` reads the source once: `embed`, then `read`. `decode` reads target tokens: all of them in
training (teacher forcing), one at a time in a search, with the same result.
"""

import abc
import dataclasses
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.inputs.pairs import PairBatch
from heed.inputs.vocabulary import PADDING
from heed.models.recurrent import State


class Places:
    """Cells of a table (sentences, width), one for each row of a batch that has several a sentence.

    Made of the number of each row's sentence, (rows,), which ascends. `sentences` are those that
    have a row.
    """

    def __init__(self, rows: Tensor) -> None:
        self.sentences, sentence, counts = torch.unique_consecutive(
            rows, return_inverse=True, return_counts=True
        )
        self.shape = len(counts), int(counts.max())
        first = counts.cumsum(0) - counts
        place = torch.arange(len(rows), device=rows.device) - first[sentence]
        self.cell = sentence * self.shape[1] + place

    def spread(self, values: Tensor, empty: float = 0.0) -> Tensor:
        """Return the table (sentences, width, …) of values (rows, …), with `empty` elsewhere."""
        size = values.shape[1:]
        table = values.new_full((self.shape[0] * self.shape[1], *size), empty)
        return table.index_copy_(0, self.cell, values).view(*self.shape, *size)

    def gather(self, table: Tensor) -> Tensor:
        """Return the values (rows, …) of a table (sentences, width, …)."""
        return table.flatten(0, 1).index_select(0, self.cell)


@dataclasses.dataclass(frozen=True)
class Memory:
    """The source as a decoder reads it.

    states: (batch, source time, size)
    padding: (batch, source time), True at padding
    keys: what attention derives from the states alone, once a sentence: (batch, …) each
    places: of the decoder's batch, where several of its rows read the same sentence
    """

    states: Tensor
    padding: Tensor
    keys: State = ()
    places: Places | None = None

    def select(self, rows: Tensor, places: Places | None = None) -> "Memory":
        """Return the memory of the sentences `rows`, which may repeat: (rows,)."""
        keys = tuple(tensor[rows] for tensor in self.keys)
        return Memory(self.states[rows], self.padding[rows], keys, places)


@dataclasses.dataclass(frozen=True)
class Decoded:
    """The result of decoding target tokens, with the state after the last.

    features: what the output layer reads, (batch, target time, size)
    weights: of attention over the source, (batch, target time, source time), the mean over heads;
        rows sum to 1, 0 at padding; None without, with equal weights, and if not asked for
    """

    features: Tensor
    weights: Tensor | None
    state: State


ALIGNED = 8  # numbers of float32 in 32 bytes, which AVX2 writes at once


class _AlignedLinear(torch.autograd.Function):
    """`F.linear` of rows with a bias, whose results lie in rows of a multiple of 32 bytes.

    Where the rows are not aligned MKL writes them 1.6 times as slowly. The bytes are the same.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        width = -(-len(weight) // ALIGNED) * ALIGNED
        out = rows.new_empty(len(rows), width)[:, : len(weight)]
        return torch.addmm(bias, rows, weight.T, out=out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        (rows, weight), (gradient,) = ctx.saved_tensors, gradients
        return gradient @ weight, gradient.T @ rows, gradient.sum(0)


class Translator(nn.Module, abc.ABC):
    """An encoder, a decoder and an output layer."""

    output: nn.Linear
    output_dropout: nn.Dropout
    reads_places = False  # whether `decode` reads a memory with `places`

    @abc.abstractmethod
    def embed(self, source: Tensor) -> Tensor:
        """Return the encoder's input (batch, source time, embedding_dim) of vocabulary indices."""

    @abc.abstractmethod
    def read(self, embedded: Tensor, lengths: Tensor) -> tuple[Memory, State]:
        """Return memory and first state of an `embed`ded source of lengths (batch,), from 1."""

    def encode(self, source: Tensor, lengths: Tensor) -> tuple[Memory, State]:
        """Return memory and first state of vocabulary indices (batch, source time)."""
        return self.read(self.embed(source), lengths)

    @abc.abstractmethod
    def decode(
        self, tokens: Tensor, memory: Memory, state: State, weights: Tensor | None = None
    ) -> Decoded:
        """Return features, weights and the state after `tokens`, indices (batch, target time).

        The first is BOS; what follows EOS does not matter. `weights` (batch, target time,
        source time) are used in place of the decoder's own.
        """

    def logits(self, features: Tensor) -> Tensor:
        """Return the scores of the next token, (..., vocabulary), of features (..., size)."""
        weight, bias = self.output.weight, self.output.bias
        is_mkl = torch.backends.mkldnn.matmul.fp32_precision != "bf16"  # type: ignore[attr-defined]
        is_float32 = features.dtype == weight.dtype == torch.float32
        is_float32 &= features.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
        if not (is_mkl and is_float32 and len(weight) % ALIGNED) or bias is None:
            return self.output(features)
        found = _AlignedLinear.apply(features.flatten(0, -2), weight, bias)
        return found.unflatten(0, features.shape[:-1])

    def loss(self, batch: PairBatch, label_smoothing: float = 0.0) -> Tensor:
        """Return the cross entropy summed over the predicted tokens: those after BOS, with EOS.

        Padding never reaches the output layer, which is most of the work.
        """
        memory, state = self.encode(batch.source, batch.source_lengths)
        features = self.decode(batch.target[:, :-1], memory, state).features
        is_token = batch.target[:, 1:] != PADDING
        return F.cross_entropy(
            self.logits(self.output_dropout(features[is_token])), batch.target[:, 1:][is_token],
            label_smoothing=label_smoothing, reduction="sum",
        )  # fmt: skip

    def weights(self, batch: PairBatch) -> Tensor | None:
        """Return the attention of each predicted token, (batch, target time - 1, source time).

        None for a decoder without attention.
        """
        memory, state = self.encode(batch.source, batch.source_lengths)
        return self.decode(batch.target[:, :-1], memory, state).weights

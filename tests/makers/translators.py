"""Small translators, and sentence pairs for them."""

import dataclasses
from collections.abc import Iterable

import numpy as np
import torch
from torch import nn
from torch.nn.utils import rnn

from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import PairBatch
from heed.inputs.vocabulary import BOS, EOS, PADDING
from heed.models.attention import MultiHeadAttention
from heed.models.translator import Translator
from heed.models.translators import make_translator

SOURCE, TARGET = 30, 9  # sizes of the vocabularies
SIZES = {"embedding_dim": 5, "hidden_size": 6, "max_source_tokens": 8}
ARCHITECTURE = TranslatorArchitecture(**SIZES, dropout=0.3)
SOURCES = [[5, 6, 7, 8, 9], [4, 5], [11, 12, 13]]
TARGETS = [[4, 5], [6], [4, 4, 7, 7]]


def make_model(
    scale: float = 2.0, sizes: tuple[int, int] = (SOURCE, TARGET),
    h: TranslatorArchitecture = ARCHITECTURE, dtype: torch.dtype = torch.float64, seed: int = 0,
    **changes: object,
) -> Translator:  # fmt: skip
    """Return a translator in evaluation mode whose weights are large, so that errors are too."""
    torch.manual_seed(seed)
    model = make_translator(*sizes, dataclasses.replace(h, **changes)).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= scale
    return model


def make_pairs(
    sources: list[list[int]], targets: list[list[int]], padding: int = 0,
    target_padding: int | None = None,
) -> PairBatch:  # fmt: skip
    """Return pairs as a batch, both sides `padding` positions longer than the longest."""

    def pad(rows: list[list[int]], more: int) -> tuple[torch.Tensor, torch.Tensor]:
        lengths = torch.tensor([len(row) for row in rows])
        ids = torch.full((len(rows), int(lengths.max()) + more), PADDING)
        for row, padded in zip(rows, ids, strict=True):
            padded[: len(row)] = torch.tensor(row)
        return ids, lengths

    framed = [[BOS, *target, EOS] for target in targets]
    behind = padding if target_padding is None else target_padding
    return PairBatch(*pad(sources, padding), *pad(framed, behind), np.arange(len(sources)))


def read_packed(
    layers: Iterable[nn.Module], inputs: torch.Tensor, lengths: torch.Tensor
) -> tuple[torch.Tensor, list[tuple[torch.Tensor, ...]]]:
    """Return the states of recurrent layers, and of each its last ones, by torch's packed layers.

    A layer with children has one for each direction."""
    packing, last = {"batch_first": True, "enforce_sorted": False}, []
    for layer in layers:
        parts = [*layer.children()] or [layer]
        kind = {"batch_first": True, "bidirectional": len(parts) == 2}
        both = type(parts[0])(inputs.shape[-1], parts[0].hidden_size, **kind).to(inputs.dtype)
        packed, size = rnn.pack_padded_sequence(inputs, lengths, **packing), inputs.shape[1]
        weights = [weight for part in parts for weight in part.parameters()]
        named = dict(zip(dict(both.named_parameters()), weights, strict=True))
        states, state = torch.func.functional_call(both, named, (packed,))
        inputs, _ = rnn.pad_packed_sequence(states, batch_first=True, total_length=size)
        last.append(tuple(tensor.transpose(0, 1).flatten(1) for tensor in state))
    return inputs, last


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Give torch's multi-head attention the weights of ours."""
    projections = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.data = torch.cat([layer.weight for layer in projections]).data
    theirs.in_proj_bias.data = torch.cat([layer.bias for layer in projections]).data
    theirs.out_proj.load_state_dict(ours.output.state_dict())

"""Small translators, and sentence pairs for them."""

import dataclasses

import numpy as np
import torch
from torch import nn

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


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """Give torch's multi-head attention the weights of ours."""
    projections = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight.data = torch.cat([each.weight for each in projections]).data
    theirs.in_proj_bias.data = torch.cat([each.bias for each in projections]).data
    theirs.out_proj.load_state_dict(ours.output.state_dict())

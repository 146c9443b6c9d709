"""Attention over any score, multi-head scaled dot-product attention, and the control with uniform
weights.

Each attention has three methods: `weights(query, keys, key_padding_mask)`, `attend(query, keys,
values, key_padding_mask, weights=None)`, which returns the output and the weights behind it,
computed or given, and `forward`, the output alone, as fast as it can be had.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from heed.models.scores import SCORES, ScaledDot


def masked_softmax(scores: torch.Tensor, key_padding_mask: torch.Tensor) -> torch.Tensor:
    """Return the softmax over the keys that are no padding.

    Args:
        scores: (batch, ..., keys)
        key_padding_mask: (batch, keys), True at padding

    Returns:
        weights: as `scores`; exactly 0 at padding; rows sum to 1, or are all 0 where every key is
            padding

    """
    mask = key_padding_mask.view(len(scores), *(1,) * (scores.dim() - 2), -1)
    weights = torch.softmax(scores.masked_fill(mask, -math.inf), -1)
    return weights.nan_to_num(0.0)  # a row of -inf alone has no softmax: defined as 0


class Attention(nn.Module):
    """o_i = sum_j a_ij v_j with a_i = softmax_j(score(q_i, k_j)) (lecture 001), for any score of
    `scores.SCORES`.

    Queries may come from one sequence, and keys and values from another, as a decoder's do.
    """

    def __init__(self, score: str, query_size: int, key_size: int, positions: int) -> None:
        """Build the score; `positions` is the largest number of keys (the score `location` has a
        row for each).
        """
        super().__init__()
        self.score = SCORES[score](query_size, key_size, positions)

    def weights(
        self, query: torch.Tensor, keys: torch.Tensor, key_padding_mask: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights (batch, queries, keys); arguments as in `attend`."""
        return masked_softmax(self.score(query, keys), key_padding_mask)

    def attend(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        key_padding_mask: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what each query attends to, and how much to each key.

        Args:
            query: (batch, queries, query_size)
            keys: (batch, keys, key_size)
            values: (batch, keys, value_size)
            key_padding_mask: (batch, keys), True at padding
            weights: (batch, queries, keys), used as they are in place of those of query and keys.

        Returns:
            output: (batch, queries, value_size); 0 where every key is padding
            weights: (batch, queries, keys), those used; if not given, 0 at padding, and rows sum to
                1

        """
        if weights is None:
            weights = self.weights(query, keys, key_padding_mask)
        return weights @ values, weights

    def forward(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        key_padding_mask: torch.Tensor,
    ) -> torch.Tensor:
        """Return the output of `attend`."""
        return self.attend(query, keys, values, key_padding_mask)[0]


class SingleHeadAttention(nn.Module):
    """`Attention` with any score, in the form of `MultiHeadAttention`: one head, and no
    projections.

    Query = keys = values = states is lecture 001's self-attention with Q = V.
    """

    def __init__(self, score: str, size: int, positions: int) -> None:
        """Build the score for queries and keys of `size`, for texts of up to `positions` tokens."""
        super().__init__()
        self.attention = Attention(score, size, size, positions)

    def weights(
        self, query: torch.Tensor, keys: torch.Tensor, key_padding_mask: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights (batch, heads = 1, queries, keys)."""
        return self.attention.weights(query, keys, key_padding_mask)[:, None]

    def split_values(self, values: torch.Tensor) -> torch.Tensor:
        """Return the values that the weights are applied to, (batch, heads = 1, keys, size)."""
        return values[:, None]

    def attend(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        key_padding_mask: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return output (batch, queries, size) and weights (batch, heads = 1, queries, keys),
        computed or as given.
        """
        if weights is None:
            weights = self.weights(query, keys, key_padding_mask)
        return self.attention.attend(query, keys, values, key_padding_mask, weights.squeeze(1))[
            0
        ], weights

    def forward(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        key_padding_mask: torch.Tensor,
    ) -> torch.Tensor:
        """Return the output of `attend`."""
        return self.attention(query, keys, values, key_padding_mask)


def uniform_weights(
    query: torch.Tensor, key: torch.Tensor, key_padding_mask: torch.Tensor
) -> torch.Tensor:
    """Return equal weights over the keys that are no padding.

    Args:
        query: (batch, heads, queries, d_k)
        key: (batch, heads, keys, d_k)
        key_padding_mask: (batch, keys), True at padding

    Returns:
        weights: (batch, heads, queries, keys); rows sum to 1, or are all 0 where every key is
            padding

    """
    keep = (~key_padding_mask).to(query.dtype)
    weights = keep / keep.sum(-1, keepdim=True).clamp(min=1)
    return weights[:, None, None].expand(*query.shape[:3], key.shape[2])


class MultiHeadAttention(nn.Module):
    """Attention with the heads really split (Vaswani et al. 2017, section 3.2.2).

    Four projections of size x size with bias, as the talk's parameter counts say. Self-attention is
    the call with query = keys = values; a decoder's queries come from another sequence. With
    `uniform` the weights are equal instead of learned, all else the same: the control that tells
    what the weights themselves are worth.
    """

    def __init__(self, size: int, heads: int, uniform: bool = False) -> None:
        """Build the projections. Raises ValueError where `heads` do not divide `size`."""
        super().__init__()
        if size % heads:
            raise ValueError(f"{heads} heads do not divide the size {size}")
        self.heads, self.uniform = heads, uniform
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)
        self.output = nn.Linear(size, size)
        self.score = ScaledDot(size // heads, size // heads, 0)

    def weights(
        self, query: torch.Tensor, keys: torch.Tensor, key_padding_mask: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights (batch, heads, queries, keys); arguments as in `attend`."""
        split_query, split_keys = self._split(self.query(query)), self._split(self.key(keys))
        if self.uniform:
            return uniform_weights(split_query, split_keys, key_padding_mask)
        return masked_softmax(self.score(split_query, split_keys), key_padding_mask)

    def split_values(self, values: torch.Tensor) -> torch.Tensor:
        """Return the values that the weights are applied to: projected, by head, (batch, heads,
        keys, size / heads).
        """
        return self._split(self.value(values))

    def attend(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        key_padding_mask: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what each query attends to, and how much each head attends to each key.

        Args:
            query: (batch, queries, size)
            keys: (batch, keys, size)
            values: (batch, keys, size)
            key_padding_mask: (batch, keys), True at padding
            weights: (batch, heads, queries, keys), used as they are in place of those of query and
                keys.

        Returns:
            output: (batch, queries, size)
            weights: (batch, heads, queries, keys), those used; if not given, 0 at padding, and rows
                sum to 1

        """
        if weights is None:
            weights = self.weights(query, keys, key_padding_mask)
        return self._join(weights @ self.split_values(values)), weights

    def forward(
        self,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        key_padding_mask: torch.Tensor,
    ) -> torch.Tensor:
        """Return the output of `attend`, by one fused kernel that never writes the weights down
        (equal to 1e-6).

        Where every key is padding the output is finite and means nothing.
        """
        if self.uniform:
            return self.attend(query, keys, values, key_padding_mask)[0]
        split_query, split_keys = self._split(self.query(query)), self._split(self.key(keys))
        attended = F.scaled_dot_product_attention(
            split_query,
            split_keys,
            self.split_values(values),
            attn_mask=_attended_keys(key_padding_mask),
        )
        return self._join(attended)

    def _split(self, projected: torch.Tensor) -> torch.Tensor:
        batch, time, size = projected.shape
        # batch x heads x time x d_k
        return projected.view(batch, time, self.heads, size // self.heads).transpose(1, 2)

    def _join(self, attended: torch.Tensor) -> torch.Tensor:
        return self.output(attended.transpose(1, 2).flatten(2))  # batch x queries x size


def _attended_keys(key_padding_mask: torch.Tensor) -> torch.Tensor:
    """Return the mask of `scaled_dot_product_attention`, (batch, 1, 1, keys): True at tokens, the
    opposite of padding.

    No row is masked completely, for torch gives NaN there: an empty text attends to its first
    position, padding.
    """
    token_mask = ~key_padding_mask
    first = torch.arange(token_mask.shape[1], device=token_mask.device)[None] == 0
    return (token_mask | (~token_mask.any(-1, keepdim=True) & first))[:, None, None]

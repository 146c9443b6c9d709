"""Attention over any score, multi-head scaled dot-product self-attention, and the control with uniform weights."""

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
        weights: as `scores`; exactly 0 at padding; rows sum to 1, or are all 0 where every key is padding

    """
    mask = key_padding_mask.view(len(scores), *(1,) * (scores.dim() - 2), -1)
    weights = torch.softmax(scores.masked_fill(mask, -math.inf), -1)
    return weights.nan_to_num(0.0)  # a row of -inf alone has no softmax: defined as 0


class Attention(nn.Module):
    """o_i = sum_j a_ij v_j with a_i = softmax_j(score(q_i, k_j)) (lecture 001), for any score of `scores.SCORES`."""

    def __init__(self, score: str, query_size: int, key_size: int, positions: int) -> None:
        """Build the score; `positions` is the largest number of keys (the score `location` has a row for each)."""
        super().__init__()
        self.score = SCORES[score](query_size, key_size, positions)

    def forward(
        self, query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, key_padding_mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return what each query attends to, and how much to each key.

        Args:
            query: (batch, queries, query_size)
            keys: (batch, keys, key_size)
            values: (batch, keys, value_size)
            key_padding_mask: (batch, keys), True at padding

        Returns:
            output: (batch, queries, value_size); 0 where every key is padding
            weights: (batch, queries, keys); 0 at padding, rows sum to 1

        """
        weights = masked_softmax(self.score(query, keys), key_padding_mask)
        return weights @ values, weights


class SelfAttention(nn.Module):
    """Every state attends to every state: query = keys = values, no projections (lecture 001 with Q = V)."""

    def __init__(self, score: str, size: int, positions: int) -> None:
        """Build the score for states of `size`, for texts of up to `positions` tokens."""
        super().__init__()
        self.attention = Attention(score, size, size, positions)

    def forward(self, states: torch.Tensor, key_padding_mask: torch.Tensor) -> torch.Tensor:
        """Return the attended states (batch, time, size); `key_padding_mask` (batch, time) is True at padding."""
        return self.attention(states, states, states, key_padding_mask)[0]

    def weights(self, states: torch.Tensor, key_padding_mask: torch.Tensor) -> torch.Tensor:
        """Return the weights (batch, heads = 1, time, time) behind `forward`."""
        return self.attention(states, states, states, key_padding_mask)[1][:, None]


def uniform_weights(query: torch.Tensor, key: torch.Tensor, key_padding_mask: torch.Tensor) -> torch.Tensor:
    """Return equal weights over the keys that are no padding.

    Args:
        query: (batch, heads, queries, d_k)
        key: (batch, heads, keys, d_k)
        key_padding_mask: (batch, keys), True at padding

    Returns:
        weights: (batch, heads, queries, keys); rows sum to 1, or are all 0 where every key is padding

    """
    keep = (~key_padding_mask).to(query.dtype)
    weights = keep / keep.sum(-1, keepdim=True).clamp(min=1)
    return weights[:, None, None].expand(*query.shape[:3], key.shape[2])


class MultiHeadSelfAttention(nn.Module):
    """Self-attention with the heads really split (Vaswani et al. 2017, section 3.2.2).

    Four projections of size x size with bias, as the talk's parameter counts say. With `uniform` the weights are equal
    instead of learned, all else the same: the control that tells what the weights themselves are worth.
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

    def forward(self, states: torch.Tensor, key_padding_mask: torch.Tensor) -> torch.Tensor:
        """Return the attended states (batch, time, size); `key_padding_mask` (batch, time) is True at padding."""
        query, key, value = self._split(states)
        if self.uniform:
            attended = uniform_weights(query, key, key_padding_mask) @ value
        else:
            # Never masks a row completely (torch gives NaN there): an empty text attends to its first position, padding,
            # and what comes out is not used. `True` means "take part" here, the opposite of key_padding_mask.
            take_part = ~key_padding_mask
            take_part = take_part | (~take_part.any(-1, keepdim=True) & _first(take_part))
            attended = F.scaled_dot_product_attention(query, key, value, attn_mask=take_part[:, None, None])
        return self.output(self._join(attended))

    def weights(self, states: torch.Tensor, key_padding_mask: torch.Tensor) -> torch.Tensor:
        """Return the weights (batch, heads, time, time) behind `forward`: computed only when somebody asks."""
        query, key, _ = self._split(states)
        if self.uniform:
            return uniform_weights(query, key, key_padding_mask)
        return masked_softmax(self.score(query, key), key_padding_mask)

    def _split(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        batch, time, size = states.shape
        shape = (batch, time, self.heads, size // self.heads)
        query, key, value = (layer(states).view(shape).transpose(1, 2) for layer in (self.query, self.key, self.value))
        return query, key, value  # each batch x heads x time x d_k

    @staticmethod
    def _join(attended: torch.Tensor) -> torch.Tensor:
        return attended.transpose(1, 2).flatten(2)  # batch x time x size


def _first(mask: torch.Tensor) -> torch.Tensor:
    return torch.arange(mask.shape[1], device=mask.device)[None] == 0

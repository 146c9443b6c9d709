"""Attention with any score, multi-head scaled dot-product attention, and the uniform control.

`weights` returns how much each query attends to each key: 0 at padding, and rows sum to 1 (all 0
where every key is padding). `attend` returns the output and the weights it used, its own or as
given; `forward` the output alone, as fast as possible. Shapes, H being the heads:
    query (batch, queries, query_size); keys (batch, keys, key_size)
    values (batch, keys, value_size); output (batch, queries, value_size)
    key_padding_mask (batch, keys), True at padding
    weights (batch, H, queries, keys); without H for `Attention`, which has no heads
"""

import abc
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.models.scores import MAX_ELEMENTS, SCORES, ScaledDot


def masked_softmax(scores: Tensor, key_padding_mask: Tensor) -> Tensor:
    """Return the softmax over the keys that are not padding, of scores (batch, ..., keys)."""
    mask = key_padding_mask.view(scores.shape[0], *(1,) * (scores.dim() - 2), -1)
    weights = torch.softmax(scores.masked_fill(mask, -math.inf), -1, dtype=sum_type(scores))
    return weights.nan_to_num(0.0)  # the softmax of a row of -inf is NaN: defined as 0


def sum_type(values: Tensor) -> torch.dtype:
    """Return the type in which weights are summed: the type of `values`; for bfloat16 float32."""
    return torch.promote_types(values.dtype, torch.float32)


class AttentionLayer(nn.Module, abc.ABC):
    """The interface of every attention; shapes as in the module's docstring."""

    @abc.abstractmethod
    def weights(self, query: Tensor, keys: Tensor, key_padding_mask: Tensor) -> Tensor:
        """Return how much each query attends to each key."""

    @abc.abstractmethod
    def weigh(self, weights: Tensor, values: Tensor) -> Tensor:
        """Return the output (batch, queries, value_size) of weights over values."""

    def attend(
        self, query: Tensor, keys: Tensor, values: Tensor, key_padding_mask: Tensor,
        weights: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """Return the output and the weights used, computed or as given."""
        if weights is None:
            weights = self.weights(query, keys, key_padding_mask)
        return self.weigh(weights, values), weights

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, key_padding_mask: Tensor
    ) -> Tensor:
        """Return the output of `attend`."""
        return self.attend(query, keys, values, key_padding_mask)[0]


class Attention(AttentionLayer):
    """o_i = sum_j a_ij v_j with a_i = softmax_j(score(q_i, k_j)) (lecture 001).

    The score is any of SCORES. The output is 0 where every key is padding.
    """

    def __init__(self, score: str, query_size: int, key_size: int, positions: int) -> None:
        """Build the score; `positions` is the largest number of keys, for the score `location`."""
        super().__init__()
        self.score = SCORES[score](query_size, key_size, positions)

    def weights(self, query: Tensor, keys: Tensor, key_padding_mask: Tensor) -> Tensor:
        """Return the weights (batch, queries, keys)."""
        return masked_softmax(self.score(query, keys), key_padding_mask)

    def weigh(self, weights: Tensor, values: Tensor) -> Tensor:
        """Return the weighted sums (batch, queries, value_size)."""
        return weights @ values


class SingleHeadAttention(AttentionLayer):
    """`Attention` with the interface of `MultiHeadAttention`: one head, no projections.

    Query = keys = values = states is lecture 001's self-attention with Q = V.
    """

    def __init__(self, score: str, size: int, positions: int) -> None:
        super().__init__()
        self.attention = Attention(score, size, size, positions)

    def weights(self, query: Tensor, keys: Tensor, key_padding_mask: Tensor) -> Tensor:
        """Return the weights (batch, heads = 1, queries, keys)."""
        return self.attention.weights(query, keys, key_padding_mask)[:, None]

    def split_values(self, values: Tensor) -> Tensor:
        """Return the values that the weights are applied to, (batch, heads = 1, keys, size)."""
        return values[:, None]

    def weigh(self, weights: Tensor, values: Tensor) -> Tensor:
        """Return the weighted sums (batch, queries, size)."""
        return self.attention.weigh(weights.squeeze(1), values)


def uniform_weights(query: Tensor, key: Tensor, key_padding_mask: Tensor) -> Tensor:
    """Return equal weights over the keys that are not padding, (batch, heads, queries, keys)."""
    token_mask = (~key_padding_mask).to(sum_type(query))
    weights = token_mask / token_mask.sum(-1, keepdim=True).clamp(min=1)
    return weights[:, None, None].expand(*query.shape[:3], key.shape[2])


class MultiHeadAttention(AttentionLayer):
    """Attention whose heads each see size / heads features (Vaswani et al. 2017, section 3.2.2).

    Four projections of size x size with bias, as the talk's parameter counts say. With `uniform`
    the weights are equal: the control. Raises ValueError where `heads` do not divide `size`.
    """

    def __init__(self, size: int, heads: int, uniform: bool = False) -> None:
        super().__init__()
        if size % heads:
            raise ValueError(f"{heads} heads do not divide the size {size}")
        self.heads, self.uniform = heads, uniform
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)
        self.output = nn.Linear(size, size)
        self.score = ScaledDot(size // heads, size // heads, 0)

    def weights(self, query: Tensor, keys: Tensor, key_padding_mask: Tensor) -> Tensor:
        """Return the weights (batch, heads, queries, keys)."""
        return self.projected_weights(self.query(query), self.key(keys), key_padding_mask)

    def split_values(self, values: Tensor) -> Tensor:
        """Return the projected values of each head, (batch, heads, keys, size / heads)."""
        return self._split(self.value(values))

    def weigh(self, weights: Tensor, values: Tensor) -> Tensor:
        """Return the output (batch, queries, size) of weights over values."""
        return self.weigh_projected(weights, self.value(values))

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, key_padding_mask: Tensor
    ) -> Tensor:
        """Return the output of `attend` (equal to 1e-6), by one fused kernel without the weights.

        Where every key is padding the output is finite and has no meaning.
        """
        if self.uniform:
            return self.attend(query, keys, values, key_padding_mask)[0]
        return self.attend_projected(
            self.query(query), self.key(keys), self.value(values), _attended_keys(key_padding_mask)
        )

    def project(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return the projected keys and values of states, each (batch, keys, size)."""
        return self.key(states), self.value(states)

    def projected_weights(self, query: Tensor, keys: Tensor, key_padding_mask: Tensor) -> Tensor:
        """Return the weights (batch, heads, queries, keys) of projected queries and keys."""
        split_query, split_keys = self._split(query), self._split(keys)
        if self.uniform:
            return uniform_weights(split_query, split_keys, key_padding_mask)
        return masked_softmax(self.score(split_query, split_keys), key_padding_mask)

    def attend_projected(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> Tensor:
        """Return the output (batch, queries, size) of learned weights, by one fused kernel.

        All are projected. `mask` is True where a query attends to a key, broadcast to (batch,
        heads, queries, keys); None: everywhere. A query without any key gives NaN.
        """
        parts = self._split(query), self._split(keys), self._split(values)
        pairs = parts[0].shape[:3].numel() * keys.shape[1]
        if query.dtype == torch.bfloat16 and query.device.type == "cpu" and pairs <= MAX_ELEMENTS:
            return self._join(_attend_by_products(self.score, *parts, mask))
        return self._join(F.scaled_dot_product_attention(*parts, attn_mask=mask))

    def weigh_projected(self, weights: Tensor, values: Tensor) -> Tensor:
        """Return the output (batch, queries, size) of weights over projected values.

        Weights are (batch, heads or 1, queries, keys).
        """
        return self._join(weights @ self._split(values))

    def _split(self, projected: Tensor) -> Tensor:
        batch, time, size = projected.shape
        # batch x heads x time x d_k
        return projected.view(batch, time, self.heads, size // self.heads).transpose(1, 2)

    def _join(self, attended: Tensor) -> Tensor:
        return self.output(attended.transpose(1, 2).flatten(2))  # batch x queries x size


def _attend_by_products(
    score: ScaledDot, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
) -> Tensor:
    """Return the fused kernel's output by two products, which oneDNN computes in bfloat16.

    On CPUs the kernel does not multiply in bfloat16: forward and backward take twice as long.
    """
    scores = score(query, keys)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.softmax(scores, -1, dtype=sum_type(scores)).to(values.dtype) @ values


def causal_mask(query: Tensor, keys: Tensor) -> Tensor:
    """Return the mask (queries, keys), True where a query attends to a key: none after its own.

    The queries are the last of the positions that have keys (Vaswani et al. 2017, section 3.2.3).
    """
    queries, positions = query.shape[1], keys.shape[1]
    mask = torch.ones(queries, positions, dtype=torch.bool, device=query.device)
    return mask.tril(positions - queries)


def _attended_keys(key_padding_mask: Tensor) -> Tensor:
    """Return the mask (batch, 1, 1, keys), True at tokens; of an empty text at its first position.

    torch returns NaN for a row that is masked completely.
    """
    token_mask = ~key_padding_mask
    is_first = torch.arange(token_mask.shape[1], device=token_mask.device)[None] == 0
    return (token_mask | (~token_mask.any(-1, keepdim=True) & is_first))[:, None, None]

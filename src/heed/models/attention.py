"""Attention: its scores, with any of them, multi-head scaled dot-product, and the uniform control.

Every attention has three methods.

`weights(query, keys, key_padding_mask)` returns how much each query attends to each key: 0 at
padding, and rows sum to 1 (all 0 where every key is padding).

`attend(query, keys, values, key_padding_mask, weights=None)` returns the output and the weights it
used. Given weights are used as they are, in place of those of query and keys.

`forward(query, keys, values, key_padding_mask)` returns the output alone, as fast as possible.

Shapes, H being the heads:
    query: (batch, queries, query_size)
    keys: (batch, keys, key_size)
    values: (batch, keys, value_size)
    key_padding_mask: (batch, keys), True at padding
    weights: (batch, H, queries, keys); without H for `Attention`, which has no heads
    output: (batch, queries, value_size)

Every score maps `query` (..., queries, query_size) and `keys` (..., keys, key_size) to scores (...,
queries, keys), before masking and softmax. It does so in two steps, since a decoder asks for the
scores of the same keys once a target word: `project_keys` computes what depends on the keys alone,
`compare` the rest. `positions` is the largest number of keys; only `location` uses it.

Sources: [B] Bahdanau, Cho, Bengio 2015, arxiv.org/abs/1409.0473; [L] Luong, Pham, Manning 2015,
arxiv.org/abs/1508.04025, section 3.1; [V] Vaswani et al. 2017, arxiv.org/abs/1706.03762,
equation 1.
"""

import abc
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

MAX_ELEMENTS = 2**26  # of a tensor (queries, keys, inner) held at once: 256 MiB in float32


class Score(nn.Module, abc.ABC):
    """How well each query matches each key; shapes as in the module's docstring."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build the parameters, for queries and keys of these sizes."""
        super().__init__()

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return what the score needs of the keys: (..., keys, inner), here the keys themselves."""
        return keys

    @abc.abstractmethod
    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys) of queries and the result of `project_keys`."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return self.compare(query, self.project_keys(keys))


class Dot(Score):
    """score = q . k, without parameters (lecture 001; [L] `dot`)."""

    name = "dot"

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Raise ValueError if the sizes differ."""
        super().__init__(query_size, key_size, positions)
        if query_size != key_size:
            raise ValueError(
                f"{self.name}: query and keys must have one size, found {query_size} and {key_size}"
            )

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return query @ projected.transpose(-2, -1)


class ScaledDot(Dot):
    """score = (q . k) / sqrt(d_k), with d_k the size of a key ([V] equation 1)."""

    name = "scaled-dot"

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return super().compare(query, projected) / math.sqrt(projected.shape[-1])


class General(Score):
    """score = q W k, multiplicative attention (lecture 001; [L] `general`)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size, key_size)."""
        super().__init__(query_size, key_size, positions)
        self.weight = nn.Linear(query_size, key_size, bias=False)

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return self.weight(query) @ projected.transpose(-2, -1)


class Additive(Score):
    """score = u . tanh(W1 q + W2 k), without bias (lecture 001; [B] appendix A.1.2).

    The inner size is that of the keys.
    """

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W1 (query_size, key_size), W2 (key_size, key_size), u (key_size)."""
        super().__init__(query_size, key_size, positions)
        self.query = nn.Linear(query_size, key_size, bias=False)
        self.key = nn.Linear(key_size, key_size, bias=False)
        self.output = nn.Linear(key_size, 1, bias=False)

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return W2 k (..., keys, key_size)."""
        return self.key(keys)

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return _tanh_sum(self.query(query), projected, self.output)


class Concat(Score):
    """score = v . tanh(W [q; k]) (the talk's table after [B]; [L] `concat`).

    W is applied to queries and keys apart and the results are added: the same function, without a
    concatenation for every pair. Without the output vector v (lecture 004) W has one row, and every
    score is between -1 and 1.
    """

    def __init__(
        self, query_size: int, key_size: int, positions: int, output_vector: bool = True
    ) -> None:
        """Build W (query_size + key_size, key_size or 1) and v (key_size)."""
        super().__init__(query_size, key_size, positions)
        self.query_size = query_size
        self.weight = nn.Linear(query_size + key_size, key_size if output_vector else 1, bias=False)
        self.output = nn.Linear(key_size, 1, bias=False) if output_vector else nn.Identity()

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return W k, W's half for keys, (..., keys, key_size or 1)."""
        return keys @ self.weight.weight[:, self.query_size :].T

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return _tanh_sum(query @ self.weight.weight[:, : self.query_size].T, projected, self.output)


class ConcatTanh(Concat):
    """score = tanh(W [q; k]) with one row in W, without an output vector (lecture 004)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size + key_size, 1)."""
        super().__init__(query_size, key_size, positions, output_vector=False)


class Location(Score):
    """score = (W q)_i for a key at position i, whatever the key is ([L] `location`)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size, positions)."""
        super().__init__(query_size, key_size, positions)
        self.weight = nn.Linear(query_size, positions, bias=False)

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys).

        Raises ValueError for more keys than positions.
        """
        count = projected.shape[-2]
        if count > self.weight.out_features:
            raise ValueError(
                f"location-based attention over {self.weight.out_features} positions was given "
                f"{count}"
            )
        scores = query @ self.weight.weight[:count].T
        return scores.expand(*projected.shape[:-2], *scores.shape[-2:])


class Uniform(Score):
    """score = 0 for every key: equal weights, the control of what learned ones are worth."""

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return query.new_zeros(*query.shape[:-1], projected.shape[-2])


SCORES: dict[str, type[Score]] = {
    "additive": Additive,
    "concat": Concat,
    "concat-tanh": ConcatTanh,
    "location": Location,
    "general": General,
    "dot": Dot,
    "scaled-dot": ScaledDot,
    "uniform": Uniform,
}


def _tanh_sum(query: Tensor, keys: Tensor, output: nn.Module) -> Tensor:
    """Return output(tanh(query + keys)) for every pair of a query and a key, (..., queries, keys).

    That takes a tensor (..., queries, keys, inner). If it would be larger than MAX_ELEMENTS it is
    computed in chunks of queries, and again in the backward pass instead of being stored.

    Args:
        query: (..., queries, inner)
        keys: (..., keys, inner)
        output: maps (..., inner) to (..., 1), or is the identity where inner is 1.
    """

    def scores(queries: Tensor, keys: Tensor) -> Tensor:
        return output(torch.tanh(queries[..., :, None, :] + keys[..., None, :, :])).squeeze(-1)

    count = math.ceil(query.shape[-2] * keys.numel() / MAX_ELEMENTS)
    if count <= 1:
        return scores(query, keys)
    chunks = query.chunk(count, -2)
    return torch.cat([checkpoint(scores, chunk, keys, use_reentrant=False) for chunk in chunks], -2)


def masked_softmax(scores: Tensor, key_padding_mask: Tensor) -> Tensor:
    """Return the softmax over the keys that are not padding.

    Args:
        scores: (batch, ..., keys)
        key_padding_mask: (batch, keys), True at padding

    Returns:
        weights: as `scores`; exactly 0 at padding; rows sum to 1, or are all 0 where every key is
            padding
    """
    mask = key_padding_mask.view(len(scores), *(1,) * (scores.dim() - 2), -1)
    weights = torch.softmax(scores.masked_fill(mask, -math.inf), -1)
    return weights.nan_to_num(0.0)  # the softmax of a row of -inf is NaN: defined as 0


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

    The score is any of SCORES. Queries may come from one sequence, and keys and values from
    another, as in a decoder. The output is 0 where every key is padding.
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
        """Build the score for queries and keys of `size`, for texts of up to `positions` tokens."""
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
    """Return equal weights over the keys that are not padding.

    Args:
        query: (batch, heads, queries, d_k)
        key: (batch, heads, keys, d_k)
        key_padding_mask: (batch, keys), True at padding

    Returns:
        weights: (batch, heads, queries, keys); rows sum to 1, or are all 0 where every key is
            padding
    """
    token_mask = (~key_padding_mask).to(query.dtype)
    weights = token_mask / token_mask.sum(-1, keepdim=True).clamp(min=1)
    return weights[:, None, None].expand(*query.shape[:3], key.shape[2])


class MultiHeadAttention(AttentionLayer):
    """Attention whose heads each see size / heads features (Vaswani et al. 2017, section 3.2.2).

    Four projections of size x size with bias, as the talk's parameter counts say. Self-attention is
    the call with query = keys = values; a decoder's queries come from another sequence. With
    `uniform` the weights are equal instead of learned and all else is the same: a control for what
    learned weights add.
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
        """Return the projected keys and values of states, each (batch, keys, size).

        They depend on no query, so a decoder makes them once a sentence, or once a token.
        """
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

        Args:
            query, keys, values: projected
            mask: True where a query attends to a key, broadcast to (batch, heads, queries, keys);
                None: everywhere. A query without any key gives NaN.
        """
        attended = F.scaled_dot_product_attention(
            self._split(query), self._split(keys), self._split(values), attn_mask=mask
        )
        return self._join(attended)

    def weigh_projected(self, weights: Tensor, values: Tensor) -> Tensor:
        """Return the output (batch, queries, size) of weights over projected values.

        The weights are (batch, heads, queries, keys), or with 1 for heads that all have the same.
        """
        return self._join(weights @ self._split(values))

    def _split(self, projected: Tensor) -> Tensor:
        batch, time, size = projected.shape
        # batch x heads x time x d_k
        return projected.view(batch, time, self.heads, size // self.heads).transpose(1, 2)

    def _join(self, attended: Tensor) -> Tensor:
        return self.output(attended.transpose(1, 2).flatten(2))  # batch x queries x size


def causal_mask(query: Tensor, keys: Tensor) -> Tensor:
    """Return the mask (queries, keys), True where a query attends to a key: none after its own.

    The queries are the last of the positions that have keys (Vaswani et al. 2017, section 3.2.3).

    Args:
        query: (batch, queries, size)
        keys: (batch, keys, size)
    """
    queries, positions = query.shape[1], keys.shape[1]
    mask = torch.ones(queries, positions, dtype=torch.bool, device=query.device)
    return mask.tril(positions - queries)


def _attended_keys(key_padding_mask: Tensor) -> Tensor:
    """Return the mask (batch, 1, 1, keys) for all queries, True at tokens.

    torch returns NaN for a row that is masked completely. So an empty text attends to its first
    position, which is padding.
    """
    token_mask = ~key_padding_mask
    is_first = torch.arange(token_mask.shape[1], device=token_mask.device)[None] == 0
    return (token_mask | (~token_mask.any(-1, keepdim=True) & is_first))[:, None, None]

"""Attention scores: how well each query matches each key. One class for each of the lectures.

Every score maps `query` (..., queries, query_size) and `keys` (..., keys, key_size) to scores (...,
queries, keys), before masking and softmax. `positions` is the largest number of keys; only
`location` uses it. Sources: [B] Bahdanau, Cho, Bengio 2015,
arxiv.org/abs/1409.0473; [L] Luong, Pham, Manning 2015, arxiv.org/abs/1508.04025, section 3.1; [V]
Vaswani et al. 2017, arxiv.org/abs/1706.03762, equation 1.
"""

import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

MAX_ELEMENTS = 2**26  # of a tensor (queries, keys, inner) held at once: 256 MiB in float32


class Dot(nn.Module):
    """score = q . k, without parameters (lecture 001; [L] `dot`)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Raise ValueError if the sizes differ."""
        super().__init__()
        _check_same_size("dot", query_size, key_size)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        return query @ keys.transpose(-2, -1)


class ScaledDot(nn.Module):
    """score = (q . k) / sqrt(d_k), with d_k the size of a key ([V] equation 1)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Raise ValueError if the sizes differ."""
        super().__init__()
        _check_same_size("scaled-dot", query_size, key_size)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        return query @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])


class General(nn.Module):
    """score = q W k, multiplicative attention (lecture 001; [L] `general`)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size, key_size)."""
        super().__init__()
        self.weight = nn.Linear(query_size, key_size, bias=False)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        return self.weight(query) @ keys.transpose(-2, -1)


class Additive(nn.Module):
    """score = u . tanh(W1 q + W2 k), without bias (lecture 001; [B] appendix A.1.2).

    The inner size is that of the keys.
    """

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W1 (query_size, key_size), W2 (key_size, key_size), u (key_size)."""
        super().__init__()
        self.query = nn.Linear(query_size, key_size, bias=False)
        self.key = nn.Linear(key_size, key_size, bias=False)
        self.output = nn.Linear(key_size, 1, bias=False)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        return _tanh_sum(self.query(query), self.key(keys), self.output)


class Concat(nn.Module):
    """score = v . tanh(W [q; k]) (the talk's table after [B]; [L] `concat`).

    W is applied to queries and keys apart and the results are added: the same function, without a
    concatenation for every pair. Without the output vector v (lecture 004) W has one row, and every
    score is between -1 and 1.
    """

    def __init__(
        self, query_size: int, key_size: int, positions: int, output_vector: bool = True
    ) -> None:
        """Build W (query_size + key_size, key_size or 1) and v (key_size)."""
        super().__init__()
        self.query_size = query_size
        self.weight = nn.Linear(query_size + key_size, key_size if output_vector else 1, bias=False)
        self.output = nn.Linear(key_size, 1, bias=False) if output_vector else nn.Identity()

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        w_query, w_key = self.weight.weight.split([self.query_size, keys.shape[-1]], -1)
        return _tanh_sum(query @ w_query.T, keys @ w_key.T, self.output)


class ConcatTanh(Concat):
    """score = tanh(W [q; k]) with one row in W, without an output vector (lecture 004)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size + key_size, 1)."""
        super().__init__(query_size, key_size, positions, output_vector=False)


class Location(nn.Module):
    """score = (W q)_i for a key at position i, whatever the key is ([L] `location`)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size, positions)."""
        super().__init__()
        self.weight = nn.Linear(query_size, positions, bias=False)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring.

        Raises ValueError for more keys than positions.
        """
        count = keys.shape[-2]
        if count > self.weight.out_features:
            raise ValueError(
                f"location-based attention over {self.weight.out_features} positions was given "
                f"{count}"
            )
        scores = query @ self.weight.weight[:count].T
        return scores.expand(*keys.shape[:-2], *scores.shape[-2:])


SCORES: dict[str, type[nn.Module]] = {
    "additive": Additive,
    "concat": Concat,
    "concat-tanh": ConcatTanh,
    "location": Location,
    "general": General,
    "dot": Dot,
    "scaled-dot": ScaledDot,
}


def _check_same_size(name: str, query_size: int, key_size: int) -> None:
    if query_size != key_size:
        raise ValueError(
            f"{name}: query and keys must have one size, found {query_size} and {key_size}"
        )


def _tanh_sum(query: torch.Tensor, keys: torch.Tensor, output: nn.Module) -> torch.Tensor:
    """Return output(tanh(query + keys)) for every pair of a query and a key, (..., queries, keys).

    That takes a tensor (..., queries, keys, inner). If it would be larger than MAX_ELEMENTS it is
    computed in chunks of queries, and again in the backward pass instead of being stored.

    Args:
        query: (..., queries, inner)
        keys: (..., keys, inner)
        output: maps (..., inner) to (..., 1), or is the identity where inner is 1.

    """

    def scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return output(torch.tanh(queries[..., :, None, :] + keys[..., None, :, :])).squeeze(-1)

    count = math.ceil(query.shape[-2] * keys.numel() / MAX_ELEMENTS)
    if count <= 1:
        return scores(query, keys)
    chunks = query.chunk(count, -2)
    return torch.cat([checkpoint(scores, chunk, keys, use_reentrant=False) for chunk in chunks], -2)

"""Attention scores: how well each query fits each key.

One class a score of the lectures, all of one form.

Every score maps `query` (..., queries, query_size) and `keys` (..., keys, key_size) to scores (...,
queries, keys), before masking and softmax. Sources: [B] Bahdanau, Cho, Bengio 2015,
arxiv.org/abs/1409.0473; [L] Luong, Pham, Manning 2015, arxiv.org/abs/1508.04025, section 3.1; [V]
Vaswani et al. 2017, arxiv.org/abs/1706.03762, equation 1.
"""

import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

ELEMENTS = 2**26  # of the sum inside a tanh that are held at once: 256 MiB in float32


class Dot(nn.Module):
    """score = q . k: both of one size, nothing to learn (lecture 001; [L] `dot`)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Raise ValueError where the sizes differ.

        `positions` is not used: all scores are made alike.
        """
        super().__init__()
        _same("dot", query_size, key_size)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        return query @ keys.transpose(-2, -1)


class ScaledDot(nn.Module):
    """score = q .

    k / sqrt(d_k), d_k the size of a key: divided, not multiplied ([V] equation 1).
    """

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Raise ValueError where the sizes differ. `positions` is not used."""
        super().__init__()
        _same("scaled-dot", query_size, key_size)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        return query @ keys.transpose(-2, -1) / math.sqrt(keys.shape[-1])


class General(nn.Module):
    """score = q W k, multiplicative attention (lecture 001; [L] `general`)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size, key_size). `positions` is not used."""
        super().__init__()
        self.weight = nn.Linear(query_size, key_size, bias=False)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        return self.weight(query) @ keys.transpose(-2, -1)


class Additive(nn.Module):
    """score = u .

    tanh(W1 q + W2 k) (lecture 001; [B] appendix A.1.2), without bias. The inner size is the key's.
    """

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W1 (query_size, key_size), W2 (key_size, key_size), u (key_size).

        `positions` is not used.
        """
        super().__init__()
        self.query = nn.Linear(query_size, key_size, bias=False)
        self.key = nn.Linear(key_size, key_size, bias=False)
        self.output = nn.Linear(key_size, 1, bias=False)

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        return _tanh_sum(self.query(query), self.key(keys), self.output)


class Concat(nn.Module):
    """score = v .

    tanh(W [q; k]) (the talk's table after [B]; [L] `concat`); without `v` (lecture 004): tanh(W [q;
    k]).

    W is applied to the two halves of the concatenation and the results are added: the same
    function, without writing down every pair. Without the output vector W has one row, and every
    score stands between -1 and 1.
    """

    def __init__(
        self, query_size: int, key_size: int, positions: int, output_vector: bool = True
    ) -> None:
        """Build W (query_size + key_size, key_size or 1) and v (key_size).

        `positions` is not used.
        """
        super().__init__()
        self.query_size = query_size
        self.weight = nn.Linear(query_size + key_size, key_size if output_vector else 1, bias=False)
        self.output = nn.Linear(key_size, 1, bias=False) if output_vector else nn.Identity()

    def forward(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Return the scores; shapes as in the module's docstring."""
        of_query, of_key = self.weight.weight.split([self.query_size, keys.shape[-1]], -1)
        return _tanh_sum(query @ of_query.T, keys @ of_key.T, self.output)


class ConcatTanh(Concat):
    """score = tanh(W [q; k]) with one row in W: lecture 004's score, without an output vector."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size + key_size, 1). `positions` is not used."""
        super().__init__(query_size, key_size, positions, output_vector=False)


class Location(nn.Module):
    """score of position i = (W q)_i: it depends on where a key stands, not on what it is ([L]
    `location`).
    """

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build W (query_size, positions): no text may have more than `positions` keys."""
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


def _same(name: str, query_size: int, key_size: int) -> None:
    if query_size != key_size:
        raise ValueError(
            f"{name}: query and keys must have one size, found {query_size} and {key_size}"
        )


def _tanh_sum(query: torch.Tensor, keys: torch.Tensor, output: nn.Module) -> torch.Tensor:
    """Return output(tanh(query + keys)) for every pair: (..., queries, inner) and (..., keys,
    inner) to (..., queries, keys).

    Every pair has a vector of its own here. Where all at once would be too large they are made
    query by query, and again in the backward pass in place of being kept.
    """

    def scores(part: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return output(torch.tanh(part[..., :, None, :] + keys[..., None, :, :])).squeeze(-1)

    parts = math.ceil(query.shape[-2] * keys.numel() / ELEMENTS)
    if parts <= 1:
        return scores(query, keys)
    chunks = query.chunk(parts, -2)
    return torch.cat([checkpoint(scores, chunk, keys, use_reentrant=False) for chunk in chunks], -2)

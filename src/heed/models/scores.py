"""Attention scores of the lectures, and a control: how well each query matches each key.

A score maps `query` (..., queries, query_size) and `keys` (..., keys, key_size) to (..., queries,
keys), before masking and softmax, in two steps: `project_keys` computes what depends on the keys
alone, once, and `compare` the rest. `positions` is the largest number of keys, for `location`.
Sources: [B] Bahdanau et al. 2015, arxiv.org/abs/1409.0473; [L] Luong et al. 2015,
arxiv.org/abs/1508.04025, section 3.1; [V] Vaswani et al. 2017, arxiv.org/abs/1706.03762, eq. 1.
"""

import abc
import math

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

MAX_ELEMENTS = 2**26  # of a tensor (queries, keys, inner) held at once: 256 MiB in float32


class Score(nn.Module, abc.ABC):
    """How well each query matches each key; shapes as in the module's docstring."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        """Build the parameters, for queries and keys of these sizes."""
        super().__init__()

    def project_keys(self, keys: Tensor) -> Tensor:
        """Return the projected keys (..., keys, inner), here the keys themselves."""
        return keys

    @abc.abstractmethod
    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys) of queries and the result of `project_keys`."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return self.compare(query, self.project_keys(keys))


class Dot(Score):
    """score = q . k, no parameters; queries have a key's size (lecture 001; [L] `dot`)."""

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return query @ projected.transpose(-2, -1)


class ScaledDot(Dot):
    """score = (q . k) / sqrt(d_k), with d_k the size of a key ([V] equation 1)."""

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return super().compare(query, projected) / math.sqrt(projected.shape[-1])


class General(Score):
    """score = q W k, W (query_size, key_size), multiplicative (lecture 001; [L] `general`)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        super().__init__(query_size, key_size, positions)
        self.weight = nn.Linear(query_size, key_size, bias=False)

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys)."""
        return self.weight(query) @ projected.transpose(-2, -1)


class Additive(Score):
    """score = u . tanh(W1 q + W2 k), u of a key's size (lecture 001; [B] appendix A.1.2)."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
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
        super().__init__(query_size, key_size, positions, output_vector=False)


class Location(Score):
    """score = (W q)_i for a key at position i < positions, whatever it is ([L])."""

    def __init__(self, query_size: int, key_size: int, positions: int) -> None:
        super().__init__(query_size, key_size, positions)
        self.weight = nn.Linear(query_size, positions, bias=False)

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return the scores (..., queries, keys). ValueError for more keys than positions."""
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


class Diagonal(Score):
    """Weight 1 for the key at the query's own position, or the last key; a query is its position.

    The control of weights that are fixed by position: a translation word by word, in order.
    """

    def compare(self, query: Tensor, projected: Tensor) -> Tensor:
        """Return 0 for the key at the position of a query (..., queries, 1), 1e4 less a step."""
        places = torch.arange(projected.shape[-2], device=query.device)
        return (-1e4 * (places - query).abs()).to(projected.dtype)


SCORES: dict[str, type[Score]] = {
    "additive": Additive, "concat": Concat, "concat-tanh": ConcatTanh, "location": Location,
    "general": General, "dot": Dot, "scaled-dot": ScaledDot, "uniform": Uniform,
}  # fmt: skip


def _tanh_sum(query: Tensor, keys: Tensor, output: nn.Module) -> Tensor:
    """Return output(tanh(query + keys)) for every pair of a query and a key, (..., queries, keys).

    A tensor (..., queries, keys, inner) of more than MAX_ELEMENTS is computed in chunks of queries,
    and again in the backward pass instead of being stored.
    """

    def scores(queries: Tensor, keys: Tensor) -> Tensor:
        return output(torch.tanh(queries[..., :, None, :] + keys[..., None, :, :])).squeeze(-1)

    count = math.ceil(query.shape[-2] * keys.numel() / MAX_ELEMENTS)
    if count <= 1:
        return scores(query, keys)
    chunks = query.chunk(count, -2)
    return torch.cat([checkpoint(scores, chunk, keys, use_reentrant=False) for chunk in chunks], -2)

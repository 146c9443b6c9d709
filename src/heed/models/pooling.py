"""From states to one vector a text. Each pooling also says how much each position counted.

All take states (batch, time, size), lengths (batch,) and padding (batch, time), True at padding.
`forward` returns vectors (batch, size), which are 0 for an empty text; `weights` returns (batch,
time), rows sum to 1, 0 at padding; `pool` returns both, and accepts given weights.
"""

import abc

import torch
import torch.nn.functional as F
from torch import nn

from heed.files import HeedError
from heed.models.attention import Attention, masked_softmax


class Pooling(nn.Module, abc.ABC):
    """What every pooling can do; shapes as in the module's docstring."""

    not_a_sum = ""  # why the vector is no weighted sum of the states, where it is none

    @abc.abstractmethod
    def forward(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the pooled vectors (batch, size)."""

    @abc.abstractmethod
    def weights(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return how much each position counts (batch, time)."""

    def pool(
        self,
        states: torch.Tensor,
        lengths: torch.Tensor,
        padding: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the pooled vectors (batch, size) and how much each position counted (batch, time),
        computed or as given.

        Raises:
            HeedError: weights are given to a pooling that is no weighted sum of the states.

        """
        if weights is not None:
            self.check_is_sum()
        return self(states, lengths, padding), self.weights(states, lengths, padding)

    def check_is_sum(self) -> None:
        """Raise HeedError where the vector is no weighted sum of the states."""
        if self.not_a_sum:
            raise HeedError(
                f"{self.not_a_sum}. Poolings that are a weighted sum: mean, attention, "
                "max-attention"
            )


class WeightedPooling(Pooling):
    """A pooling whose vector is sum_t a_t h_t: the weights a are all that one of these has of its
    own.
    """

    def forward(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the pooled vectors; shapes as in the module's docstring."""
        return self.pool(states, lengths, padding)[0]

    def pool(
        self,
        states: torch.Tensor,
        lengths: torch.Tensor,
        padding: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the pooled vectors and the weights behind them, computed or as given."""
        if weights is None:
            weights = self.weights(states, lengths, padding)
        return (weights[:, None] @ states).squeeze(1), weights


class Last(Pooling):
    """The last state of each direction: the forward half at the last token, the backward half at
    the first.

    Weights: half on the last token and half on the first.
    """

    not_a_sum = (
        "pooling `last` takes half of its features from the last token and half from the first: "
        "no one weight a token "
        "makes that vector"
    )

    def forward(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the pooled vectors; shapes as in the module's docstring."""
        half = states.shape[-1] // 2
        at = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, half)
        pooled = torch.cat([states[..., :half].gather(1, at).squeeze(1), states[:, 0, half:]], -1)
        return pooled.masked_fill((lengths == 0)[:, None], 0.0)

    def weights(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights; shapes as in the module's docstring."""
        ends = torch.stack([(lengths - 1).clamp(min=0), torch.zeros_like(lengths)], 1)
        return F.one_hot(ends, states.shape[1]).to(states.dtype).mean(1).masked_fill(padding, 0.0)


class Mean(WeightedPooling):
    """The mean over the tokens: attention with uniform weights. Weights: equal."""

    def weights(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights; shapes as in the module's docstring."""
        return (~padding).to(states.dtype) / lengths.clamp(min=1)[:, None]


class Max(Pooling):
    """The maximum over the tokens, feature by feature.

    Weights: the share of features whose maximum stands there.
    """

    not_a_sum = (
        "pooling `max` takes each feature from a token of its own: no one weight a token makes "
        "that vector"
    )

    def forward(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the pooled vectors; shapes as in the module's docstring."""
        return _maximum(states, lengths, padding)

    def weights(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights; shapes as in the module's docstring."""
        winner = states.masked_fill(padding[..., None], -torch.inf).argmax(1)  # batch x features
        weights = F.one_hot(winner, states.shape[1]).to(states.dtype).mean(1)
        return weights.masked_fill(padding, 0.0)


class LearnedQuery(WeightedPooling):
    """Attention with a query that is a parameter of the model (lectures 001 and 003; Yang et al.
    2016, equations 5-7).

    With the score `additive` this is lecture 003's u_t = tanh(W2 h_t + b), a = softmax(u . u_t):
    the query reaches the score as b = W1 q, and the lecture's weight vector w is the score's u.
    """

    def __init__(self, score: str, size: int, positions: int) -> None:
        """Build the query (size,) and its score, for texts of up to `positions` tokens."""
        super().__init__()
        self.query = nn.Parameter(torch.empty(size).normal_(std=size**-0.5))
        self.attention = Attention(score, size, size, positions)

    def weights(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights; shapes as in the module's docstring."""
        query = self.query.expand(len(states), 1, -1)
        return self.attention.weights(query, states, padding).squeeze(1)


class MaxAttention(WeightedPooling):
    """Attention whose query is the max-pooled text itself (Maini et al. 2020,
    arxiv.org/abs/2005.00159, section 3).

    a = softmax_t(q . h_t / |h_t|) with q = max_t h_t, feature by feature; the output is sum_t a_t
    h_t. No parameters.
    """

    def weights(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights; shapes as in the module's docstring."""
        query = _maximum(states, lengths, padding)[..., None]  # batch x size x 1
        return masked_softmax((F.normalize(states, dim=-1) @ query).squeeze(-1), padding)


def _maximum(states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    pooled = states.masked_fill(padding[..., None], -torch.inf).amax(1)
    return pooled.masked_fill((lengths == 0)[:, None], 0.0)


def make_pooling(name: str, score: str, size: int, positions: int) -> Pooling:
    """Return the pooling `name` for states of `size`; `score` and `positions` are for `attention`
    alone.
    """
    if name == "attention":
        return LearnedQuery(score, size, positions)
    plain: dict[str, type[Pooling]] = {
        "last": Last,
        "mean": Mean,
        "max": Max,
        "max-attention": MaxAttention,
    }
    return plain[name]()

"""Poolings: from the states of a text to one vector, and the weight of each position in it.

All methods take states (batch, time, size), lengths (batch,) and padding (batch, time), True at
padding. `forward` returns vectors (batch, size), 0 for an empty text. `weights` returns weights
(batch, time), 0 at padding; rows sum to 1. `pool` returns both, and accepts given weights.
"""

import abc

import torch
import torch.nn.functional as F
from torch import nn

from heed.files import HeedError
from heed.models.attention import Attention, masked_softmax


class Pooling(nn.Module, abc.ABC):
    """The interface of every pooling; shapes as in the module's docstring."""

    no_sum_reason = ""  # for a pooling that is not a weighted sum of the states: why

    @abc.abstractmethod
    def forward(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the pooled vectors (batch, size)."""

    @abc.abstractmethod
    def weights(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the weight of each position (batch, time)."""

    def pool(
        self,
        states: torch.Tensor,
        lengths: torch.Tensor,
        padding: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the pooled vectors (batch, size) and the weights used (batch, time).

        Raises:
            HeedError: weights are given to a pooling that is not a weighted sum of the states.

        """
        if weights is not None:
            self.check_weighted_sum()
        return self(states, lengths, padding), self.weights(states, lengths, padding)

    def check_weighted_sum(self) -> None:
        """Raise HeedError if the vector is not a weighted sum of the states."""
        if self.no_sum_reason:
            raise HeedError(
                f"{self.no_sum_reason}. Poolings that are a weighted sum: mean, attention, "
                "max-attention"
            )


class WeightedPooling(Pooling):
    """A pooling whose vector is sum_t a_t h_t: a subclass defines the weights a, nothing else."""

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
        """Return the pooled vectors and the weights used, computed or as given."""
        if weights is None:
            weights = self.weights(states, lengths, padding)
        return (weights[:, None] @ states).squeeze(1), weights


class Last(Pooling):
    """The last state of each direction: forward at the last token, backward at the first.

    Weights: half on the last token and half on the first.
    """

    no_sum_reason = (
        "pooling `last` takes half of its features from the last token and half from the first: "
        "one weight for each token cannot make that vector"
    )

    def forward(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the pooled vectors; shapes as in the module's docstring."""
        half = states.shape[-1] // 2
        index = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, half)
        last = states[..., :half].gather(1, index).squeeze(1)
        pooled = torch.cat([last, states[:, 0, half:]], -1)
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

    Weights: the share of features whose maximum is at that position.
    """

    no_sum_reason = (
        "pooling `max` takes each feature from a token of its own: one weight for each token "
        "cannot make that vector"
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
    """Attention with a learned query (lectures 001 and 003; Yang et al. 2016, equations 5-7).

    The query is a parameter of the model. With the score `additive` this is lecture 003's
    u_t = tanh(W2 h_t + b), a = softmax(u . u_t): the bias is b = W1 q, and the lecture's weight
    vector w is the score's u.
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
    """Attention whose query is the max-pooled text (Maini et al. 2020, section 3).

    a = softmax_t(q . h_t / |h_t|) with q = max_t h_t, feature by feature; the output is
    sum_t a_t h_t. No parameters. (arxiv.org/abs/2005.00159)
    """

    def weights(
        self, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return the weights; shapes as in the module's docstring."""
        query = _maximum(states, lengths, padding)[..., None]  # batch x size x 1
        return masked_softmax((F.normalize(states, dim=-1) @ query).squeeze(-1), padding)


def _maximum(states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Return the maximum of each feature over the tokens, (batch, size); 0 for an empty text."""
    pooled = states.masked_fill(padding[..., None], -torch.inf).amax(1)
    return pooled.masked_fill((lengths == 0)[:, None], 0.0)


def make_pooling(name: str, score: str, size: int, positions: int) -> Pooling:
    """Return the pooling `name` for states of `size`.

    Only the pooling `attention` uses `score` and `positions`, the largest number of tokens.
    """
    if name == "attention":
        return LearnedQuery(score, size, positions)
    poolings: dict[str, type[Pooling]] = {
        "last": Last,
        "mean": Mean,
        "max": Max,
        "max-attention": MaxAttention,
    }
    return poolings[name]()

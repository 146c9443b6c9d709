"""The layers of a transformer (Vaswani et al. 2017, arxiv.org/abs/1706.03762, section 3).

Each sub-layer reads the norm of its input, x + f(norm(x)), where the paper has norm(x + f(x)), and
a stack ends with a norm (Xiong et al. 2020, arxiv.org/abs/2002.04745, section 3.2). Dropout is on
the sum of embeddings and positions and on the output of each sub-layer, as in the paper.
"""

import math

import torch
from torch import Tensor, nn

from heed.models.attention import MultiHeadAttention, causal_mask

Projected = tuple[Tensor, Tensor]  # keys and values, each (batch, time, size)
LONGEST_WAVE = 10_000  # of the positions, in units of 2 pi tokens


def positions(inputs: Tensor, first: int = 0) -> Tensor:
    """Return the encodings of the positions from `first` on, (time, size) (section 3.5).

    PE(p, 2i) = sin(p / 10000^(2i / size)), PE(p, 2i + 1) = cos(p / 10000^(2i / size)), p from 0. Of
    `inputs` (batch, time, size) only shape, type and device matter.
    """
    time, size = inputs.shape[1:]
    position = torch.arange(first, first + time, device=inputs.device, dtype=torch.float32)
    even = torch.arange(0, size, 2, device=inputs.device, dtype=torch.float32)
    angles = position[:, None] * torch.exp(even * (-math.log(LONGEST_WAVE) / size))
    pairs = torch.stack([angles.sin(), angles.cos()], -1)  # time x size / 2 x 2
    return pairs.flatten(1)[:, :size].to(inputs.dtype)


class FeedForward(nn.Sequential):
    """max(0, x W1 + b1) W2 + b2 at every position alike (equation 2)."""

    def __init__(self, size: int, inner_size: int) -> None:
        super().__init__(nn.Linear(size, inner_size), nn.ReLU(), nn.Linear(inner_size, size))


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network (section 3.1)."""

    def __init__(self, size: int, heads: int, feed_forward_size: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(size)
        self.attention = MultiHeadAttention(size, heads)
        self.feed_forward_norm = nn.LayerNorm(size)
        self.feed_forward = FeedForward(size, feed_forward_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, padding: Tensor) -> Tensor:
        """Return the states of the next layer, (batch, time, size); none attends to padding."""
        normed = self.attention_norm(states)
        states = states + self.dropout(self.attention(normed, normed, normed, padding))
        return states + self.dropout(self.feed_forward(self.feed_forward_norm(states)))

    def weights(self, states: Tensor, padding: Tensor) -> Tensor:
        """Return the attention weights (batch, heads, time, time)."""
        normed = self.attention_norm(states)
        return self.attention.weights(normed, normed, padding)


class DecoderLayer(nn.Module):
    """Self-attention over earlier positions, attention over the source, feed-forward network."""

    def __init__(self, size: int, heads: int, feed_forward_size: int, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(size)
        self.attention = MultiHeadAttention(size, heads)
        self.cross_attention_norm = nn.LayerNorm(size)
        self.cross_attention = MultiHeadAttention(size, heads)
        self.feed_forward_norm = nn.LayerNorm(size)
        self.feed_forward = FeedForward(size, feed_forward_size)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, states: Tensor, earlier: Projected, source: Projected, padding: Tensor,
        weights: Tensor | None = None, with_weights: bool = False,
    ) -> tuple[Tensor, Projected, Tensor | None]:  # fmt: skip
        """Return the states of the next layer, keys and values up to the last position, weights.

        `states` are (batch, time, size), `earlier` of the positions before, whose time may be 0.
        `weights` (batch, heads or 1, time, source time) are used in place of the attention's over
        the source; its own are computed `with_weights`, else a fused kernel computes the same
        output.
        """
        normed = self.attention_norm(states)
        query = self.attention.query(normed)
        now = self.attention.project(normed)
        keys, values = torch.cat([earlier[0], now[0]], 1), torch.cat([earlier[1], now[1]], 1)
        # one query is the last position, and may attend to all
        mask = causal_mask(query, keys) if query.shape[1] > 1 else None
        states = states + self.dropout(self.attention.attend_projected(query, keys, values, mask))
        query = self.cross_attention.query(self.cross_attention_norm(states))
        if weights is None and with_weights:
            weights = self.cross_attention.projected_weights(query, source[0], padding)
        if weights is None:
            mask = ~padding[:, None, None]
            attended = self.cross_attention.attend_projected(query, *source, mask)
        else:
            attended = self.cross_attention.weigh_projected(weights, source[1])
        states = states + self.dropout(attended)
        states = states + self.dropout(self.feed_forward(self.feed_forward_norm(states)))
        return states, (keys, values), weights


class _Stack(nn.Module):
    layer: type[nn.Module]

    def __init__(
        self, size: int, layers: int, heads: int, feed_forward_size: int, dropout: float
    ) -> None:
        super().__init__()
        sizes = size, heads, feed_forward_size, dropout
        self.layers = nn.ModuleList(self.layer(*sizes) for _ in range(layers))
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)


class TransformerEncoder(_Stack):
    """Positions and a stack of encoder layers, for embeddings (batch, time, size)."""

    layer = EncoderLayer

    def forward(self, inputs: Tensor, padding: Tensor) -> Tensor:
        """Return the states (batch, time, size); those at padding are finite, without a meaning."""
        states = self.dropout(inputs + positions(inputs))
        for layer in self.layers:
            states = layer(states, padding)
        return self.norm(states)

    def last_weights(self, inputs: Tensor, padding: Tensor) -> Tensor:
        """Return the weights of the last layer (batch, heads, time, time)."""
        states = self.dropout(inputs + positions(inputs))
        for layer in self.layers[:-1]:
            states = layer(states, padding)
        last = self.layers[-1]
        assert isinstance(last, EncoderLayer)
        return last.weights(states, padding)


class TransformerDecoder(_Stack):
    """Positions and a stack of decoder layers."""

    layer = DecoderLayer

    def project(self, states: Tensor) -> tuple[Tensor, ...]:
        """Return keys and values of the source for each layer, all (batch, source time, size)."""
        projected: tuple[Tensor, ...] = ()
        for layer in self.layers:
            assert isinstance(layer, DecoderLayer)
            projected += layer.cross_attention.project(states)
        return projected

    def forward(
        self, inputs: Tensor, earlier: tuple[Tensor, ...], source: tuple[Tensor, ...],
        padding: Tensor, weights: Tensor | None = None, with_weights: bool = False,
    ) -> tuple[Tensor, tuple[Tensor, ...], Tensor | None]:  # fmt: skip
        """Return states (batch, time, size), keys and values so far, weights of the last layer.

        `inputs` are embeddings without positions; `earlier` has for each layer the keys and values
        of the positions before, `source` is of `project`; `weights` of the last layer are as in
        `DecoderLayer`.
        """
        states = self.dropout(inputs + positions(inputs, first=earlier[0].shape[1]))
        stored: tuple[Tensor, ...] = ()
        for i, layer in enumerate(self.layers):
            projected = earlier[2 * i : 2 * i + 2], source[2 * i : 2 * i + 2]
            # only the last layer's weights are given or returned
            last = (weights, with_weights) if i == len(self.layers) - 1 else ()
            states, now, used = layer(states, *projected, padding, *last)
            stored += now
        return self.norm(states), stored, used

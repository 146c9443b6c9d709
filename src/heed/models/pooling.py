"""From states to one vector a text. Each also says how much each position counted."""

from collections.abc import Callable

import torch

Pooling = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def last(states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Return the last state of each direction: the forward half at the last token, the backward half at the first.

    Args:
        states: (batch, time, 2 * hidden_size)
        lengths: (batch,)
        padding: (batch, time), True at padding

    Returns:
        (batch, 2 * hidden_size); 0 for an empty text

    """
    half = states.shape[-1] // 2
    at = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, half)
    pooled = torch.cat([states[..., :half].gather(1, at).squeeze(1), states[:, 0, half:]], -1)
    return pooled.masked_fill((lengths == 0)[:, None], 0.0)


def mean(states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Return the mean over the tokens; 0 for an empty text. Shapes as in `last`."""
    return states.masked_fill(padding[..., None], 0.0).sum(1) / lengths.clamp(min=1)[:, None].to(states.dtype)


def maximum(states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Return the maximum over the tokens, feature by feature; 0 for an empty text. Shapes as in `last`."""
    pooled = states.masked_fill(padding[..., None], -torch.inf).amax(1)
    return pooled.masked_fill((lengths == 0)[:, None], 0.0)


POOLINGS: dict[str, Pooling] = {"last": last, "mean": mean, "max": maximum}


def importance(name: str, states: torch.Tensor, lengths: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Return how much each position counts in the pooled vector: (batch, time), rows sum to 1, 0 at padding.

    mean: equal; max: the share of features whose maximum stands there; last: half on the last token (forward direction)
    and half on the first (backward direction).
    """
    time = states.shape[1]
    if name == "mean":
        weights = (~padding).to(states.dtype) / lengths.clamp(min=1)[:, None]
    elif name == "max":
        winner = states.masked_fill(padding[..., None], -torch.inf).argmax(1)  # batch x features
        weights = torch.nn.functional.one_hot(winner, time).to(states.dtype).mean(1)
    else:
        ends = torch.stack([(lengths - 1).clamp(min=0), torch.zeros_like(lengths)], 1)
        weights = torch.nn.functional.one_hot(ends, time).to(states.dtype).mean(1)
    return weights.masked_fill(padding, 0.0)

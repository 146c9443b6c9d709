"""Distances between two distributions, such as two predictions or the weights of two models."""

import torch

SMALLEST = 1e-12  # log(0) is infinite, and the gradient of x log x at 0 is NaN


def total_variation(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return 1/2 sum |p - q| over the last dimension, from 0 to 1."""
    return 0.5 * (first - second).abs().sum(-1)


def jensen_shannon(first: torch.Tensor, second: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return the Jensen-Shannon divergence along `dim` in nats, from 0 to log 2 = 0.693.

    Entries that are 0 in both, as padding is, add nothing and have the gradient 0.
    """
    middle = 0.5 * (first + second)
    return 0.5 * (kullback_leibler(first, middle, dim) + kullback_leibler(second, middle, dim))


def divergence_of_means(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the Jensen-Shannon divergence of weights (…, time, heads) averaged over heads, (…).

    Of several heads it is not the mean of theirs: two heads that have exchanged their weights are
    the same mean. The agreement of seeds compares these means, since heads have no order.
    """
    return jensen_shannon(first.mean(-1), second.mean(-1))


def kullback_leibler(first: torch.Tensor, second: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return KL(first || second) along `dim` in nats; entries that are 0 in `first` add nothing."""
    ratio = first.clamp(min=SMALLEST).log() - second.clamp(min=SMALLEST).log()
    return (first * ratio).sum(dim)

"""What the tests of weights need of a model: its weights, and its predictions under others."""

from typing import Protocol

import torch


class Weighted(Protocol):
    """Weighted sums, each behind one prediction: `WeightedSum` of documents, or `TargetSteps`.

    Items are documents, or the steps of a translation; of one item alone, that dimension is absent.
    """

    @property
    def weights(self) -> torch.Tensor:
        """The model's own weights, (items, time, heads); those of a head sum to 1, 0 at padding."""

    @property
    def values(self) -> torch.Tensor:
        """What they weigh, (items, time, heads, d)."""

    @property
    def lengths(self) -> torch.Tensor:
        """The time of each item without padding, (items,)."""

    def predict(self, weights: torch.Tensor | None = None) -> torch.Tensor:
        """Return the logits (…, items, outcomes) under weights (…, items, time, heads)."""

"""What a multi-label classifier costs: what the same network costs in a classification."""

from heed.tasks.classification.cost import (
    guided_multiply_adds,
    multiply_adds,
    opponent_seconds,
)

__all__ = ["guided_multiply_adds", "multiply_adds", "opponent_seconds"]

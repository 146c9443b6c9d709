"""The rules on the hyperparameters of a multi-label classifier: those of a classification."""

from heed.tasks.classification.rules import (
    OPPONENTS,
    WIDE_KEYS,
    contradictions,
    no_effect,
    opponent_seconds,
    variant_contradictions,
    wide_contradiction,
)
from heed.tasks.multilabel.recipe import Hyperparameters

__all__ = [
    "OPPONENTS",
    "WIDE_KEYS",
    "adversary_contradiction",
    "contradictions",
    "no_effect",
    "opponent_seconds",
    "variant_contradictions",
    "wide_contradiction",
]


def adversary_contradiction(_: Hyperparameters) -> str | None:
    """Return why no adversary can be made of a multi-label classifier."""
    return "adversaries keep one class a document, and its task is multilabel"

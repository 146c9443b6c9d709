"""The rules on a regression: those of a classification, but for its labels, which are numbers."""

from typing import Any

from heed.tasks.classification.rules import *  # noqa: F403

REFERENCE_MODELS = ("ridge",)
LABELS = "number"
EXPLAINED_METRICS = ()


def adversarial_model_contradiction(_: Any) -> str | None:
    """Return why no adversarial model can be made of a regression."""
    return "adversarial models keep a class"

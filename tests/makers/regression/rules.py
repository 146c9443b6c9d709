"""The rules on a regression: those of a classification, but for its labels, which are numbers."""

from collections.abc import Iterator
from typing import Any

from heed.task.interface import DeclaredCorpus
from heed.tasks.classification.rules import *  # noqa: F403
from heed.tasks.classification.rules import label_contradictions

REFERENCE_MODELS = ("ridge",)
LABELS = "number"
EXPLAINED_METRICS = ()


def corpus_contradictions(data: Any, corpus: DeclaredCorpus) -> Iterator[tuple[str, str]]:
    """Yield (key of an experiment, message) if the corpus has no such label."""
    yield from label_contradictions(data.label, corpus)


def adversarial_model_contradiction(_: Any) -> str | None:
    """Return why no adversarial model can be made of a regression."""
    return "adversarial models keep a class"

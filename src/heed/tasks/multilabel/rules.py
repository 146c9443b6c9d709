"""The rules on a multi-label classifier: those of a classification, but for its corpora."""

from collections.abc import Iterator
from typing import Any

from heed.task.interface import DeclaredCorpus
from heed.tasks.classification.rules import (
    FURTHER_METRICS,
    OPPONENTS,
    READS_PAIRS,
    WIDE_KEYS,
    contradictions,
    label_contradictions,
    no_effect,
    variant_contradictions,
    wide_contradiction,
)
from heed.tasks.multilabel.recipe import Hyperparameters

__all__ = [
    "EXPLAINED_METRICS",
    "FURTHER_METRICS",
    "IS_PUBLISHED",
    "LABELS",
    "OPPONENTS",
    "READS_PAIRS",
    "WIDE_KEYS",
    "adversary_contradiction",
    "contradictions",
    "corpus_contradictions",
    "no_effect",
    "variant_contradictions",
    "wide_contradiction",
]

LABELS = "several"
IS_PUBLISHED = False
EXPLAINED_METRICS = ("evidence_weight", "accuracy_in_middle")


def corpus_contradictions(data: Any, corpus: DeclaredCorpus) -> Iterator[tuple[str, str]]:
    """Yield (key of an experiment, message) where a corpus lacks what an experiment needs."""
    if not corpus.has_several:
        yield (
            "task",
            f"each document of corpus {corpus.name} has one label, without its label_separator: "
            "its task is classification, found multilabel",
        )
    yield from label_contradictions(data.label, corpus)


def adversary_contradiction(_: Hyperparameters) -> str | None:
    """Return why no adversary can be made of a multi-label classifier."""
    return "adversaries keep one class a document, and its task is multilabel"

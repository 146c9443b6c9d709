"""The rules on multi-label classifiers that are not those of a classification."""

from collections.abc import Iterator
from typing import Any

from heed.task.interface import DeclaredCorpus
from heed.tasks.classification.rules import label_contradictions

LABELS = "several"
IS_PUBLISHED = False


def corpus_contradictions(data: Any, corpus: DeclaredCorpus) -> Iterator[tuple[str, str]]:
    """Yield (key of an experiment, message) where a corpus lacks what an experiment needs."""
    if not corpus.has_several:
        yield (
            "task",
            f"each document of corpus {corpus.name} has one label, without its label_separator: "
            "its task is classification, found multilabel",
        )
    yield from label_contradictions(data.label, corpus)


def adversary_contradiction(_: Any) -> str:
    """Return why no adversary can be made of a multi-label classifier."""
    return "adversaries keep one class a document, and its task is multilabel"

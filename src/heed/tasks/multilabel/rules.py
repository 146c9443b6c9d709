"""The rules on multi-label classifiers that are not those of a classification."""

import functools
from typing import Any

from heed.tasks.classification import rules as classification

LABELS = "several"
corpus_contradictions = functools.partial(classification.corpus_contradictions, has_several=True)


def adversarial_model_contradiction(_: Any) -> str:
    """Return why no adversarial model can be made of a multi-label classifier."""
    return "adversarial models keep one class a document, and its task is multilabel"

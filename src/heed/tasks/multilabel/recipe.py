"""The task's part of a recipe: hyperparameters, the label that is predicted, its classes."""

import dataclasses
from typing import Any, Literal

from heed.files import HeedError
from heed.hyperparameters import hyperparameter
from heed.tasks.classification import recipe as classification
from heed.tasks.classification.recipe import (
    ITEM,
    SCALE,
    Data,
    Options,
    Prediction,
    Target,
    corpus_contradiction,
)
from heed.tokens.meta import Meta

__all__ = [
    "DESCRIPTION",
    "FIGURES",
    "ITEM",
    "METRICS",
    "READS_NOISE",
    "SCALE",
    "Data",
    "Hyperparameters",
    "Options",
    "Prediction",
    "Target",
    "corpus_contradiction",
    "resolve_data",
]

# The metrics on test, by any of which models can be compared; the first decides by default.
METRICS = (
    "micro_f1",
    "micro_precision",
    "micro_recall",
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "subset_accuracy",
    "label_accuracy",
)
FIGURES = ("micro_f1", "macro_f1", "loss")  # metrics of validation; epochs are selected by one
DESCRIPTION = "any number of labels a document"  # of the task, in the documentation of params.yaml
READS_NOISE = False


@dataclasses.dataclass(frozen=True)
class Hyperparameters(classification.Hyperparameters):
    """All hyperparameters of a multi-label classifier and its training."""

    select: Literal["micro_f1", "macro_f1", "loss", "last"] = hyperparameter(  # type: ignore[assignment]
        "loss",
        ("the epoch kept: the best on validation by this figure (ties: the earliest), or the last"),
    )
    class_weights: Literal["none", "balanced"] = hyperparameter(
        "none",
        (
            "balanced: in the training loss the documents with a class count as much as those "
            "without it, by the run's training part; validation is not weighted"
        ),
    )


def resolve_data(section: dict[str, Any], meta: Meta, key: str) -> Data:
    """Return the label that an experiment's section `data` names, with its classes.

    Args:
        section: `{"label": NAME}`.
        meta: the corpus's meta.json.
        key: the section's key in params.yaml, for the message.

    Raises:
        HeedError: the corpus has no such label, each document has one class of it, or there is one
            class only.

    """
    classification.require_label(section["label"], meta, key)
    if section["label"] not in meta.multilabel:
        raise HeedError(
            f"params.yaml: {key}.label: each document of corpus {meta.corpus} has one class of "
            f"label {section['label']}. Set task: classification, or corpora.{meta.corpus}."
            "label_separator if the cells of that column hold several"
        )
    return classification.with_classes(section["label"], meta, key)

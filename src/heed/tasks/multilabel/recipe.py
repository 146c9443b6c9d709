"""The task's part of a recipe: hyperparameters, and the labels that are predicted."""

import dataclasses
from typing import Any, Literal

from heed.files import HeedError
from heed.hyperparameters import hyperparameter
from heed.tasks.classification import recipe as classification
from heed.tokens.meta import Meta

METRICS = (
    "micro_f1", "micro_precision", "micro_recall", "macro_precision", "macro_recall", "macro_f1",
    "subset_accuracy", "label_accuracy",
)  # fmt: skip
VALIDATION_METRICS = ("micro_f1", "macro_f1", "loss")
READS_NOISE = False


@dataclasses.dataclass(frozen=True)
class Hyperparameters(classification.Hyperparameters):
    """All hyperparameters of a multi-label classifier and its training."""

    monitor: Literal["micro_f1", "macro_f1", "loss", "last"] = hyperparameter(  # type: ignore[assignment]
        "loss",
        "validation metric that selects the epoch kept, or the last epoch",
    )
    class_weights: Literal["none", "balanced"] = hyperparameter("none", "balanced: documents with "
        "and without a class count the same in the training loss")  # fmt: skip


def resolve_data(section: dict[str, Any], meta: Meta, key: str) -> classification.Data:
    """Return the label that a section `data` names, as for a classification."""
    data = classification.read_label(section, meta, key)
    if data.label not in meta.multilabel:
        raise HeedError(
            f"params.yaml: {key}.label: each document of corpus {meta.corpus} has one class of "
            f"label {data.label}. Set task: classification, or corpora.{meta.corpus}."
            "label_separator if the cells of that column hold several"
        )
    return data

"""The task's part of a recipe: hyperparameters, the label that is predicted, its classes."""

import dataclasses
from typing import Any, Literal

from heed.files import HeedError
from heed.hyperparameters import Training, hyperparameter, required
from heed.hyperparameters.classifier import Architecture
from heed.task.interface import Scale
from heed.tokens.meta import Meta

# The metrics on test, by any of which models can be compared; the first decides by default.
METRICS = (
    "accuracy", "macro_precision", "macro_recall", "macro_f1", "weighted_precision",
    "weighted_recall", "weighted_f1",
)  # fmt: skip
VALIDATION_METRICS = ("accuracy", "macro_f1", "loss")  # epochs are selected by one
ITEM = "document"  # an item of a corpus, of which the report has words
SCALE = Scale(
    {f"{average}_f1": f"{average} F1" for average in ("macro", "weighted")},
    planned=(0.01, 0.1),
)
READS_NOISE = True  # a test of what weights explain puts words of another corpus beside texts


@dataclasses.dataclass(frozen=True)
class Target:
    """The target of a classification."""

    label: str = required("label of the corpus that is predicted")


@dataclasses.dataclass(frozen=True)
class Options:
    """The keys of an experiment of this task beside the keys of every experiment."""

    linear_features: Literal["words", "characters", "both"] = hyperparameter(
        "both", "TF-IDF features of the linear reference model"
    )


@dataclasses.dataclass(frozen=True)
class Hyperparameters(Training, Architecture):
    """All hyperparameters of a classifier and its training."""

    monitor: Literal["accuracy", "macro_f1", "loss", "last"] = hyperparameter("accuracy", ""
        "validation metric that selects the epoch kept, or the last epoch")  # fmt: skip
    class_weights: Literal["none", "balanced"] = hyperparameter("none", "balanced: all classes "
        "count the same in the training loss")  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Data:
    """The label that is predicted, and its classes in the order of the probabilities."""

    label: str
    classes: list[str]


@dataclasses.dataclass(frozen=True)
class Prediction:
    """How test documents are predicted and scored: a classifier has no choice there."""


def resolve_data(section: dict[str, Any], meta: Meta, key: str) -> Data:
    """Return the label with its classes. Raises HeedError if there is none, or it has one class."""
    label = section["label"]
    require_label(label, meta, key)
    if len(meta.labels[label]) < 2:
        raise HeedError(
            f"params.yaml: {key}.label: label {label} of corpus {meta.corpus} has 1 class: there "
            "is nothing to learn"
        )
    return Data(label, meta.labels[label])


def require_label(label: str, meta: Meta, key: str) -> None:
    """Raise HeedError unless the corpus has the label, named by section `key` of params.yaml."""
    if label not in meta.labels:
        labels = ", ".join(sorted(meta.labels))
        raise HeedError(
            f"params.yaml: {key}.label: corpus {meta.corpus} has no label {label}. Known: {labels}"
        )


def corpus_contradiction(h: Hyperparameters, meta: Meta) -> str | None:
    """Describe a contradiction to the corpus with this meta.json and its remedy, or return None."""
    if h.vectors == "none":
        return None
    if meta.vectors is None:
        return (
            f"vectors: {h.vectors}, and corpus {meta.corpus} has no word vectors. Name a file in "
            "the `vectors` of its source"
        )
    if h.embedding_dim != meta.vectors.size:
        return (
            f"embedding_dim is {h.embedding_dim}, and the word vectors of corpus {meta.corpus} "
            f"have {meta.vectors.size} numbers. Set embedding_dim: {meta.vectors.size}"
        )
    return None

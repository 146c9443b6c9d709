"""What a recipe of a regression contains: the column of numbers that is predicted."""

import dataclasses
from typing import Any, Literal

from heed.files import HeedError
from heed.hyperparameters import hyperparameter
from heed.task.interface import Scale
from heed.tasks.classification import recipe as classification
from heed.tasks.classification.recipe import Prediction, Target, corpus_contradiction
from heed.tokens.meta import Meta

__all__ = ["Prediction", "Target", "corpus_contradiction"]

METRICS = ("mean_squared_error", "r2")
VALIDATION_METRICS = ("mean_squared_error",)
ITEM = "document"
SCALE = Scale({"mean_squared_error": "mean squared error", "r2": "R²"}, in_points=True)
READS_NOISE = False


@dataclasses.dataclass(frozen=True)
class Hyperparameters(classification.Hyperparameters):
    """All hyperparameters of a regression and its training."""

    monitor: Literal["mean_squared_error", "last"] = hyperparameter(  # type: ignore[assignment]
        "mean_squared_error", "the epoch kept: the best on validation by this metric, or the last"
    )


@dataclasses.dataclass(frozen=True)
class Options:
    """What an experiment of this task has beside the keys of every experiment: nothing."""


@dataclasses.dataclass(frozen=True)
class Data:
    """The label that holds the number."""

    label: str

    @property
    def classes(self) -> list[str]:
        """The outputs of the network: one."""
        return [self.label]


def resolve_data(section: dict[str, Any], meta: Meta, key: str) -> Data:
    """Return the label. Raises HeedError: the corpus has none of this name, or it is no number."""
    label = section["label"]
    classification.require_label(label, meta, key)
    for value in meta.labels[label]:
        try:
            float(value)
        except ValueError:
            raise HeedError(f"params.yaml: {key}.label: {value!r} is no number") from None
    return Data(label)

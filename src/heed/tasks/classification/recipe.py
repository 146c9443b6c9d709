"""What the recipe of a classification holds: the hyperparameters, the label that is predicted and
its classes.
"""

import dataclasses
from typing import Literal

from heed.files import HeedError
from heed.hyperparameters import Architecture, Training, hyperparameter
from heed.tokens.meta import Meta

FIGURES = ("accuracy", "macro_f1", "loss")  # what validation measures and an epoch may be chosen by


@dataclasses.dataclass(frozen=True)
class Hyperparameters(Training, Architecture):
    """Everything about a classifier and its training."""

    select: Literal["accuracy", "macro_f1", "loss", "last"] = hyperparameter(
        "accuracy",
        ("the epoch kept: the best on validation by this figure (ties: the earliest), or the last"),
    )


@dataclasses.dataclass(frozen=True)
class Data:
    """What is predicted of a document: one class of a label; the classes stand in the order of the
    probabilities.
    """

    label: str
    classes: list[str]


def resolve_data(asked: dict[str, str], meta: Meta, key: str) -> Data:
    """Return what an experiment's `data` says of a corpus with this meta.json.

    Args:
        asked: `{"label": NAME}`.
        meta: the corpus's meta.json.
        key: where params.yaml asks for it, for the message.

    Raises:
        HeedError: the corpus has no such label.

    """
    label = asked["label"]
    if label not in meta.labels:
        known = ", ".join(sorted(meta.labels))
        raise HeedError(
            f"params.yaml: {key}.label: corpus {meta.corpus} has no label {label}. Known: {known}"
        )
    return Data(label, meta.labels[label])

"""The sections `explain` and `adversarial_attention` of params.yaml, which heed.study checks."""

import dataclasses
from typing import Annotated, Literal

from heed.hyperparameters import MAX_COUNT, required
from heed.hyperparameters import hyperparameter as key
from heed.recipe import Name
from heed.records import Limits

SUMMARY = ["test", "measure", "ranking", "class", "seed", "documents", "mean", "std", "reason"]
ADVERSARIAL_SUMMARY = ["test", "measure", "weights", "seed", "documents", "mean", "std", "reason"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExplainedModel:
    """A model that `heed explain` tests; its name is a key of `models`."""

    noise: str = required("corpus whose words, without relation to the label, are put beside texts "
        "to disturb the model; of a translator its own corpus")  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explain:
    """The models to be explained, and on how many documents; without this section none is."""

    documents: float = required("scales the tests: 1 is 500 test documents for most, and 40 for "
        "the slowest", ge=0.002, le=100)  # fmt: skip
    models: dict[Name, ExplainedModel] = required("the models, by name")


UNEXPLAINED = Explain(documents=1.0, models={})  # of a study without the section


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdversarialAttention:
    """A copy of a model that is trained on to have other weights, from the weights of each run."""

    model: str = required("a key of `explain.models`: a classifier that learns weights")
    goal: Literal["differ", "deceive"] = required("differ: other weights for the same predictions; "
        "deceive: no weight on rationales")  # fmt: skip
    strength: float = required("lambda, weight of the goal against the predictions, such as 0.01 "
        "for differ and 0.3 for deceive", ge=1e-12, le=1000)  # fmt: skip
    epochs: Annotated[int, Limits(gt=0, le=MAX_COUNT)] = required(
        "passes over the training split; the last is kept"
    )
    diagnostic_mlps: bool = key(True, "train networks that read each word alone, weighted as by "
        "both models")  # fmt: skip

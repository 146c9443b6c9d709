"""The sections `explain` and `adversarial_attention` of params.yaml, which heed.study checks."""

import dataclasses
from typing import Annotated, Literal

from heed.hyperparameters import MAX_COUNT, required
from heed.hyperparameters import hyperparameter as key
from heed.recipe import Name
from heed.records import FOLLOWS, Limits


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExplainedModel:
    """A model that `heed explain` tests; its name is a key of `models`."""

    corpus: str = key("", FOLLOWS)
    noise: str = required(
        "the corpus whose words are put beside texts to see whether they disturb the model; "
        "its words must not speak of the label. The model's own corpus is possible where "
        "rationale, which is left out, covers all words that do. A translator does not read it: "
        "name its own corpus"
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explain:
    """The models to be explained, and on how many documents; without this section none is."""

    documents: float = required("multiplies the numbers of test documents: 1 is 500 for tests of "
        "the weights, 250 for leave-one-out and adversarial weights, 60 for tests that change the "
        "input most", ge=0.002, le=100)  # fmt: skip
    models: dict[Name, ExplainedModel] = required("the models, by name")


UNEXPLAINED = Explain(documents=1.0, models={})  # of a study without the section


@dataclasses.dataclass(frozen=True, kw_only=True)
class AdversarialAttention:
    """A copy of a model that is trained on to have other weights, from the weights of each run."""

    model: str = required("the base: a key of `explain.models`, a classifier that learns weights")
    corpus: str = key("", FOLLOWS)
    goal: Literal["differ", "deceive"] = required(
        "differ: weights unlike the base's for the same predictions; deceive: no weight on "
        "rationales"
    )
    strength: float = required("lambda, what the goal counts against the predictions; in trials "
        "0.01 for differ, 0.3 for deceive", ge=1e-12, le=1000)  # fmt: skip
    epochs: Annotated[int, Limits(gt=0, le=MAX_COUNT)] = required(
        "passes over the training split; the last is kept"
    )
    diagnostic_mlps: bool = key(True, "whether to train networks that read each word alone and "
        "weigh it by the weights of both models: half of an adversarial model's time in the sample "
        "study")  # fmt: skip

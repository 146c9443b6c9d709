"""The section `adversaries`: models that are trained to have other weights than a base."""

from typing import Annotated, Literal

from pydantic import Field

from heed.study.section import FOLLOWS, Count, Section


class Adversary(Section):
    """A copy of a model that is trained on to have other weights, from the weights of each run."""

    model: str = Field(
        description="the base: a key of `explain.models`, a classifier that learns weights"
    )
    corpus: str = Field("", description=FOLLOWS)
    goal: Literal["differ", "deceive"] = Field(
        description=(
            "differ: weights unlike the base's for the same predictions; deceive: no weight on "
            "known evidence"
        )
    )
    strength: Annotated[float, Field(gt=0, le=1000)] = Field(
        description=(
            "lambda, what the goal counts against the predictions; in trials 0.01 for differ, "
            "0.3 for deceive"
        )
    )
    epochs: Count = Field(description="passes over the training part; the last is kept")
    guided_networks: bool = Field(
        default=True,
        description=(
            "whether to train networks that read each word alone and weigh it by the weights of "
            "both models: half of an adversary's time in the sample study"
        ),
    )

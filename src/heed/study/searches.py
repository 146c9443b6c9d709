"""The section `searches`: which hyperparameters are drawn, from where, how often, and what a trial
takes.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from heed.hyperparameters import Value
from heed.study.section import Positive, Section
from heed.tasks.classification.recipe import FIGURES, Hyperparameters


class Dimension(Section):
    """How one hyperparameter is drawn: exactly one of these."""

    uniform: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: any number between, each as likely"
    )
    loguniform: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: any number between, each order of magnitude as likely"
    )
    integer: Annotated[list[int], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: any whole number, both ends included"
    )
    choice: Annotated[list[bool | int | float | str], Field(min_length=2)] | None = Field(
        None, description="one of these"
    )

    @model_validator(mode="after")
    def _one(self) -> "Dimension":
        given = [kind for kind in Dimension.model_fields if getattr(self, kind) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise ValueError(
                f"takes exactly one of uniform, loguniform, integer, choice; found {found}"
            )
        values = getattr(self, given[0])
        if given[0] == "choice":
            if len({(type(value), value) for value in values}) < len(values):
                raise ValueError(f"choice names a value twice: {values}")
        elif values[0] >= values[1]:
            raise ValueError(f"{given[0]} goes from a smaller to a larger number, found {values}")
        elif given[0] == "loguniform" and values[0] <= 0:
            raise ValueError(f"loguniform needs numbers above 0, found {values}")
        return self

    @property
    def kind(self) -> str:
        """`uniform`, `loguniform`, `integer` or `choice`."""
        return next(kind for kind in Dimension.model_fields if getattr(self, kind) is not None)

    @property
    def values(self) -> list[Any]:
        """Both ends of the span, or all choices."""
        return list(getattr(self, self.kind))


# The talk searched two groups. It does not name its spans; these hold every value that it chose (a
# test).
GROUPS = {
    "group-1": {
        "batch_size": Dimension(choice=[32, 64, 128]),
        "learning_rate": Dimension(loguniform=[0.0001, 0.01]),
        "vocabulary_size": Dimension(choice=[10000, 20000, 30000]),
    },
    "group-2": {
        "embedding_dim": Dimension(integer=[50, 200]),
        "hidden_size": Dimension(integer=[50, 350]),
        "linear_size": Dimension(integer=[50, 300]),
        "dropout": Dimension(uniform=[0.1, 0.6]),
        "heads": Dimension(choice=[1, 2, 4, 8]),
    },
}
NOT_SEARCHED = {
    "epochs": "the search's own `epochs` is the most, and the winner's best epoch is kept",
    "select": "the search's `metric` selects the epoch",
    "patience": "the scheduler stops what does badly",
    "device": "it belongs to the machine",
    "threads": "it belongs to the machine",
    "precision": "it belongs to the machine",
}


class Search(Section):
    """A hyperparameter search over one model. With trials 0 the hyperparameters stay as given."""

    corpus: str = Field(description="the experiment's corpus again (dvc.yaml reads it here)")
    experiment: str = Field(description="the model's experiment again (dvc.yaml reads it here)")
    model: str = Field(
        description=(
            "the key of `models` whose hyperparameters are searched; others may name the winner "
            "in `tuned_by`"
        )
    )
    after: str = Field(
        description="the search whose winner this one starts from (groups in turn), or none"
    )
    trials: Annotated[int, Field(ge=0)] = Field(
        0, description="how many configurations to try; 0 hands on what params.yaml gives"
    )
    groups: list[Literal["group-1", "group-2"]] = Field(
        [],
        description=(
            "the talk's spaces: group-1 (batch size, learning rate, vocabulary size), group-2 "
            "(sizes, dropout, heads)"
        ),
    )
    space: dict[str, Dimension] = Field(
        {}, description="hyperparameter → how it is drawn; goes before `groups`"
    )
    metric: Literal[FIGURES] = Field(  # type: ignore[valid-type]
        FIGURES[0],
        description="the validation figure that is searched for, and that selects the epoch",
    )
    epochs: Positive | None = Field(
        None, description="epochs of a trial, at most; none: the model's own"
    )
    minutes: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description=(
            "no trial starts or goes on after this wall time; then the result depends on the "
            "machine"
        ),
    )
    seed: Positive = Field(
        1000, description="of the draw and of every trial's training; never one of `seeds`"
    )
    sampler: Literal["random", "tpe"] = Field(
        "random",
        description=(
            "random: all drawn beforehand; tpe: Optuna's, which learns from the trials that have "
            "ended"
        ),
    )
    scheduler: Literal["asha", "none"] = Field(
        "asha",
        description=(
            "asha: stops what does badly early (Li et al. 2020); none: every trial runs to its "
            "end, reproducible"
        ),
    )
    reports: Positive = Field(
        1,
        description=(
            "asha: times an epoch that it hears of a trial: at the end of all validation "
            "documents, before that of every `reports`-th of them"
        ),
    )
    grace_period: Annotated[float, Field(gt=0)] = Field(
        1.0,
        description="asha: epochs that every trial gets, 0.25 with `reports: 4` or 8, for instance",
    )
    reduction_factor: Annotated[int, Field(ge=2)] = Field(
        3, description="asha: one trial in this many goes on at each rung"
    )
    concurrent: Annotated[int, Field(ge=0)] = Field(
        0, description="trials at once, at most; 0: as many as there is room for"
    )
    cpu: Annotated[float, Field(gt=0)] = Field(1.0, description="cores of a trial, for placing it")
    gpu: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="part of a GPU that a trial takes; 0.25: four share a card"
    )
    retries: Annotated[int, Field(ge=0)] = Field(
        3, description="times that a trial which died (a machine was lost) is started again"
    )
    address: str = Field(
        "local",
        description="local: this machine alone; else a Ray cluster's address (docs/cluster.md)",
    )

    def dimensions(self, h: Hyperparameters) -> dict[str, Dimension]:
        """Return the whole space for a model with hyperparameters `h`: the groups, then `space`.

        A group's `heads` goes where `h` has no heads to divide.
        """
        found = {
            key: dimension for group in self.groups for key, dimension in GROUPS[group].items()
        }
        if h.attention not in ("multi-head", "uniform"):
            found.pop("heads", None)
        return found | self.space

    @property
    def places(self) -> tuple[int, int]:
        """(cores, GPUs) of this machine that the trials can use at once; a cluster's search is one
        waiting process.
        """
        if self.address != "local" or not self.trials:
            return 1, 0
        at_once = min(self.trials, self.concurrent or self.trials)
        return max(1, math.ceil(at_once * self.cpu)), math.ceil(self.gpu)

    def budget(self, h: Hyperparameters) -> dict[str, Value | None]:
        """Return what compared variants must have alike; `h` are those of the search's model."""
        keys = (
            "trials",
            "minutes",
            "metric",
            "sampler",
            "scheduler",
            "reports",
            "grace_period",
            "reduction_factor",
        )
        return {"epochs": self.epochs or h.epochs} | {key: getattr(self, key) for key in keys}

"""The section `searches`: the space of hyperparameters, the budget, and the resources of trials."""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from heed.hyperparameters import MAX_COUNT, MAX_THREADS, Training, Value
from heed.study.section import FOLLOWS, Count, Section, Seed

MAX_MINUTES = 60 * 24 * 365


class Dimension(Section):
    """The distribution from which one hyperparameter is drawn: exactly one of these."""

    uniform: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: uniform between these numbers"
    )
    loguniform: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: uniform on a logarithmic scale between these numbers"
    )
    integer: Annotated[list[int], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[from, to]: a whole number, both ends included"
    )
    choice: Annotated[list[bool | int | float | str], Field(min_length=2)] | None = Field(
        None, description="a list of values, each as likely"
    )

    @model_validator(mode="after")
    def _check_values(self) -> "Dimension":
        kinds = [kind for kind in Dimension.model_fields if getattr(self, kind) is not None]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise ValueError(
                f"takes exactly one of uniform, loguniform, integer, choice; found {found}"
            )
        values = getattr(self, kinds[0])
        if kinds[0] == "choice":
            if len({(type(value), value) for value in values}) < len(values):
                raise ValueError(f"choice names a value twice: {values}")
        elif values[0] >= values[1]:
            raise ValueError(f"{kinds[0]} goes from a smaller to a larger number, found {values}")
        elif kinds[0] == "loguniform" and values[0] <= 0:
            raise ValueError(f"loguniform needs numbers above 0, found {values}")
        return self

    @property
    def kind(self) -> str:
        """`uniform`, `loguniform`, `integer` or `choice`."""
        return next(kind for kind in Dimension.model_fields if getattr(self, kind) is not None)

    @property
    def values(self) -> list[Any]:
        """Both ends of the range, or all choices."""
        return list(getattr(self, self.kind))


# The talk searched two groups. It does not name its ranges; these contain every value that it
# selected, which a test checks.
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
    "epochs": "the search's own `epochs` is the maximum, and the winner's best epoch is kept",
    "select": "the search's `metric` selects the epoch",
    "patience": "the scheduler stops bad trials",
    "device": "it is a property of the machine",
    "precision": "it is a property of the machine",
    "layer_devices": "it is a property of the machine",
    "beam": "trials are validated greedily",
    "length_penalty": "trials are validated greedily",
}


class Search(Section):
    """A hyperparameter search over one model. With trials 0 the configured values are kept."""

    experiment: str = Field(description="the model's experiment")
    model: str = Field(
        description=(
            "the key of `models` whose hyperparameters are searched; others may name the winner "
            "in `tuned_by`"
        )
    )
    after: str = Field(
        "",
        description=(
            "in `later_searches`: the search whose winner this one starts from (groups in turn)"
        ),
    )
    corpus: str = Field("", description=FOLLOWS)
    trials: Annotated[int, Field(ge=0, le=MAX_COUNT)] = Field(
        0, description="how many configurations to try; 0: keep the configured values"
    )
    groups: list[Literal["group-1", "group-2"]] = Field(
        [],
        description=(
            "the talk's spaces: group-1 (batch size, learning rate, vocabulary size), group-2 "
            "(sizes, dropout, heads)"
        ),
    )
    space: dict[str, Dimension] = Field(
        {}, description="hyperparameter → its distribution; replaces that of `groups`"
    )
    metric: str = Field(
        "",
        description=(
            "the figure of validation that is optimised, and that selects the epoch "
            "(docs/tasks.md); empty: the first of the task"
        ),
    )
    epochs: Count | None = Field(
        None, description="maximum epochs of a trial; default: the model's own"
    )
    minutes: Annotated[float, Field(gt=0, le=MAX_MINUTES)] | None = Field(
        None,
        description=(
            "no trial starts or continues after this wall time, so the result depends on the "
            "machine"
        ),
    )
    seed: Annotated[Seed, Field(ge=1)] = Field(
        1000, description="seed of the draws and of every trial's training; never one of `seeds`"
    )
    sampler: Literal["random", "tpe"] = Field(
        "random",
        description=(
            "random: all trials are drawn beforehand; tpe: Optuna's sampler, which uses the "
            "results of earlier trials"
        ),
    )
    scheduler: Literal["asha", "none"] = Field(
        "asha",
        description=(
            "asha: stops bad trials early (Li et al. 2020); none: every trial runs to its end, "
            "reproducibly"
        ),
    )
    reports: Count = Field(
        1,
        description=(
            "asha: validations per epoch that are reported to it; the one at the end uses all "
            "validation documents, the earlier ones every `reports`-th"
        ),
    )
    grace_period: Annotated[float, Field(gt=0, le=MAX_COUNT)] = Field(
        1.0,
        description="asha: epochs before a trial can be stopped; 0.25 needs `reports: 4` or 8, say",
    )
    reduction_factor: Annotated[int, Field(ge=2, le=MAX_COUNT)] = Field(
        3, description="asha: one trial in this many continues at each rung"
    )
    concurrent: Annotated[int, Field(ge=0, le=MAX_COUNT)] = Field(
        0, description="maximum number of trials at once; 0: as many as the resources allow"
    )
    cpu: Annotated[float, Field(gt=0, le=MAX_THREADS)] = Field(
        1.0, description="cores that a trial reserves"
    )
    gpu: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0, description="fraction of a GPU that a trial reserves; 0.25: four trials share one"
    )
    retries: Annotated[int, Field(ge=0, le=MAX_COUNT)] = Field(
        3, description="how often a trial that died (its machine was lost) is restarted"
    )

    @property
    def resources(self) -> tuple[int, int]:
        """(cores, GPUs) that the trials can use at once where they all run on this machine."""
        if not self.trials:
            return 1, 0
        at_once = min(self.trials, self.concurrent or self.trials)
        return max(1, math.ceil(at_once * self.cpu)), math.ceil(self.gpu)

    def budget(self, h: Training) -> dict[str, Value | None]:
        """Return the budget, equal for compared variants; `h` are those of the search's model."""
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

"""The section `searches`: the space of hyperparameters, the budget, and the resources of trials."""

import dataclasses
import math
from typing import Annotated, Any, Literal

from pydantic import Field

from heed.hyperparameters import MAX_COUNT, MAX_THREADS, Value, required
from heed.hyperparameters import hyperparameter as key
from heed.hyperparameters.training import Training
from heed.study.section import FOLLOWS, Count, Reads, Seed, make_section, values_of

MAX_MINUTES = 60 * 24 * 365


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dimension:
    """The distribution from which one hyperparameter is drawn: exactly one of these."""

    uniform: Annotated[list[float], Field(min_length=2, max_length=2)] | None = key(
        None, "[from, to]: uniform between these numbers"
    )
    loguniform: Annotated[list[float], Field(min_length=2, max_length=2)] | None = key(
        None, "[from, to]: uniform on a logarithmic scale between these numbers"
    )
    integer: Annotated[list[int], Field(min_length=2, max_length=2)] | None = key(
        None, "[from, to]: a whole number, both ends included"
    )
    choice: Annotated[list[bool | int | float | str], Field(min_length=2)] | None = key(
        None, "a list of values, each as likely"
    )

    @property
    def kind(self) -> str:
        """`uniform`, `loguniform`, `integer` or `choice`."""
        return next(kind for kind, values in vars(self).items() if values is not None)

    @property
    def values(self) -> list[Any]:
        """Both ends of the range, or all choices."""
        return list(getattr(self, self.kind))


def check_dimension(dimension: Dimension) -> Dimension:
    """Return a dimension. Raises ValueError unless it is one distribution of different values."""
    kinds = [kind for kind, values in vars(dimension).items() if values is not None]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        raise ValueError(
            f"takes exactly one of uniform, loguniform, integer, choice; found {found}"
        )
    kind, values = dimension.kind, dimension.values
    if kind == "choice":
        if len({(type(value), value) for value in values}) < len(values):
            raise ValueError(f"choice names a value twice: {values}")
    elif values[0] >= values[1]:
        raise ValueError(f"{kind} goes from a smaller to a larger number, found {values}")
    elif kind == "loguniform" and values[0] <= 0:
        raise ValueError(f"loguniform needs numbers above 0, found {values}")
    return dimension


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
    """A hyperparameter search over one model. With trials 0 the configured values are kept."""

    experiment: str = required("the model's experiment")
    model: str = key(
        ...,
        "the key of `models` whose hyperparameters are searched; others may name the winner "
        "in `tuned_by`",
    )
    after: str = key(
        "", "in `later_searches`: the search whose winner this one starts from (groups in turn)"
    )
    corpus: str = key("", FOLLOWS)
    trials: Annotated[int, Field(ge=0, le=MAX_COUNT)] = key(
        0, "how many configurations to try; 0: keep the configured values"
    )
    groups: list[Literal["group-1", "group-2"]] = key(
        [],
        "the talk's spaces: group-1 (batch size, learning rate, vocabulary size), group-2 "
        "(sizes, dropout, heads)",
    )
    space: dict[str, Dimension] = key(
        {}, "hyperparameter → its distribution; replaces that of `groups`"
    )
    metric: str = key(
        "",
        "the figure of validation that is optimised, and that selects the epoch "
        "(docs/tasks.md); empty: the first of the task",
    )
    epochs: Count | None = key(None, "maximum epochs of a trial; default: the model's own")
    minutes: Annotated[float, Field(gt=0, le=MAX_MINUTES)] | None = key(
        None,
        "no trial starts or continues after this wall time, so the result depends on the machine",
    )
    seed: Annotated[Seed, Field(ge=1)] = key(
        1000, "seed of the draws and of every trial's training; never one of `seeds`"
    )
    sampler: Literal["random", "tpe"] = key(
        "random",
        "random: all trials are drawn beforehand; tpe: Optuna's sampler, which uses the "
        "results of earlier trials",
    )
    scheduler: Literal["asha", "none"] = key(
        "asha",
        "asha: stops bad trials early (Li et al. 2020); none: every trial runs to its end, "
        "reproducibly",
    )
    reports: Count = key(
        1,
        "asha: validations per epoch that are reported to it; the one at the end uses all "
        "validation documents, the earlier ones every `reports`-th",
    )
    grace_period: Annotated[float, Field(gt=0, le=MAX_COUNT)] = key(
        1.0, "asha: epochs before a trial can be stopped; 0.25 needs `reports: 4` or 8, say"
    )
    reduction_factor: Annotated[int, Field(ge=2, le=MAX_COUNT)] = key(
        3, "asha: one trial in this many continues at each rung"
    )
    concurrent: Annotated[int, Field(ge=0, le=MAX_COUNT)] = key(
        0, "maximum number of trials at once; 0: as many as the resources allow"
    )
    cpu: Annotated[float, Field(gt=0, le=MAX_THREADS)] = key(1.0, "cores that a trial reserves")
    gpu: Annotated[float, Field(ge=0, le=1)] = key(
        0.0, "fraction of a GPU that a trial reserves; 0.25: four trials share one"
    )
    retries: Annotated[int, Field(ge=0, le=MAX_COUNT)] = key(
        3, "how often a trial that died (its machine was lost) is restarted"
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
            "trials", "minutes", "metric", "sampler", "scheduler", "reports", "grace_period",
            "reduction_factor",
        )  # fmt: skip
        return {"epochs": self.epochs or h.epochs} | {key: getattr(self, key) for key in keys}


DIMENSION = make_section(Dimension)
_READ_DIMENSION = Reads(DIMENSION, lambda each: check_dimension(values_of(each, Dimension)))
SEARCH = make_section(Search, space=dict[str, Annotated[Dimension, _READ_DIMENSION]])
AnySearch = Annotated[Search, Reads(SEARCH, lambda section: values_of(section, Search))]

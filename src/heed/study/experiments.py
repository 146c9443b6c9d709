"""The sections `study`, `experiments` with their expected results, and `searches`.

Before them the parts of all tasks that params.yaml is checked by: hyperparameters, presets, rules.
"""

import dataclasses
import math
from types import ModuleType
from typing import Annotated, Any, Literal

from heed.hyperparameters import (
    MAX_COUNT,
    MAX_SEED,
    MAX_SEEDS,
    MAX_THREADS,
    Preset,
    Training,
    Value,
    required,
)
from heed.hyperparameters import hyperparameter as key
from heed.recipe import Name
from heed.records import FLATTENED, Limits, OneOf, Types, fields_of
from heed.task import part_modules, task_module, task_names
from heed.task.interface import DeclaredExperiment

Count = Annotated[int, Limits(gt=0, le=MAX_COUNT)]
Seed = Annotated[int, Limits(ge=0, le=MAX_SEED)]
# The part `recipe` of each task, as heed/task/interface.py describes it.
RECIPES: dict[str, ModuleType] = {task: task_module(task, "recipe") for task in task_names()}
# heed's own presets: task → name → preset
PRESETS: dict[str, dict[str, Preset]] = {
    task: task_module(task, "presets").PRESETS if part_modules(task, "presets") else {}
    for task in task_names()
}


def rules_of(task: str) -> Any:
    """Return the part `rules` of a task."""
    return task_module(task, "rules")


def task_of_labels() -> str:
    """Return the task that learns a label of which a document has one class."""
    return next(task for task in task_names() if rules_of(task).LABELS == "one")


def _make_defaults(task: str) -> type:
    schema, fields = RECIPES[task], []
    for declaration in (schema.Hyperparameters, schema.Prediction):
        for each in dataclasses.fields(declaration):
            if "description" in each.metadata:  # else it is one of the experiment's `data`
                field = dataclasses.field(default=each.default, metadata=each.metadata)
                fields.append((each.name, fields_of(declaration)[each.name].declared, field))
    made = dataclasses.make_dataclass(f"{task.capitalize()}Defaults", fields, frozen=True)
    made.__doc__ = schema.Hyperparameters.__doc__
    return made


# The hyperparameters of each task, as a record, and their names.
SECTIONS = {task: _make_defaults(task) for task in RECIPES}
NAMES_BY_TASK = {task: tuple(fields_of(section)) for task, section in SECTIONS.items()}


# --- the sections ---------------------------------------------------------------------------------

# The metrics of an adversarial model that an expected result may name → their meaning.
ADVERSARIAL_METRICS = {
    "accuracy": "on the test split",
    "rationale_weight": "the share of the adversarial model's weights that lies on rationales",
}
TALK = ("imdb", "imdb-suboptimal", "letters-author", "letters-language", "news", "news-big")
PAIR = Limits(min_length=2, max_length=2)  # both ends of a range
Seeds = Annotated[
    list[Annotated[int, Limits(ge=1, le=MAX_SEED)]], Limits(min_length=1, max_length=MAX_SEEDS)
]
LIMITS = ("at_least", "at_most")
FORMS = {"verdict": ("against",), "metric": LIMITS, "criterion": ("outcome",)}
ABOUT = {"claim", "variant", "adversarial_model"}
MAX_OFTEN = 1000  # restarts of a trial


@dataclasses.dataclass(frozen=True, kw_only=True)
class Study:
    """The name of this study, and what a reader must know before the numbers."""

    name: Name = required("short name, that of its file NAME.yaml")
    title: str = required("title of the report")
    attention: list[Name] = key(["attention"], "variants that answer the study's question, the "
        "main one first", min_length=1)  # fmt: skip
    equivalence_margin: float = key(1.0, "differences up to this many points (percentage points, "
        "or points of BLEU) count as practically the same", ge=0.01, le=20)  # fmt: skip
    longer_training: bool = key(True, "train the first seed of each model again with twice the "
        "epochs, to see whether the model has converged")  # fmt: skip
    convergence_pp: float | None = key(None, "largest gain in validation points by longer training "
        "of a converged model (default: 1.64 standard errors, at least 0.2 and 3 validation items)",
        or_zero=0.001, le=20)  # fmt: skip
    note: str = key("", "text at the top of the report")
    authors: str = key("", "authors of the paper, as it prints them")
    date: str = key("", "date of the paper, as it prints it")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Published:
    """The row of data/published/ that this experiment is compared with."""

    experiment: str = required("the talk's experiment", choices=TALK)
    comparable: bool = required("true only for the talk's corpus, split sizes and hyperparameters")
    reason: str = key("", "why it is not comparable; printed with the scores")


def check_published(published: Published) -> None:
    """Raise ValueError if a row of the talk is not comparable, without a reason."""
    if not published.comparable and not published.reason:
        raise ValueError("a published row that is not comparable needs a reason")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExpectedResult:
    """A claim that is known to be true, and one result of the study that must agree with it.

    The result is a `verdict` on a variant, a `metric` with a limit, or the `outcome` of a
    `criterion`.
    """

    claim: str = required("the expected result, as one sentence", min_length=1, max_length=300)
    variant: Name | None = key(None, "variant that the claim is about")
    adversarial_model: Name | None = key(None, "instead of `variant`: a key of "
        "`adversarial_attention`")  # fmt: skip
    against: Name | None = key(None, "with `verdict`: another variant, or a reference model")
    verdict: Literal["better", "worse", "practically the same", "undecided"] | None = key(
        None, "what the tests must say of the difference"
    )
    metric: str | None = key(None, "a metric of the task (mean over seeds, test split) or `aer`; "
        "of an explained model `rationale_weight` or `accuracy_in_middle`; of an adversarial model "
        "`accuracy` or `rationale_weight`")  # fmt: skip
    at_least: float | None = key(None, "least value of `metric`", gt=0, le=1)
    at_most: float | None = key(None, "greatest value of `metric`", ge=0, lt=1)
    criterion: Literal["permutation", "seeds", "adversarial_attention", "rationale"] | None = key(
        None, "one of the report's criteria on weights; the model is in `explain.models`"
    )
    outcome: Literal["pass", "fail"] | None = key(None, "what `criterion` must say")


def check_expected_result(result: ExpectedResult) -> None:
    """Raise ValueError unless an expected result has one form, with the keys that belong to it."""
    least, most = result.at_least, result.at_most
    if least is not None and most is not None and least > most:
        raise ValueError(f"at_least {least:g} is above at_most {most:g}")
    if (result.variant is None) == (result.adversarial_model is None):
        raise ValueError("an expected result names a variant, or else an adversarial model")
    given = {name for name, value in vars(result).items() if value is not None} - ABOUT
    forms = {"metric": LIMITS} if result.adversarial_model else FORMS
    for form, keys in forms.items():
        if {form} < given <= {form, *keys}:
            return
    allowed = ", or ".join(f"`{form}` with {' or '.join(keys)}" for form, keys in forms.items())
    raise ValueError(
        f"an expected result has {allowed}; found {', '.join(sorted(given)) or 'none'}"
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment(DeclaredExperiment):
    """A row of the comparison: a corpus, and the task on it."""

    task: str = required("decides on models, metrics and reference models")
    corpus: str = required("a key of `corpora`")
    data: Any = required("what is learned of the corpus")
    options: Annotated[Any, FLATTENED]
    title: str = required("heading in the report")
    metric: str | None = key(None, "metric by which models are compared (default: the first of the "
        "task, docs/tasks.md)")  # fmt: skip
    seeds: Seeds | None = key(None, "its models are trained once with each of these, in place of "
        "the study's `seeds`")  # fmt: skip
    control: Name | None = key(None, "variant over which the first of `study.attention` is tested "
        "by itself (default: equal weights, `uniform` or `mean`; else `parameter-matched`, else "
        "`baseline`)")  # fmt: skip
    published: Annotated[Published, check_published] | None = key(None, "the talk's row, printed "
        "beside the scores")  # fmt: skip
    suboptimal_of: str | None = key(None, "experiment whose hyperparameters are deliberately "
        "degraded in this one")  # fmt: skip
    expected_results: list[Annotated[ExpectedResult, check_expected_result]] = key([], "what is "
        "known beforehand; the report says whether the study found it")  # fmt: skip


EXPERIMENTS = {
    task: Annotated[
        Experiment,
        Types(task=Literal[task], data=schema.Target, options=Annotated[schema.Options, FLATTENED]),
    ]
    for task, schema in RECIPES.items()
}
AnyExperiment = Annotated[Experiment, OneOf("task", EXPERIMENTS)]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Dimension:
    """The distribution from which one hyperparameter is drawn: exactly one of these."""

    uniform: Annotated[list[float], PAIR] | None = key(None, "[from, to]: any number between them")
    loguniform: Annotated[list[float], PAIR] | None = key(None, "[from, to]: uniform on a "
        "logarithmic scale")  # fmt: skip
    integer: Annotated[list[int], PAIR] | None = key(None, "[from, to]: a whole number, both ends "
        "included")  # fmt: skip
    choice: Annotated[list[Value], Limits(min_length=2)] | None = key(None, "list of equally "
        "likely values")  # fmt: skip

    @property
    def kind(self) -> str:
        """`uniform`, `loguniform`, `integer` or `choice`."""
        return next(kind for kind, values in vars(self).items() if values is not None)

    @property
    def values(self) -> list[Any]:
        """Both ends of the range, or all choices."""
        return list(getattr(self, self.kind))


def check_dimension(dimension: Dimension) -> None:
    """Raise ValueError unless a dimension is one distribution of different values."""
    kinds = [kind for kind, values in vars(dimension).items() if values is not None]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        raise ValueError(
            f"takes exactly one of uniform, loguniform, integer, choice; found {found}"
        )
    kind, values = dimension.kind, dimension.values
    if kind == "choice":
        if len({(isinstance(value, bool), value) for value in values}) < len(values):
            raise ValueError(f"choice names a value twice: {values}")
    elif values[0] >= values[1]:
        raise ValueError(f"{kind} goes from a smaller to a larger number, found {values}")
    elif kind == "loguniform" and values[0] <= 0:
        raise ValueError(f"loguniform needs numbers above 0, found {values}")


NOT_SEARCHED = {
    "epochs": "the search's own `epochs` is the maximum, and the winner's best epoch is kept",
    "monitor": "the search's `metric` selects the epoch",
    "patience": "the scheduler stops bad trials",
    **dict.fromkeys(("device", "precision"), "it is a property of the machine"),
    **dict.fromkeys(("beam", "length_penalty"), "trials are validated greedily"),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
    """A hyperparameter search of one model, or of each that names it, with the same budget."""

    experiment: str = required("experiment of the models")
    model: str = key("", "the one model that is searched, for all that name the search (default: "
        "each takes its own winner)")  # fmt: skip
    trials: Count = required("configurations that are tried")
    trainings: int = key(0, "budget of a model, in full trainings of `epochs`; 0: `trials` alone "
        "limits it", ge=0, le=MAX_COUNT)  # fmt: skip
    space: dict[str, Annotated[Dimension, check_dimension]] = required("distribution of each "
        "hyperparameter", min_length=1)  # fmt: skip
    metric: str = key("", "validation metric that is optimised and selects the epoch (default: the "
        "first of the task)")  # fmt: skip
    epochs: Count | None = key(None, "most epochs of a trial (default: the model's)")
    seed: Seed = key(1000, "seed of the draws and of every trial; none of `seeds`", ge=1)
    scheduler: Literal["asha", "none"] = key("asha", "asha: stops bad trials early (Li et al. "
        "2020); none: every trial runs to its end, reproducibly")  # fmt: skip
    grace_period: Count = key(1, "asha: epochs before a trial can be stopped")
    reduction_factor: int = key(
        3, "asha: one trial in this many continues at each rung", ge=2, le=MAX_OFTEN
    )
    concurrent: int = key(0, "most trials at once; 0: as many as the resources allow",
        ge=0, le=MAX_COUNT)  # fmt: skip
    cpu: float = key(1.0, "cores that a trial reserves", ge=0.01, le=MAX_THREADS)
    gpu: float = key(0.0, "share of a GPU that a trial reserves", or_zero=0.01, le=1)
    retries: int = key(3, "restarts of a trial whose machine was lost", ge=0, le=MAX_OFTEN)

    def resources(self, models: int) -> tuple[int, int]:
        """Return the cores and GPUs that the trials of so many models can use on one machine."""
        at_once = min(models * self.trials, self.concurrent or models * self.trials)
        return max(1, math.ceil(at_once * self.cpu)), math.ceil(self.gpu)

    def budget(self, h: Training) -> dict[str, Value | None]:
        """Return the budget, equal for compared variants; `h` are those of the search's model."""
        keys = "trials trainings metric scheduler grace_period reduction_factor"
        budget = {key: getattr(self, key) for key in keys.split()}
        return {"epochs": self.epochs or h.epochs} | budget

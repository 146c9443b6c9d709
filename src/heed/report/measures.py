"""The metric by which an experiment compares its models, and what weakens a comparison."""

import dataclasses
import statistics
from typing import Any

from heed.evaluation import results
from heed.evaluation.results import BASELINE, CONTROLS, ExperimentResult, ModelResult
from heed.hyperparameters.classifier import Architecture
from heed.report.formats import format_number, format_points
from heed.task import task_module


@dataclasses.dataclass(frozen=True)
class Measure:
    """A metric of the test split, of this task and with this name there."""

    task: str
    metric: str
    name: str = dataclasses.field(init=False)  # in a sentence
    item: str = dataclasses.field(init=False)  # what one prediction is of: document or sentence
    is_of_sentences: bool = dataclasses.field(init=False)
    is_accuracy: bool = dataclasses.field(init=False)
    in_hundreds: bool = dataclasses.field(init=False)  # whether it is printed between 0 and 100
    # whether differences are in percentage points, and not in points of the metric
    in_percentage_points: bool = dataclasses.field(init=False)
    long_unit: str = dataclasses.field(init=False)  # of differences
    unit: str = dataclasses.field(init=False)  # the same in a heading
    validated: tuple[str, ...] = dataclasses.field(init=False)  # metrics after each epoch

    def __post_init__(self) -> None:
        recipe, metric = task_module(self.task, "recipe"), self.metric
        scale, name = recipe.SCALE, recipe.SCALE.names.get(metric, metric.replace("_", " "))
        in_hundreds = scale.in_hundreds and metric != "loss"
        is_share = not scale.in_points or metric in scale.percentages
        points = f"{name} points" if in_hundreds else "hundredths"
        vars(self).update(
            name=name, item=recipe.ITEM, is_of_sentences=recipe.ITEM == "sentence",
            is_accuracy=metric == "accuracy", in_hundreds=in_hundreds,
            in_percentage_points=is_share, long_unit="percentage points" if is_share else points,
            unit="p.p." if is_share else points, validated=recipe.VALIDATION_METRICS,
        )  # fmt: skip

    @property
    def first_validated(self) -> "Measure":
        """The first metric that the task validates after each epoch."""
        return Measure(self.task, self.validated[0])

    @property
    def of_validation(self) -> "Measure":
        """The validation metric that says whether a model has converged."""
        return self if self.metric in self.validated else self.first_validated

    def scaled(self, value: float) -> float:
        """Return a score on the scale that it is printed on."""
        return 100 * value if self.in_hundreds else value

    def format(self, value: float | None) -> str:
        """Return the score for people; a dash for None."""
        printed = None if value is None else self.scaled(value)
        return format_number(printed, 2 if self.in_hundreds else 4)

    def short(self, value: float, named: bool = False, digits: int = 1) -> str:
        """Return the score in a sentence: an accuracy in percent; `named`: others by name."""
        if self.is_accuracy:
            return f"{format_number(100 * value, digits)}%"
        number = format_number(self.scaled(value), digits if self.in_hundreds else 3)
        return f"{self.name} {number}" if named else number

    def difference(self, value: float, digits: int = 2) -> str:
        """Return a difference with its sign and its unit."""
        return f"{format_points(value, digits)} {self.unit}"

    def limit(self, value: float, digits: int | None = None) -> str:
        """Return the size of a difference with its unit; `digits`: decimals, None: all."""
        number = f"{value:g}" if digits is None else format_number(value, digits)
        return f"{number} {self.unit}"

    def points(self, value: float) -> str:
        """Return the size of a difference in words, such as "a point" or "2 BLEU points"."""
        kind = "" if self.in_percentage_points else f"{self.name} "
        if kind and not self.in_hundreds:
            return self.limit(value)
        return f"a {kind}point" if value == 1 else f"{value:g} {kind}points"

    def convergence_margin(self, value: float | None) -> str:
        """Return a margin of convergence with its unit; None: as `compare_longer` has it."""
        if value is not None:
            return self.limit(value)
        errors, least = format_number(results.MARGIN_ERRORS, 2), self.limit(results.LEAST_MARGIN_PP)
        more = f"more than {least} and more than {results.LEAST_MARGIN_ITEMS} items"
        return f"{errors} standard errors of that score, {more}"


def measure_of(result: ExperimentResult) -> Measure:
    """Return the metric by which an experiment compares its models."""
    return Measure(result.task, result.metric)


def report_of(task: str) -> Any:
    """Return the module `report` of a task: its reference models and how values are computed."""
    return task_module(task, "report")


def equal_weights_control(result: ExperimentResult, variant: str) -> str:
    """Return the variant that is `variant` with equal weights in place of learned ones.

    X-equal-weights and X-average belong to X, whatever their hyperparameters. Else it is
    `equal-weights` of a model with self-attention, `average`, or the baseline, where it differs by
    no hyperparameter that makes weights. Empty where there is none, and for a translator.
    """
    h = result.models[variant].hyperparameters
    if variant in (BASELINE, *CONTROLS) or not (isinstance(h, Architecture) and h.learns_weights):
        return ""
    kinds = results.equal_weights(h)
    own = [f"{variant}-{kind}" for kind in kinds]
    for name in filter(result.models.__contains__, (*own, *kinds, BASELINE)):
        control = result.models[name].hyperparameters
        if control.learns_weights or control.pooling != "mean":
            continue
        weights = {"attention": h.attention, "heads": h.heads, "pooling": h.pooling}
        if name in own or dataclasses.replace(control, score=h.score, **weights) == h:
            return name
    return ""


def lacks_layer(result: ExperimentResult, variant: str) -> bool:
    """Whether a control lacks the layer of self-attention: the gain is not of weights alone."""
    control = equal_weights_control(result, variant)
    if not control:
        return False
    h, equal = (result.models[name].hyperparameters for name in (variant, control))
    return h.attention != "none" and equal.attention == "none"


MAJORITY = "majority"
FAR_PP = 10.0  # below the median of the model's other runs


def degenerate_seeds(
    model: ModelResult, result: ExperimentResult, seeds: list[int]
) -> dict[int, float]:
    """Return the score of each degenerate run by seed, on its own fold (docs/read/report.md)."""
    values, majority = result.compared_score(model).values, list[float]()
    if MAJORITY in result.reference_models:
        of_folds = result.compared_score(result.reference_models[MAJORITY]).values
        majority = [of_folds[(seed - 1) % len(of_folds)] for seed in seeds]
    degenerate = {}
    for index, (seed, value) in enumerate(zip(seeds, values, strict=True)):
        median = statistics.median(values[:index] + values[index + 1 :] or [value])
        far = 100 * result.sign * (median - value) > FAR_PP
        if far or (majority and value <= majority[index]):
            degenerate[seed] = value
    return degenerate

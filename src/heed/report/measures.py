"""The metric by which an experiment compares its models, and what weakens a comparison.

The task says how its figures are printed (`SCALE` of its recipe). A comparison is weak where
predictions are degenerate, or weights equal.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable
from typing import Any

from heed.evaluation.results import (
    BASELINE,
    CONTROLS,
    LEAST_MARGIN_ITEMS,
    LEAST_MARGIN_PP,
    MARGIN_ERRORS,
    ExperimentResult,
    ModelResult,
    equal_weights,
)
from heed.hyperparameters.classifier import Architecture
from heed.report.formats import format_number, format_points, pluralize
from heed.task import task_module
from heed.task.interface import ReferenceModel, Scale


@dataclasses.dataclass(frozen=True)
class Measure:
    """A metric of the test split, of this task and with this name there."""

    task: str
    metric: str

    @property
    def _recipe(self) -> Any:
        return task_module(self.task, "recipe")

    @property
    def scale(self) -> Scale:
        """How the task's figures are printed."""
        scale: Scale = self._recipe.SCALE
        return scale

    @property
    def name(self) -> str:
        """Its name in a sentence."""
        return self.scale.names.get(self.metric, self.metric.replace("_", " "))

    @property
    def item(self) -> str:
        """What one prediction is of: a document or a sentence."""
        return str(self._recipe.ITEM)

    @property
    def is_of_sentences(self) -> bool:
        """Whether it is a figure of sentences, and not of documents."""
        return self.item == "sentence"

    @property
    def in_hundreds(self) -> bool:
        """Whether the figure is printed between 0 and 100."""
        return self.scale.in_hundreds and self.metric != "loss"

    @property
    def is_accuracy(self) -> bool:
        """Whether it is the share of documents whose one class is right."""
        return self.metric == "accuracy"

    @property
    def of_validation(self) -> "Measure":
        """The validation metric that says whether a model has converged."""
        scores = self._recipe.VALIDATION_METRICS
        return self if self.metric in scores else Measure(self.task, scores[0])

    @property
    def in_percentage_points(self) -> bool:
        """Whether its differences are in percentage points, and not in points of the metric."""
        return not self.scale.in_points or self.metric in self.scale.percentages

    @property
    def unit(self) -> str:
        """The unit of differences, in a heading."""
        return "p.p." if self.in_percentage_points else self.long_unit

    @property
    def long_unit(self) -> str:
        """The unit of differences, in full."""
        if self.in_percentage_points:
            return "percentage points"
        return f"{self.name} points" if self.in_hundreds else "hundredths"

    def scaled(self, value: float) -> float:
        """Return the figure on the scale that it is printed on."""
        return 100 * value if self.in_hundreds else value

    def format(self, value: float | None) -> str:
        """Return the score for people; a dash for None."""
        printed = None if value is None else self.scaled(value)
        return format_number(printed, 2 if self.in_hundreds else 4)

    def short(self, value: float, named: bool = False, more: int = 0) -> str:
        """Return the score for a sentence: an accuracy in percent; `named`: others by their name.

        All but a share of right answers are read only with their name. `more`: further decimals.
        """
        if self.is_accuracy:
            return f"{format_number(100 * value, 1 + more)}%"
        number = format_number(self.scaled(value), more + (1 if self.in_hundreds else 3))
        return f"{self.name} {number}" if named else number

    def brief(self, value: float) -> str:
        """Return the score without decimals, beside a difference that has them."""
        if not (self.is_accuracy or self.in_hundreds):
            return self.short(value)
        return f"{format_number(100 * value, 0)}{'%' * self.is_accuracy}"

    def difference(self, value: float, digits: int = 2) -> str:
        """Return a difference with its sign and its unit."""
        return f"{format_points(value, digits)} {self.unit}"

    def margin(self, value: float) -> str:
        """Return a margin around zero with its unit."""
        return f"±{value:g} {self.unit}"

    def limit(self, value: float, digits: int | None = None) -> str:
        """Return the size of a difference with its unit; `digits`: decimals, None: all."""
        number = f"{value:g}" if digits is None else format_number(value, digits)
        return f"{number} {self.unit}"

    def points(self, value: float) -> str:
        """Return the size of a difference in words, such as "a point" or "2 BLEU points"."""
        kind = "" if self.in_percentage_points or not self.in_hundreds else f"{self.name} "
        if not self.in_percentage_points and not self.in_hundreds:
            return self.limit(value)
        return f"a {kind}point" if value == 1 else f"{value:g} {kind}points"

    def convergence_margin(self, value: float | None) -> str:
        """Return a margin of convergence with its unit; None: as `compare_longer` has it."""
        if value is not None:
            return self.limit(value)
        least = self.limit(LEAST_MARGIN_PP)
        return (
            f"{format_number(MARGIN_ERRORS, 2)} standard errors of that score, more than {least} "
            f"and more than {LEAST_MARGIN_ITEMS} items"
        )


def measure_of(result: ExperimentResult) -> Measure:
    """Return the metric by which an experiment compares its models."""
    return Measure(result.task, result.metric)


def report_of(task: str) -> Any:
    """Return the part `report` of a task: its words, chapters, tables and figures."""
    return task_module(task, "report")


def describe_reference_models(tasks: Iterable[str]) -> dict[str, ReferenceModel]:
    """Return the words on the reference models of these tasks, by name."""
    models: dict[str, ReferenceModel] = {}
    for task in dict.fromkeys(tasks):
        models = report_of(task).REFERENCE_MODELS | models
    return models


def equal_weights_control(result: ExperimentResult, variant: str) -> str:
    """Return the variant that is `variant` with equal weights in place of learned ones.

    That is X-uniform or X-mean, whatever hyperparameters they have, since they belong to X. Else it
    is `uniform` of a model with self-attention, `mean`, or the baseline, where it differs by no
    hyperparameter that makes weights. Empty where there is none, and for a translator.
    """
    h = result.models[variant].hyperparameters
    if variant in (BASELINE, *CONTROLS) or not (isinstance(h, Architecture) and h.learns_weights):
        return ""
    kinds = equal_weights(h)
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
    """Whether the control of a model with self-attention lacks that layer, as the mean does.

    Then the gain over it is not one of the weights alone.
    """
    control = equal_weights_control(result, variant)
    if not control:
        return False
    h, equal = (result.models[name].hyperparameters for name in (variant, control))
    return h.attention != "none" and equal.attention == "none"


MAJORITY = "majority"
DEGENERATE = (  # without a majority class; a task says it with one
    "A run is degenerate if its {metric} is more than {far} below the median of the model's other "
    "runs."
)
FAR_PP = 10.0  # below the median of the model's other runs


def degenerate_seeds(
    model: ModelResult, result: ExperimentResult, seeds: list[int]
) -> dict[int, float]:
    """Return the score of each degenerate run of a model, by seed (docs/report.md).

    `seeds` are in the order of the model's runs.
    """
    values, majority = result.compared_score(model).values, _majority(result, seeds)
    degenerate = {}
    for index, (seed, value) in enumerate(zip(seeds, values, strict=True)):
        others = values[:index] + values[index + 1 :]
        median = statistics.median(others) if others else value
        far = 100 * result.sign * (median - value) > FAR_PP
        if far or (majority and value <= majority[index]):
            degenerate[seed] = value
    return degenerate


def degenerate_sentence(result: ExperimentResult, seeds: list[int]) -> str:
    """Name the degenerate runs and the models below the majority class.

    A part of a sentence, without a capital and a full stop; empty where there is neither.
    """
    majority, measure = _majority(result, seeds), measure_of(result)
    constant = statistics.fmean(majority) if majority else -math.inf
    parts = []
    for name, model in result.models.items():
        degenerate = degenerate_seeds(model, result, seeds)
        mean = result.compared_score(model).mean
        if len(degenerate) == len(seeds):
            parts.append(f"every run of {name} is degenerate")
        elif degenerate:
            runs = [f"{seed} ({measure.format(each)})" for seed, each in degenerate.items()]
            seed = pluralize("seed", "seeds", len(runs))
            parts.append(f"{name} is degenerate with {seed} {', '.join(runs)}")
        if mean < constant:
            scores = {"metric": measure.format(mean), "majority": measure.format(constant)}
            parts.append(report_of(result.task).BELOW_MAJORITY.format(name=name, **scores))
    return "; ".join(parts)


def explain_degenerate(result: ExperimentResult) -> str:
    """Return when a run is degenerate, in one sentence."""
    measure = measure_of(result)
    form = report_of(result.task).DEGENERATE if MAJORITY in result.reference_models else DEGENERATE
    return str(form.format(metric=measure.name, far=measure.limit(FAR_PP)))


def _majority(result: ExperimentResult, seeds: list[int]) -> list[float]:
    """Return the majority class's figure on the test documents of each seed; none without it."""
    if MAJORITY not in result.reference_models:
        return []
    values = result.compared_score(result.reference_models[MAJORITY]).values
    return [values[(seed - 1) % len(values)] for seed in seeds]  # one value, or one for each fold

"""The figure by which an experiment compares its models: its name, its format, its unit.

The task says how its figures are printed (`SCALE` of its recipe).
"""

import dataclasses
from collections.abc import Iterable
from typing import Any

from heed.evaluation.results import ExperimentResult
from heed.report.formats import format_number, format_points
from heed.report.language import say
from heed.task import task_module
from heed.task.interface import Scale

SENTENCE = "sentence"  # an item of a task: a sentence, or else a document


@dataclasses.dataclass(frozen=True)
class Measure:
    """A figure of the test part, of this task and with this name there."""

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
    def is_of_sentences(self) -> bool:
        """Whether it is a figure of sentences, and not of documents."""
        return bool(self._recipe.ITEM == SENTENCE)

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
        """The figure of the validation part that says whether a training had converged."""
        figures = self._recipe.FIGURES
        return self if self.metric in figures else Measure(self.task, figures[0])

    @property
    def in_percentage_points(self) -> bool:
        """Whether its differences are in percentage points, and not in points of the figure."""
        return not self.scale.in_points or self.metric in self.scale.percentages

    @property
    def points(self) -> str:
        """The unit of differences that are no percentage points."""
        if self.in_hundreds:
            return say("{name} points", name=self.name)
        return say("hundredths")

    @property
    def unit(self) -> str:
        """The unit of differences, in a heading."""
        return say("p.p.") if self.in_percentage_points else self.points

    @property
    def long_unit(self) -> str:
        """The unit of differences, in full."""
        if self.in_percentage_points:
            return say("percentage points")
        return self.points

    def scaled(self, value: float) -> float:
        """Return the figure on the scale that it is printed on."""
        return 100 * value if self.in_hundreds else value

    def figure(self, value: float | None) -> str:
        """Return the figure for people; a dash for None."""
        printed = None if value is None else self.scaled(value)
        return format_number(printed, 2 if self.in_hundreds else 4)

    def difference(self, value: float) -> str:
        """Return a difference with its sign and its unit."""
        gain = format_points(value)
        if self.in_percentage_points:
            return say("{gain} p.p.", gain=gain)
        if not self.in_hundreds:
            return say("{gain} hundredths", gain=gain)
        return say("{gain} {name} points", gain=gain, name=self.name)

    def margin(self, value: float) -> str:
        """Return a margin around zero with its unit."""
        if self.in_percentage_points:
            return say("±{margin} p.p.", margin=f"{value:g}")
        if not self.in_hundreds:
            return say("±{margin} hundredths", margin=f"{value:g}")
        return say("±{margin} {name} points", margin=f"{value:g}", name=self.name)

    def limit(self, value: float) -> str:
        """Return the size of a difference with its unit."""
        if self.in_percentage_points:
            return say("{limit} p.p.", limit=f"{value:g}")
        if not self.in_hundreds:
            return say("{limit} hundredths", limit=f"{value:g}")
        return say("{limit} {name} points", limit=f"{value:g}", name=self.name)


def measure_of(result: ExperimentResult) -> Measure:
    """Return the figure by which an experiment compares its models."""
    return Measure(result.task, result.metric)


@dataclasses.dataclass(frozen=True)
class ReferenceModel:
    """The words on a reference model of a task.

    heading: of its column; empty for a model without one.
    meaning: of the column; glossary: of its entry there.
    in_sentence: its name where it is the only one; `against` and `short` head columns then.
    """

    heading: str
    meaning: str
    glossary: str
    in_sentence: str = ""
    against: str = ""
    short: str = ""


def report_of(task: str) -> Any:
    """Return the part `report` of a task: its words, chapters, tables and figures."""
    return task_module(task, "report")


def reference_models(tasks: Iterable[str]) -> dict[str, ReferenceModel]:
    """Return the words on the reference models of these tasks, by name."""
    models: dict[str, ReferenceModel] = {}
    for task in dict.fromkeys(tasks):
        models = report_of(task).reference_models() | models
    return models

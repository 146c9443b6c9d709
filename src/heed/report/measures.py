"""The figure by which an experiment compares its models: its name, its format, its unit.

Figures between 0 and 1 of a classification, also of a multi-label one, are printed as they are, and
their differences in percentage points. Those of a translation are printed as sacrebleu prints them,
between 0 and 100, and their differences in points: a BLEU of 0.39 is 39, and 0.01 more is 1 BLEU
point more.
"""

import dataclasses

from heed.evaluation.results import ExperimentResult
from heed.report.formats import format_number, format_points
from heed.report.language import say

CLASSIFICATION, MULTILABEL, TRANSLATION = "classification", "multilabel", "translation"  # tasks
NAMES = {
    **{f"{average}_f1": f"{average} F1" for average in ("micro", "macro", "weighted")},
    "bleu": "BLEU",
    "chrf": "chrF",
    "rouge_1_precision": "ROUGE-1 precision",
    "rouge_1_recall": "ROUGE-1 recall",
    "rouge_2_precision": "ROUGE-2 precision",
    "rouge_2_recall": "ROUGE-2 recall",
    "rouge_l_precision": "ROUGE-L precision",
    "rouge_l_recall": "ROUGE-L recall",
    "exact_match": "exact match",
}


@dataclasses.dataclass(frozen=True)
class Measure:
    """A figure of the test part, of this task and with this name there."""

    task: str
    metric: str

    @property
    def name(self) -> str:
        """Its name in a sentence."""
        return NAMES.get(self.metric, self.metric.replace("_", " "))

    @property
    def is_translation(self) -> bool:
        """Whether it is a figure of translations."""
        return self.task == TRANSLATION

    @property
    def in_hundreds(self) -> bool:
        """Whether the figure is printed between 0 and 100."""
        return self.is_translation and self.metric != "loss"

    @property
    def is_accuracy(self) -> bool:
        """Whether it is the share of documents whose one class is right."""
        return self.metric == "accuracy"

    @property
    def of_validation(self) -> "Measure":
        """The figure of the validation part that says whether a training had converged.

        A translation is validated by BLEU alone.
        """
        return Measure(self.task, "bleu") if self.is_translation else self

    @property
    def in_percentage_points(self) -> bool:
        """Whether its differences are in percentage points, and not in points of the figure."""
        return not self.is_translation or self.metric == "exact_match"

    @property
    def unit(self) -> str:
        """The unit of differences, in a heading."""
        return say("p.p.") if self.in_percentage_points else say("{name} points", name=self.name)

    @property
    def long_unit(self) -> str:
        """The unit of differences, in full."""
        if self.in_percentage_points:
            return say("percentage points")
        return say("{name} points", name=self.name)

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
        return say("{gain} {name} points", gain=gain, name=self.name)

    def margin(self, value: float) -> str:
        """Return a margin around zero with its unit."""
        if self.in_percentage_points:
            return say("±{margin} p.p.", margin=f"{value:g}")
        return say("±{margin} {name} points", margin=f"{value:g}", name=self.name)

    def limit(self, value: float) -> str:
        """Return the size of a difference with its unit."""
        if self.in_percentage_points:
            return say("{limit} p.p.", limit=f"{value:g}")
        return say("{limit} {name} points", limit=f"{value:g}", name=self.name)


def measure_of(result: ExperimentResult) -> Measure:
    """Return the figure by which an experiment compares its models."""
    return Measure(result.task, result.metric)


def task_name(task: str) -> str:
    """Return a task in the report's language, as a heading has it."""
    return {
        CLASSIFICATION: say("Classification"),
        MULTILABEL: say("Multi-label classification"),
        TRANSLATION: say("Translation"),
    }[task]

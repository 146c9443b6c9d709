"""The cost of a model: the core time of its trainings, beside its test figure and its size."""

import dataclasses
import statistics

from heed.report.experiments import Experiment
from heed.report.language import say
from heed.report.results import Results
from heed.report.timing import TrainingTime


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a model costs, and what it reaches: its mean test figure, by which models compare."""

    variant: str
    figure: float
    parameters: int
    times: tuple[TrainingTime, ...]  # of its trainings, by seed

    @property
    def minutes(self) -> list[float]:
        """The core-minutes of each training."""
        return [each.core_minutes for each in self.times]

    @property
    def mean(self) -> float:
        """The core-minutes of a training, a mean over seeds."""
        return statistics.fmean(self.minutes)

    @property
    def total(self) -> float:
        """The core-minutes of all trainings."""
        return sum(self.minutes)

    def over(self, other: "Cost") -> float | None:
        """Return its core time over another model's; None where that is too short to measure."""
        return self.mean / other.mean if other.mean > 0 else None


@dataclasses.dataclass(frozen=True)
class TimeUnit:
    """A unit of core time: its name in the plural, and how many of it a core-minute is."""

    name: str
    per_minute: float

    def of(self, minutes: float) -> float:
        """Return core-minutes in this unit."""
        return minutes * self.per_minute


def time_unit(minutes: float) -> TimeUnit:
    """Return the unit in which a time of about so many core-minutes is easy to read."""
    if minutes < 1:
        return TimeUnit(say("core-seconds"), 60)
    return TimeUnit(say("core-minutes"), 1) if minutes < 60 else TimeUnit(say("core-hours"), 1 / 60)


def read_costs(results: Results, experiment: Experiment) -> dict[str, Cost]:
    """Return the cost of each model of an experiment, by variant.

    Raises HeedError: the time of a training is missing or broken.
    """
    result = results.comparison.experiments[experiment.key]
    return {
        variant: Cost(
            variant,
            result.figure_of(variant),
            model.parameters,
            tuple(results.training_times(model.model)),
        )
        for variant, model in result.models.items()
    }

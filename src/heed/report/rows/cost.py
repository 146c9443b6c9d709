"""The rows of what trainings cost, and the sentences' numbers: core time, and gains for it."""

import dataclasses
import statistics
from collections.abc import Iterator

from heed.evaluation.results import BASELINE
from heed.report.differences import TestedDifference
from heed.report.experiments import Experiment
from heed.report.results import Results
from heed.report.rows import Rows
from heed.training.machine import TrainingTime


@dataclasses.dataclass(frozen=True)
class Cost:
    """The cost of a model of an experiment, and its mean test score, by which models compare."""

    experiment: Experiment
    variant: str
    score: float
    parameters: int
    times: list[TrainingTime]  # of its trainings, by seed
    baseline: list[TrainingTime] | None  # the baseline's
    search: str  # of its hyperparameters; empty without one
    longer: TrainingTime | None  # of its longer training

    @property
    def words(self) -> str:
        """The model in words."""
        return self.experiment.words[self.variant]

    @property
    def printed_score(self) -> str:
        """The score for people."""
        return self.experiment.measure.format(self.score)

    @property
    def mean(self) -> float:
        """The core-minutes of a training, a mean over seeds."""
        return self.total / len(self.times)

    @property
    def total(self) -> float:
        """The core-minutes of all trainings."""
        return sum(each.core_minutes for each in self.times)

    @property
    def ratio(self) -> float | None:
        """The core time of a training over the baseline's; None where it has none."""
        minutes = [each.core_minutes for each in self.baseline or []]
        return self.mean / statistics.fmean(minutes) if sum(minutes) else None


def read_costs(results: Results) -> list[Cost]:
    """Return what each model of a study costs. Raises HeedError: a time is missing or broken."""
    return [cost for each in results.experiments for cost in _read_costs(results, each)]


def _read_costs(results: Results, experiment: Experiment) -> Iterator[Cost]:
    result = experiment.result
    times = {name: results.training_times(model.model) for name, model in result.models.items()}
    for variant, model in result.models.items():
        search, text = results.read_search(experiment, model.model), ""
        if search:
            count = len(search.trials)
            text = f"{count} trial{'s' if count != 1 else ''}, {search.epochs:g} epochs"
        yield Cost(
            experiment, variant, result.score_of(variant), model.parameters, times[variant],
            times.get(BASELINE), text, results.longer_time(model.model),
        )  # fmt: skip


def cost(results: Results) -> Rows:
    """Return the core time of every model: of a training, and of those with all seeds."""
    costs = read_costs(results)
    has_search = any(each.search for each in costs)
    on_gpu = {each.on_gpu for cost in costs for each in cost.times}
    facts = {
        "search": has_search,
        "no_search": not has_search,
        "time": "the time that a training on a GPU took" if True in on_gpu else "CPU time",
    }
    return Rows(costs, facts, sources=(*results.comparison_sources, results.times_source))


@dataclasses.dataclass(frozen=True)
class Price:
    """What attention costs in an experiment, beside its gain over the baseline."""

    experiment: Experiment
    ratio: float
    gain: TestedDifference


@dataclasses.dataclass(frozen=True)
class Bill:
    """What a study cost: the number of its trainings, their core-minutes, and attention's price."""

    trainings: int
    minutes: float
    prices: list[Price]

    @property
    def time(self) -> str:
        """The time of all trainings, in a unit in which it is easy to read."""
        if self.minutes < 1:
            return f"{60 * self.minutes:.1f} core-seconds"
        if self.minutes < 60:
            return f"{self.minutes:.1f} core-minutes"
        return f"{self.minutes / 60:.1f} core-hours"


def bill(results: Results) -> Bill:
    """Return what a study cost."""
    costs = read_costs(results)
    longer = [cost.longer for cost in costs if cost.longer]
    prices = [
        Price(each.experiment, each.ratio, gain)
        for each in costs
        if (gain := each.experiment.gain) and gain.first == each.variant and each.ratio
    ]
    return Bill(
        sum(len(cost.times) for cost in costs) + len(longer),
        sum(cost.total for cost in costs) + sum(each.core_minutes for each in longer),
        prices,
    )

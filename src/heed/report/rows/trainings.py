"""The rows of trainings: what twice the epochs reached, what all cost, and gains for it."""

import dataclasses
import statistics
from collections.abc import Iterator

from heed.evaluation.results import BASELINE, NOT_CONVERGED, LongerTraining, ModelResult
from heed.report.differences import TestedDifference
from heed.report.experiments import Experiment
from heed.report.formats import pluralize
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.rows import Rows
from heed.training.machine import TrainingTime

CONVERGED, DIVERGED, NOT_TRIED = "converged", "diverged", "not tried"


@dataclasses.dataclass(frozen=True)
class LongerRow:
    """A model, and its longer training, if there is one."""

    variant: str
    words: str
    model: ModelResult
    longer: LongerTraining | None
    measure: Measure

    @property
    def link(self) -> str:
        """The address of its entry in the glossary."""
        return f"#glossary-{self.variant}"

    @property
    def outcome(self) -> str:
        """What the longer training says of the model."""
        if self.longer is None:
            return NOT_TRIED
        if self.longer.diverged:
            return DIVERGED
        return NOT_CONVERGED if self.longer.did_better else CONVERGED

    @property
    def epochs(self) -> str:
        """The epochs that each run was trained."""
        return " ".join(map(str, self.model.trained_epochs))

    @property
    def best_epochs(self) -> str:
        """The epochs that each run has kept."""
        return " ".join(map(str, self.model.best_epochs))

    @property
    def score(self) -> str | None:
        """The validation score of the first seed, for people."""
        return self.measure.format(self.longer.score) if self.longer else None

    @property
    def longer_score(self) -> str | None:
        """The validation score of its longer training, for people."""
        return self.measure.format(self.longer.longer_score) if self.longer else None


def _lines(experiment: Experiment) -> list[LongerRow]:
    lines, own = [], experiment.measure
    for variant, model in experiment.result.models.items():
        longer, words = model.longer_training, experiment.words[variant]
        measure = Measure(own.task, longer.metric) if longer else own
        lines.append(LongerRow(variant, words, model, longer, measure))
    return lines


def convergence(results: Results, experiment: Experiment) -> Rows | None:
    """Return a row for each model; None where no longer training was tried."""
    lines = _lines(experiment)
    tried = [line for line in lines if line.longer]
    if not tried:
        return None
    measure = tried[0].measure
    facts = {
        "seed": results.comparison.seeds_of(experiment.key)[0], "score": measure.name,
        "score_unit": measure.unit,
    }  # fmt: skip
    return Rows(lines, facts, location=f"experiments.{experiment.key}.models")


@dataclasses.dataclass(frozen=True)
class Convergence:
    """What a page says of the longer trainings of an experiment."""

    tried: bool
    limit: str  # a larger gain on validation is one of a model that has not converged
    unfinished: list[LongerRow]
    diverged: list[LongerRow]
    settings: list[str]  # keys of params.yaml, with values, that train them so long
    winners: list[tuple[str, list[str]]]  # unfinished models that are better than others, in words


def convergence_of(results: Results, experiment: Experiment) -> Convergence:
    """Return what a page says of the longer trainings of an experiment."""
    lines, significance = _lines(experiment), results.comparison.significance
    tried = [line for line in lines if line.longer]
    unfinished = [line for line in lines if line.outcome == NOT_CONVERGED]
    return Convergence(
        bool(tried),
        tried[0].measure.convergence_margin(significance.convergence_pp) if tried else "",
        unfinished,
        [line for line in tried if line.outcome == DIVERGED],
        [*dict.fromkeys(key for line in unfinished for key in _settings(results, line))],
        [*_winners(experiment, unfinished)],
    )


def _winners(
    experiment: Experiment, unfinished: list[LongerRow]
) -> Iterator[tuple[str, list[str]]]:
    judged = [each for each in experiment.comparisons if each.is_decided]
    pairs = [(each.first, each.second)[:: 1 if each.mean > 0 else -1] for each in judged]
    for line in unfinished:
        if beaten := [experiment.words[lost] for won, lost in pairs if won == line.variant]:
            yield line.words, beaten


def _settings(results: Results, line: LongerRow) -> Iterator[str]:
    """Yield the keys of params.yaml, with their values, that train a model longer."""
    params, name = results.params, line.model.model
    key, epochs = f"models.{name}", line.longer.epochs if line.longer else 0
    searched = params.models[name].search
    if searched != "none":
        key = f"searches.{searched}"  # its winner says for how many epochs
        epochs = max(epochs, 2 * (params.searches[searched].epochs or 0))
    yield f"{key}.epochs: {epochs}"
    if line.model.hyperparameters.patience:
        yield f"models.{name}.patience: 0"


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
    costs = []
    for each in results.experiments:
        models = each.result.models
        times = {name: results.training_times(model.model) for name, model in models.items()}
        for variant, model in models.items():
            search, text = results.read_search(each, model.model), ""
            if search:
                trials = pluralize("{count} trial", "{count} trials", len(search.trials))
                text = f"{trials}, {search.epochs:g} epochs"
            costs.append(
                Cost(
                    each, variant, each.result.score_of(variant), model.parameters,
                    times[variant], times.get(BASELINE), text, results.longer_time(model.model),
                )
            )  # fmt: skip
    return costs


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

"""The rows of longer trainings: what twice the epochs reached, and what to set for it."""

import dataclasses
from collections.abc import Iterator

from heed.evaluation.results import BETTER, NOT_CONVERGED, WORSE, LongerTraining, ModelResult
from heed.report.experiments import Experiment
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.rows import Rows

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
    lines, measure = [], experiment.measure
    for variant, model in experiment.result.models.items():
        longer, words = model.longer_training, experiment.words[variant]
        of = Measure(measure.task, longer.metric) if longer else measure
        lines.append(LongerRow(variant, words, model, longer, of))
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
    judged = [each for each in experiment.comparisons if each.verdict in (BETTER, WORSE)]
    pairs = [(each.first, each.second)[:: 1 if each.mean > 0 else -1] for each in judged]
    beaten = [
        (line.words, [experiment.words[loser] for winner, loser in pairs if winner == line.variant])
        for line in unfinished
    ]
    return Convergence(
        bool(tried),
        tried[0].measure.convergence_margin(significance.convergence_pp) if tried else "",
        unfinished,
        [line for line in tried if line.outcome == DIVERGED],
        [*dict.fromkeys(key for line in unfinished for key in _settings(results, line))],
        [pair for pair in beaten if pair[1]],
    )


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

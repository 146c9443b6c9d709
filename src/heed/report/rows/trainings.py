"""The rows of trainings: what twice the epochs reached, what all cost, and gains for it."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

from heed.evaluation.results import BASELINE, NOT_CONVERGED
from heed.paths import LONGER
from heed.report.experiments import Experiment
from heed.report.formats import pluralize
from heed.report.measures import Measure
from heed.report.results import Results
from heed.report.rows import Rows
from heed.training.machine import TrainingTime


def _lines(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """Yield each model with its longer training: validation scores of the first seed."""
    for variant, model in experiment.result.models.items():
        line = experiment.named(variant) | {
            "model": model, "longer": None, "outcome": "not tried",
            "score": None, "longer_score": None,
            "epochs": " ".join(map(str, model.trained_epochs)),
            "best_epochs": " ".join(map(str, model.best_epochs)),
        }  # fmt: skip
        if longer := model.longer_training:
            measure = Measure(experiment.measure.task, longer.metric)
            outcome = NOT_CONVERGED if longer.did_better else "converged"
            line |= {
                "longer": longer, "measure": measure, "score": measure.format(longer.score),
                "longer_score": measure.format(longer.longer_score),
                "outcome": "diverged" if longer.diverged else outcome,
            }  # fmt: skip
        yield line


def convergence(results: Results, experiment: Experiment) -> Rows | None:
    """Return a row for each model; None where no longer training was tried."""
    lines = [*_lines(experiment)]
    for measure in (line["measure"] for line in lines if line["longer"]):
        seed = results.comparison.seeds_of(experiment.key)[0]
        return Rows(lines, {"seed": seed, "score": measure.name, "score_unit": measure.unit})
    return None


def convergence_of(results: Results, experiment: Experiment) -> dict[str, Any]:
    """Return what a page says of the longer trainings of an experiment.

    limit: of a converged model's gain. settings: keys of params.yaml, with values, that train the
    unfinished models so long. winners: unfinished models that are better than others, in words.
    """
    tried = [line for line in _lines(experiment) if line["longer"]]
    unfinished = [line for line in tried if line["outcome"] == NOT_CONVERGED]
    margin = results.comparison.significance.convergence_pp
    settings = (key for line in unfinished for key in _settings(results, line))
    return {
        "tried": bool(tried), "unfinished": unfinished,
        "limit": tried[0]["measure"].convergence_margin(margin) if tried else "",
        "diverged": [line for line in tried if line["outcome"] == "diverged"],
        "settings": [*dict.fromkeys(settings)], "winners": [*_winners(experiment, unfinished)],
    }  # fmt: skip


def _winners(
    experiment: Experiment, unfinished: list[dict[str, Any]]
) -> Iterator[tuple[str, list[str]]]:
    judged = [tested for tested in experiment.comparisons if tested.is_decided]
    pairs = [(tested.first, tested.second)[:: 1 if tested.mean_pp > 0 else -1] for tested in judged]
    for line in unfinished:
        if beaten := [experiment.words[lost] for won, lost in pairs if won == line["variant"]]:
            yield line["words"], beaten


def _settings(results: Results, line: dict[str, Any]) -> Iterator[str]:
    """Yield the keys of params.yaml, with their values, that train a model longer."""
    params, name = results.params, line["model"].model
    key, epochs = f"models.{name}", line["longer"].epochs
    searched = params.models[name].search
    if searched != "none":
        key = f"searches.{searched}"  # its winner says for how many epochs
        epochs = max(epochs, 2 * (params.searches[searched].epochs or 0))
    yield f"{key}.epochs: {epochs}"
    if line["model"].hyperparameters.patience:
        yield f"models.{name}.patience: 0"


class Cost(NamedTuple):
    """The cost of a model, in core-minutes of all trainings and of one, and its mean test score."""

    experiment: Experiment
    variant: str
    score: float
    parameters: int
    times: list[TrainingTime]  # of its trainings, by seed
    search: str  # of its hyperparameters; empty without one
    longer: TrainingTime | None  # of its longer training
    total: float
    mean: float


@functools.lru_cache(1)
def read_costs(results: Results) -> list[Cost]:
    """Return what each model of a study costs. Raises HeedError: a time is missing or broken."""
    costs = []
    for experiment in results.experiments:
        for variant, model in experiment.result.models.items():
            search, text = results.read_search(experiment, model.model), ""
            if search:
                trials = pluralize("{count} trial", "{count} trials", len(search.trials))
                text = f"{trials}, {search.epochs:g} epochs"
            by_seed = results.training_times(model.model)
            longer, times = by_seed.pop(LONGER, None), [*by_seed.values()]
            total = sum(time.core_minutes for time in times)
            own = experiment, variant, experiment.result.score_of(variant), model.parameters, times
            costs.append(Cost(*own, text, longer, total, total / len(times)))
    return costs


def _ratios(costs: list[Cost]) -> Iterator[tuple[Cost, float | None]]:
    """Yield costs with the core time of a training over the baseline's; None where it has none."""
    baselines = {cost.experiment.key: cost.mean for cost in costs if cost.variant == BASELINE}
    for cost in costs:
        baseline = baselines.get(cost.experiment.key)
        yield cost, cost.mean / baseline if baseline else None


def cost(results: Results) -> Rows:
    """Return the core time of every model: of a training, and of those with all seeds."""
    costs = read_costs(results)
    records = [
        cost.experiment.named(cost.variant)
        | {"of": cost, "ratio": ratio, "score": cost.experiment.measure.format(cost.score)}
        for cost, ratio in _ratios(costs)
    ]
    on_gpu = any(time.on_gpu for cost in costs for time in cost.times)
    has_search = any(cost.search for cost in costs)
    time = "the time that a training on a GPU took" if on_gpu else "CPU time"
    facts = {"search": has_search, "no_search": not has_search, "time": time}
    return Rows(records, facts, sources=(*results.comparison_sources, results.times_source))


def bill(results: Results) -> dict[str, Any]:
    """Return what a study cost, and the price of each experiment's first attention variant."""
    costs = read_costs(results)
    times = [time for cost in costs for time in (*cost.times, *filter(None, [cost.longer]))]
    minutes = sum(time.core_minutes for time in times)
    prices = [
        {"experiment": cost.experiment, "ratio": ratio, "gain": gain}
        for cost, ratio in _ratios(costs)
        if (gain := cost.experiment.gain) and gain.first == cost.variant and ratio
    ]
    units = {60: "core-hours", 1: "core-minutes", 1 / 60: "core-seconds"}
    size = next((size for size in units if minutes >= size), 1 / 60)
    printed = f"{minutes / size:.1f} {units[size]}"
    return {"trainings": len(times), "minutes": minutes, "time": printed, "prices": prices}

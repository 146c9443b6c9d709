"""All models and opponents of a study side by side: means and deviations over seeds, and what their differences are worth."""

import dataclasses
import itertools
import statistics
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed.evaluation import significance
from heed.evaluation.tested import Tested, TestedModel, read_model, read_opponents
from heed.files import HeedError, write_json, writing_folder
from heed.paths import PREDICTIONS
from heed.tasks import part
from heed.tasks.interface import Metrics

BASELINE, ATTENTION = "baseline", "attention"
# Holm's correction is made within each family, over all experiments of the study.
FAMILIES = {
    "gain": "attention over the baseline: the question of the study",
    "rivals": "attention over every other model and opponent",
    "variants": "every other model over the baseline",
    "pairs": "a variant over its own baseline and its own mean: searched over searched-baseline and searched-mean",
}


def spread(values: list[float]) -> dict[str, Any]:
    """Return mean, sample standard deviation in percentage points (None of one value), and the values."""
    return {"mean": statistics.fmean(values), "std_pp": _deviation(values, 100), "values": values}


def gain(figures: list[float], baseline: list[float]) -> dict[str, Any]:
    """Return the difference of figures paired by seed, in percentage points: mean, sample deviation, values."""
    values = [100 * (a - b) for a, b in zip(figures, baseline, strict=True)]
    return {"mean_pp": statistics.fmean(values), "std_pp": _deviation(values, 1), "values_pp": values}


def _deviation(values: list[float], unit: float) -> float | None:
    return unit * statistics.stdev(values) if len(values) > 1 else None


def compare(experiments: dict[str, dict[str, str]], seeds: list[int], into: Path, metrics_file: Path) -> dict[str, Any]:
    """Write results/compare and metrics.json; return the comparison (docs/contracts.md).

    Args:
        experiments: for each experiment its models, by variant.
        seeds: the study's seeds.
        into: results/compare.
        metrics_file: metrics.json.

    Raises:
        HeedError: predictions are missing, or are not of these seeds.

    """
    read = {name: _read(name, models, seeds) for name, models in experiments.items()}
    families = Counter(family for each in read.values() for *_, family in each.pairs())
    compared = {name: _experiment(each, families) for name, each in read.items()}
    _correct(compared)
    folds = [bool(experiment["corpus"]["folds"]) for experiment in compared.values()]
    comparison = {
        "seeds": seeds,
        "significance": {
            "signature": significance.signature(folds=any(folds), fixed=not all(folds)),
            "alpha": significance.ALPHA,
            "power": significance.POWER,
            "families": {name: {"tests": families[name], "says": says} for name, says in FAMILIES.items()},
        },
        "experiments": compared,
    }
    with writing_folder(into, sealed=True) as out:
        write_json(out / "comparison.json", comparison)
    write_json(metrics_file, {name: _metrics(experiment) for name, experiment in compared.items()})
    return comparison


@dataclasses.dataclass(frozen=True)
class _Experiment:
    """What the models (by variant) and the opponents of an experiment did."""

    models: dict[str, TestedModel]
    opponents: dict[str, Tested]

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Yield (first, second, family) of every pair that is compared."""
        for first, second in itertools.permutations([*self.models, *self.opponents], 2):
            if family := _family(first, second, self.opponents):
                yield first, second, family


def _read(name: str, models: dict[str, str], seeds: list[int]) -> _Experiment:
    tested = {variant: read_model(model, seeds) for variant, model in models.items()}
    recipe = next(iter(tested.values())).recipe
    for other in tested.values():
        if other.recipe.tokens != recipe.tokens:
            raise HeedError(f"{PREDICTIONS / other.name}: made of other tokens. Run again: heed train {other.name}")
    return _Experiment(tested, read_opponents(name))


def _experiment(experiment: _Experiment, families: dict[str, int]) -> dict[str, Any]:
    recipe = next(iter(experiment.models.values())).recipe
    task = part(recipe.task, "metrics")
    metrics: Metrics = task.make_metrics(recipe.data)
    deciding = metrics.deciding
    tables = {variant: _model(model, metrics) for variant, model in experiment.models.items()}
    if BASELINE in tables:
        baseline = tables[BASELINE]["summary"][deciding.name]["values"]
        for variant, table in tables.items():
            values = table["summary"][deciding.name]["values"]
            table["gain"] = None if variant == BASELINE else gain(values, baseline)
    everyone: dict[str, Tested] = {**experiment.models, **experiment.opponents}
    by_item = {key: each.by_item(deciding) for key, each in everyone.items()}
    comparisons: dict[str, dict[str, Any]] = {}
    for first, second, family in experiment.pairs():
        blocks = _differences(first, second, by_item)
        comparisons.setdefault(first, {})[second] = {"family": family} | significance.assess(blocks, families[family])
    return {
        **task.about(recipe.data),
        "metric": deciding.name,
        "corpus": {"name": recipe.corpus, "folds": recipe.folds, **dataclasses.asdict(recipe.facts)},
        "models": tables,
        "opponents": {opponent: _figures(each, metrics) for opponent, each in experiment.opponents.items()},
        "comparisons": comparisons,
    }


def _differences(first: str, second: str, by_item: dict[str, list[pd.DataFrame]]) -> significance.Blocks:
    """Return the differences of two models or opponents by run and item, for each part that was tested on."""
    ours, theirs = by_item[first], by_item[second]
    if len(ours) != len(theirs) or any(set(a.columns) != set(b.columns) for a, b in zip(ours, theirs, strict=True)):
        raise HeedError(f"{first} and {second} were not tested on the same documents. Run again: dvc repro compare")
    aligned = [b[a.columns].to_numpy() for a, b in zip(ours, theirs, strict=True)]
    return significance.differences([a.to_numpy() for a in ours], aligned)


def _family(first: str, second: str, opponents: Collection[str]) -> str | None:
    if first == ATTENTION:
        return "gain" if second == BASELINE else "rivals"
    if first not in (BASELINE, *opponents) and second in (f"{first}-{BASELINE}", f"{first}-mean"):
        return "pairs"
    return "variants" if second == BASELINE and first not in opponents else None


def _correct(compared: dict[str, dict[str, Any]]) -> None:
    """Correct the p values of every family over all experiments."""
    entries = [
        entry
        for experiment in compared.values()
        for others in experiment["comparisons"].values()
        for entry in others.values()
        if entry["p"] is not None
    ]
    for family in FAMILIES:
        own = [entry for entry in entries if entry["family"] == family]
        for entry, p in zip(own, significance.holm([entry["p"] for entry in own]), strict=True):
            entry["p_holm"] = p


def _model(tested: TestedModel, metrics: Metrics) -> dict[str, Any]:
    return {
        "model": tested.name,
        "hyperparameters": dataclasses.asdict(tested.recipe.hyperparameters),
        "parameters": round(statistics.fmean(tested.parameters)),
        "best_epochs": tested.best_epochs,
        **_figures(tested, metrics),
        "gain": None,
    }


def _figures(tested: Tested, metrics: Metrics) -> dict[str, Any]:
    """Return every figure of a model or an opponent, and the task's finer ones, each with one value a run."""
    runs = [table.to_numpy() for table in tested.statistics]
    figures = [metrics.of(run) for run in runs]
    summary = {figure.name: spread([run[figure.name] for run in figures]) for figure in metrics.figures}
    return {"summary": summary, **_spread([metrics.details(run.sum(0, dtype=np.float64)) for run in runs])}


def _spread(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return nested figures of several runs as one, with the spread of each."""
    return {
        key: _spread([run[key] for run in runs]) if isinstance(value, dict) else spread([run[key] for run in runs])
        for key, value in runs[0].items()
    }


def _metrics(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return what `dvc exp show` prints of an experiment: few columns, rounded to what five seeds can carry."""
    figures: dict[str, Any] = {}
    for variant, model in experiment["models"].items():
        figures[variant] = round(model["summary"][experiment["metric"]]["mean"], 4)
    if (attention := experiment["models"].get("attention")) and attention["gain"]:
        figures["gain_pp"] = round(attention["gain"]["mean_pp"], 2)
        gained = experiment["comparisons"][ATTENTION][BASELINE]
        if gained["interval_pp"]:
            figures["low_pp"], figures["high_pp"] = (round(end, 2) for end in gained["interval_pp"])
            figures["p_holm"] = float(f"{gained['p_holm']:.2g}")
    opponent = next(reversed(experiment["opponents"]))
    figures[opponent] = round(experiment["opponents"][opponent]["summary"][experiment["metric"]]["mean"], 4)
    return figures

"""All models and opponents of a study side by side: means and deviations over seeds, and what their
differences are worth.
"""

import dataclasses
import itertools
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from heed.evaluation import significance
from heed.evaluation.results import (
    Comparison,
    Corpus,
    Details,
    Difference,
    ExperimentResult,
    Family,
    Figures,
    ModelResult,
    OpponentResult,
    Significance,
    gain,
    spread,
    write_comparison,
)
from heed.evaluation.tested import Tested, TestedModel, read_model, read_opponents
from heed.files import HeedError, write_json, writing_folder
from heed.paths import PREDICTIONS
from heed.recipe import Recipe
from heed.tasks import task_module
from heed.tasks.interface import Metrics

if TYPE_CHECKING:
    from heed.study import Params

BASELINE, ATTENTION = "baseline", "attention"
# Holm's correction is made within each family, over all experiments of the study.
FAMILIES = {
    "gain": "attention over the baseline: the question of the study",
    "rivals": "attention over every other model and opponent",
    "variants": "every other model over the baseline",
    "pairs": (
        "a variant over its own baseline and its own mean: searched over searched-baseline and "
        "searched-mean"
    ),
}

Compared = dict[tuple[str, str], Difference]  # by (first, second)


def models_by_variant(params: "Params") -> dict[str, dict[str, str]]:
    """Return, for each experiment of a study that has models, their names by variant, in the order
    of params.yaml.
    """
    experiments: dict[str, dict[str, str]] = {name: {} for name in params.experiments}
    for name, model in params.models.items():
        experiments[model.experiment][model.variant] = name
    return {name: models for name, models in experiments.items() if models}


def compare(
    experiments: dict[str, dict[str, str]], seeds: list[int], into: Path, metrics_file: Path
) -> Comparison:
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
    differences = _corrected({name: _compared(each, families) for name, each in read.items()})
    folds = [bool(each.recipe.folds) for each in read.values()]
    comparison = Comparison(
        seeds=seeds,
        significance=Significance(
            signature=significance.signature(folds=any(folds), fixed=not all(folds)),
            alpha=significance.ALPHA,
            power=significance.POWER,
            families={name: Family(families[name], says) for name, says in FAMILIES.items()},
        ),
        experiments={name: _experiment(each, differences[name]) for name, each in read.items()},
    )
    with writing_folder(into, checksums=True) as out:
        write_comparison(out / "comparison.json", comparison)
    write_json(
        metrics_file,
        {name: _metrics(experiment) for name, experiment in comparison.experiments.items()},
    )
    return comparison


@dataclasses.dataclass(frozen=True)
class _Experiment:
    """What the models (by variant) and the opponents of an experiment did."""

    models: dict[str, TestedModel]
    opponents: dict[str, Tested]

    @property
    def recipe(self) -> Recipe[Any, Any]:
        """The recipe of a model: its task, data and corpus are those of all."""
        return next(iter(self.models.values())).recipe

    @property
    def metrics(self) -> Metrics:
        """The figures of its task."""
        metrics: Metrics = task_module(self.recipe.task, "metrics").make_metrics(self.recipe.data)
        return metrics

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
            raise HeedError(
                f"{PREDICTIONS / other.name}: made of other tokens. Run again: heed train "
                f"{other.name}"
            )
    return _Experiment(tested, read_opponents(name))


def _compared(experiment: _Experiment, families: Mapping[str, int]) -> Compared:
    """Return the difference of every pair that is compared, its p not yet corrected."""
    deciding = experiment.metrics.primary
    everyone: dict[str, Tested] = {**experiment.models, **experiment.opponents}
    by_item = {key: each.by_item(deciding) for key, each in everyone.items()}
    return {
        (first, second): significance.assess(
            _differences(first, second, by_item), families[family], family=family
        )
        for first, second, family in experiment.pairs()
    }


def _differences(
    first: str, second: str, by_item: dict[str, list[pd.DataFrame]]
) -> significance.Blocks:
    """Return the differences of two models or opponents by run and item, for each part that was
    tested on.
    """
    ours, theirs = by_item[first], by_item[second]
    if len(ours) != len(theirs) or any(
        set(a.columns) != set(b.columns) for a, b in zip(ours, theirs, strict=True)
    ):
        raise HeedError(
            f"{first} and {second} were not tested on the same documents. Run again: dvc repro "
            "compare"
        )
    aligned = [b[a.columns].to_numpy() for a, b in zip(ours, theirs, strict=True)]
    return significance.differences([a.to_numpy() for a in ours], aligned)


def _family(first: str, second: str, opponents: Collection[str]) -> str | None:
    if first == ATTENTION:
        return "gain" if second == BASELINE else "rivals"
    if first not in (BASELINE, *opponents) and second in (f"{first}-{BASELINE}", f"{first}-mean"):
        return "pairs"
    return "variants" if second == BASELINE and first not in opponents else None


def _corrected(compared: dict[str, Compared]) -> dict[str, Compared]:
    """Return the same with the p values of every family corrected over all experiments."""
    corrected = {name: dict(pairs) for name, pairs in compared.items()}
    for family in FAMILIES:
        own = [
            (name, pair, difference.p)
            for name, pairs in compared.items()
            for pair, difference in pairs.items()
            if difference.family == family and difference.p is not None
        ]
        for (name, pair, _), p in zip(own, significance.holm([p for *_, p in own]), strict=True):
            corrected[name][pair] = dataclasses.replace(compared[name][pair], p_holm=p)
    return corrected


def _experiment(experiment: _Experiment, compared: Compared) -> ExperimentResult:
    recipe, metrics = experiment.recipe, experiment.metrics
    runs = {variant: _summary(model, metrics) for variant, model in experiment.models.items()}
    baseline = runs[BASELINE][metrics.primary.name].values if BASELINE in runs else None
    comparisons: dict[str, dict[str, Difference]] = {}
    for (first, second), difference in compared.items():
        comparisons.setdefault(first, {})[second] = difference
    return ExperimentResult(
        task=recipe.task,
        groups=task_module(recipe.task, "metrics").detail_names(recipe.data),
        metric=metrics.primary.name,
        corpus=Corpus(recipe.corpus, recipe.folds, recipe.facts),
        models={
            variant: _model(model, metrics, None if variant == BASELINE else baseline)
            for variant, model in experiment.models.items()
        },
        opponents={
            name: OpponentResult(_summary(each, metrics), _details(each, metrics))
            for name, each in experiment.opponents.items()
        },
        comparisons=comparisons,
    )


def _model(tested: TestedModel, metrics: Metrics, baseline: list[float] | None) -> ModelResult:
    """Return what a model reached, and its gain over the values of a baseline."""
    summary = _summary(tested, metrics)
    return ModelResult(
        model=tested.name,
        hyperparameters=tested.recipe.hyperparameters,
        parameters=round(statistics.fmean(tested.parameters)),
        best_epochs=tested.best_epochs,
        summary=summary,
        details=_details(tested, metrics),
        gain=None if baseline is None else gain(summary[metrics.primary.name].values, baseline),
    )


def _summary(tested: Tested, metrics: Metrics) -> Figures:
    """Return every figure of a model or an opponent, with one value a run."""
    runs = [metrics.compute(table.to_numpy()) for table in tested.statistics]
    return {figure.name: spread([run[figure.name] for run in runs]) for figure in metrics.figures}


def _details(tested: Tested, metrics: Metrics) -> Details:
    """Return the task's finer figures, with one value a run."""
    runs = [
        metrics.details(table.to_numpy().sum(0, dtype=np.float64)) for table in tested.statistics
    ]
    return {
        group: {
            name: {figure: spread([run[group][name][figure] for run in runs]) for figure in figures}
            for name, figures in names.items()
        }
        for group, names in runs[0].items()
    }


def _metrics(experiment: ExperimentResult) -> dict[str, float]:
    """Return what `dvc exp show` prints of an experiment: few columns, rounded to what five seeds
    can carry.
    """
    means = {
        variant: model.summary[experiment.metric].mean
        for variant, model in experiment.models.items()
    }
    figures = {variant: round(mean, 4) for variant, mean in means.items()}
    if (attention := experiment.models.get(ATTENTION)) and attention.gain:
        figures["gain_pp"] = round(attention.gain.mean_pp, 2)
        gained = experiment.comparisons[ATTENTION][BASELINE]
        if gained.interval_pp:
            figures["low_pp"], figures["high_pp"] = (round(end, 2) for end in gained.interval_pp)
            figures["p_holm"] = float(f"{gained.p_holm:.2g}")
    opponent = next(reversed(experiment.opponents))
    figures[opponent] = round(experiment.opponents[opponent].summary[experiment.metric].mean, 4)
    return figures

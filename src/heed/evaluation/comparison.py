"""The stage `compare`: the figures of all models and opponents of a study, and their tests."""

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
    paired_gain,
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
# Name: description. Holm's correction is made within a family, over all experiments of the study.
FAMILIES = {
    "gain": "attention over the baseline: the question of the study",
    "rivals": "attention over every other model and opponent",
    "variants": "every other model over the baseline",
    "pairs": (
        "a variant over its own baseline and its own mean: searched over searched-baseline and "
        "searched-mean"
    ),
}

Differences = dict[tuple[str, str], Difference]  # by (first, second), models or opponents


def models_by_variant(params: "Params") -> dict[str, dict[str, str]]:
    """Return the names of the models of each experiment, by variant, in the order of params.yaml.

    Experiments without models are left out.
    """
    experiments: dict[str, dict[str, str]] = {name: {} for name in params.experiments}
    for name, model in params.models.items():
        experiments[model.experiment][model.variant] = name
    return {name: models for name, models in experiments.items() if models}


def compare(
    experiments: dict[str, dict[str, str]], seeds: list[int], folder: Path, metrics_file: Path
) -> Comparison:
    """Write results/compare and metrics.json; return the comparison (docs/contracts.md).

    Args:
        experiments: for each experiment its models, by variant.
        seeds: the study's seeds.
        folder: results/compare.
        metrics_file: metrics.json.

    Raises:
        HeedError: predictions are missing, or are not of these seeds.

    """
    tested = {name: _read_experiment(name, models, seeds) for name, models in experiments.items()}
    families = Counter(family for each in tested.values() for *_, family in each.pairs())
    differences = _correct_p_values(
        {name: _assess_pairs(each, families) for name, each in tested.items()}
    )
    folds = [bool(each.recipe.folds) for each in tested.values()]
    comparison = Comparison(
        seeds=seeds,
        significance=Significance(
            signature=significance.signature(folds=any(folds), fixed=not all(folds)),
            alpha=significance.ALPHA,
            power=significance.POWER,
            families={name: Family(families[name], text) for name, text in FAMILIES.items()},
        ),
        experiments={
            name: _experiment_result(each, differences[name]) for name, each in tested.items()
        },
    )
    with writing_folder(folder, checksums=True) as out:
        write_comparison(out / "comparison.json", comparison)
    write_json(
        metrics_file,
        {name: _metrics_row(experiment) for name, experiment in comparison.experiments.items()},
    )
    return comparison


@dataclasses.dataclass(frozen=True)
class _Experiment:
    """The test statistics of the models (by variant) and the opponents of an experiment."""

    models: dict[str, TestedModel]
    opponents: dict[str, Tested]

    @property
    def recipe(self) -> Recipe[Any, Any]:
        """The recipe of the first model; its task, data and corpus are those of all models."""
        return next(iter(self.models.values())).recipe

    @property
    def metrics(self) -> Metrics:
        """The figures of the experiment's task."""
        metrics: Metrics = task_module(self.recipe.task, "metrics").make_metrics(self.recipe.data)
        return metrics

    def pairs(self) -> Iterator[tuple[str, str, str]]:
        """Yield (first, second, family) of every pair that is compared."""
        for first, second in itertools.permutations([*self.models, *self.opponents], 2):
            if family := _family(first, second, self.opponents):
                yield first, second, family


def _read_experiment(name: str, models: dict[str, str], seeds: list[int]) -> _Experiment:
    tested = {variant: read_model(model, seeds) for variant, model in models.items()}
    recipe = next(iter(tested.values())).recipe
    for other in tested.values():
        if other.recipe.tokens != recipe.tokens:
            raise HeedError(
                f"{PREDICTIONS / other.name}: made of other tokens. Run again: heed train "
                f"{other.name}"
            )
    return _Experiment(tested, read_opponents(name))


def _assess_pairs(experiment: _Experiment, families: Mapping[str, int]) -> Differences:
    """Return the difference of every pair that is compared; p is not yet corrected."""
    metric = experiment.metrics.primary
    tested: dict[str, Tested] = {**experiment.models, **experiment.opponents}
    by_item = {name: each.by_item(metric) for name, each in tested.items()}
    return {
        (first, second): significance.assess(
            _differences(first, second, by_item), families[family], family=family
        )
        for first, second, family in experiment.pairs()
    }


def _differences(
    first: str, second: str, by_item: dict[str, list[pd.DataFrame]]
) -> significance.Blocks:
    """Return the differences of two models or opponents by run and item, for each test part."""
    firsts, seconds = by_item[first], by_item[second]
    if len(firsts) != len(seconds) or any(
        set(a.columns) != set(b.columns) for a, b in zip(firsts, seconds, strict=True)
    ):
        raise HeedError(
            f"{first} and {second} were not tested on the same documents. Run again: dvc repro "
            "compare"
        )
    aligned = [b[a.columns].to_numpy() for a, b in zip(firsts, seconds, strict=True)]
    return significance.differences([a.to_numpy() for a in firsts], aligned)


def _family(first: str, second: str, opponents: Collection[str]) -> str | None:
    """Return the family of a pair; None where the pair is not compared."""
    if first == ATTENTION:
        return "gain" if second == BASELINE else "rivals"
    if first not in (BASELINE, *opponents) and second in (f"{first}-{BASELINE}", f"{first}-mean"):
        return "pairs"
    return "variants" if second == BASELINE and first not in opponents else None


def _correct_p_values(differences: dict[str, Differences]) -> dict[str, Differences]:
    """Return the differences with p corrected within each family, over all experiments."""
    corrected = {name: dict(pairs) for name, pairs in differences.items()}
    for family in FAMILIES:
        tests = [
            (name, pair, difference.p)
            for name, pairs in differences.items()
            for pair, difference in pairs.items()
            if difference.family == family and difference.p is not None
        ]
        p_values = significance.holm([p for *_, p in tests])
        for (name, pair, _), p in zip(tests, p_values, strict=True):
            corrected[name][pair] = dataclasses.replace(differences[name][pair], p_holm=p)
    return corrected


def _experiment_result(experiment: _Experiment, differences: Differences) -> ExperimentResult:
    recipe, metrics = experiment.recipe, experiment.metrics
    baseline = None
    if BASELINE in experiment.models:
        figures = _summarize_figures(experiment.models[BASELINE], metrics)
        baseline = figures[metrics.primary.name].values
    comparisons: dict[str, dict[str, Difference]] = {}
    for (first, second), difference in differences.items():
        comparisons.setdefault(first, {})[second] = difference
    return ExperimentResult(
        task=recipe.task,
        groups=task_module(recipe.task, "metrics").detail_names(recipe.data),
        metric=metrics.primary.name,
        corpus=Corpus(recipe.corpus, recipe.folds, recipe.facts),
        models={
            variant: _model_result(model, metrics, None if variant == BASELINE else baseline)
            for variant, model in experiment.models.items()
        },
        opponents={
            name: OpponentResult(
                _summarize_figures(each, metrics), _summarize_details(each, metrics)
            )
            for name, each in experiment.opponents.items()
        },
        comparisons=comparisons,
    )


def _model_result(
    tested: TestedModel, metrics: Metrics, baseline: list[float] | None
) -> ModelResult:
    """Return the figures of a model, and its gain over the values of the baseline."""
    summary = _summarize_figures(tested, metrics)
    return ModelResult(
        model=tested.name,
        hyperparameters=tested.recipe.hyperparameters,
        parameters=round(statistics.fmean(tested.parameters)),
        best_epochs=tested.best_epochs,
        summary=summary,
        details=_summarize_details(tested, metrics),
        gain=None
        if baseline is None
        else paired_gain(summary[metrics.primary.name].values, baseline),
    )


def _summarize_figures(tested: Tested, metrics: Metrics) -> Figures:
    """Return every figure of a model or an opponent, with one value for each run."""
    runs = [metrics.compute(table.to_numpy()) for table in tested.statistics]
    return {figure.name: spread([run[figure.name] for run in runs]) for figure in metrics.figures}


def _summarize_details(tested: Tested, metrics: Metrics) -> Details:
    """Return the task's finer figures, with one value for each run."""
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


def _metrics_row(experiment: ExperimentResult) -> dict[str, float]:
    """Return the entries of an experiment in metrics.json: the columns of `dvc exp show`.

    Their digits are those that five seeds can support.
    """
    metrics = {
        variant: round(experiment.compared_figure(model).mean, 4)
        for variant, model in experiment.models.items()
    }
    if (attention := experiment.models.get(ATTENTION)) and attention.gain:
        metrics["gain_pp"] = round(attention.gain.mean_pp, 2)
        difference = experiment.comparisons[ATTENTION][BASELINE]
        if difference.interval_pp:
            low, high = difference.interval_pp
            metrics["low_pp"], metrics["high_pp"] = round(low, 2), round(high, 2)
            metrics["p_holm"] = float(f"{difference.p_holm:.2g}")
    name, opponent = next(reversed(experiment.opponents.items()))
    metrics[name] = round(experiment.compared_figure(opponent).mean, 4)
    return metrics

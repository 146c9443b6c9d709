"""The stage `compare`: the scores of all models of a study, and their tests."""

import dataclasses
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed.evaluation import results, significance
from heed.evaluation.item_statistics import (
    Tested,
    TestedModel,
    TestedReference,
    read_model,
    read_reference_models,
)
from heed.evaluation.looks import Looks, look_number
from heed.evaluation.results import (
    BASELINE,
    Comparison,
    Difference,
    ExperimentResult,
    Interval,
    LongerTraining,
    ModelResult,
)
from heed.files import HeedError, write_json, writing_folder
from heed.hyperparameters import besides_architecture
from heed.paths import command_of, prediction_folder
from heed.recipe import Recipe
from heed.tables import write_csv
from heed.task import task_module
from heed.task.interface import Metric, Metrics, lower_is_better

RESULTS_TABLE = "results.csv"  # in results/compare, and in a published report
RESULTS_COLUMNS = ("study", "experiment", "model", "seed", "split", "metric", "value")

Differences = dict[tuple[str, str], Difference]  # by (first, second), models or reference models
# By model: for each test split what each item (column) contributes to the score of each run (row).
ByItem = Mapping[str, list[pd.DataFrame]]


@dataclasses.dataclass(frozen=True)
class Question:
    """A study's question: the variants that answer it, metrics by experiment, the margins.

    `study` is its name. `tuning`: how each model is tuned, equal texts for equal spaces and
    budgets; empty: not.
    `pretrained` are the corpora with a pretrained reference model, `controls` the controls that
    experiments declare, `seeds` the seeds of those that have their own. `looks` are the numbers of
    seeds at which looks are declared, `looked` those at which the study was looked at without.
    """

    study: str
    attention: list[str]
    metrics: dict[str, str | None]
    equivalence_margin: float
    convergence_pp: float | None
    tuning: Mapping[str, str] = dataclasses.field(default_factory=dict)
    pretrained: Collection[str] = ()
    controls: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    seeds: Mapping[str, list[int]] = dataclasses.field(default_factory=dict)
    looks: Sequence[int] = ()
    looked: Sequence[int] = ()


@dataclasses.dataclass(frozen=True)
class _Experiment:
    """The test statistics of the models (by variant) and the reference models of an experiment."""

    models: dict[str, TestedModel]
    reference_models: dict[str, TestedReference]
    roles: results.Roles
    recipe: Recipe[Any, Any]  # of the first model: of all models task, data and corpus are the same
    metrics: Metrics
    metric: Metric  # the one that decides
    looks: Looks | None  # that are declared


def compare(
    experiments: dict[str, dict[str, str]], seeds: list[int], question: Question, folder: Path,
    metrics_file: Path,
) -> Comparison:  # fmt: skip
    """Write results/compare and metrics.json; return the comparison. Raises HeedError."""
    tested = {
        name: _read_experiment(name, models, question.seeds.get(name, seeds), question)
        for name, models in experiments.items()
    }
    folds = [bool(experiment.recipe.folds) for experiment in tested.values()]
    method = results.Significance(
        significance.signature(any(folds), not all(folds), question.looks),
        significance.ALPHA,
        significance.POWER,
        question.equivalence_margin,
        question.convergence_pp,
        results.FAMILIES,
        [*question.looks],
        [*question.looked],
    )
    judged = {
        name: dataclasses.replace(
            _experiment_result(experiment, method, question), seeds=question.seeds.get(name)
        )
        for name, experiment in tested.items()
    }
    comparison = Comparison(seeds, method, judged)
    with writing_folder(folder, checksums=True) as out:
        results.write_comparison(out / "comparison.json", comparison)
        write_csv(out / RESULTS_TABLE, _results_table(question.study, tested, comparison))
    rows = {
        name: metrics_row(experiment, look_number(method, len(comparison.seeds_of(name))))
        for name, experiment in comparison.experiments.items()
    }
    write_json(metrics_file, rows)
    return comparison


def _results_table(
    study: str, tested: Mapping[str, _Experiment], comparison: Comparison
) -> pd.DataFrame:
    """Return every score of a study as tidy data: a row for each metric of each split and run.

    Validation scores are of the kept epoch; a reference model has no seed, a row for each fold.
    """
    rows: list[tuple[str, str, str, int | None, str, str, float]] = []
    for name, result in comparison.experiments.items():
        own_seeds = comparison.seeds_of(name)
        for variant, model in tested[name].models.items():
            runs = zip(own_seeds, model.best_epochs, model.validation, strict=True)
            rows += [
                (study, name, variant, seed, "validation", metric, values[epoch - 1])
                for seed, epoch, validation in runs
                for metric, values in validation.items()
            ]
        for model_name, scored in (result.models | result.reference_models).items():
            seeds = own_seeds if model_name in result.models else []
            rows += [
                (study, name, model_name, seed, "test", metric, value)
                for metric, score in scored.summary.items()
                for seed, value in itertools.zip_longest(seeds, score.values)
            ]
    return pd.DataFrame(rows, columns=[*RESULTS_COLUMNS]).astype({"seed": "Int64"})


def _read_experiment(
    name: str, models: dict[str, str], seeds: list[int], question: Question
) -> _Experiment:
    tested = {variant: read_model(model, seeds, name) for variant, model in models.items()}
    recipe = next(iter(tested.values())).recipe
    for other in tested.values():
        if other.recipe.tokens != recipe.tokens:
            raise HeedError(
                f"{prediction_folder(other.name)}: made of other tokens. Run again: heed train "
                f"{other.name}"
            )
        if (other.recipe.folds, other.recipe.repeats) != (recipe.folds, recipe.repeats):
            first = next(iter(tested.values())).name
            raise HeedError(
                f"{prediction_folder(other.name)}: scored with {other.recipe.folds} folds, and "
                f"{first} with {recipe.folds}. Run again: {command_of('score', first)}"
            )
    has_pretrained = recipe.corpus in question.pretrained
    reference_models = read_reference_models(name, recipe.corpus if has_pretrained else "")
    hyperparameters = {variant: model.recipe.hyperparameters for variant, model in tested.items()}
    roles = results.assign_roles(
        hyperparameters, reference_models, question.attention, question.controls.get(name)
    )
    metrics: Metrics = task_module(recipe.task, "metrics").make_metrics(recipe.data)
    metric = metrics.named(question.metrics[name])
    looks = Looks((*question.looks,), len(seeds)) if question.looks else None
    return _Experiment(tested, reference_models, roles, recipe, metrics, metric, looks)


def assess_pairs(
    by_item: ByItem, pairs: Sequence[tuple[str, str, str]], metric: str, repeats: int,
    looks: Looks | None,
) -> Differences:  # fmt: skip
    """Return the tests of pairs of models, each with its family. Raises HeedError: other items."""
    families = Counter(family for *_, family in pairs) | {"trivial": 1}
    found: Differences = {}
    for first, second, family in pairs:
        order = (second, first) if lower_is_better(metric) else (first, second)
        found[first, second] = significance.assess(
            *_aligned(*order, by_item), families[family], family, repeats, looks=looks
        )
    return found


def _aligned(first: str, second: str, by_item: ByItem) -> tuple[list[np.ndarray], list[np.ndarray]]:
    firsts, seconds = by_item[first], by_item[second]
    if [set(table) for table in firsts] != [set(table) for table in seconds]:
        raise HeedError(
            f"{first} and {second} were not tested on the same documents. Run again: dvc repro "
            "compare"
        )
    aligned = [b[a.columns].to_numpy() for a, b in zip(firsts, seconds, strict=True)]
    return [a.to_numpy() for a in firsts], aligned


def _experiment_result(
    experiment: _Experiment, method: results.Significance, question: Question
) -> ExperimentResult:
    recipe, metrics = experiment.recipe, experiment.metrics
    tested: dict[str, Tested] = {**experiment.models, **experiment.reference_models}
    differences = assess_pairs(
        {name: model.by_item(experiment.metric) for name, model in tested.items()},
        [*experiment.roles.pairs()], experiment.metric.name, recipe.repeats, experiment.looks,
    )  # fmt: skip
    models = {
        variant: _model_result(variant, experiment, question.convergence_pp)
        for variant in experiment.models
    }
    return ExperimentResult(
        task=recipe.task,
        groups={kind: [*names] for kind, names in next(iter(models.values())).details.items()},
        metric=experiment.metric.name,
        attention=experiment.roles.attention,
        control=experiment.roles.control,
        controls=experiment.roles.controls,
        corpus=results.Corpus(recipe.corpus, recipe.folds, recipe.statistics, recipe.repeats),
        models=models,
        reference_models={
            name: results.ReferenceResult(
                _summarize_scores(model, metrics), _summarize_details(model, metrics), model.encoder
            )
            for name, model in experiment.reference_models.items()
        },
        comparisons=judge(differences, models, question.tuning, method, experiment.metric.name),
    )


def side_of(interval: Interval) -> str:
    """Return what an interval says by itself: better or worse, or the same where 0 is in it."""
    low, high = interval
    return results.WORSE if high < 0 else results.BETTER if low > 0 else results.SAME


def bound_of(interval: Interval, step: float = 0.1) -> float:
    """Return how large a difference may be by its interval, rounded up to a step."""
    return math.ceil(round(max(map(abs, interval)) / step, 6)) * step


def judge(
    differences: Differences, models: Mapping[str, ModelResult], tuning: Mapping[str, str],
    method: results.Significance, metric: str,
) -> dict[str, dict[str, Difference]]:  # fmt: skip
    """Return the differences, by first and second model, with their verdicts."""
    rises = {variant: model.rise_pp(metric) for variant, model in models.items()}
    comparisons: dict[str, dict[str, Difference]] = {}
    for (first, second), difference in differences.items():
        judged = results.verdict(difference, method, rises[first], rises.get(second, 0.0))
        alike = second not in models or tuned_alike(models[first], models[second], tuning)
        comparisons.setdefault(first, {})[second] = dataclasses.replace(
            difference, verdict=judged, tuned_alike=alike
        )
    return comparisons


def tuned_alike(first: ModelResult, second: ModelResult, tuning: Mapping[str, str]) -> bool:
    """Return whether two models were tuned in the same space with the same budget.

    If neither was tuned: whether all but their architecture is equal.
    """
    how, other = tuning.get(first.model, ""), tuning.get(second.model, "")
    if how or other:
        return how == other != results.FOREIGN
    h, g = (besides_architecture(model.hyperparameters) for model in (first, second))
    return h == g


def _model_result(
    variant: str, experiment: _Experiment, convergence_pp: float | None
) -> ModelResult:
    tested, metric = experiment.models[variant], experiment.metric.name
    summary, gain = _summarize_scores(tested, experiment.metrics), None
    if variant != BASELINE and BASELINE in experiment.models:
        baseline = _summarize_scores(experiment.models[BASELINE], experiment.metrics)[metric].values
        sign = -1 if lower_is_better(metric) else 1
        gain = results.paired_gain(summary[metric].values, baseline, sign)
    return ModelResult(
        model=tested.name,
        hyperparameters=tested.recipe.hyperparameters,
        parameters=round(statistics.fmean(tested.parameters)),
        best_epochs=tested.best_epochs,
        machine_kinds=tested.machine_kinds,
        summary=summary,
        details=_summarize_details(tested, experiment.metrics),
        gain=gain,
        trained_epochs=[len(next(iter(run.values()), [])) for run in tested.validation],
        longer_training=compare_longer(tested, metric, convergence_pp),
    )


def compare_longer(
    tested: TestedModel, metric: str, convergence_pp: float | None
) -> LongerTraining | None:
    """Return how a model's longer training did beside its first run; None without one.

    Scores are by the metric that decides, or the first that rises where validation lacks it, and of
    the epoch that each training keeps by its `monitor`. The margin is `convergence_pp`, or else
    MARGIN_ERRORS standard errors of the run's score, at least LEAST_MARGIN_PP: over documents a
    one-sided test at .05, where two trainings share half of their errors, so that the difference of
    their scores has the standard error of one. A run with all n items right has no such error, and
    a rate of errors of up to 3 / n (the rule of three, Hanley & Lippman-Hand 1983): no margin is
    less than LEAST_MARGIN_ITEMS of them. Raises HeedError.
    """
    if (longer := tested.longer) is None:
        return None
    name = _decisive([*tested.validation[0]], metric)
    score = tested.validation[0][name][tested.best_epochs[0] - 1]
    kept = None if longer.diverged else longer.validation[name][longer.best_epoch - 1]
    sign = -100 if lower_is_better(name) else 100
    error = longer.standard_errors.get(name)
    error_pp = None if error is None else 100 * error
    margins = [results.LEAST_MARGIN_PP]
    if error_pp is not None:
        items = 100 * results.LEAST_MARGIN_ITEMS / longer.validation_items
        margins += [results.MARGIN_ERRORS * error_pp, items]
    return LongerTraining(
        metric=name,
        epochs=longer.epochs,
        best_epoch=longer.best_epoch,
        machine_kind=longer.machine_kind,
        diverged=longer.diverged,
        score=score,
        longer_score=kept,
        difference_pp=None if kept is None else sign * (kept - score),
        margin_pp=max(margins) if convergence_pp is None else convergence_pp,
        standard_error_pp=error_pp,
        validation_items=longer.validation_items,
    )


def _decisive(validation: list[str], metric: str) -> str:
    """Return the metric that decides, or the first of validation that rises."""
    return metric if metric in validation else next(e for e in validation if not lower_is_better(e))


def _summarize_scores(tested: Tested, metrics: Metrics) -> results.Scores:
    runs = [metrics.compute(table.to_numpy()) for table in tested.statistics]
    return {name: results.mean_and_std([run[name] for run in runs]) for name in runs[0]}


def _summarize_details(tested: Tested, metrics: Metrics) -> results.Details:
    sums = [table.to_numpy().sum(0, dtype="float64") for table in tested.statistics]
    runs = [metrics.details(sums_of_run) for sums_of_run in sums]
    return {
        group: {
            name: {
                metric: results.mean_and_std([run[group][name][metric] for run in runs])
                for metric in scores
            }
            for name, scores in names.items()
        }
        for group, names in runs[0].items()
    }


def metrics_row(experiment: ExperimentResult, look: int = 0) -> dict[str, float]:
    """Return an experiment's columns of `dvc exp show` in metrics.json, in the report's digits.

    Numbers alone, which `dvc metrics diff` can subtract: the difference of the primary comparison
    in percentage points, and the score of each model; after several looks also their number, which
    is `look`. comparison.json has intervals and verdicts.
    """
    scores = {name: experiment.score_of(name) for name in experiment.models}
    row = {name: results.round_half_up(score, 4) for name, score in scores.items()}
    variant = next(iter(experiment.attention), "")
    if primary := experiment.comparisons.get(variant, {}).get(experiment.control):
        row = {"difference_pp": results.round_half_up(primary.mean_pp, 2)} | row
    return row | ({"looks": look} if look else {})

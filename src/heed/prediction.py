"""The first half of the stage `score`: predictions of a model's runs, and their statistics."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed import paths
from heed.files import HeedError, reading, write_json, writing_folder
from heed.recipe import (
    Recipe,
    read_model_prediction,
    read_prediction,
    write_prediction,
    write_recipe,
)
from heed.task import task_module
from heed.task.interface import Predictor
from heed.tokens.arrays import load_tokens
from heed.training.machine import choose_device, make_deterministic
from heed.training.run import (
    LongerInfo,
    RunInfo,
    check_tokens,
    read_longer,
    read_runs,
    split_documents,
)

SCORED = ("validation", "test")  # splits


def write_predictions(name: str, seeds: list[int]) -> int:
    """Write the predictions of the runs of `seeds` of a model; return how many there are.

    With what a longer training of the first seed reached, where there is one. Raises HeedError: a
    run is missing, or was made with another recipe than the others; the tokens are not the
    recipe's.
    """
    runs = read_runs(name, seeds)
    longer = read_longer(runs[0])
    settings = read_model_prediction(runs[0].recipe)
    tokens = load_tokens(paths.TOKENS / runs[0].recipe.corpus)
    check_tokens(runs[0].recipe, tokens)
    folds = {"folds": tokens.meta.folds, "repeats": tokens.meta.repeats}
    recipe = dataclasses.replace(runs[0].recipe, **folds)
    _check_folds(recipe, runs)
    make_deterministic()
    device = choose_device(recipe.hyperparameters.device)
    tables, statistics = list[pd.DataFrame](), list[pd.DataFrame]()
    explained: dict[str, pd.DataFrame] = {}
    for run in runs:
        predictor = load_predictor(run, device, settings)
        rows = split_documents(tokens, run.fold)
        predicted = {split: predictor.predict(tokens, rows[split]) for split in SCORED}
        of_items = predictor.statistics(test := predicted["test"])
        of_items.insert(0, "seed", run.seed)
        of_items.insert(1, "id", test["id"].to_numpy())
        statistics.append(of_items)
        explained = explained or predictor.explain(tokens, test)  # of the first seed
        for split, table in predicted.items():
            table.insert(0, "seed", run.seed)
            table.insert(2, "split", split)
            tables.append(table)
    predictions = pd.concat(tables, ignore_index=True)
    with writing_folder(paths.prediction_folder(name), checksums=True) as out:
        predictions.to_parquet(out / paths.PREDICTED, index=False)
        pd.concat(statistics, ignore_index=True).to_parquet(out / paths.STATISTICS, index=False)
        for table_name, table in explained.items():
            table.to_parquet(out / f"{table_name}.parquet", index=False)
        write_recipe(out / paths.MODEL_RECIPE, recipe)
        write_prediction(out / paths.MODEL_PREDICTION, settings)
        write_json(out / paths.MODEL_RUNS, [_describe_run(name, run) for run in runs])
        if longer:
            of_items = predictor.statistics(tables[0])  # of validation
            write_json(out / paths.MODEL_LONGER, _describe_longer(longer, of_items))
    return len(predictions)


def _check_folds(recipe: Recipe[Any, Any], runs: list[RunInfo]) -> None:
    """Raise HeedError: runs have another fold now, as after a change of `repeats`."""
    name = recipe.model
    if moved := [run for run in runs if run.fold != recipe.fold(run.seed)]:
        first, *others = moved
        more = f", and {len(others)} more of its runs have changed folds too" if others else ""
        commands = "; ".join(paths.train_command(name, run.seed) for run in moved)
        raise HeedError(
            f"{paths.run_folder(name, first.seed)}: was trained on fold {first.fold}, and has "
            f"fold {recipe.fold(first.seed)} now{more}. Run again: {commands}"
        )


def _describe_run(name: str, run: RunInfo) -> dict[str, object]:
    facts = ("seed", "best_epoch", "parameters", "machine_kind")
    validation = _read_validation(name, run.seed)
    return {name: getattr(run, name) for name in facts} | {"validation": validation}


def _describe_longer(longer: LongerInfo, statistics: pd.DataFrame) -> dict[str, object]:
    """Return what a comparison reads of a longer training; without scores where it diverged.

    `statistics` are of the validation items, by the run with the same seed.
    """
    recipe, facts = longer.recipe, ("seed", "best_epoch", "machine_kind", "diverged")
    validation = {} if longer.diverged else _read_validation(recipe.model, paths.LONGER)
    return {name: getattr(longer, name) for name in facts} | {
        "epochs": recipe.hyperparameters.epochs,
        "validation": validation,
        "validation_items": len(statistics),
        "standard_errors": dict(standard_errors(recipe, statistics)),
    }


def _read_validation(name: str, seed: int | str) -> dict[str, list[float]]:
    """Return each validation metric of a training, a value for each epoch."""
    path = paths.run_folder(name, seed) / paths.HISTORY
    with reading(path, paths.train_command(name, seed)):
        history = pd.read_csv(path)
    return {
        column.removeprefix("validation_"): history[column].tolist()
        for column in history.columns
        if column.startswith("validation_")
    }


def standard_errors(
    recipe: Recipe[Any, Any], statistics: pd.DataFrame
) -> Iterator[tuple[str, float]]:
    """Yield each validation metric that the items' statistics give, with its standard error.

    Of a mean it is the deviation over items by the root of their number; of others the jackknife's.
    """
    validated = task_module(recipe.task, "recipe").VALIDATION_METRICS
    items = len(statistics)
    for metric in task_module(recipe.task, "metrics").make_metrics(recipe.data).all:
        if metric.name in validated and items > 1:
            values = metric.by_item(statistics.to_numpy()[None]).astype(np.float64)
            yield metric.name, float(values.std(ddof=1) / items**0.5)


def load_predictor(
    run: RunInfo, device: str, settings: Any = None, folder: Path | None = None
) -> Predictor:
    """Return the predictor of a run, in its `folder` or results/train/MODEL/SEED.

    `settings` are the task's `Prediction`; None: as the study says, or the defaults. Raises
    HeedError: a file is missing or broken.
    """
    name, seed, task = run.recipe.model, run.seed, run.recipe.task
    command, of_study = paths.train_command(name, seed), paths.prediction_file(name)
    folder = folder or paths.run_folder(name, seed)
    if settings is None and of_study.exists():
        settings = read_prediction(of_study, task, command)
    settings = settings or task_module(task, "recipe").Prediction()
    load = task_module(task, "prediction").load_predictor
    return load(folder, run.recipe, settings, device, command)

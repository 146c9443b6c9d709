"""The test statistics of models and reference models, and the stage `score`'s tables of them."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from heed import paths
from heed.files import HeedError, read_json, reading, verify_checksums, writing_folder
from heed.hyperparameters.pretrained import EncoderFacts
from heed.recipe import Recipe, read_prediction, read_recipe
from heed.records import read_record
from heed.tables import write_csv
from heed.task import task_module
from heed.task.interface import Metric


@dataclasses.dataclass(frozen=True)
class Tested:
    """The test statistics, by id, of a model's runs or the fits of a reference model, by fold."""

    name: str
    folds: list[int]
    statistics: list[pd.DataFrame]

    def by_item(self, metric: Metric) -> list[pd.DataFrame]:
        """Return for each fold what each item (column) contributes to the score of each run."""
        tables = []
        tested = [*zip(self.folds, self.statistics, strict=True)]
        for fold in sorted(set(self.folds)):
            runs = [table for run_fold, table in tested if run_fold == fold]
            # The same order for all models: the last bit of a sum of floats depends on it.
            ids = runs[0].index.sort_values()
            values = metric.by_item(np.stack([run.loc[ids].to_numpy() for run in runs]))
            tables.append(pd.DataFrame(values, columns=ids))
        return tables


@dataclasses.dataclass(frozen=True)
class LongerTested:
    """A longer training in longer_training.json: each validation metric after each epoch.

    `diverged` says at which step; then it has no values. `standard_errors` are of the validation
    scores of the run with the same seed, on `validation_items`.
    """

    seed: int
    epochs: int
    best_epoch: int
    machine_kind: str
    diverged: str
    validation: dict[str, list[float]]
    validation_items: int
    standard_errors: dict[str, float]


@dataclasses.dataclass(frozen=True)
class TestedReference(Tested):
    """The test statistics of a reference model; a pretrained one has the facts of its encoder."""

    encoder: EncoderFacts | None


@dataclasses.dataclass(frozen=True)
class TestedModel(Tested):
    """The test statistics of a trained model, with its recipe and the settings of its prediction.

    The lists have a value for each run: the epoch kept, the parameters, each validation metric
    after each epoch, and the kind of the machine that trained it.
    `longer` is the longer training of the first seed, None where there is none.
    """

    recipe: Recipe[Any, Any]
    prediction: Any
    best_epochs: list[int]
    parameters: list[int]
    validation: list[dict[str, list[float]]]
    machine_kinds: list[str]
    longer: LongerTested | None = None


@dataclasses.dataclass(frozen=True)
class _Run:
    """A run in runs.json."""

    seed: int
    best_epoch: int
    parameters: int
    validation: dict[str, list[float]]
    machine_kind: str = ""


def read_model(model: str, seeds: list[int], experiment: str = "") -> TestedModel:
    """Return the statistics of a model's runs. Raises HeedError: missing, broken, other seeds.

    Without `experiment` it is the one that has the model's recipe.
    """
    experiment = experiment or paths.experiment_of(model)
    folder, command = paths.PREDICTIONS / experiment / model, f"heed score {experiment}"
    verify_checksums(folder, command)
    recipe = read_recipe(folder / paths.MODEL_RECIPE, command)
    with reading(folder / paths.MODEL_RUNS, command):
        runs = [read_record(_Run, run) for run in read_json(folder / paths.MODEL_RUNS, command)]
    table = _read_table(folder / paths.STATISTICS, command)
    if (run_seeds := [run.seed for run in runs]) != seeds:
        raise HeedError(f"{folder}: is of seeds {run_seeds}, the study has {seeds}. Run: {command}")
    tables = [table[table["seed"] == seed].set_index("id").drop(columns="seed") for seed in seeds]
    folds = [recipe.fold(seed) for seed in seeds]
    settings = read_prediction(folder / paths.MODEL_PREDICTION, recipe.task, command)
    fields = ("best_epoch", "parameters", "validation", "machine_kind")
    values: list[Any] = [[getattr(run, field) for run in runs] for field in fields]
    values.append(_read_longer(folder / paths.MODEL_LONGER, command))
    return TestedModel(model, folds, tables, recipe, settings, *values)


def _read_longer(path: Path, command: str) -> LongerTested | None:
    if not path.exists():
        return None
    with reading(path, command):
        longer: LongerTested = read_record(LongerTested, read_json(path, command))
    return longer


def read_reference_models(experiment: str, pretrained: str = "") -> dict[str, TestedReference]:
    """Return an experiment's reference models, fitted once for each fold.

    `pretrained` is its corpus, where that has a pretrained one. Raises HeedError.
    """
    folder, command = paths.REFERENCE_MODELS / experiment, f"heed reference_models {experiment}"
    verify_checksums(folder, command)
    tested = _read_fits(folder, command)
    if pretrained:
        folder, command = paths.pretrained_folder(pretrained), f"heed pretrained {pretrained}"
        verify_checksums(folder, command)
        path = folder / experiment / paths.ENCODER_FACTS
        with reading(path, command):
            facts = read_record(EncoderFacts, read_json(path, command))
        tested |= _read_fits(folder / experiment, command, facts)
    return tested


def _read_fits(
    folder: Path, command: str, encoder: EncoderFacts | None = None
) -> dict[str, TestedReference]:
    table = _read_table(folder / paths.STATISTICS, command)
    tested: dict[str, TestedReference] = {}
    for name, rows in table.groupby("reference_model", sort=False):
        statistics = rows.set_index("id").drop(columns="reference_model")
        folds = sorted(set(statistics["fold"]))
        tables = [statistics[statistics["fold"] == fold].drop(columns="fold") for fold in folds]
        tested[str(name)] = TestedReference(str(name), folds, tables, encoder)
    return tested


def evaluate(name: str, seeds: list[int]) -> pd.DataFrame:
    """Write the tables of a model's scores; return its summary by seed. Raises HeedError."""
    tested = read_model(name, seeds)
    predicted = paths.prediction_folder(name) / paths.PREDICTED
    predictions = _read_table(predicted, paths.command_of("score", name))
    task = task_module(tested.recipe.task, "evaluation")
    tables: dict[str, pd.DataFrame] = task.tables(tested, seeds, predictions)
    history = {
        seed: _read_table(
            paths.run_folder(name, seed) / paths.HISTORY, paths.train_command(name, seed)
        )
        for seed in seeds
    }
    tables["history"] = pd.concat(history, names=["seed"]).reset_index(level="seed")
    folder = paths.EVALUATIONS / paths.experiment_of(name) / name
    with writing_folder(folder, checksums=True) as out:
        for key, table in tables.items():
            write_csv(out / f"{key}.csv", table, None if key in task.EXACT else "%.6g")
    return tables["summary"]


def group_edges(values: np.ndarray, groups: int) -> np.ndarray:
    """Return the largest value of each of at most `groups` of about equal size, ascending."""
    shares = np.arange(1, groups + 1) / groups
    return np.unique(np.quantile(values, shares, method="higher")) if len(values) else values


def _read_table(path: Path, made_by: str) -> pd.DataFrame:
    with reading(path, made_by):
        return (pd.read_parquet if path.suffix == ".parquet" else pd.read_csv)(path)

"""What models and opponents did on the test parts: the additive statistics of every run and item,
as their stages left them.
"""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd

from heed.files import HeedError, read_json, reading, verify_checksums
from heed.paths import MODEL_RECIPE, MODEL_RUNS, OPPONENTS, PREDICTIONS, STATISTICS
from heed.recipe import Recipe, read_recipe
from heed.records import read_record
from heed.tasks.interface import Metric


@dataclasses.dataclass(frozen=True)
class Tested:
    """The runs of a model, or the fits of an opponent, in order: `folds[i]` is what run i was
    tested on (0: a fixed split).

    `statistics[i]` has one row an item, by id, and one column a statistic.
    """

    name: str
    folds: list[int]
    statistics: list[pd.DataFrame]

    def by_item(self, metric: Metric) -> list[pd.DataFrame]:
        """Return for each fold what each item (column) contributes to the figure of each
        run (row).
        """
        tables = []
        for fold in sorted(set(self.folds)):
            runs = [
                table for of, table in zip(self.folds, self.statistics, strict=True) if of == fold
            ]
            # one order for all models: sums of floats depend on it in the last bit
            ids = runs[0].index.sort_values()
            if any(len(run) != len(ids) or not run.index.isin(ids).all() for run in runs):
                raise HeedError(
                    f"{self.name}: its runs were not tested on the same items. Run: heed predict "
                    f"{self.name}"
                )
            values = metric.by_item(np.stack([run.loc[ids].to_numpy() for run in runs]))
            tables.append(pd.DataFrame(values, columns=ids))
        return tables


@dataclasses.dataclass(frozen=True)
class TestedModel(Tested):
    """The same of a trained model, with its recipe, and the epoch kept and the parameters of each
    run.
    """

    recipe: Recipe[Any, Any]
    best_epochs: list[int]
    parameters: list[int]


@dataclasses.dataclass(frozen=True)
class _Run:
    """A run in runs.json."""

    seed: int
    best_epoch: int
    parameters: int


def read_model(model: str, seeds: list[int]) -> TestedModel:
    """Return what the runs of `seeds` of a model did.

    Raises HeedError: missing, broken, or of other seeds.
    """
    folder, command = PREDICTIONS / model, f"heed predict {model}"
    verify_checksums(folder, command)
    recipe = read_recipe(folder / MODEL_RECIPE, command)
    with reading(folder / MODEL_RUNS, command):
        runs = [read_record(_Run, run) for run in read_json(folder / MODEL_RUNS, command)]
    with reading(folder / STATISTICS, command):
        table = pd.read_parquet(folder / STATISTICS)
    if (known := [run.seed for run in runs]) != seeds:
        raise HeedError(f"{folder}: is of seeds {known}, the study has {seeds}. Run: {command}")
    tables = [table[table["seed"] == seed].set_index("id").drop(columns="seed") for seed in seeds]
    folds = [recipe.fold(seed) for seed in seeds]
    return TestedModel(
        model,
        folds,
        tables,
        recipe,
        [run.best_epoch for run in runs],
        [run.parameters for run in runs],
    )


def read_opponents(experiment: str) -> dict[str, Tested]:
    """Return what the opponents of an experiment did, each once a fold.

    Raises HeedError when it is missing or broken.
    """
    folder, command = OPPONENTS / experiment, f"heed opponents {experiment}"
    verify_checksums(folder, command)
    with reading(folder / STATISTICS, command):
        table = pd.read_parquet(folder / STATISTICS)
    tested = {}
    for name, rows in table.groupby("opponent", sort=False):
        folds = sorted(set(rows["fold"]))
        tables = [
            rows[rows["fold"] == fold].set_index("id").drop(columns=["opponent", "fold"])
            for fold in folds
        ]
        tested[str(name)] = Tested(str(name), folds, tables)
    return tested

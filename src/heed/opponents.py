"""The stage `opponents`: fits reference models from outside on each fold."""

import dataclasses

import pandas as pd

from heed.files import write_json, writing_folder
from heed.paths import OPPONENTS, STATISTICS, TOKENS
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tokens.arrays import load_tokens


def write_opponents(name: str, experiment: DeclaredExperiment) -> None:
    """Fit the opponents of an experiment and write results/opponents/NAME (docs/contracts.md).

    Raises:
        HeedError: no tokens; a corpus without the experiment's label; nothing to learn.

    """
    tokens = load_tokens(TOKENS / experiment.corpus)
    schema = task_module(experiment.task, "recipe")
    data = schema.resolve_data(
        dataclasses.asdict(experiment.data), tokens.meta, f"experiments.{name}.data"
    )
    fitted: Fitted = task_module(experiment.task, "opponents").fit(tokens, data, experiment)
    statistics = []
    with writing_folder(OPPONENTS / name, checksums=True) as out:
        for (opponent, fold), table in fitted.predictions.items():
            table.to_parquet(out / f"{opponent}-{fold}.parquet", index=False)
            test = table[table["split"] == "test"]
            fold_statistics = fitted.statistics(test)
            fold_statistics.insert(0, "opponent", opponent)
            fold_statistics.insert(1, "fold", fold)
            fold_statistics.insert(2, "id", test["id"].to_numpy())
            statistics.append(fold_statistics)
        pd.concat(statistics, ignore_index=True).to_parquet(out / STATISTICS, index=False)
        write_json(out / "opponents.json", fitted.selection)

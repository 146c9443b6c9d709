"""The stage `reference_models`: fits reference models from outside on each fold."""

import dataclasses

import pandas as pd

from heed.files import write_json, writing_folder
from heed.paths import REFERENCE_MODELS, STATISTICS, TOKENS
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tokens.arrays import load_tokens


def write_reference_models(name: str, experiment: DeclaredExperiment) -> None:
    """Fit the reference models of an experiment; write results/reference_models/NAME.

    Raises HeedError: no tokens; a corpus without the experiment's label; nothing to learn.
    """
    tokens = load_tokens(TOKENS / experiment.corpus)
    schema = task_module(experiment.task, "recipe")
    data = schema.resolve_data(
        dataclasses.asdict(experiment.data), tokens.meta, f"experiments.{name}.data"
    )
    fitted: Fitted = task_module(experiment.task, "reference_models").fit(tokens, data, experiment)
    statistics = []
    with writing_folder(REFERENCE_MODELS / name, checksums=True) as out:
        for (reference_model, fold), table in fitted.predictions.items():
            table.to_parquet(out / f"{reference_model}-{fold}.parquet", index=False)
            test = table[table["split"] == "test"]
            fold_statistics = fitted.statistics(test)
            fold_statistics.insert(0, "reference_model", reference_model)
            fold_statistics.insert(1, "fold", fold)
            fold_statistics.insert(2, "id", test["id"].to_numpy())
            statistics.append(fold_statistics)
        pd.concat(statistics, ignore_index=True).to_parquet(out / STATISTICS, index=False)
        write_json(out / "reference_models.json", fitted.selection)

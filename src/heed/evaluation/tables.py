"""The second half of the stage `score`: a model's tables, from its predictions."""

import pandas as pd

from heed.evaluation.tested import read_model
from heed.files import reading, writing_folder
from heed.history import read_history
from heed.paths import EVALUATIONS, PREDICTED, PREDICTIONS
from heed.task import task_module


def evaluate(name: str, seeds: list[int]) -> pd.DataFrame:
    """Write results/evaluate/NAME from the predictions of its runs; return its summary by seed.

    Raises:
        HeedError: predictions or a run's history are missing, changed, or of other seeds.

    """
    tested = read_model(name, seeds)
    path = PREDICTIONS / name / PREDICTED
    with reading(path, f"heed score {name}"):
        predictions = pd.read_parquet(path)
    task = task_module(tested.recipe.task, "evaluation")
    tables: dict[str, pd.DataFrame] = task.tables(tested, seeds, predictions)
    tables["history"] = pd.concat([_history(name, seed) for seed in seeds], ignore_index=True)
    with writing_folder(EVALUATIONS / name, checksums=True) as out:
        for key, table in tables.items():
            digits = None if key in task.EXACT else "%.6g"
            table.to_csv(out / f"{key}.csv", index=False, lineterminator="\n", float_format=digits)
    return tables["summary"]


def _history(name: str, seed: int) -> pd.DataFrame:
    """Return the history of a run, with its seed."""
    table = read_history(name, seed)
    table.insert(0, "seed", seed)
    return table

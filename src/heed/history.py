"""The history of a run: its training loss and its figures of validation, one row an epoch."""

import pandas as pd

from heed.files import reading
from heed.paths import HISTORY, run_folder, train_command

PREFIX = "validation_"


def read_history(model: str, seed: int) -> pd.DataFrame:
    """Return history.csv of a run (docs/contracts.md), whose checksums the caller has verified.

    Raises HeedError: the file is missing or broken.
    """
    path = run_folder(model, seed) / HISTORY
    with reading(path, train_command(model, seed)):
        return pd.read_csv(path)


def validation_figures(history: pd.DataFrame) -> dict[str, list[float]]:
    """Return each figure of validation by its name, after each epoch."""
    return {
        column.removeprefix(PREFIX): history[column].tolist()
        for column in history.columns
        if column.startswith(PREFIX)
    }

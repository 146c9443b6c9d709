"""The history of a run: its training loss and its figures of validation, one row an epoch."""

import pandas as pd

from heed.files import reading, verify_checksums
from heed.paths import HISTORY, run_folder, train_command

PREFIX = "validation_"


def read_history(model: str, seed: int) -> pd.DataFrame:
    """Return history.csv of a run (docs/contracts.md).

    Raises HeedError: the run is missing or was changed.
    """
    folder, command = run_folder(model, seed), train_command(model, seed)
    verify_checksums(folder, command)
    with reading(folder / HISTORY, command):
        return pd.read_csv(folder / HISTORY)


def validation_figures(history: pd.DataFrame) -> dict[str, list[float]]:
    """Return each figure of validation by its name, after each epoch."""
    return {
        column.removeprefix(PREFIX): history[column].tolist()
        for column in history.columns
        if column.startswith(PREFIX)
    }

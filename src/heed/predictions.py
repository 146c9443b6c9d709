"""The table of predictions that every run and every opponent leaves (docs/contracts.md)."""

from pathlib import Path

import numpy as np
import pandas as pd

from heed.files import reading


def prediction_table(
    ids: np.ndarray, part: str, label: np.ndarray, found: np.ndarray, classes: list[str]
) -> pd.DataFrame:
    """Return one row a document.

    Args:
        ids: document ids, (documents,)
        part: validation or test
        label: the true classes, (documents,)
        found: probabilities, (documents, classes)
        classes: their names, in order

    """
    head = pd.DataFrame({"id": ids, "split": part, "label": label, "predicted": np.asarray(classes)[found.argmax(1)]})
    return head.join(pd.DataFrame(found.astype(np.float32), columns=[f"p:{name}" for name in classes]))


def read_predictions(path: Path, part: str, made_by: str) -> pd.DataFrame:
    """Return `id`, `label` and `predicted` of one part; `made_by` is the command to run when the file is missing or broken."""
    with reading(path, made_by):
        table = pd.read_parquet(path, columns=["id", "split", "label", "predicted"])
    return table[table["split"] == part]


def read_certainty(path: Path, part: str) -> np.ndarray:
    """Return the probability of the predicted class of every document of one part, (documents,)"""
    table = pd.read_parquet(path)
    of_part = table[table["split"] == part]
    return of_part.filter(like="p:").max(axis=1).to_numpy()

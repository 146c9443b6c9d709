"""Where a model is right and wrong: by class, by length of text, by its own certainty.

Counts, so that they can be added.
"""

import numpy as np
import pandas as pd

# length groups of about as many documents each; steps of certainty from 0 to 1
LENGTHS, BINS = 8, 10


def confusion(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return `label, predicted, documents`, only pairs that occur, of a table of predictions."""
    return (
        predictions.groupby(["label", "predicted"], sort=True).size().reset_index(name="documents")
    )


def length_edges(lengths: np.ndarray) -> np.ndarray:
    """Return the longest length of each group: at most eight groups of about as many documents of
    the whole corpus.

    Of the whole corpus, so that all models of it, and all folds, have the same groups.
    """
    return np.unique(np.quantile(lengths, np.arange(1, LENGTHS + 1) / LENGTHS, method="higher"))


def by_length(right: np.ndarray, lengths: np.ndarray, edges: np.ndarray) -> pd.DataFrame:
    """Return `longest, documents, mean_length, right`: one row a length group that has documents.

    Args:
        right: whether each document was answered rightly, (documents,)
        lengths: its tokens, (documents,)
        edges: from `length_edges`.

    """
    table = pd.DataFrame(
        {"longest": edges[np.searchsorted(edges, lengths)], "right": right, "length": lengths}
    )
    groups = table.groupby("longest", sort=True)
    return groups.agg(
        documents=("right", "size"), mean_length=("length", "mean"), right=("right", "sum")
    ).reset_index()  # fmt: skip


def calibration(right: np.ndarray, probability: np.ndarray) -> pd.DataFrame:
    """Return `low, high, documents, probability, right`: one row a step of certainty that occurs.

    Guo et al. 2017, "On calibration of modern neural networks", section 2: ten steps of equal
    width.

    Args:
        right: whether each document was answered rightly, (documents,)
        probability: of the predicted class, (documents,)

    """
    step = np.minimum((np.asarray(probability, float) * BINS).astype(int), BINS - 1)
    table = pd.DataFrame(
        {"step": step, "right": right, "probability": np.asarray(probability, float)}
    )
    found = table.groupby("step", sort=True).agg(
        documents=("right", "size"), probability=("probability", "mean"), right=("right", "sum")
    )
    steps = found.index.to_numpy()
    found.insert(0, "low", steps / BINS)
    found.insert(1, "high", (steps + 1) / BINS)
    return found.reset_index(drop=True)

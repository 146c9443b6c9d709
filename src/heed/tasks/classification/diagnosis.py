"""Right and wrong predictions by class, by length of text, and by the model's certainty.

The tables hold counts, so that those of several runs can be added.
"""

import numpy as np
import pandas as pd

# groups of lengths, with about as many documents each; bins of certainty, of equal width
LENGTH_GROUPS, BINS = 8, 10


def confusion(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the confusion matrix as rows `label, predicted, documents`, for pairs that occur."""
    return (
        predictions.groupby(["label", "predicted"], sort=True).size().reset_index(name="documents")
    )


def length_edges(lengths: np.ndarray) -> np.ndarray:
    """Return the longest length of each group; each has about as many documents of the corpus.

    There are at most eight groups. They are made from the whole corpus, so that all its models and
    folds have the same.

    Args:
        lengths: tokens of each document of the corpus, (documents,)

    """
    return np.unique(
        np.quantile(lengths, np.arange(1, LENGTH_GROUPS + 1) / LENGTH_GROUPS, method="higher")
    )


def by_length(right: np.ndarray, lengths: np.ndarray, edges: np.ndarray) -> pd.DataFrame:
    """Return `longest, documents, mean_length, right` for each group of lengths with documents.

    Args:
        right: whether each prediction is right, (documents,)
        lengths: tokens of each document, (documents,)
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
    """Return `low, high, documents, probability, right` for each bin of certainty with documents.

    Guo et al. 2017, "On calibration of modern neural networks", section 2: ten bins of equal width.

    Args:
        right: whether each prediction is right, (documents,)
        probability: of the predicted class, (documents,)

    """
    bins = np.minimum((np.asarray(probability, float) * BINS).astype(int), BINS - 1)
    documents = pd.DataFrame(
        {"bin": bins, "right": right, "probability": np.asarray(probability, float)}
    )
    table = documents.groupby("bin", sort=True).agg(
        documents=("right", "size"), probability=("probability", "mean"), right=("right", "sum")
    )
    occurring = table.index.to_numpy()
    table.insert(0, "low", occurring / BINS)
    table.insert(1, "high", (occurring + 1) / BINS)
    return table.reset_index(drop=True)

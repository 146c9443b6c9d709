"""Mean squared error and R², as functions of statistics that are added over documents."""

from typing import Any

import numpy as np
import pandas as pd

from heed.task.interface import Metric, Metrics

STATISTICS = ("documents", "squared_error", "number", "square")


def prediction_table(ids: Any, label: Any, predicted: np.ndarray, classes: object) -> pd.DataFrame:
    """Return `id, label, predicted`."""
    numbers = np.asarray(label, float).astype(np.float32)
    return pd.DataFrame({"id": ids, "label": numbers, "predicted": predicted[:, 0]})


def statistics_table(predictions: pd.DataFrame, classes: object = None) -> pd.DataFrame:
    """Return the statistics of each row of a table of predictions."""
    label, predicted = (predictions[name].to_numpy(float) for name in ("label", "predicted"))
    values = [np.ones(len(label)), (predicted - label) ** 2, label, label**2]
    return pd.DataFrame(dict(zip(STATISTICS, values, strict=True)))


def make_metrics(data: object) -> Metrics:
    """Return the metrics; the mean squared error decides."""
    error = Metric("mean_squared_error", lambda sums: sums[..., 1] / sums[..., 0], mean_of=1)
    return Metrics((error, Metric("r2", _r2)), lambda sums: {})


def _r2(sums: np.ndarray) -> np.ndarray:
    documents, error, number, square = (sums[..., i] for i in range(4))
    return np.asarray(1 - error / (square - number**2 / documents))

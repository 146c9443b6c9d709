"""Accuracy, precision, recall and F1, as functions of counts that are added over documents.

The statistics of a document are 0 or 1: whether its prediction is right; then, for each class,
whether it is the true one; then whether it is the predicted one; then whether it is both.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heed.task.interface import Details, Metric, Metrics
from heed.tasks.classification.recipe import Data

AVERAGES = ("macro", "weighted")
BY_CLASS = ("precision", "recall", "f1")
HAS_ONE_CLASS = True  # a document has one class, which a prediction may confuse with another


def statistic_names(classes: list[str]) -> list[str]:
    """Return the name of each statistic, in order: 1 + 3 * classes names."""
    return [
        "right",
        *(f"{kind}:{name}" for kind in ("true", "predicted", "both") for name in classes),
    ]


def statistics(label: np.ndarray, predicted: np.ndarray, classes: Sequence[Any]) -> np.ndarray:
    """Return the statistics of each document: uint8 (documents, 1 + 3 * classes).

    Args:
        label: true classes, (documents,)
        predicted: predicted classes, (documents,)
        classes: names or indices of all classes.

    """
    columns = np.asarray(classes)
    is_true = np.asarray(label)[:, None] == columns
    is_predicted = np.asarray(predicted)[:, None] == columns
    is_both = is_true & is_predicted
    right = is_both.any(1, keepdims=True)
    return np.concatenate([right, is_true, is_predicted, is_both], 1).astype(np.uint8)


def make_metrics(data: Data) -> Metrics:
    """Return the figures; accuracy decides if a study names no other."""
    averages = [
        Metric(f"{average}_{metric}", _make_average(average, metric))
        for average in AVERAGES
        for metric in BY_CLASS
    ]
    return Metrics(
        (Metric("accuracy", accuracy, mean_of=0), *averages),
        lambda sums: class_details(sums, data.classes),
    )


def class_details(sums: np.ndarray, classes: list[str]) -> Details:
    """Return the metrics of each class from sums (statistics,)."""
    columns = {metric: values.tolist() for metric, values in by_class(sums).items()}
    return {
        "classes": {
            name: {metric: values[i] for metric, values in columns.items()}
            for i, name in enumerate(classes)
        }
    }


def detail_names(data: Data) -> dict[str, list[str]]:
    """Return the names of the groups in `Metrics.details`, in order."""
    return {"classes": data.classes}


def accuracy(sums: np.ndarray) -> np.ndarray:
    """Return the share of right predictions: (..., statistics) to (...,)."""
    return sums[..., 0] / split_sums(sums)[0].sum(-1)


def by_class(sums: np.ndarray) -> dict[str, np.ndarray]:
    """Return precision, recall, F1 and support of each class, (..., classes)."""
    return ratios(*split_sums(sums))


def ratios(true: np.ndarray, predicted: np.ndarray, both: np.ndarray) -> dict[str, np.ndarray]:
    """Return precision, recall, F1 and support from counts; a ratio with denominator 0 is 0."""
    return {
        "precision": _ratio(both, predicted),
        "recall": _ratio(both, true),
        "f1": _ratio(2 * both, true + predicted),
        "support": true,
    }


def _make_average(average: str, metric: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from sums (..., statistics) to the macro or weighted average (...,)."""

    def value(sums: np.ndarray) -> np.ndarray:
        values = by_class(sums)
        if average == "macro":
            return np.asarray(values[metric].mean(-1))
        return np.asarray((values[metric] * values["support"]).sum(-1) / values["support"].sum(-1))

    return value


def split_sums(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the documents whose true, predicted, or true and predicted class is each class.

    All are (..., classes).
    """
    classes = (sums.shape[-1] - 1) // 3
    counts = sums[..., 1:].astype(np.float64)
    return counts[..., :classes], counts[..., classes : 2 * classes], counts[..., 2 * classes :]


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    zeros = np.zeros_like(numerator)
    return np.divide(numerator, denominator, out=zeros, where=denominator != 0)


def prediction_table(
    ids: np.ndarray,
    label: Sequence[Any] | np.ndarray,
    probabilities: np.ndarray,
    classes: list[str],
    predicted: list[Any] | None = None,
) -> pd.DataFrame:
    """Return `id, label, predicted` and a float32 column `p:CLASS` for each class.

    Args:
        ids: document ids, (documents,)
        label: the true classes, (documents,)
        probabilities: of each class, (documents, classes)
        classes: names of the classes, in order
        predicted: what is predicted; None: the most probable class

    """
    best = np.asarray(classes, object)[probabilities.argmax(1)] if predicted is None else predicted
    head = pd.DataFrame({"id": ids, "label": label, "predicted": best})
    return head.join(
        pd.DataFrame(probabilities.astype(np.float32), columns=[f"p:{name}" for name in classes])
    )


def statistics_table(predictions: pd.DataFrame, classes: list[str]) -> pd.DataFrame:
    """Return the additive statistics (metrics.py) of each row of a table of predictions."""
    values = statistics(
        predictions["label"].to_numpy(), predictions["predicted"].to_numpy(), classes
    )
    return pd.DataFrame(values, columns=statistic_names(classes))


def predicted_probability(predictions: pd.DataFrame) -> np.ndarray:
    """Return the probability of the predicted class of each document, (documents,)."""
    return predictions.filter(like="p:").max(axis=1).to_numpy()

"""Accuracy, precision, recall and F1, as functions of counts that are added over documents.

The statistics of a document are 0 or 1: whether its prediction is right; then, for each class,
whether it is the true one; then whether it is the predicted one; then whether it is both.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from heed.task.interface import Details, Metric, Metrics, ratio
from heed.tasks.classification.recipe import Data

AVERAGES = ("macro", "weighted")
BY_CLASS = ("precision", "recall", "f1")


def statistic_names(classes: list[str]) -> list[str]:
    """Return the name of each statistic, in order: 1 + 3 * classes names."""
    kinds = ("true", "predicted", "both")
    return ["right", *(f"{kind}:{name}" for kind in kinds for name in classes)]


def statistics(
    label: np.ndarray, predicted: np.ndarray, classes: Sequence[Any] | np.ndarray
) -> np.ndarray:
    """Return the statistics of each document: uint8 (documents, 1 + 3 * classes)."""
    columns = np.asarray(classes)
    is_true, is_predicted = (np.asarray(found)[:, None] == columns for found in (label, predicted))
    is_both = is_true & is_predicted
    right = is_both.any(1, keepdims=True)
    return np.concatenate([right, is_true, is_predicted, is_both], 1).astype(np.uint8)


def make_metrics(data: Data) -> Metrics:
    """Return the metrics; accuracy decides if a study names no other."""
    averages = [average_metric(average, metric) for average in AVERAGES for metric in BY_CLASS]
    accuracy = Metric("accuracy", lambda sums: ratio(sums[..., 0], split_sums(sums)[0].sum(-1)), 0)
    return Metrics((accuracy, *averages), lambda sums: class_details(sums, data.classes))


def class_details(sums: np.ndarray, classes: list[str]) -> Details:
    """Return precision, recall, F1 and support of each class from sums (statistics,)."""
    counts = split_sums(sums)
    columns = {metric: of_counts(metric, *counts) for metric in BY_CLASS} | {"support": counts[0]}
    rows = {name: {m: float(columns[m][i]) for m in columns} for i, name in enumerate(classes)}
    return {"classes": rows}


def of_counts(metric: str, true: np.ndarray, predicted: np.ndarray, both: np.ndarray) -> np.ndarray:
    """Return precision, recall or F1 from counts; a ratio with denominator 0 is 0."""
    if metric == "f1":
        return ratio(2 * both, true + predicted)
    return ratio(both, predicted if metric == "precision" else true)


def average_metric(average: str, metric: str) -> Metric:
    """Return the macro or weighted average of a metric over classes.

    As in scikit-learn, a macro average is over the classes that any document of these sums has or
    is predicted to have: a jackknife's, without the only document of a class, is over the others.
    """

    def value(sums: np.ndarray) -> np.ndarray:
        counts = split_sums(sums)
        values, (true, predicted, _) = of_counts(metric, *counts), counts
        if average == "macro":
            return ratio(values.sum(-1), np.logical_or(true, predicted).sum(-1))
        return ratio((values * true).sum(-1), true.sum(-1))

    return Metric(f"{average}_{metric}", value)


def split_sums(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the counts of true, predicted and both of each class, each (..., classes)."""
    classes = (sums.shape[-1] - 1) // 3
    counts = sums[..., -3 * classes :].astype(np.float64)
    return counts[..., :classes], counts[..., classes : 2 * classes], counts[..., 2 * classes :]


def decide(probabilities: np.ndarray, classes: list[str]) -> Iterable[Any]:
    """Return the most probable classes, of (documents, classes); of equal ones the first."""
    return np.asarray(classes, object)[probabilities.argmax(1)]


def prediction_table(
    ids: np.ndarray, label: Iterable[Any], probabilities: np.ndarray, classes: list[str]
) -> pd.DataFrame:
    """Return `id, label, predicted` and a float32 column `p:CLASS` for each class."""
    predicted = decide(probabilities, classes)
    head = pd.DataFrame({"id": ids, "label": label, "predicted": predicted})
    columns = [f"p:{name}" for name in classes]
    return head.join(pd.DataFrame(probabilities.astype(np.float32), columns=columns))


def statistics_table(predictions: pd.DataFrame, classes: list[str]) -> pd.DataFrame:
    """Return the additive statistics of each row of a table of predictions."""
    label, predicted = (predictions[column].to_numpy() for column in ("label", "predicted"))
    return pd.DataFrame(statistics(label, predicted, classes), columns=statistic_names(classes))


def certainties(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return `id, label, predicted` and the probability of each prediction."""
    probability = predictions.filter(like="p:").max(axis=1)
    return predictions[["id", "label", "predicted"]].assign(probability=probability)

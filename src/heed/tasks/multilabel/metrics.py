"""Micro and macro F1 and shares of right labels, as functions of counts added over documents.

The statistics of a document are 1; then those of a classification: whether its labels are exactly
the predicted ones, and for each class whether it is true, predicted, or both.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd

from heed.task.interface import Metric, Metrics
from heed.tasks.classification import metrics as classification
from heed.tasks.classification.recipe import Data

HAS_ONE_CLASS = False
THRESHOLD = 0.5  # a document has the classes with a larger probability


def label_matrix(labels: Iterable[Sequence[str]], classes: Sequence[str]) -> np.ndarray:
    """Return which classes each document has, bool (documents, classes).

    Raises KeyError for a class that is none of `classes`.
    """
    column = {name: index for index, name in enumerate(classes)}
    rows = [[column[name] for name in names] for names in labels]
    matrix = np.zeros((len(rows), len(column)), bool)
    for row, columns in enumerate(rows):
        matrix[row, columns] = True
    return matrix


def prediction_table(
    ids: np.ndarray, label: Iterable[Sequence[str]], probabilities: np.ndarray, classes: list[str]
) -> pd.DataFrame:
    """Return `id`, the lists `label` and `predicted`, and `p:CLASS` (docs/contracts.md)."""
    predicted = decide(probabilities.astype(np.float32), classes)
    return classification.prediction_table(
        ids, [list(names) for names in label], probabilities, classes, predicted
    )


def decide(probabilities: np.ndarray, classes: list[str]) -> list[list[str]]:
    """Return the classes of each document, from probabilities (documents, classes)."""
    return [[classes[i] for i in np.flatnonzero(row)] for row in probabilities > THRESHOLD]


def statistic_names(classes: list[str]) -> list[str]:
    """Return the name of each statistic, in order: 2 + 3 * classes names."""
    return ["documents", *classification.statistic_names(classes)]


def statistics_table(predictions: pd.DataFrame, classes: list[str]) -> pd.DataFrame:
    """Return the additive statistics of each row of a table of predictions."""
    is_true, is_predicted = (
        label_matrix(predictions[column], classes) for column in ("label", "predicted")
    )
    return pd.DataFrame(statistics(is_true, is_predicted), columns=statistic_names(classes))


def statistics(is_true: np.ndarray, is_predicted: np.ndarray) -> np.ndarray:
    """Return the statistics of each document, uint8, from its classes (documents, classes)."""
    one = np.ones((len(is_true), 1), bool)
    exact = (is_true == is_predicted).all(1, keepdims=True)
    parts = [one, exact, is_true, is_predicted, is_true & is_predicted]
    return np.concatenate(parts, 1).astype(np.uint8)


def make_metrics(data: Data) -> Metrics:
    """Return the figures; micro F1 decides if a study names no other."""
    precision_recall_f1 = classification.BY_CLASS
    return Metrics(
        (
            *(Metric(f"micro_{name}", _micro(name)) for name in ("f1", *precision_recall_f1[:2])),
            *(Metric(f"macro_{name}", _macro(name)) for name in precision_recall_f1),
            Metric("subset_accuracy", lambda sums: sums[..., 1] / sums[..., 0], mean_of=1),
            Metric("label_accuracy", _label_accuracy),
        ),
        lambda sums: classification.class_details(sums[..., 1:], data.classes),
    )


def figures(statistics: np.ndarray, classes: list[str]) -> dict[str, float]:
    """Return every metric of documents from their statistics, (documents, statistics)."""
    return make_metrics(Data("", classes)).compute(statistics)


def _label_accuracy(sums: np.ndarray) -> np.ndarray:
    """Return the share of right decisions on a document and a class; 1 less the Hamming loss."""
    true, predicted, both = classification.split_sums(sums[..., 1:])
    wrong = (true + predicted - 2 * both).sum(-1)
    return np.asarray(1 - wrong / (sums[..., 0] * true.shape[-1]))


def _micro(figure: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from sums to a figure of all classes' counts together."""

    def value(sums: np.ndarray) -> np.ndarray:
        counts = classification.split_sums(sums[..., 1:])
        return classification.ratios(*(count.sum(-1) for count in counts))[figure]

    return value


def _macro(figure: str) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function from sums to the mean of a figure over classes."""
    return lambda sums: np.asarray(classification.by_class(sums[..., 1:])[figure].mean(-1))

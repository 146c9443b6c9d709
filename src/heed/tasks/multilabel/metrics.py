"""Micro and macro F1 and shares of right labels, as functions of counts added over documents.

The statistics of a document are 1; then those of a classification: whether its labels are exactly
the predicted ones, and for each class whether it is true, predicted, or both.
"""

from collections.abc import Callable

import numpy as np

from heed.task.interface import Metric, Metrics
from heed.tasks.classification import metrics as classification
from heed.tasks.classification.metrics import BY_CLASS, detail_names
from heed.tasks.multilabel.recipe import Data

__all__ = ["detail_names", "make_metrics", "statistic_names", "statistics"]


def statistic_names(classes: list[str]) -> list[str]:
    """Return the name of each statistic, in order: 2 + 3 * classes names."""
    return ["documents", *classification.statistic_names(classes)]


def statistics(is_true: np.ndarray, is_predicted: np.ndarray) -> np.ndarray:
    """Return the statistics of each document: uint8 (documents, 2 + 3 * classes).

    Args:
        is_true: whether each class is one of the document's, bool (documents, classes)
        is_predicted: the same of the predicted ones, bool (documents, classes)

    """
    one = np.ones((len(is_true), 1), bool)
    exact = (is_true == is_predicted).all(1, keepdims=True)
    parts = [one, exact, is_true, is_predicted, is_true & is_predicted]
    return np.concatenate(parts, 1).astype(np.uint8)


def make_metrics(data: Data) -> Metrics:
    """Return the figures; micro F1 decides if a study names no other."""
    return Metrics(
        (
            *(Metric(f"micro_{figure}", _micro(figure)) for figure in ("f1", *BY_CLASS[:2])),
            *(Metric(f"macro_{figure}", _macro(figure)) for figure in BY_CLASS),
            Metric("subset_accuracy", subset_accuracy, mean_of=1),
            Metric("label_accuracy", label_accuracy),
        ),
        lambda sums: classification.class_details(sums[..., 1:], data.classes),
    )


def figures(statistics: np.ndarray, classes: list[str]) -> dict[str, float]:
    """Return every metric of documents from their statistics, (documents, statistics)."""
    return make_metrics(Data("", classes)).compute(statistics)


def subset_accuracy(sums: np.ndarray) -> np.ndarray:
    """Return the share of documents with exactly the right labels: (..., statistics) to (...,)."""
    return np.asarray(sums[..., 1] / sums[..., 0])


def label_accuracy(sums: np.ndarray) -> np.ndarray:
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

"""Accuracy, precision, recall and F1, as functions of counts that add up over documents.

The statistics of a document: whether its prediction is right; then for each class whether it is the
true one, the predicted one, and both. All are 0 or 1.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from heed.tasks.classification.recipe import Data
from heed.tasks.interface import Details, Metric, Metrics

AVERAGES = ("macro", "weighted")
BY_CLASS = ("precision", "recall", "f1")
NAMES = ("accuracy", *(f"{average}_{figure}" for average in AVERAGES for figure in BY_CLASS))


def names(classes: list[str]) -> list[str]:
    """Return what each statistic is called: (1 + 3 * classes)"""
    return [
        "right",
        *(f"{what}:{name}" for what in ("true", "predicted", "both") for name in classes),
    ]


def statistics(label: np.ndarray, predicted: np.ndarray, classes: Sequence[Any]) -> np.ndarray:
    """Return the statistics of each document: uint8 (documents, 1 + 3 * classes).

    Args:
        label: true classes, (documents,)
        predicted: predicted classes, (documents,)
        classes: their names, or indices; every label is one of them.

    """
    known = np.asarray(classes)
    true, said = np.asarray(label)[:, None] == known, np.asarray(predicted)[:, None] == known
    right = (true & said).any(1, keepdims=True)
    return np.concatenate([right, true, said, true & said], 1).astype(np.uint8)


def make_metrics(data: Data) -> Metrics:
    """Return the figures; accuracy decides if a study names no other."""
    averages = [
        Metric(f"{average}_{figure}", _average(average, figure))
        for average in AVERAGES
        for figure in BY_CLASS
    ]

    def details(sums: np.ndarray) -> Details:
        columns = {figure: values.tolist() for figure, values in by_class(sums).items()}
        return {
            "classes": {
                name: {f: v[i] for f, v in columns.items()} for i, name in enumerate(data.classes)
            }
        }

    return Metrics((Metric("accuracy", accuracy, mean_of=0), *averages), details)


def about(data: Data) -> dict[str, list[str]]:
    """Return the groups of the details, with the names in each, in order."""
    return {"classes": data.classes}


def accuracy(sums: np.ndarray) -> np.ndarray:
    """Return the share of documents that are right: (..., statistics) to (...,)."""
    return sums[..., 0] / _counts(sums)[0].sum(-1)


def by_class(sums: np.ndarray) -> dict[str, np.ndarray]:
    """Return precision, recall, F1 and support of each class, (..., classes); a figure without a
    denominator is 0.
    """
    true, said, both = _counts(sums)
    return {
        "precision": _ratio(both, said),
        "recall": _ratio(both, true),
        "f1": _ratio(2 * both, true + said),
        "support": true,
    }


def _average(average: str, figure: str) -> Callable[[np.ndarray], np.ndarray]:
    def value(sums: np.ndarray) -> np.ndarray:
        figures = by_class(sums)
        if average == "macro":
            return np.asarray(figures[figure].mean(-1))
        return np.asarray(
            (figures[figure] * figures["support"]).sum(-1) / figures["support"].sum(-1)
        )

    return value


def _counts(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how many documents have each class as the true one, as the predicted one, and as both:
    (..., classes).
    """
    classes = (sums.shape[-1] - 1) // 3
    counts = sums[..., 1:].astype(np.float64)
    return counts[..., :classes], counts[..., classes : 2 * classes], counts[..., 2 * classes :]


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)

"""Micro and macro F1 and shares of right labels, as functions of counts added over documents.

The statistics of a document are 1; then as of a classification: whether its labels are exactly the
predicted ones, and for each class whether it is true, predicted, or both.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from heed.task.interface import Metric, Metrics, ratio
from heed.tasks.classification import metrics as classification
from heed.tasks.classification.recipe import Data
from heed.tasks.multilabel.recipe import METRICS

HAS_ONE_CLASS = False
THRESHOLD = 0.5  # a document has the classes with a larger probability


def label_matrix(labels: Iterable[Sequence[str]], classes: Sequence[str]) -> np.ndarray:
    """Return the classes of each document, bool (documents, classes). Raises KeyError."""
    column = {name: index for index, name in enumerate(classes)}
    rows = [[column[name] for name in names] for names in labels]
    matrix = np.zeros((len(rows), len(column)), bool)
    for is_of, columns in zip(matrix, rows, strict=True):
        is_of[columns] = True
    return matrix


def decide(probabilities: np.ndarray, classes: list[str]) -> list[list[str]]:
    """Return the classes of each document, from probabilities (documents, classes)."""
    is_above = probabilities.astype(np.float32) > THRESHOLD
    return [[classes[i] for i in np.flatnonzero(row)] for row in is_above]


def prediction_table(
    ids: np.ndarray, label: Iterable[Sequence[str]], probabilities: np.ndarray, classes: list[str]
) -> pd.DataFrame:
    """Return `id`, the lists `label` and `predicted`, and `p:CLASS` (docs/contracts.md)."""
    return classification.prediction_table(ids, [*map(list, label)], probabilities, classes, decide)


def certainties(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return `id`, `label` and `predicted` as text, and the probability of all decisions."""
    probability = predictions.filter(like="p:").to_numpy(np.float64)
    texts = predictions[["label", "predicted"]].map("; ".join).replace("", "–")
    of_all = np.maximum(probability, 1 - probability).prod(1)
    return predictions[["id"]].join(texts).assign(probability=of_all)


def statistic_names(classes: list[str]) -> list[str]:
    """Return the name of each statistic, in order."""
    return ["documents", *classification.statistic_names(classes)]


def statistics_table(predictions: pd.DataFrame, classes: list[str]) -> pd.DataFrame:
    """Return the additive statistics of each row of a table of predictions."""
    matrices = (label_matrix(predictions[column], classes) for column in ("label", "predicted"))
    return pd.DataFrame(statistics(*matrices), columns=statistic_names(classes))


def statistics(is_true: np.ndarray, is_predicted: np.ndarray) -> np.ndarray:
    """Return the statistics of each document, uint8, from its classes (documents, classes)."""
    exact = (is_true == is_predicted).all(1, keepdims=True)
    parts = [np.ones_like(exact), exact, is_true, is_predicted, is_true & is_predicted]
    return np.concatenate(parts, 1).astype(np.uint8)


def make_metrics(data: Data) -> Metrics:
    """Return the figures; micro F1 decides if a study names no other."""
    return Metrics(
        (
            *(classification.average_metric(*name.split("_")) for name in METRICS[:6]),
            Metric("subset_accuracy", lambda sums: ratio(sums[..., 1], sums[..., 0]), mean_of=1),
            Metric("label_accuracy", _label_accuracy),
        ),
        lambda sums: classification.class_details(sums, data.classes),
    )


def compute_scores(is_true: np.ndarray, is_predicted: np.ndarray) -> dict[str, float]:
    """Return every metric of documents from their classes (documents, classes)."""
    return make_metrics(Data("", [])).compute(statistics(is_true, is_predicted))


def _label_accuracy(sums: np.ndarray) -> np.ndarray:
    """Return the share of right decisions on a document and a class; 1 less the Hamming loss."""
    true, predicted, both = classification.split_sums(sums)
    wrong = (true + predicted - 2 * both).sum(-1)
    return np.asarray(1 - ratio(wrong, sums[..., 0] * true.shape[-1]))

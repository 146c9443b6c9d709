"""The opponents: a linear model for each class on TF-IDF features, and the frequent labels."""

from typing import Any

import numpy as np

from heed.files import HeedError
from heed.inputs.tfidf import TfIdfFile
from heed.progress import Bar
from heed.tasks.classification.opponents import Parts, Rules, Shares, select_linear
from heed.tasks.multilabel.metrics import (
    figures,
    label_matrix,
    prediction_table,
    statistics,
    statistics_table,
)


def _fit_linear(
    parts: Parts, column: str, file: TfIdfFile, classes: list[str], bar: Bar
) -> tuple[Shares, dict[str, Any]]:
    """Return the linear model's probabilities on validation and test, and how it was chosen.

    Each class has a linear model of its own; C is the same for all and has the best micro F1 on
    validation. Probabilities are the logistic function of the decision function, and not
    calibrated. A class that every training document has, or none, is predicted so. Raises HeedError
    if there is no other.
    """
    labels = label_matrix(parts["train"][column], classes)
    count = labels.sum(0)
    learned = np.flatnonzero((count > 0) & (count < len(labels)))
    if not len(learned):
        raise HeedError(
            f"{column}: each class is one of every training document's, or of none: nothing to "
            "learn. Mend `split`"
        )
    is_true = label_matrix(parts["validation"][column], classes)
    constant = np.where(count > 0, np.inf, -np.inf)

    def complete(scores: np.ndarray) -> np.ndarray:
        """Return the decision function of all classes, (documents, classes)."""
        every = np.tile(constant, (len(scores), 1))
        every[:, learned] = scores
        return every

    def micro_f1(scores: np.ndarray) -> float:
        return figures(statistics(is_true, complete(scores) > 0), classes)["micro_f1"]

    scores, chosen = select_linear(column, file, labels[:, learned], "micro_f1", micro_f1, bar)
    return {part: _logistic(complete(values)) for part, values in scores.items()}, chosen


def _logistic(scores: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-scores)), without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)))


def _predict_majority(parts: Parts, column: str, classes: list[str]) -> Shares:
    """Return the share of training documents with each class, for each document of the parts.

    So a document has the classes that more than half of the training documents have.
    """
    shares = label_matrix(parts["train"][column], classes).mean(0)
    return {part: np.tile(shares, (len(parts[part]), 1)) for part in ("validation", "test")}


RULES = Rules(_fit_linear, _predict_majority, prediction_table, statistics_table)

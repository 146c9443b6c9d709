"""The reference models: a linear model of TF-IDF features for each class, and frequent labels."""

from typing import Any

import numpy as np
import pandas as pd

from heed.files import HeedError
from heed.inputs.tfidf import TfIdfFile
from heed.progress import Bar
from heed.tasks.classification.reference_models import Labels, Shares, select_linear
from heed.tasks.multilabel.metrics import compute_scores, label_matrix


def fit_linear(
    labels: Labels, file: TfIdfFile, classes: list[str], metric: str | None, bar: Bar
) -> tuple[Shares, dict[str, Any], np.ndarray]:
    """Return the probabilities of a linear model for each class, how C was chosen, the weights.

    A class of every training document, or of none, is predicted so. `metric`: the task's that
    chooses; None is micro F1.
    """
    matrix, column = label_matrix(labels["train"], classes), str(labels["train"].name)
    count = matrix.sum(0)
    learned = np.flatnonzero((count > 0) & (count < len(matrix)))
    if not len(learned):
        raise HeedError(
            f"{column}: each class is one of every training document's, or of none: nothing to "
            "learn. Mend `split`"
        )
    is_true = label_matrix(labels["validation"], classes)

    def complete(scores: np.ndarray) -> np.ndarray:
        every = np.tile(np.where(count > 0, np.inf, -np.inf), (len(scores), 1))
        every[:, learned] = scores
        return every

    def score(scores: np.ndarray) -> dict[str, float]:
        return compute_scores(is_true, complete(scores) > 0)

    scores, chosen, kept = select_linear(
        column, file, matrix[:, learned], metric or "micro_f1", score, bar
    )
    logits = {split: complete(values) for split, values in scores.items()}
    # the logistic function, without overflow
    shares = {split: 0.5 * (1 + np.tanh(0.5 * values)) for split, values in logits.items()}
    return shares, chosen, kept


def majority_shares(labels: pd.Series, classes: list[str]) -> np.ndarray:
    """Return the share of training documents with each class: above one half it is predicted."""
    return label_matrix(labels, classes).mean(0)

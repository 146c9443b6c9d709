"""What training, search and evaluation all measure, by scikit-learn."""

import numpy as np
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

AVERAGES = ("macro", "weighted")
FIGURES = ("precision", "recall", "f1")


def by_class(label: np.ndarray, predicted: np.ndarray, classes: list[str]) -> dict[str, dict[str, float]]:
    """Return precision, recall, F1 and support of each class; a figure without a denominator is 0."""
    columns = precision_recall_fscore_support(label, predicted, labels=classes, zero_division=0)
    return {
        name: {"precision": float(p), "recall": float(r), "f1": float(f), "support": int(s)}
        for name, p, r, f, s in zip(classes, *columns, strict=True)
    }


def summary(label: np.ndarray, predicted: np.ndarray, classes: list[str]) -> dict[str, float]:
    """Return accuracy, the macro and weighted averages of precision, recall and F1, and the support."""
    figures: dict[str, float] = {"accuracy": float(accuracy_score(label, predicted))}
    for average in AVERAGES:
        values = precision_recall_fscore_support(label, predicted, labels=classes, average=average, zero_division=0)
        figures |= {f"{average}_{figure}": float(value) for figure, value in zip(FIGURES, values[:3], strict=True)}
    return figures | {"support": len(label)}

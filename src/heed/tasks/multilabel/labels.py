"""The labels of documents as a matrix, and the tables of predictions (docs/contracts.md)."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from heed.files import HeedError
from heed.tasks.multilabel.metrics import statistic_names, statistics
from heed.tasks.multilabel.recipe import Data
from heed.tokens.arrays import Tokens

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


def read_labels(tokens: Tokens, data: Data, rows: np.ndarray) -> np.ndarray:
    """Return which classes each document of the corpus has, float32 (documents, classes).

    It has 0 for documents that are not in `rows`, whose labels are not read. Raises HeedError for a
    class that `data` lacks.
    """
    column = f"label_{data.label}"
    matrix = np.zeros((len(tokens.offsets) - 1, len(data.classes)), np.float32)
    try:
        matrix[rows] = label_matrix(tokens.documents([column], rows)[column], data.classes)
    except KeyError as error:
        raise HeedError(
            f"{tokens.path}: documents have the class {error}, which the recipe lacks. Run again: "
            "heed recipe"
        ) from None
    return matrix


def prediction_table(
    ids: np.ndarray, label: Iterable[Sequence[str]], probabilities: np.ndarray, classes: list[str]
) -> pd.DataFrame:
    """Return `id, label, predicted`, lists of classes, and a float32 column `p:CLASS` for each.

    Args:
        ids: document ids, (documents,)
        label: the classes that each document has, (documents,)
        probabilities: of each class, (documents, classes)
        classes: names of the classes, in order

    """
    table = pd.DataFrame(
        probabilities.astype(np.float32), columns=[f"p:{name}" for name in classes]
    )
    table.insert(0, "id", ids)
    table.insert(1, "label", [list(names) for names in label])
    table.insert(2, "predicted", decide(table.filter(like="p:").to_numpy(), classes))
    return table


def statistics_table(predictions: pd.DataFrame, classes: list[str]) -> pd.DataFrame:
    """Return the additive statistics (metrics.py) of each row of a table of predictions."""
    is_true, is_predicted = (
        label_matrix(predictions[column], classes) for column in ("label", "predicted")
    )
    return pd.DataFrame(statistics(is_true, is_predicted), columns=statistic_names(classes))


def predicted_probability(predictions: pd.DataFrame) -> np.ndarray:
    """Return the probability of all decisions on a document together, (documents,)."""
    probability = predictions.filter(like="p:").to_numpy(np.float64)
    return np.asarray(np.maximum(probability, 1 - probability).prod(1))


def joined(names: Iterable[str]) -> str:
    """Return the classes of a document for people; a dash for none."""
    return "; ".join(names) or "–"


def decide(probabilities: np.ndarray, classes: list[str]) -> list[list[str]]:
    """Return the classes of each document, from probabilities (documents, classes)."""
    return [[classes[i] for i in np.flatnonzero(row)] for row in probabilities > THRESHOLD]

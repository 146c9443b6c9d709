"""The table of predictions of runs and opponents of a classification (docs/contracts.md)."""

import numpy as np
import pandas as pd

from heed.tasks.classification.metrics import statistic_names, statistics


def prediction_table(
    ids: np.ndarray, label: np.ndarray, probabilities: np.ndarray, classes: list[str]
) -> pd.DataFrame:
    """Return `id, label, predicted` and a float32 column `p:CLASS` for each class.

    Args:
        ids: document ids, (documents,)
        label: the true classes, (documents,)
        probabilities: of each class, (documents, classes)
        classes: names of the classes, in order

    """
    predicted = np.asarray(classes, object)[probabilities.argmax(1)]
    head = pd.DataFrame({"id": ids, "label": label, "predicted": predicted})
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

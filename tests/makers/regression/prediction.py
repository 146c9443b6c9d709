"""The predictions of a trained regression."""

from typing import Any

import numpy as np
import pandas as pd
import torch
from heed.tasks.regression.learning import read_numbers
from heed.tasks.regression.metrics import statistics

from heed.tasks.classification import prediction as classification


class RegressionPredictor(classification.ClassificationPredictor):
    """A trained network with its vocabulary."""

    @staticmethod
    def activation(logits: torch.Tensor) -> torch.Tensor:
        """Return the number itself."""
        return logits

    def predict(self, tokens: Any, rows: np.ndarray) -> pd.DataFrame:
        """Return `id, label, predicted`."""
        ids = tokens.documents(["id"], rows)["id"].to_numpy()
        label = read_numbers(tokens, self.recipe.data, rows)[rows]
        predicted = self.probabilities(tokens, rows)[:, 0]
        return pd.DataFrame({"id": ids, "label": label, "predicted": predicted})

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return the statistics of each document."""
        return statistics(predictions)

    def explain(self, tokens: Any, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return no table: the report shows no document."""
        return {}


def load_predictor(*arguments: Any) -> classification.ClassificationPredictor:
    """Return a run, ready to predict (heed.tasks.classification.prediction)."""
    return classification.load_predictor(*arguments, kind=RegressionPredictor)

"""The predictions of a trained multi-label classifier: a probability for each class by itself."""

import functools

import numpy as np
import pandas as pd
import torch

from heed.tasks.classification import prediction as classification
from heed.tasks.multilabel.metrics import decide, prediction_table, statistics_table
from heed.tokens.arrays import Tokens


class MultilabelPredictor(classification.ClassificationPredictor):
    """A trained multi-label classifier with its vocabulary, in evaluation mode."""

    def predict(self, tokens: Tokens, rows: np.ndarray) -> pd.DataFrame:
        """Return `id`, the lists `label` and `predicted`, and `p:CLASS` of each class."""
        columns = tokens.documents(["id", f"label_{self.recipe.data.label}"], rows)
        ids, label = (columns[name].to_numpy() for name in columns)
        classes = self.recipe.data.classes
        return prediction_table(ids, label, self.probabilities(tokens, rows), classes)

    @staticmethod
    def activation(logits: torch.Tensor) -> torch.Tensor:
        """Return the probability of each class by itself, from logits (..., classes)."""
        return torch.sigmoid(logits)

    def decide(self, probabilities: np.ndarray) -> list[list[str]]:
        """Return the classes above one half, from probabilities (documents, classes)."""
        return decide(probabilities, self.recipe.data.classes)

    def statistics(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return the statistics of each document, as metrics.py defines them."""
        return statistics_table(predictions, self.recipe.data.classes)

    def certainties(self, predictions: pd.DataFrame) -> pd.DataFrame:
        """Return `id`, `label` and `predicted` as text, and the probability of all decisions."""
        probability = predictions.filter(like="p:").to_numpy(np.float64)
        table = predictions[["id"]].assign(
            **{
                key: predictions[key].map("; ".join).replace("", "–")
                for key in ("label", "predicted")
            }
        )
        return table.assign(probability=np.maximum(probability, 1 - probability).prod(1))


load_predictor = functools.partial(classification.load_predictor, kind=MultilabelPredictor)

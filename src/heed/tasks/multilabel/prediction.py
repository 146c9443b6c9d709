"""The predictions of a trained multi-label classifier: a probability for each class by itself."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch

from heed.recipe import Recipe
from heed.tasks.classification import prediction as classification
from heed.tasks.multilabel.labels import (
    decide,
    joined,
    predicted_probability,
    prediction_table,
    statistics_table,
)
from heed.tasks.multilabel.recipe import Data, Hyperparameters, Prediction
from heed.tokens.arrays import Tokens


class MultilabelPredictor(classification.ClassificationPredictor):
    """A trained multi-label classifier with its vocabulary, in evaluation mode."""

    def predict(self, tokens: Tokens, rows: np.ndarray) -> pd.DataFrame:
        """Return `id`, the lists `label` and `predicted`, and `p:CLASS` of each class."""
        columns = tokens.documents(["id", f"label_{self.recipe.data.label}"], rows)
        ids, label = (columns[name].to_numpy() for name in columns)
        return prediction_table(
            ids, label, self.probabilities(tokens, rows), self.recipe.data.classes
        )

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
        """Return `id`, `label` and `predicted` as text, and the probability of the prediction."""
        return pd.DataFrame(
            {
                "id": predictions["id"],
                "label": predictions["label"].map(joined),
                "predicted": predictions["predicted"].map(joined),
                "probability": predicted_probability(predictions),
            }
        )


def load_predictor(
    folder: Path,
    recipe: Recipe[Data, Hyperparameters],
    settings: Prediction,
    device: str,
    command: str,
) -> classification.ClassificationPredictor:
    """Return the run in `folder`, ready to predict on `device`, as that of a classification."""
    return classification.load_predictor(
        folder, recipe, settings, device, command, MultilabelPredictor
    )

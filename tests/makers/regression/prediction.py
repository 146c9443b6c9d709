"""The predictions of a trained regression."""

import functools
from typing import Any

import pandas as pd

from heed.tasks.classification import prediction as classification


class RegressionPredictor(classification.ClassificationPredictor):
    """A trained network with its vocabulary, whose report shows no document."""

    def explain(self, tokens: Any, predictions: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Return no table."""
        return {}


load_predictor = functools.partial(classification.load_predictor, kind=RegressionPredictor)

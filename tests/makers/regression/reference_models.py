"""The reference model of a regression: ridge regression on TF-IDF features."""

from typing import Any

import numpy as np
import pandas as pd
from heed.tasks.regression.metrics import statistics_table
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from heed.task.interface import Fitted


def fit(tokens: Any, data: Any, experiment: Any) -> Fitted:
    """Return the predictions on each fold."""
    column, predictions = f"label_{data.label}", {}
    texts = np.asarray(list(tokens.texts()), object)
    documents = tokens.documents(["id", column])
    labels = documents[column].to_numpy(float)
    for fold in range(tokens.meta.folds or 1):
        rows = {split: tokens.rows(split, fold) for split in ("train", "validation", "test")}
        features = TfidfVectorizer().fit(texts[rows["train"]])
        model = Ridge().fit(features.transform(texts[rows["train"]]), labels[rows["train"]])
        tables = [
            {"id": documents["id"].to_numpy()[rows[split]], "split": split}
            | {"label": labels[rows[split]]}
            | {"predicted": model.predict(features.transform(texts[rows[split]]))}
            for split in ("validation", "test")
        ]
        predictions["ridge", fold] = pd.concat(map(pd.DataFrame, tables))
    return Fitted(predictions, statistics_table, {"alpha": 1.0})

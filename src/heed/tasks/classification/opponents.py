"""The opponents: a linear model on TF-IDF features, tuned on validation, and the majority class.

Opponents are reference models from outside. A report without them would mislead: on the talk's own
corpora a linear model is often better (IMDB: accuracy .9231 against the talk's best .8789).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score
from sklearn.pipeline import FeatureUnion
from sklearn.svm import LinearSVC

from heed.files import HeedError
from heed.inputs.tfidf import ANALYZERS, MIN_DOCUMENTS, analyzer_names
from heed.tasks.classification.probabilities import prediction_table, statistics_table
from heed.tasks.classification.recipe import Data
from heed.tasks.interface import Fitted
from heed.tokens.arrays import Tokens

if TYPE_CHECKING:
    from heed.study.experiments import ClassificationExperiment

STRENGTHS = (0.1, 0.5, 1.0, 2.0)  # LinearSVC's C, chosen by validation accuracy; ties: the smallest


def fit(tokens: Tokens, data: Data, experiment: "ClassificationExperiment") -> Fitted:
    """Return the predictions of both opponents on each fold, and how they were chosen.

    Args:
        tokens: the corpus.
        data: the label that is predicted and its classes.
        experiment: `opponent_features` are the features of the linear model.

    """
    column, features = f"label_{data.label}", experiment.opponent_features
    documents = tokens.documents(["id", "text", column])
    predictions, strengths = {}, []
    for fold in range(tokens.meta.folds or 1):
        parts = {
            part: documents.iloc[tokens.rows(part, fold)]
            for part in ("train", "validation", "test")
        }
        majority = _predict_majority(parts, column, data.classes)
        linear, strength = _predict_linear(parts, column, features, data.classes)
        predictions["majority", fold] = _prediction_table(parts, column, majority, data.classes)
        predictions["linear", fold] = _prediction_table(parts, column, linear, data.classes)
        strengths.append(strength)
    selection = {"features": features, "C": strengths, "tried": list(STRENGTHS)}
    return Fitted(predictions, lambda table: statistics_table(table, data.classes), selection)


def _predict_linear(
    parts: dict[str, pd.DataFrame], column: str, features: str, classes: list[str]
) -> tuple[dict[str, np.ndarray], float]:
    """Return the linear model's class shares on validation and test, and the C chosen.

    Shares are the softmax of the decision function, and not calibrated. Raises HeedError if the
    training part has one class only, or no words.
    """
    settings = {"sublinear_tf": True, "min_df": MIN_DOCUMENTS}
    vectorizer = FeatureUnion(
        [
            (kind, TfidfVectorizer(**ANALYZERS[kind], **settings))
            for kind in analyzer_names(features)
        ]
    )
    try:
        train = vectorizer.fit_transform(parts["train"]["text"])
    except ValueError as error:
        raise HeedError(
            f"{column}: no linear opponent can be fitted: {error}. The corpus is too small or has "
            "no words"
        ) from None
    features_by_part = {
        part: vectorizer.transform(parts[part]["text"]) for part in ("validation", "test")
    }
    label = parts["train"][column]
    if label.nunique() < 2:
        raise HeedError(
            f"{column}: the training part has one class only ({label.iloc[0]}): nothing to learn. "
            "Mend `split`"
        )
    best, best_accuracy, strength = None, -1.0, 0.0
    for c in STRENGTHS:
        model = LinearSVC(C=c, random_state=0).fit(train, label)
        predicted = model.predict(features_by_part["validation"])
        accuracy = accuracy_score(parts["validation"][column], predicted)
        if accuracy > best_accuracy:
            best, best_accuracy, strength = model, accuracy, c
    assert best is not None
    shares = {
        part: _class_shares(best, inputs, classes) for part, inputs in features_by_part.items()
    }
    return shares, strength


def _class_shares(model: LinearSVC, inputs: Any, classes: list[str]) -> np.ndarray:
    """Return the softmax of the decision function, (documents, classes)."""
    scores = model.decision_function(inputs)
    if scores.ndim == 1:
        scores = np.stack([-scores, scores], 1)
    shares = np.zeros((len(scores), len(classes)))
    weights = np.exp(scores - scores.max(1, keepdims=True))
    shares[:, [classes.index(name) for name in model.classes_]] = weights / weights.sum(
        1, keepdims=True
    )
    return shares


def _predict_majority(
    parts: dict[str, pd.DataFrame], column: str, classes: list[str]
) -> dict[str, np.ndarray]:
    """Return the class shares of the training part, for each document of validation and test.

    The largest is the prediction; ties go to the first class.
    """
    counts = parts["train"][column].value_counts()
    shares = np.asarray([counts.get(name, 0) for name in classes]) / len(parts["train"])
    return {part: np.tile(shares, (len(parts[part]), 1)) for part in ("validation", "test")}


def _prediction_table(
    parts: dict[str, pd.DataFrame], column: str, shares: dict[str, np.ndarray], classes: list[str]
) -> pd.DataFrame:
    """Return the table of predictions on validation and test, with the column `split`."""
    frames = []
    for part, values in shares.items():
        table = prediction_table(
            parts[part]["id"].to_numpy(), parts[part][column].to_numpy(), values, classes
        )
        table.insert(1, "split", part)
        frames.append(table)
    return pd.concat(frames, ignore_index=True)

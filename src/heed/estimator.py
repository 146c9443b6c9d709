"""A trained classifier with the interface of scikit-learn (docs/python.md)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

import heed
from heed.files import HeedError


class RunClassifier(ClassifierMixin, BaseEstimator):
    """A run, as `heed.load_run` takes it, for tools of scikit-learn that take a fitted classifier.

    X is a list of texts. A text without a word that the model knows has the prediction that `heed
    score` counts. Raises HeedError: there is no such run, or it classifies no texts.
    """

    def __init__(self, model: str | Path, seed: int | None = None) -> None:
        self.model, self.seed = model, seed
        self._run = heed.load_run(model, seed)
        if not hasattr(self._run, "classes"):
            raise HeedError(f"{model}: translates, and has no interface of scikit-learn")
        self.classes_ = np.asarray(sorted(self._run.classes))

    def __reduce__(self) -> tuple[type, tuple[str | Path, int | None]]:
        return type(self), (self.model, self.seed)  # the copy of another process loads the run

    def set_params(self, **params: Any) -> "RunClassifier":
        """Load the run of other parameters."""
        self.__init__(**(self.get_params() | params))  # type: ignore[misc]
        return self

    def fit(self, X: Any, y: Any) -> "RunClassifier":  # noqa: N803 — scikit-learn's name
        """Raise TypeError: a fit on other texts is a training of heed's."""
        raise TypeError("a run is trained already: give scikit-learn FrozenEstimator(classifier)")

    def predict_proba(self, X: Sequence[str]) -> np.ndarray:  # noqa: N803
        """Return the probabilities of the classes, float32 (texts, classes_)."""
        order = [self._run.classes.index(name) for name in self.classes_]
        return np.asarray(self._run.score_probabilities(X)[:, order])

    def predict(self, X: Sequence[str]) -> np.ndarray:  # noqa: N803
        """Return the class of each text; of a multi-label model 1 at its classes, else 0."""
        decided = self._run.predictor.decide(self._run.score_probabilities(X))
        if decided and isinstance(decided[0], list):
            return np.asarray([[name in each for name in self.classes_] for each in decided], int)
        return np.asarray(decided, self.classes_.dtype)

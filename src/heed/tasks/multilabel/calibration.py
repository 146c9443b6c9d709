"""A multi-label classifier on random documents, by which the speed of a training is measured."""

import numpy as np

from heed.tasks.classification import calibration as classification
from heed.tasks.multilabel.learning import MultilabelLearner
from heed.tasks.multilabel.recipe import Hyperparameters


def random_learner(
    h: Hyperparameters, lengths: np.ndarray, vocabulary: int, classes: int
) -> MultilabelLearner:
    """Return a learner of random documents with one class each, as that of a classification."""
    single = classification.random_learner(h, lengths, vocabulary, classes)
    labels = np.eye(classes, dtype=np.float32)[np.arange(len(lengths)) % classes]
    parts = {"train": single.train, "validation": single.validation}
    return MultilabelLearner(single.model, single.encoded, labels, parts, h, 1, "cpu")

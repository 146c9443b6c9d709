"""Which hyperparameters are equal where two models differ in nothing but their architecture."""

import dataclasses
from collections.abc import Container

from heed.hyperparameters import Configuration, Training
from heed.hyperparameters.classifier import Preprocessing
from heed.hyperparameters.translator import Segmentation

# Beside those of training, of reading a text, and all dropouts: how the weights begin, and the loss
# that is minimized.
OTHERS = {"class_weights", "embedding_std", "vectors"}
# These may differ: they change no outcome on purpose; and decoder `concatenate` has as many states
# as its sources may have words.
FREE = {"device", "max_source_tokens", "precision"}


def besides_architecture(hyperparameters: Training, searched: Container[str] = ()) -> Configuration:
    """Return the values of a model that are no architecture and were not searched."""
    kinds = Training, Preprocessing, Segmentation
    names = {
        field.name
        for kind in kinds
        if isinstance(hyperparameters, kind)
        for field in dataclasses.fields(kind)
    }
    return {
        key: value
        for key, value in vars(hyperparameters).items()
        if (key in names | OTHERS or key.endswith("dropout")) and key not in FREE
        if key not in searched
    }

"""A pretrained encoder as a classifier: frozen, with the linear model on its vectors."""

from collections.abc import Callable

import numpy as np
import torch

from heed.hyperparameters.pretrained import Encoder, Pretrained
from heed.pretrained import EncoderClassifier, find_model, load_encoder
from heed.task import task_module
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tasks.classification.recipe import Data
from heed.tasks.classification.reference_models import linear_head
from heed.tokens.arrays import Tokens

# the encoder as a classifier of the first fold, where it is asked for
Loads = Callable[[], EncoderClassifier]


def fit_frozen(
    tokens: Tokens, data: Data, experiment: DeclaredExperiment, vectors: np.ndarray,
    encoder: Encoder, declared: Pretrained,
) -> tuple[Fitted, Loads]:  # fmt: skip
    """Return the predictions of the linear model on the documents' vectors, on each fold."""
    part = task_module(experiment.task, "reference_models")
    fitted: Fitted = part.fit_pretrained(tokens, data, experiment, vectors)

    def load() -> EncoderClassifier:
        loaded = load_encoder(find_model(encoder), encoder, "cpu")
        head = linear_head(tokens, data, vectors, fitted.selection["C"][0])
        return EncoderClassifier(loaded, *map(torch.from_numpy, head))

    return fitted, load

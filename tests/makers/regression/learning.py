"""The training of a regression: squared error."""

import functools
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from heed.inputs.batches import Batch
from heed.tasks.classification import learning as classification


def activation(logits: torch.Tensor) -> torch.Tensor:
    """Return the number itself."""
    return logits


class RegressionLearner(classification.ClassificationLearner):
    """A network with one output, and the documents that it learns from."""

    def _cross_entropy(self, logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        targets = self._targets[batch.rows].to(self.device)
        return F.mse_loss(logits[:, 0], targets, reduction="sum")

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return the mean squared error on the validation documents."""
        rows = self.validation
        batches = self.encoded.evaluation_batches(rows)
        predicted = classification.probabilities(model, batches, rows, self.device, activation)
        errors = (predicted[:, 0] - self._labels[rows]).astype(np.float64)
        error = float(np.square(errors).mean())
        return {"loss": error, "mean_squared_error": error}

    @staticmethod
    def read_labels(tokens: Any, data: Any, rows: np.ndarray) -> np.ndarray:
        """Return the number of each document, float32; 0 where it is not in `rows`."""
        column = f"label_{data.label}"
        numbers = np.zeros(len(tokens.offsets) - 1, np.float32)
        numbers[rows] = tokens.documents([column], rows)[column].astype(float)
        return numbers


make_learner = functools.partial(classification.make_learner, kind=RegressionLearner)

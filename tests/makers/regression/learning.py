"""The training of a regression: squared error."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from heed.inputs.batches import Batch
from heed.tasks.classification.learning import (
    ClassificationLearner,
    assemble_learner,
    probabilities,
)


def read_numbers(tokens: Any, data: Any, rows: np.ndarray) -> np.ndarray:
    """Return the number of each document, float32 (documents,); 0 where it is not in `rows`."""
    column = f"label_{data.label}"
    numbers = np.zeros(len(tokens.offsets) - 1, np.float32)
    numbers[rows] = tokens.documents([column], rows)[column].astype(float)
    return numbers


class RegressionLearner(ClassificationLearner):
    """A network with one output, and the documents that it learns from."""

    def _cross_entropy(self, logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        targets = self._targets[batch.rows].to(self.device)
        return F.mse_loss(logits[:, 0], targets, reduction="sum")

    def validate(self, model: nn.Module, every: int = 1) -> dict[str, float]:
        """Return the mean squared error on every `every`-th validation document."""
        rows = self.validation[::every]
        batches = self.encoded.evaluation_batches(rows)
        predicted = probabilities(model, batches, rows, self.device, lambda logits: logits)[:, 0]
        errors = (predicted - self._labels[rows]).astype(np.float64)
        error = float(np.square(errors).mean())
        return {"loss": error, "mean_squared_error": error}


def make_learner(*arguments: Any) -> ClassificationLearner:
    """Return the learner of a training (heed.tasks.classification.learning)."""
    return assemble_learner(RegressionLearner, read_numbers, *arguments)

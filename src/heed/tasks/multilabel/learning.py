"""The training of a multi-label classifier: binary cross entropy, validated by F1 and loss."""

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from heed.files import HeedError
from heed.inputs.batches import Batch
from heed.tasks.classification import learning as classification
from heed.tasks.classification.recipe import Data
from heed.tasks.multilabel.metrics import THRESHOLD, figures, label_matrix, statistics
from heed.tasks.multilabel.recipe import FIGURES
from heed.tokens.arrays import Tokens

SMALLEST = 1e-30  # probability whose logarithm is taken


class MultilabelLearner(classification.ClassificationLearner):
    """A classifier and the documents that it learns from.

    `labels` (documents, classes) are 1 for the classes of each document, float32.
    """

    def _cross_entropy(self, logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the binary cross entropy of logits (batch, classes), summed over both.

        Label smoothing takes its share of each target for one half.
        """
        share = self._h.label_smoothing
        targets = self._targets[batch.rows].to(self.device) * (1 - share) + share / 2
        weights = None if self._weights is None else self._weights[batch.rows].to(logits)
        return F.binary_cross_entropy_with_logits(logits, targets, weights, reduction="sum")

    def balance(self, labels: np.ndarray) -> np.ndarray:
        """Return the weight of each decision in the loss, float32 (documents, classes).

        The documents with a class weigh as much as those without it; all together the weights are
        1 in the mean over the training part.
        """
        share = labels[self.train].mean(0)
        has_both = (share > 0) & (share < 1)
        weights = 0.5 / np.where(labels > 0, share, 1 - share).clip(0.5 / len(labels))
        return np.where(has_both, weights, 1.0).astype(np.float32)

    def validate(self, model: nn.Module, every: int = 1) -> dict[str, float]:
        """Return loss, micro and macro F1 on every `every`-th validation document."""
        rows = self.validation[::every]
        batches = self.encoded.evaluation_batches(rows)
        predicted = classification.probabilities(model, batches, rows, self.device, torch.sigmoid)
        is_true = self._labels[rows] > 0
        decisions = np.where(is_true, predicted, 1 - predicted).astype(np.float64)
        sums = statistics(is_true, predicted > THRESHOLD)
        values = figures(sums, [""] * predicted.shape[1])
        loss = float(-np.log(np.maximum(decisions, SMALLEST)).sum(1).mean())
        return {"loss": loss, **{name: values[name] for name in FIGURES if name in values}}


def read_labels(tokens: Tokens, data: Data, rows: np.ndarray) -> np.ndarray:
    """Return which classes the documents `rows` have, float32 (documents, classes); 0 of others.

    Raises HeedError for a class that `data` lacks.
    """
    column = f"label_{data.label}"
    matrix = np.zeros((len(tokens.offsets) - 1, len(data.classes)), np.float32)
    try:
        matrix[rows] = label_matrix(tokens.documents([column], rows)[column], data.classes)
    except KeyError as error:
        raise HeedError(
            f"{tokens.path}: documents have the class {error}, which the recipe lacks. Run again: "
            "heed recipe"
        ) from None
    return matrix


def make_learner(*arguments: Any) -> classification.ClassificationLearner:
    """Return the learner of a training, as that of a classification."""
    return classification.assemble_learner(MultilabelLearner, read_labels, *arguments)

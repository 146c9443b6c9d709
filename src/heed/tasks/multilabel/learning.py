"""The training of a multi-label classifier: binary cross entropy, validated by F1 and loss."""

import functools

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from heed.inputs.batches import Batch
from heed.tasks.classification import learning as classification
from heed.tasks.classification.recipe import Data
from heed.tasks.multilabel.metrics import THRESHOLD, compute_scores, label_matrix
from heed.tasks.multilabel.recipe import VALIDATION_METRICS
from heed.tokens.arrays import Tokens

activation = torch.sigmoid  # from logits (..., classes): the probability of each class by itself


class MultilabelLearner(classification.ClassificationLearner):
    """A classifier and the documents that it learns from."""

    def _cross_entropy(self, logits: torch.Tensor, batch: Batch) -> torch.Tensor:
        """Return the summed binary cross entropy; label smoothing takes its share for one half."""
        share = self._h.label_smoothing
        targets = self._targets[batch.rows].to(self.device) * (1 - share) + share / 2
        weights = None if self._weights is None else self._weights[batch.rows].to(logits)
        return F.binary_cross_entropy_with_logits(logits, targets, weights, reduction="sum")

    @staticmethod
    def balance(labels: np.ndarray, train: np.ndarray) -> np.ndarray:
        """Return the weight of each decision: a class weighs as much as its absence."""
        share = labels[train].mean(0)
        has_both = (share > 0) & (share < 1)
        weights = 0.5 / np.where(labels > 0, share, 1 - share).clip(0.5 / len(labels))
        return np.where(has_both, weights, 1.0).astype(np.float32)

    def validate(self, model: nn.Module, every: int = 1) -> dict[str, float]:
        """Return loss, micro and macro F1 on every `every`-th validation document."""
        rows = self.validation[::every]
        batches = self.encoded.evaluation_batches(rows)
        predicted = classification.probabilities(model, batches, rows, self.device, activation)
        is_true = self._labels[rows] > 0
        decisions = np.where(is_true, predicted, 1 - predicted).astype(np.float64)
        values = compute_scores(is_true, predicted > THRESHOLD)
        loss = float(-np.log(np.maximum(decisions, 1e-30)).sum(1).mean())
        return {"loss": loss} | {name: values[name] for name in VALIDATION_METRICS[:2]}

    @staticmethod
    def read_labels(tokens: Tokens, data: Data, rows: np.ndarray) -> np.ndarray:
        """Return the classes of the documents `rows` as 0 and 1, float32 (documents, classes)."""
        column = f"label_{data.label}"
        matrix = np.zeros((len(tokens.offsets) - 1, len(data.classes)), np.float32)
        try:
            matrix[rows] = label_matrix(tokens.documents([column], rows)[column], data.classes)
        except KeyError as error:
            raise classification.unknown_class(tokens, str(error)) from None
        return matrix


LEARNER = MultilabelLearner
make_learner = functools.partial(classification.make_learner, kind=MultilabelLearner)

"""The training of a multi-label classifier: binary cross entropy, validated by F1 and loss."""

import numpy as np
import torch
from torch import nn

from heed.recipe import Recipe
from heed.tasks.classification.learning import (
    ClassificationLearner,
    assemble_learner,
    probabilities,
)
from heed.tasks.multilabel.labels import THRESHOLD, read_labels
from heed.tasks.multilabel.metrics import figures, statistics
from heed.tasks.multilabel.recipe import FIGURES, Data, Hyperparameters
from heed.tokens.arrays import Tokens

SMALLEST = 1e-30  # probability whose logarithm is taken


class MultilabelLearner(ClassificationLearner):
    """A classifier and the documents that it learns from.

    `labels` (documents, classes) are 1 for the classes of each document, float32.
    """

    def cross_entropy(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the binary cross entropy, summed over documents and classes.

        Label smoothing takes its share of each target for one half.
        """
        share = self._h.label_smoothing
        smooth = targets * (1 - share) + share / 2
        return nn.functional.binary_cross_entropy_with_logits(logits, smooth, reduction="sum")

    def validate(self, model: nn.Module, every: int = 1) -> dict[str, float]:
        """Return loss, micro and macro F1 on every `every`-th validation document."""
        rows = self.validation[::every]
        batches = self.encoded.evaluation_batches(rows)
        predicted = probabilities(model, batches, rows, self.device, torch.sigmoid)
        is_true = self._labels[rows] > 0
        decisions = np.where(is_true, predicted, 1 - predicted).astype(np.float64)
        sums = statistics(is_true, predicted > THRESHOLD)
        values = figures(sums, [""] * predicted.shape[1])
        loss = float(-np.log(np.maximum(decisions, SMALLEST)).sum(1).mean())
        return {"loss": loss, **{name: values[name] for name in FIGURES if name in values}}


def make_learner(
    recipe: Recipe[Data, Hyperparameters],
    tokens: Tokens,
    rows: dict[str, np.ndarray],
    seed: int,
    device: str,
) -> ClassificationLearner:
    """Return the learner of a training, as that of a classification."""
    return assemble_learner(MultilabelLearner, read_labels, recipe, tokens, rows, seed, device)

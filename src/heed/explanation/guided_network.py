"""T7: a network without context that weighs its words by given weights.

Each word is read alone, so the network can use no more of a document than its weights point at:
weights that help it more, point better (Wiegreffe & Pinter 2019, section 3.4,
arxiv.org/abs/1908.04626). But weights were computed from the whole document, and can carry its
class themselves, by the words that they choose (Bai et al. 2021, arxiv.org/abs/2006.05656). The
controls measure that.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Batch
from heed.models.pooling import LearnedQuery
from heed.models.recurrent import padding_mask

PLACES = 10  # parts of a document that the control `constant_token` tells apart


class GuidedNetwork(nn.Module):
    """Tokens → embedding → tanh(W x + b), weighted sum → linear layer.

    `read` and `weigh` map a batch to token ids and to weights, (batch, time); without `weigh`, the
    network learns its own weights, by a query and an additive score.
    """

    def __init__(
        self,
        vocabulary: int,
        classes: int,
        size: int,
        hyperparameters: Architecture,
        read: Callable[[Batch], torch.Tensor],
        weigh: Callable[[Batch], torch.Tensor] | None = None,
    ) -> None:
        """Build the layers.

        Args:
            vocabulary: number of ids that are read, padding among them.
            classes: number of classes.
            size: of tanh(W x + b).
            hyperparameters: of the base; the embeddings are like its own.
            read, weigh: see the class.

        """
        super().__init__()
        h = hyperparameters
        self.embedding = nn.Embedding(vocabulary, h.embedding_dim, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=h.embedding_std)
        self.linear = nn.Linear(h.embedding_dim, size)
        self.output = nn.Linear(size, classes)
        self.query = None if weigh else LearnedQuery("additive", size, 1)
        self._read, self._weigh = read, weigh

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the logits (batch, classes)."""
        states = torch.tanh(self.linear(self.embedding(self._read(batch))))
        if self._weigh is not None:
            weights = self._weigh(batch)
        else:
            assert self.query is not None
            padding = padding_mask(batch.lengths, states.shape[1])
            weights = self.query.weights(states, batch.lengths, padding)
        return self.output((weights[:, None] @ states).squeeze(1))


def place_ids(batch: Batch) -> torch.Tensor:
    """Return ids that say of each token only in which tenth of its document it stands.

    They are (batch, time), from 1 to PLACES. One id for all tokens would leave nothing to learn
    from: the weights of a document sum to 1, and so its vector would be that of every document.
    """
    lengths = batch.lengths[:, None].clamp(min=1)
    places = torch.arange(batch.ids.shape[1])[None] * PLACES // lengths + 1
    return places.masked_fill(padding_mask(batch.lengths, batch.ids.shape[1]), 0)


def move_weights(
    weights: dict[int, np.ndarray], numbers: np.random.Generator
) -> dict[int, np.ndarray]:
    """Return {row: weights} with the weights of another document, of nearly the same length.

    Documents are sorted by length, equal lengths at random, and neighbours exchange their weights.
    The last of an odd number gets those of the one before. Classes are not looked at, so moved
    weights tell nothing of the document.
    """
    rows = numbers.permutation(np.asarray(sorted(weights), np.int64))
    rows = rows[np.argsort([len(weights[int(row)]) for row in rows], kind="stable")]
    donors = np.arange(len(rows)) ^ 1
    donors[donors == len(rows)] = max(0, len(rows) - 2)
    return {
        int(row): fit_weights(weights[int(rows[donor])], len(weights[int(row)]))
        for row, donor in zip(rows, donors, strict=True)
    }


def fit_weights(weights: np.ndarray, length: int) -> np.ndarray:
    """Return weights stretched to `length` tokens, with the sum 1; equal where all would be 0."""
    if not len(weights):
        return np.full(length, 1 / max(1, length), np.float32)
    stretched = weights[np.arange(length) * len(weights) // max(1, length)]
    total = stretched.sum()
    return stretched / total if total > 0 else np.full(length, 1 / max(1, length), np.float32)

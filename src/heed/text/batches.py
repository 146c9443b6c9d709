"""Batches of documents of similar length, in an order that the seed alone decides."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import torch

from heed.text.tokens import Tokens

WINDOW = 20  # batches whose documents are sorted by length together; 1.9-2.5 times faster than none (DESIGN.md 4)


@dataclasses.dataclass(frozen=True)
class Batch:
    """Documents padded to the longest: `ids` (batch, time), `lengths` (batch,), `rows` (batch,) of the corpus."""

    ids: torch.Tensor
    lengths: torch.Tensor
    rows: np.ndarray


class Encoded:
    """A corpus as a run reads it: vocabulary indices, and the length cap applied."""

    def __init__(self, tokens: Tokens, index: np.ndarray, max_tokens: int) -> None:
        """`index` (types,) gives each type's place in the vocabulary (`Vocabulary.encode`)."""
        self._tokens, self._index, self._max_tokens = tokens, index, max_tokens

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the documents `rows` as one batch, in that order; an empty document has length 0."""
        lengths = self._tokens.lengths(rows, self._max_tokens)
        time = np.arange(max(1, int(lengths.max(initial=1))))[None]
        there = time < lengths[:, None]  # batch x time
        at = self._tokens.offsets[rows][:, None] + time
        ids = np.zeros(at.shape, np.int64)
        ids[there] = self._index[self._tokens.ids[at[there]]]
        return Batch(torch.from_numpy(ids), torch.from_numpy(lengths), rows)

    def training(self, rows: np.ndarray, batch_size: int, seed: int, epoch: int) -> Iterator[Batch]:
        """Yield every document once, shuffled; the order depends on `seed` and `epoch` alone."""
        generator = np.random.default_rng((seed, epoch))
        order = generator.permutation(rows)
        window = WINDOW * batch_size
        batches = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(self._tokens.lengths(part, self._max_tokens), kind="stable")]
            batches += [part[i : i + batch_size] for i in range(0, len(part), batch_size)]
        for i in generator.permutation(len(batches)):
            yield self.batch(batches[i])

    def evaluation(self, rows: np.ndarray, batch_size: int) -> Iterator[Batch]:
        """Yield every document once, the longest first; `Batch.rows` says which is where."""
        order = rows[np.argsort(-self._tokens.lengths(rows, self._max_tokens), kind="stable")]
        for start in range(0, len(order), batch_size):
            yield self.batch(order[start : start + batch_size])

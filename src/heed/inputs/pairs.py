"""Batches of sentence pairs of similar length, in an order that depends only on the seed."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import torch

from heed.hyperparameters.translator import Segmentation
from heed.inputs.batches import MAX_PADDED_TOKENS, OnDevice, shuffled_batches
from heed.inputs.vocabulary import BOS, EOS, PADDING, UNKNOWN


@dataclasses.dataclass(frozen=True)
class PairBatch(OnDevice):
    """Sentence pairs, each side padded to its longest.

    source: vocabulary indices (batch, source time), without BOS and EOS; lengths (batch,) from 1
    target: vocabulary indices (batch, target time), with BOS before and EOS after; so its lengths
    rows: row of each pair in the corpus (batch,)
    """

    source: torch.Tensor
    source_lengths: torch.Tensor
    target: torch.Tensor
    target_lengths: torch.Tensor
    rows: np.ndarray

    @property
    def predicted_tokens(self) -> int:
        """The number of target tokens that are predicted: all but BOS."""
        return int(self.target_lengths.sum()) - len(self.rows)


class EncodedPairs:
    """The sentence pairs of some rows as indices of two vocabularies, one unit at least a side."""

    def __init__(
        self, rows: np.ndarray, source: list[np.ndarray], target: list[np.ndarray]
    ) -> None:
        self._position = {int(row): i for i, row in enumerate(rows)}
        self._source, self._target = source, target
        self._source_lengths = np.asarray([*map(len, source)], np.int64)
        self._target_lengths = np.asarray([*map(len, target)], np.int64)

    def _positions(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray([self._position[int(row)] for row in rows], np.int64)

    def lengths(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the units of source and target of each row, without BOS and EOS: (rows,) each."""
        positions = self._positions(rows)
        return self._source_lengths[positions], self._target_lengths[positions]

    def sources(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the indices of each row's source, (units,)."""
        return [self._source[i] for i in self._positions(rows)]

    def targets(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the indices of each row's target, (units,), without BOS and EOS."""
        return [self._target[i] for i in self._positions(rows)]

    def unknown_shares(self, rows: np.ndarray) -> tuple[float, float]:
        """Return the share of the units of source and of target that are unknown."""
        return _unknown_share(self.sources(rows)), _unknown_share(self.targets(rows))

    def training_rows(self, rows: np.ndarray, h: Segmentation) -> tuple[np.ndarray, dict[str, int]]:
        """Return the rows that are short enough to train on, and the counts of those left out.

        A pair counts for its first reason. BOS and EOS do not count.
        """
        source, target = self.lengths(rows)
        reasons = {
            "long_source": source > h.max_source_tokens,
            "long_target": target > h.max_target_tokens,
        }
        kept, counts = np.ones(len(rows), bool), {}
        for reason, is_out in reasons.items():
            counts[reason] = int((kept & is_out).sum())
            kept &= ~is_out
        return rows[kept], counts

    def batch(self, rows: np.ndarray) -> PairBatch:
        """Return the pairs of `rows` as one batch, in that order."""
        source = _pad(self.sources(rows))
        target = _pad([np.asarray([BOS, *units, EOS]) for units in self.targets(rows)])
        return PairBatch(*source, *target, rows)

    def training_steps(
        self, rows: np.ndarray, batch_size: int, seed: int, epoch: int,
        max_padded_tokens: int | None = None,
    ) -> Iterator[list[PairBatch]]:  # fmt: skip
        """Yield the batches of each training step; every pair occurs once, in random order.

        A step is one batch, or several when it has more than `max_padded_tokens` of both sides.
        """
        for pairs in shuffled_batches(rows, batch_size, seed, epoch, self._by_length):
            yield [self.batch(part) for part in self._parts(pairs, max_padded_tokens)]

    def evaluation_batches(self, rows: np.ndarray) -> Iterator[PairBatch]:
        """Yield every pair once, the longest first; `PairBatch.rows` has their rows."""
        for part in self._parts(self._by_length(rows)[::-1], MAX_PADDED_TOKENS):
            yield self.batch(part)

    def _by_length(self, rows: np.ndarray) -> np.ndarray:
        return rows[np.lexsort(self.lengths(rows))]

    def _parts(self, rows: np.ndarray, max_padded_tokens: int | None) -> Iterator[np.ndarray]:
        """Yield the rows in parts of at most `max_padded_tokens`, BOS and EOS included."""
        source, target = self.lengths(rows)
        start, longest_source, longest_target = 0, 0, 0
        for i in range(len(rows)):
            longest_source = max(longest_source, int(source[i]))
            longest_target = max(longest_target, int(target[i]) + 2)
            size = (i + 1 - start) * (longest_source + longest_target)
            if max_padded_tokens is not None and size > max_padded_tokens and i > start:
                yield rows[start:i]
                start, longest_source, longest_target = i, int(source[i]), int(target[i]) + 2
        if start < len(rows):
            yield rows[start:]


def _unknown_share(sentences: list[np.ndarray]) -> float:
    units = np.concatenate([*sentences, np.zeros(0, np.int32)])
    return float((units == UNKNOWN).mean()) if len(units) else 0.0


def _pad(sentences: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = np.asarray([*map(len, sentences)], np.int64)
    token_mask = np.arange(int(lengths.max(initial=1)))[None] < lengths[:, None]
    ids = np.full(token_mask.shape, PADDING, np.int64)
    ids[token_mask] = np.concatenate([*sentences, np.zeros(0, np.int64)])
    return torch.from_numpy(ids), torch.from_numpy(lengths)

"""Batches of sentence pairs of similar length, in an order that depends only on the seed."""

import dataclasses

import numpy as np
import torch

# Entries of every vocabulary of a translator, before its words or pieces.
PADDING, UNKNOWN, BOS, EOS = range(4)
SPECIAL = ("<padding>", "<unknown>", "<bos>", "<eos>")


@dataclasses.dataclass(frozen=True)
class PairBatch:
    """Sentence pairs, each side padded to its longest.

    source: vocabulary indices (batch, source time), without BOS and EOS
    source_lengths: (batch,), at least 1
    target: vocabulary indices (batch, target time), each with BOS before and EOS after
    target_lengths: (batch,), with BOS and EOS
    rows: row of each pair in the corpus (batch,)
    """

    source: torch.Tensor
    source_lengths: torch.Tensor
    target: torch.Tensor
    target_lengths: torch.Tensor
    rows: np.ndarray

    def to(self, device: str) -> "PairBatch":
        """Return the batch on `device`; `rows` stay on the CPU."""
        if device == "cpu":
            return self
        moved = {
            name: getattr(self, name).to(device)
            for name in ("source", "source_lengths", "target", "target_lengths")
        }
        return dataclasses.replace(self, **moved)

    @property
    def predicted_tokens(self) -> int:
        """The number of target tokens that are predicted: all but BOS."""
        return int(self.target_lengths.sum()) - len(self.rows)

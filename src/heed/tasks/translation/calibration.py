"""A translator on random sentence pairs, by which the speed of a training is measured."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from heed.inputs.pairs import EncodedPairs, PairBatch
from heed.inputs.special import SPECIAL_OF_PAIRS
from heed.models.translator import Translator
from heed.models.translators import make_translator
from heed.task.interface import Learner
from heed.tasks.translation.recipe import Hyperparameters


class RandomPairs(Learner):
    """A translator and pairs of random words; validation is the loss alone, without a search."""

    def __init__(
        self, model: Translator, encoded: EncodedPairs, rows: np.ndarray, h: Hyperparameters
    ) -> None:
        """Store the arguments; `rows` are those of all pairs."""
        self.model, self._encoded, self._rows, self._h = model, encoded, rows, h
        self.items = len(rows)

    def steps(self, epoch: int, max_tokens: int | None) -> Iterator[list[PairBatch]]:
        """Yield the batches of each training step; see `EncodedPairs.training_steps`."""
        return self._encoded.training_steps(self._rows, self._h.batch_size, 1, epoch, max_tokens)

    def size(self, batch: PairBatch) -> int:
        """Return the number of pairs in a batch."""
        return len(batch.rows)

    def weight(self, batch: PairBatch) -> float:
        """Return the number of target tokens that a batch predicts."""
        return batch.predicted_tokens

    def loss(self, model: nn.Module, batch: PairBatch) -> torch.Tensor:
        """Return the cross entropy, summed over the predicted tokens."""
        assert isinstance(model, Translator)
        return model.loss(batch, self._h.label_smoothing).float()

    def validate(self, model: nn.Module, every: int = 1) -> dict[str, float]:
        """Return the loss on every `every`-th pair."""
        assert isinstance(model, Translator)
        model.eval()
        with torch.inference_mode():
            batches = self._encoded.evaluation_batches(self._rows[::every])
            return {"loss": sum(float(model.loss(batch)) for batch in batches)}

    def write(self, folder: Path) -> None:
        """Write nothing."""


def random_learner(
    h: Hyperparameters, lengths: np.ndarray, vocabulary: int, outputs: int
) -> RandomPairs:
    """Return a learner of pairs of random words, on the CPU; the caller seeds torch.

    Args:
        h: hyperparameters of the model and its training.
        lengths: tokens of each side of a pair, (pairs,).
        vocabulary: entries of each vocabulary, special ones included, at most.
        outputs: has no meaning here.

    """
    generator = np.random.default_rng(0)
    sizes = [min(vocabulary, size) for size in (h.source_vocabulary, h.target_vocabulary)]
    source, target = (
        [generator.integers(len(SPECIAL_OF_PAIRS), size, length) for length in lengths]
        for size in sizes
    )
    rows = np.arange(len(lengths))
    return RandomPairs(
        make_translator(sizes[0], sizes[1], h), EncodedPairs(rows, source, target), rows, h
    )


def padded_tokens(batch: PairBatch) -> int:
    """Return the tokens of a batch on the side of the source, padding included."""
    return batch.source.numel()

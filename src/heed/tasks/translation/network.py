"""The network of a translation, from its hyperparameters and the sizes of its corpus.

Of all recipes, those of parameter-matched controls alone build a network.
"""

import dataclasses
import functools

import numpy as np
import torch

from heed.hyperparameters import CorpusSizes
from heed.inputs.pairs import PairBatch
from heed.inputs.vocabulary import PADDING, SPECIAL_OF_PAIRS
from heed.models.size import match_parameters
from heed.models.translator import Translator
from heed.models.translators import make_translator
from heed.tasks.translation.recipe import Data, Hyperparameters
from heed.tokens.meta import Meta


def sizes(data: Data, meta: Meta) -> CorpusSizes:
    """Return the sizes of a corpus that the shapes of a network depend on."""
    source, target = (meta.languages[language].types for language in (data.source, data.target))
    return CorpusSizes((source, target))


def build(h: Hyperparameters, sizes: CorpusSizes) -> Translator:
    """Return an untrained translator for a corpus.

    Its vocabularies are as large as they may be: a run has smaller ones if its training split has
    fewer types.
    """
    return make_translator(*_vocabularies(h, sizes), h)


def _vocabularies(h: Hyperparameters, sizes: CorpusSizes) -> tuple[int, int]:
    """Return the entries of both vocabularies; pieces of words are as many as `h` says."""
    source, target = h.source_vocabulary, h.target_vocabulary
    if h.segmentation == "words":
        source = min(source, sizes.types[0] + len(SPECIAL_OF_PAIRS))
        target = min(target, sizes.types[1] + len(SPECIAL_OF_PAIRS))
    return source, target


def parameter_matched(
    h: Hyperparameters, matched: Hyperparameters, sizes: CorpusSizes
) -> Hyperparameters:
    """Return the same network without attention, as large as a network with attention.

    Its hidden size is the one whose number of parameters is nearest. The decoder starts from the
    encoder's last state.
    """

    def by_size(half: int) -> Hyperparameters:  # each direction has half of the hidden size
        return dataclasses.replace(h, decoder="last-state", hidden_size=2 * half)

    return match_parameters(by_size, functools.partial(build, sizes=sizes), matched)


def random_batch(h: Hyperparameters, sizes: CorpusSizes, lengths: list[int]) -> PairBatch:
    """Return random pairs of these lengths, on which the speed of a network is measured.

    As many tokens of a target are predicted as its source has.
    """
    import torch

    from heed.inputs.pairs import PairBatch

    source, target = (
        torch.randint(len(SPECIAL_OF_PAIRS), max(size, len(SPECIAL_OF_PAIRS) + 1), shape)
        for size, shape in zip(
            _vocabularies(h, sizes),
            [(len(lengths), max(lengths)), (len(lengths), max(lengths) + 1)],
            strict=True,
        )
    )
    of_source = torch.tensor(lengths)
    target[torch.arange(target.shape[1]) > of_source[:, None]] = PADDING
    return PairBatch(source, of_source, target, of_source + 1, np.arange(len(lengths)))


def loss(model: Translator, batch: PairBatch) -> torch.Tensor:
    """Return the cross entropy, summed over the predicted tokens."""
    return model.loss(batch)

"""The network of a translation, from its hyperparameters and the sizes of its corpus.

torch is imported where a network is built: of all recipes, those of parameter-matched controls.
"""

import dataclasses
import functools
from typing import TYPE_CHECKING

from heed.hyperparameters import CorpusSizes
from heed.inputs.special import SPECIAL_OF_PAIRS
from heed.tasks.translation.recipe import Data, Hyperparameters
from heed.tokens.meta import Meta

if TYPE_CHECKING:
    from heed.models.translator import Translator


def sizes(data: Data, meta: Meta) -> CorpusSizes:
    """Return the sizes of a corpus that the shapes of a network depend on."""
    source, target = (meta.languages[language].types for language in (data.source, data.target))
    return CorpusSizes((source, target))


def build(h: Hyperparameters, sizes: CorpusSizes) -> "Translator":
    """Return an untrained translator for a corpus.

    Its vocabularies are as large as they may be: a run has smaller ones if its training split has
    fewer types. Pieces of words are as many as the hyperparameters say.
    """
    from heed.models.translators import make_translator

    limits = h.source_vocabulary, h.target_vocabulary
    if h.segmentation != "words":
        return make_translator(*limits, h)
    source, target = (
        min(limit, types + len(SPECIAL_OF_PAIRS))
        for limit, types in zip(limits, sizes.types, strict=True)
    )
    return make_translator(source, target, h)


def parameter_matched(
    h: Hyperparameters, matched: Hyperparameters, sizes: CorpusSizes
) -> Hyperparameters:
    """Return the same network without attention, as large as a network with attention.

    Its hidden size is the one whose number of parameters is nearest. The decoder starts from the
    encoder's last state.
    """
    from heed.models.size import match_parameters

    def by_size(half: int) -> Hyperparameters:  # each direction has half of the hidden size
        return dataclasses.replace(h, decoder="last-state", hidden_size=2 * half)

    return match_parameters(by_size, functools.partial(build, sizes=sizes), matched)

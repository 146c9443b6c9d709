"""The parameter count of a translator, and the control that is as large as another model."""

import dataclasses
from collections.abc import Sequence

from heed.inputs.special import SPECIAL_OF_PAIRS
from heed.models.parameters import count_translator
from heed.tasks.capacity import nearest_size
from heed.tasks.translation.recipe import Data, Hyperparameters
from heed.tokens.meta import Meta


def sizes(data: Data, meta: Meta) -> tuple[Sequence[float], int]:
    """Return the types of source and target, and 0, since a translator has no more."""
    return [meta.languages[language].types for language in (data.source, data.target)], 0


def count(h: Hyperparameters, types: Sequence[float], outputs: int) -> int:
    """Return the number of trainable parameters, for a corpus of these `sizes`.

    The vocabularies are as large as they may be: that of a run is smaller if its training part has
    fewer types. `outputs` has no meaning here.
    """
    limits = h.source_vocabulary, h.target_vocabulary
    if h.segmentation != "words":
        return count_translator(*limits, h)
    source, target = (
        min(limit, round(number) + len(SPECIAL_OF_PAIRS))
        for limit, number in zip(limits, types, strict=True)
    )
    return count_translator(source, target, h)


def widen(
    h: Hyperparameters, matched: Hyperparameters, types: Sequence[float], outputs: int
) -> Hyperparameters:
    """Return `h` without attention, as large as a model with `matched`.

    The decoder starts from the encoder's last state, and the hidden size is the one whose
    parameter count is nearest to that of `matched`.
    """

    def with_size(half: int) -> Hyperparameters:  # each direction has half of the hidden size
        return dataclasses.replace(h, decoder="last-state", hidden_size=2 * half)

    parameters = count(matched, types, outputs)
    return with_size(nearest_size(lambda half: count(with_size(half), types, outputs), parameters))

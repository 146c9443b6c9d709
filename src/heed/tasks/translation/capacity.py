"""The parameter count of a translator, and the control that is as large as another model."""

import dataclasses

from heed.inputs.special import SPECIAL_OF_PAIRS
from heed.models.parameters import count_translator
from heed.tasks.capacity import nearest_size
from heed.tasks.translation.recipe import Data, Hyperparameters
from heed.tokens.meta import Meta


def count(hyperparameters: Hyperparameters, data: Data, meta: Meta) -> int:
    """Return the number of trainable parameters, with vocabularies as large as they may be.

    The vocabulary of a run is smaller if its training part has fewer types.
    """
    h = hyperparameters
    sizes = {data.source: h.source_vocabulary, data.target: h.target_vocabulary}
    if h.segmentation == "words":
        sizes = {
            language: min(size, meta.languages[language].types + len(SPECIAL_OF_PAIRS))
            for language, size in sizes.items()
        }
    return count_translator(sizes[data.source], sizes[data.target], h)


def widen(
    hyperparameters: Hyperparameters, matched: Hyperparameters, data: Data, meta: Meta
) -> Hyperparameters:
    """Return `hyperparameters` without attention, as large as a model with `matched`.

    The decoder starts from the encoder's last state, and the hidden size is the one whose
    parameter count is nearest to that of `matched`.
    """
    parameters = count(matched, data, meta)

    def with_size(half: int) -> Hyperparameters:  # each direction has half of the hidden size
        return dataclasses.replace(hyperparameters, decoder="last-state", hidden_size=2 * half)

    nearest = nearest_size(lambda half: count(with_size(half), data, meta), parameters)
    return with_size(nearest)

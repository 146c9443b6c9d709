"""The parameter count of a classifier, and the control that is as large as another model."""

import dataclasses
from collections.abc import Sequence

from heed.inputs.special import SPECIAL
from heed.models.parameters import count_classifier
from heed.tasks.capacity import nearest_size
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tokens.meta import Meta


def sizes(data: Data, meta: Meta) -> tuple[Sequence[float], int]:
    """Return the types of a corpus, one number, and its classes."""
    return (meta.types,), len(data.classes)


def count(h: Hyperparameters, types: Sequence[float], outputs: int) -> int:
    """Return the number of trainable parameters, for a corpus of these `sizes`.

    The vocabulary is smaller than `vocabulary_size` if the corpus has fewer types.
    """
    vocabulary = min(h.vocabulary_size, round(types[0]) + len(SPECIAL))
    return count_classifier(vocabulary, outputs, h)


def widen(
    h: Hyperparameters, matched: Hyperparameters, types: Sequence[float], outputs: int
) -> Hyperparameters:
    """Return `h` without attention, as large as a model with `matched`.

    The hidden size is the one whose parameter count is nearest to that of `matched`. A pooling by
    attention becomes the mean, its equivalent with uniform weights.
    """
    plain = h.without_attention()

    def with_size(hidden_size: int) -> Hyperparameters:
        return dataclasses.replace(plain, hidden_size=hidden_size)

    parameters = count(matched, types, outputs)
    return with_size(nearest_size(lambda n: count(with_size(n), types, outputs), parameters))

"""The parameter count of a classifier, and the control that is as large as another model."""

import dataclasses

from heed.inputs.special import SPECIAL
from heed.models.parameters import count_classifier
from heed.tasks.capacity import nearest_size
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tokens.meta import Meta


def count(hyperparameters: Hyperparameters, data: Data, meta: Meta) -> int:
    """Return the number of trainable parameters for a corpus with this meta.json.

    The vocabulary is smaller than `vocabulary_size` if the corpus has fewer types.
    """
    vocabulary = min(hyperparameters.vocabulary_size, meta.types + len(SPECIAL))
    return count_classifier(vocabulary, len(data.classes), hyperparameters)


def widen(
    hyperparameters: Hyperparameters, matched: Hyperparameters, data: Data, meta: Meta
) -> Hyperparameters:
    """Return `hyperparameters` without attention, as large as a model with `matched`.

    The hidden size is the one whose parameter count is nearest to that of `matched`. A pooling by
    attention becomes the mean, its equivalent with uniform weights.
    """
    parameters = count(matched, data, meta)
    plain = hyperparameters.without_attention()

    def count_with(hidden_size: int) -> int:
        return count(dataclasses.replace(plain, hidden_size=hidden_size), data, meta)

    nearest = nearest_size(count_with, parameters)
    return dataclasses.replace(plain, hidden_size=nearest)

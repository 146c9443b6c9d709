"""The network of a classification, from its hyperparameters and the sizes of its corpus.

torch is imported where a network is built: a recipe builds one only for a parameter-matched control.
"""

import dataclasses
from typing import TYPE_CHECKING

from heed.hyperparameters import CorpusSizes
from heed.inputs.special import SPECIAL
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tokens.meta import Meta

if TYPE_CHECKING:
    from heed.models.classifier import Classifier


def sizes(data: Data, meta: Meta) -> CorpusSizes:
    """Return the sizes of a corpus that the shapes of a network depend on."""
    return CorpusSizes((meta.types,), len(data.classes))


def build(h: Hyperparameters, sizes: CorpusSizes) -> "Classifier":
    """Return an untrained classifier for a corpus.

    The vocabulary is smaller than `vocabulary_size` if the corpus has fewer types.
    """
    from heed.models.classifier import Classifier

    vocabulary = min(h.vocabulary_size, sizes.types[0] + len(SPECIAL))
    return Classifier(vocabulary, sizes.classes, h)


def without_attention(h: Hyperparameters, size: int) -> Hyperparameters:
    """Return the same network without attention, with another hidden size.

    A pooling by attention becomes the mean, its equivalent with uniform weights.
    """
    return dataclasses.replace(h.without_attention(), hidden_size=size)

"""The network of a classification, from its hyperparameters and the sizes of its corpus.

torch is imported where a network is built: of all recipes, those of parameter-matched controls.
"""

import dataclasses
import functools
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
    return Classifier(vocabulary, sizes.outputs, h)


def parameter_matched(
    h: Hyperparameters, matched: Hyperparameters, sizes: CorpusSizes
) -> Hyperparameters:
    """Return the same network without attention, as large as a network with attention.

    Its hidden size is the one whose number of parameters is nearest. A pooling by attention becomes
    the mean, its equivalent with uniform weights.
    """
    from heed.models.size import match_parameters

    def by_size(size: int) -> Hyperparameters:
        return dataclasses.replace(h.without_attention(), hidden_size=size)

    return match_parameters(by_size, functools.partial(build, sizes=sizes), matched)

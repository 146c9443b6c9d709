"""The network of a classification, from its hyperparameters and the sizes of its corpus.

Of all recipes, those of parameter-matched controls alone build a network.
"""

import dataclasses
import functools
from typing import Any

import numpy as np
import torch

from heed.hyperparameters import CorpusSizes
from heed.inputs.batches import Bags, Batch
from heed.inputs.vocabulary import SPECIAL
from heed.models.classifier import Classifier
from heed.models.size import match_parameters
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tokens.meta import Meta

SENTENCE = 20  # tokens of a sentence in a random document
NGRAMS = 18  # of characters, of a word of six letters
FEATURES = 3  # of a linear branch, for each token


def sizes(data: Data, meta: Meta) -> CorpusSizes:
    """Return the sizes of a corpus that the shapes of a network depend on."""
    return CorpusSizes((meta.types,), len(data.classes))


def build(h: Hyperparameters, sizes: CorpusSizes) -> Classifier:
    """Return an untrained classifier for a corpus.

    The vocabulary is smaller than `vocabulary_size` if the corpus has fewer types.
    """
    vocabulary = min(h.vocabulary_size, sizes.types[0] + len(SPECIAL))
    return Classifier(vocabulary, sizes.outputs, h)


def parameter_matched(
    h: Hyperparameters, matched: Hyperparameters, sizes: CorpusSizes
) -> Hyperparameters:
    """Return the same network without attention, as large as a network with attention.

    Its hidden size is the one whose number of parameters is nearest. A pooling by attention becomes
    the mean, its equivalent with uniform weights.
    """

    def by_size(size: int) -> Hyperparameters:
        return dataclasses.replace(h.without_attention(), hidden_size=size)

    return match_parameters(by_size, functools.partial(build, sizes=sizes), matched)


def random_batch(h: Hyperparameters, sizes: CorpusSizes, lengths: list[int]) -> Batch:
    """Return random documents of these lengths, on which the speed of a network is measured."""
    import torch

    from heed.inputs.batches import Batch

    shape, tokens = (len(lengths), max(lengths)), sum(lengths)
    words = min(h.vocabulary_size, sizes.types[0] + len(SPECIAL))
    features: dict[str, Any] = {}
    if h.hierarchical:
        starts = torch.arange(0, shape[1], SENTENCE)
        rest = torch.tensor(lengths)[:, None] - starts
        features["sentences"] = rest.clamp(0, SENTENCE)
    if h.bigram_buckets:
        features["bigrams"] = torch.randint(1, h.bigram_buckets + 1, shape)
    if h.character_buckets:
        ids = torch.randint(h.character_buckets, (NGRAMS * tokens,))
        features["characters"] = Bags(ids, torch.arange(0, len(ids), NGRAMS))
        features["character_of"] = torch.randint(tokens, shape)
    if h.linear_branch != "none":
        ids = torch.randint(h.branch_buckets, (FEATURES * tokens,))
        begin = torch.tensor([0, *lengths[:-1]]).cumsum(0) * FEATURES
        features["linear"] = Bags(ids, begin, torch.rand(len(ids)))
    ids = torch.randint(len(SPECIAL), max(words, len(SPECIAL) + 1), shape)
    return Batch(ids, torch.tensor(lengths), np.arange(len(lengths)), **features)


def loss(model: Classifier, batch: Batch) -> torch.Tensor:
    """Return the cross entropy of the first class, summed over documents."""
    return -model(batch).log_softmax(-1)[:, 0].sum()

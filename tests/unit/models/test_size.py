"""The size of a network is the number that can be written down for it (and of the talk: see there).

That torch counts what the formulas of heed 0.2.0 did, for every model of every study, was tested
before these were deleted (commit 404525ba)."""

import dataclasses

import pytest

from heed.hyperparameters import CorpusSizes
from heed.models.size import count_parameters
from heed.tasks.classification import learning as classification
from heed.tasks.classification.recipe import Hyperparameters

H = Hyperparameters(embedding_dim=10, hidden_size=4, linear_size=3, vocabulary_size=100)
WORDS, HEAD = 52 * 10, 9 * 3 + 4 * 2  # 50 types with padding and unknown; 8 -> 3 -> 2
BILSTM = 2 * 4 * 4 * (10 + 4 + 2)  # directions, gates, units, inputs with two biases
PROJECTIONS = 4 * 9 * 8  # query, key, value and output, each with a bias
EMBEDDED = 11 * 3 + 4 * 2  # 10 -> 3 -> 2


@pytest.mark.parametrize(("changes", "expected"), [
    ({}, WORDS + BILSTM + HEAD),
    ({"attention": "multi-head", "heads": 2}, WORDS + BILSTM + PROJECTIONS + HEAD),
    ({"attention": "uniform"}, WORDS + BILSTM + PROJECTIONS + HEAD),
    ({"attention": "single-head", "score": "general"}, WORDS + BILSTM + 64 + HEAD),
    ({"pooling": "attention"}, WORDS + BILSTM + 8 + 2 * 64 + 8 + HEAD),
    ({"encoder": "embeddings", "pooling": "mean"}, WORDS + EMBEDDED),
    ({"vectors": "frozen"}, BILSTM + HEAD),
    ({"character_buckets": 6}, WORDS + 6 * 10 + BILSTM + HEAD),
])  # fmt: skip
def test_a_classifier_has_the_parameters_that_can_be_written_down(changes, expected):
    h = dataclasses.replace(H, **changes)
    assert count_parameters(lambda: classification.build(h, CorpusSizes((50,), 2))) == expected

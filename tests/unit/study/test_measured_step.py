"""A training step of every kind of network is measured on this machine."""

import dataclasses

import pytest

from heed.hyperparameters import CorpusSizes
from heed.study.cost import measure
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.translation.recipe import Hyperparameters as TranslatorHyperparameters

SIZES = CorpusSizes((38,), 2)
E, H, L, C = 6, 4, 3, 2  # of an embedding, a direction, the linear layer, classes
CLASSIFIER = Hyperparameters(
    embedding_dim=E, hidden_size=H, linear_size=L, feed_forward_size=10, vocabulary_size=40
)
PAIRS = CorpusSizes((60, 70))
TRANSLATOR = TranslatorHyperparameters(
    embedding_dim=E, hidden_size=H, source_vocabulary=40, target_vocabulary=50,
    feed_forward_size=10, heads=2, recurrence="gru", encoder="unidirectional",
)  # fmt: skip


def test_every_feature_of_a_document_is_measured():
    h = dataclasses.replace(
        CLASSIFIER, hierarchical=True, character_buckets=9, pooling="attention", batch_size=4
    )
    assert measure("classification", h, SIZES, 30) > 0


@pytest.mark.parametrize("name", ["input", "transformer", "concatenate"])
def test_translators_are_measured(name):
    encoder = "transformer" if name == "transformer" else "bidirectional"
    h = dataclasses.replace(TRANSLATOR, encoder=encoder, decoder=name, batch_size=4)
    assert measure("translation", h, PAIRS, 30) > 0

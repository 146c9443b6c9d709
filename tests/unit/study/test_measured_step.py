"""A training step of every kind of network is measured on this machine."""

import pytest

from heed.hyperparameters import CorpusSizes
from heed.study.cost import measure
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.translation.recipe import Hyperparameters as TranslatorHyperparameters


def test_every_feature_of_a_document_is_measured():
    h = Hyperparameters(
        embedding_dim=6, hidden_size=4, linear_size=3, vocabulary_size=40, hierarchical=True,
        character_buckets=9, pooling="attention", batch_size=4,
    )  # fmt: skip
    assert measure("classification", h, CorpusSizes((38,), 2), 30) > 0


@pytest.mark.parametrize("name", ["input", "transformer", "concatenate"])
def test_translators_are_measured(name):
    encoder = "transformer" if name == "transformer" else "bidirectional"
    h = TranslatorHyperparameters(
        embedding_dim=6, hidden_size=4, source_vocabulary=40, target_vocabulary=50, heads=2,
        feed_forward_size=10, recurrence="gru", encoder=encoder, decoder=name, batch_size=4,
    )  # fmt: skip
    assert measure("translation", h, CorpusSizes((60, 70)), 30) > 0

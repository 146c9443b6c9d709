"""The operations of a network are those of its layers, and its speed is measured in some steps."""

import dataclasses

import pytest

from heed.hyperparameters import CorpusSizes
from heed.speed import (
    Workload,
    machine_factor,
    measure,
    multiply_adds,
)
from heed.tasks.classification.recipe import Hyperparameters
from heed.tasks.translation.recipe import Hyperparameters as TranslatorHyperparameters

SIZES = CorpusSizes((38,), 2)
E, H, L, C = 6, 4, 3, 2  # of an embedding, a direction, the linear layer, classes
CLASSIFIER = Hyperparameters(
    embedding_dim=E, hidden_size=H, linear_size=L, feed_forward_size=10, vocabulary_size=40
)
LSTM, HEAD = 2 * 4 * H * (E + H), 2 * H * L + L * C  # of a token, of a document
STATE = 2 * H
PAIRS = CorpusSizes((60, 70))
TRANSLATOR = TranslatorHyperparameters(
    embedding_dim=E, hidden_size=H, source_vocabulary=40, target_vocabulary=50,
    feed_forward_size=10, heads=2, recurrence="gru", encoder="unidirectional",
)  # fmt: skip
GRU = 3 * H * (E + H)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (HEAD, LSTM, 0)),
        ({"attention": "multi-head"}, (HEAD, LSTM + 4 * STATE**2, 2 * STATE)),
        ({"attention": "single-head", "score": "dot"}, (HEAD, LSTM, 2 * STATE)),
        ({"pooling": "mean"}, (HEAD, LSTM + STATE, 0)),
        ({"pooling": "max-attention"}, (HEAD, LSTM + 2 * STATE, 0)),
        ({"encoder": "embeddings", "pooling": "max"}, (E * L + L * C, 0, 0)),
        (
            {"encoder": "transformer", "pooling": "max", "encoder_layers": 3},
            (E * L + L * C, 3 * (4 * E**2 + 2 * E * 10), 3 * 2 * E),
        ),
    ],
)
def test_operations_of_a_classifier_by_length(changes, expected):
    h = dataclasses.replace(CLASSIFIER, **changes)
    assert multiply_adds("classification", h, SIZES) == expected
    assert multiply_adds("multilabel", h, SIZES) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"decoder": "last-state"}, (0, 2 * GRU + H * 50, 0)),
        ({"decoder": "output", "score": "dot"}, (0, 2 * GRU + 2 * H * 50, 2 * H)),
        ({"decoder": "output", "score": "general"}, (0, 2 * GRU + H**2 + 2 * H * 50, 2 * H)),
        (
            {"decoder": "input", "score": "additive"},
            (0, GRU + 3 * H * (E + 2 * H) + 2 * H**2 + 2 * H * 50, 2 * H),
        ),
        (
            {"encoder": "transformer", "decoder": "transformer", "decoder_layers": 2},
            (0, (4 + 2 * 8) * E**2 + 3 * 2 * E * 10 + E * 50, (1 + 2 * 2) * 2 * E),
        ),
    ],
)
def test_operations_of_a_translator_by_length(changes, expected):
    h = dataclasses.replace(TRANSLATOR, **changes)
    assert multiply_adds("translation", h, PAIRS) == expected


def test_a_network_is_measured_on_this_machine():
    assert 0 < machine_factor() < 1000
    h = dataclasses.replace(CLASSIFIER, batch_size=4)
    assert 0 < measure(Workload("classification", h, (20,) * 5, SIZES), 0.05) < 1000


@pytest.mark.parametrize("task", ["classification", "multilabel"])
def test_every_feature_of_a_document_is_measured(task):
    h = dataclasses.replace(
        CLASSIFIER, hierarchical=True, bigram_buckets=9, character_buckets=9, tfidf_branch="both",
        tfidf_buckets=16, pooling="attention", batch_size=4,
    )  # fmt: skip
    assert measure(Workload(task, h, (3, 30, 50), SIZES), 0.01) > 0


@pytest.mark.parametrize("name", ["input", "transformer", "concatenate"])
def test_translators_are_measured(name):
    encoder = "transformer" if name == "transformer" else "bidirectional"
    h = dataclasses.replace(TRANSLATOR, encoder=encoder, decoder=name, batch_size=4)
    assert measure(Workload("translation", h, (3, 30, 50), PAIRS), 0.01) > 0

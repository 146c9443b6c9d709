"""Attention weights are values: what is returned can be given back; and each prediction rests on a
weighted sum."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from heed.files import HeedError
from heed.models.attention import Attention, MultiHeadAttention, SingleHeadAttention
from heed.models.classifier import Classifier, WeightedSum, _linear_part, weighted_sum
from heed.models.encoder import Mean, make_pooling
from heed.models.recurrent import padding_mask
from heed.models.scores import SCORES
from tests.conftest import HYPERPARAMETERS, ROOT
from tests.makers.classifiers import batch_for, make

SUMS = ["mean", "attention"]
POOLINGS = ["last", "max", *SUMS]
SELF_ATTENTIONS = ["none", "multi-head", "single-head", "uniform"]
SIZE = 6

ATTENTIONS: dict[str, Callable[[], torch.nn.Module]] = {
    **{score: lambda score=score: Attention(score, SIZE, SIZE, 9) for score in SCORES},
    **{
        f"single-head {score}": lambda score=score: SingleHeadAttention(score, SIZE, 9)
        for score in SCORES
    },
    "multi-head": lambda: MultiHeadAttention(SIZE, 3),
    "uniform": lambda: MultiHeadAttention(SIZE, 3, uniform=True),
}


def cross_attention(name: str) -> tuple[torch.nn.Module, list[torch.Tensor]]:
    """An attention, and queries of three steps over keys and values of five and two tokens: a
    decoder's call."""
    torch.manual_seed(1)
    query, keys, values = (torch.randn(2, time, SIZE, dtype=torch.float64) for time in (3, 5, 5))
    return ATTENTIONS[name]().double(), [query, keys, values, padding_mask(torch.tensor([5, 2]), 5)]


@pytest.mark.parametrize("name", ATTENTIONS)
def test_queries_from_another_sequence_attend_to_the_keys_that_are_tokens(name):
    attention, arguments = cross_attention(name)
    query, keys, values, mask = arguments
    output, weights = attention.attend(*arguments)
    assert output.shape == (2, 3, SIZE) and weights.shape[-2:] == (3, 5)
    assert (weights[1, ..., 2:] == 0).all()
    assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))
    assert torch.allclose(attention(*arguments), output, atol=1e-12), "with and without weights"
    alone = attention(query[1:], keys[1:, :2], values[1:, :2], mask[1:, :2])
    assert torch.allclose(alone[0], output[1], atol=1e-12)
    step = attention(query[:, 1:2], keys, values, mask)
    assert torch.allclose(step[:, 0], output[:, 1], atol=1e-12), "one step of a decoder alone"


@pytest.mark.parametrize("name", ATTENTIONS)
def test_weights_given_back_reproduce_the_output_without_queries_and_keys(name):
    attention, (query, keys, values, mask) = cross_attention(name)
    output, weights = attention.attend(query, keys, values, mask)
    nothing = torch.zeros_like(query), torch.zeros_like(keys)
    again, used = attention.attend(*nothing, values, mask, weights)
    assert torch.equal(again, output) and used is weights


@pytest.mark.parametrize("name", SUMS)
def test_a_pooling_with_given_weights_is_their_sum(name):
    torch.manual_seed(0)
    states, lengths = torch.randn(3, 5, SIZE, dtype=torch.float64), torch.tensor([5, 2, 0])
    arguments = (states, lengths, padding_mask(lengths, 5))
    pooling = make_pooling(replace(HYPERPARAMETERS, pooling=name), SIZE).double()
    mean = Mean()
    vectors, weights = pooling.pool(*arguments)
    assert torch.equal(vectors, pooling(*arguments))
    assert torch.equal(weights, pooling.weights(*arguments))
    assert torch.equal(pooling.pool(*arguments, weights)[0], vectors)
    assert torch.equal(pooling.pool(*arguments, mean.weights(*arguments))[0], mean(*arguments))
    one_hot = F.one_hot(torch.tensor([3, 1, 0]), 5).double()
    assert torch.equal(pooling.pool(*arguments, one_hot)[0], states[torch.arange(3), [3, 1, 0]])


NETWORKS = [
    {"attention": attention, "pooling": pooling, "hierarchical": hierarchical}
    for attention in SELF_ATTENTIONS for pooling in POOLINGS for hierarchical in (False, True)
] + [
    {"attention": "single-head", "pooling": "attention", "score": score} for score in SCORES
] + [
    {"attention": "multi-head", "pooling": "attention", "heads": 2, "skip": True},
    {"attention": "none", "pooling": "attention", "encoder": "embeddings"},
    {"attention": "none", "pooling": "attention", "encoder": "transformer", "heads": 2},
    {"attention": "multi-head", "pooling": "mean", "encoder": "transformer", "heads": 4,
     "hierarchical": True},
]  # fmt: skip
REST_ON_A_SUM = [changes for changes in NETWORKS if changes["pooling"] in SUMS]


@pytest.mark.parametrize("changes", NETWORKS)
def test_encode_attend_and_classify_give_the_logits_and_the_weights_reproduce_them(changes):
    model = make(**changes)
    network, batch = model.network, batch_for(model)
    states = network.encode(batch)
    vectors, pooling, attention = network.attend(states)
    logits = network.classify(vectors)
    assert torch.allclose(logits, network(batch), atol=1e-12)
    assert (attention is None) == (changes["attention"] == "none")
    assert (pooling[states.padding] == 0).all()
    if attention is not None:
        padding = states.padding[:, None].expand(-1, attention.shape[2], -1)
        assert (attention.movedim(1, -1)[padding] == 0).all()
    given = pooling if changes["pooling"] in SUMS else None
    assert torch.equal(network.attend(states, given, attention)[0], vectors)


@pytest.mark.parametrize("changes", REST_ON_A_SUM)
def test_the_weighted_sum_is_what_the_prediction_rests_on(changes):
    model = make(**changes)
    batch = batch_for(model)
    weighted = weighted_sum(model, batch)
    assert torch.allclose(weighted.predict(), model(batch), atol=1e-10)
    sums = torch.einsum("bth,bthd->bhd", weighted.weights, weighted.values)
    projection, _ = _linear_part(model.network, weighted.values.shape[2])
    projected = torch.einsum("bhd,lhd->bl", sums, projection)
    assert torch.allclose(weighted.predict_from_projected(projected), model(batch), atol=1e-10)
    sentences = model.sentence_weights(batch)
    expected = model.token_weights(batch) if sentences is None else sentences
    assert torch.allclose(weighted.weights.mean(-1), expected, atol=1e-10)
    assert (weighted.weights[padding_mask(weighted.lengths, weighted.weights.shape[1])] == 0).all()
    heads = {"none": 1, "single-head": 1}.get(changes["attention"], changes.get("heads", 3))
    assert weighted.weights.shape[2] == weighted.values.shape[2] == heads
    expected = (weighted.lengths > 0).double()[:, None].expand(-1, heads)
    assert torch.allclose(weighted.weights.sum(1), expected)


@pytest.mark.parametrize("changes", REST_ON_A_SUM)
def test_a_document_of_a_batch_is_the_document_alone_without_padding(changes):
    model = make(**changes)
    lengths = (9, 1, 4, 0)
    whole = weighted_sum(model, batch_for(model, lengths))
    for i in range(len(lengths)):
        weighted = whole[i]
        assert weighted.values.shape[0] == weighted.weights.shape[0] == int(whole.lengths[i])
        assert torch.allclose(weighted.predict(), whole.predict()[i], atol=1e-12)
    # the same words: they are drawn in order
    alone = weighted_sum(model, batch_for(model, lengths[:1]))[0]
    for name in ("values", "weights", "projected", "bias"):
        assert torch.allclose(getattr(alone, name), getattr(whole[0], name), atol=1e-12)


@pytest.mark.parametrize("changes", REST_ON_A_SUM)
def test_many_weights_are_evaluated_as_one_by_one_without_the_encoder(changes, monkeypatch):
    model = make(**changes)
    whole = weighted_sum(model, batch_for(model))
    weighted = whole[0]
    monkeypatch.setattr(type(model.network), "encode", None)
    orders = torch.stack([torch.randperm(len(weighted.weights)) for _ in range(7)])
    permuted = weighted.weights[orders]  # 7 x time x heads
    logits = weighted.predict(permuted)
    assert logits.shape == (7, 4)
    for weights, expected in zip(permuted, logits, strict=True):
        assert torch.allclose(weighted.predict(weights), expected, atol=1e-12)
        assert torch.allclose(by_definition(model, weighted, weights), expected, atol=1e-12)
    batch_weights = torch.stack([whole.weights, torch.zeros_like(whole.weights)])
    assert torch.allclose(whole.predict(batch_weights)[0], whole.predict(), atol=1e-12)


def by_definition(model: Classifier, weighted: WeightedSum, weights: torch.Tensor) -> torch.Tensor:
    """z_h = sum_t a_th v_th of one document, through the network's own layers."""
    vector = (weights[..., None] * weighted.values).sum(0).flatten()
    attention = model.network.document_encoder.attention
    if isinstance(attention, MultiHeadAttention):
        vector = attention.output(vector)
    return model.network.classify(vector)


@pytest.mark.parametrize(("changes", "reason"), [
    *(
        ({"attention": attention, "pooling": pooling}, "one weight for each token cannot")
        for attention in SELF_ATTENTIONS
        for pooling in ("last", "max")
    ),
    ({"pooling": "max", "hierarchical": True}, "one weight for each token cannot"),
])  # fmt: skip
def test_the_error_says_why_a_model_has_no_weighted_sum(changes, reason):
    model = make(**changes)
    with pytest.raises(HeedError, match=reason):
        weighted_sum(model, batch_for(model))


def test_the_weighted_sum_of_a_model_in_training_mode_is_an_error():
    model = make(pooling="attention")
    with pytest.raises(ValueError, match="needs a model in evaluation mode"):
        weighted_sum(model.train(), batch_for(model))


def test_the_documented_snippet_runs():
    text = (ROOT / "docs/reference/attention.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(text.split("```python\n")[1].split("```")[0], names)
    assert torch.allclose(names["given"], names["logits"], atol=1e-6)
    assert names["permuted"].shape == (100, 2)

"""Scores, attention and poolings are the lectures' equations; padding never counts; hierarchical
attention is exact."""

import dataclasses
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from heed.models import scores
from heed.models.attention import Attention, MultiHeadAttention
from heed.models.classifier import Classifier
from heed.models.encoder import LearnedQuery, Pooling, make_pooling
from heed.models.recurrent import padding_mask
from heed.models.scores import SCORES
from tests.conftest import HYPERPARAMETERS
from tests.makers.classifiers import make_batch
from tests.makers.translators import copy_attention

POOLINGS = ["last", "mean", "max", "attention"]
QUERIES, KEYS, SIZE = 3, 5, 4


def pooling_of(name: str, size: int) -> Pooling:
    h = dataclasses.replace(HYPERPARAMETERS, pooling=name, hidden_size=size // 2)
    return make_pooling(h, size)


def inputs(dtype=torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return tuple(torch.randn(2, n, SIZE, generator=generator, dtype=dtype) for n in (QUERIES, KEYS))


def make(name: str, dtype=torch.float64) -> nn.Module:
    torch.manual_seed(1)
    return SCORES[name](SIZE, SIZE, 8).to(dtype)


def score_pair(name: str, score: nn.Module, q: torch.Tensor, k: torch.Tensor, position: int):
    """Return the score of one query and one key, by the lectures' equations as written there."""
    match name:
        case "additive":
            hidden = torch.tanh(score.query.weight @ q + score.key.weight @ k)
            return score.output.weight[0] @ hidden
        case "concat":
            return score.output.weight[0] @ torch.tanh(score.weight.weight @ torch.cat([q, k]))
        case "concat-tanh":
            return torch.tanh(score.weight.weight @ torch.cat([q, k]))[0]
        case "location":
            return (score.weight.weight @ q)[position]
        case "general":
            return (score.weight.weight @ q) @ k
        case "dot":
            return q @ k
        case "scaled-dot":
            return q @ k / math.sqrt(SIZE)
        case "uniform":
            return torch.zeros((), dtype=q.dtype)
    raise AssertionError(name)


@pytest.mark.parametrize("name", SCORES)
def test_each_score_is_its_equation_for_every_pair(name):
    query, keys = (part.requires_grad_() for part in inputs())
    score = make(name)
    values = score(query, keys)
    assert values.shape == (2, QUERIES, KEYS)
    assert name == "uniform" or torch.autograd.gradcheck(score, (query, keys))
    for b, i, j in itertools.product(range(2), range(QUERIES), range(KEYS)):
        expected = score_pair(name, score, query[b, i], keys[b, j], j)
        assert torch.allclose(values[b, i, j], expected, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(sorted(SCORES)), lengths=st.tuples(*[st.integers(0, KEYS)] * 2),
    dtype=st.sampled_from([torch.float32, torch.float64]), scale=st.sampled_from([1e-3, 1.0, 30.0]),
)  # fmt: skip
def test_weights_are_zero_at_padding_and_rows_sum_to_one(name, lengths, dtype, scale):
    query, keys = (t * scale for t in inputs(dtype))
    mask = padding_mask(torch.tensor(lengths), KEYS)
    torch.manual_seed(0)
    attention = Attention(name, SIZE, SIZE, 8).to(dtype)
    output, weights = attention.attend(query, keys, keys, mask)
    assert output.dtype == weights.dtype == dtype
    for i, length in enumerate(lengths):
        assert (weights[i, :, length:] == 0).all()
        ones = torch.full((QUERIES,), float(length > 0), dtype=dtype)
        assert torch.allclose(weights[i].sum(-1), ones)
        # values at padding do not matter
        expected = weights[i, :, :length] @ keys[i, :length]
        assert torch.allclose(output[i], expected, atol=1e-4 * scale)
    garbage = keys.masked_fill(mask[..., None], 7e3)
    assert torch.equal(attention.attend(query, garbage, keys, mask)[1], weights)


VALUES = torch.tensor([[1.0, 4, -3], [2, 2, 2], [0.5, -2, 1], [3, 0, 1]])


@pytest.mark.parametrize(("query", "expected", "weights"), [
    ([3.0, -1, 0], [-1, 4, 3.5, 9], [0.000, 0.007, 0.004, 0.989]),
    ([2.0, 0, 1], [-1, 6, 2, 7], [0.000, 0.268, 0.005, 0.727]),
])  # fmt: skip
def test_the_worked_example_of_lecture_001(query, expected, weights):
    query, keys, mask = torch.tensor([[query]]), VALUES[None], torch.zeros(1, 4, dtype=torch.bool)
    assert SCORES["dot"](3, 3, 4)(query, keys)[0, 0].tolist() == expected
    output, computed = Attention("dot", 3, 3, 4).attend(query, keys, keys, mask)
    assert [round(float(w), 3) for w in computed[0, 0]] == weights
    assert torch.allclose(output[0, 0], torch.tensor(weights) @ VALUES, atol=4e-3)
    scaled = SCORES["scaled-dot"](3, 3, 4)(query, keys)[0, 0]
    assert torch.allclose(scaled, torch.tensor(expected) / 3**0.5), "divided, not multiplied"


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_multi_head_attention_equals_torchs(heads):
    torch.manual_seed(0)
    query, keys, values = (torch.randn(2, time, 8, dtype=torch.float64) for time in (3, 5, 5))
    mask = padding_mask(torch.tensor([5, 2]), 5)
    ours = MultiHeadAttention(8, heads).double()
    theirs = nn.MultiheadAttention(8, heads, batch_first=True, dtype=torch.float64)
    copy_attention(ours, theirs)
    expected = theirs(query, keys, values, key_padding_mask=mask, average_attn_weights=False)
    for tensor, reference in zip(ours.attend(query, keys, values, mask), expected, strict=True):
        assert torch.allclose(tensor, reference, atol=1e-12)
    assert torch.allclose(ours(query, keys, values, mask), expected[0], atol=1e-12)


def test_the_learned_query_with_the_additive_score_is_lecture_003():
    torch.manual_seed(0)
    pooling = LearnedQuery("additive", 6, 9).double()
    states, lengths = torch.randn(2, 5, 6, dtype=torch.float64), torch.tensor([5, 3])
    score = pooling.attention.score
    padding = padding_mask(lengths, 5)
    pooled, weights = pooling(states, lengths, padding), pooling.weights(states, lengths, padding)
    for i, length in enumerate(lengths):
        h = states[i, :length]
        # u_t = phi(h_t)
        u = torch.tanh(F.linear(h, score.key.weight, score.query.weight @ pooling.query))
        a = torch.exp(u @ score.output.weight[0])
        a = a / a.sum()
        assert torch.allclose(pooled[i], a @ h, atol=1e-12)
        assert torch.allclose(weights[i, :length], a, atol=1e-12)


@pytest.mark.parametrize("name", POOLINGS)
def test_a_pooling_ignores_padding_and_an_empty_text_is_zero(name):
    torch.manual_seed(0)
    pooling = pooling_of(name, 6).double()
    states = torch.randn(3, 5, 6, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 2, 0])
    padding = padding_mask(lengths, 5)
    pooled = pooling(states.masked_fill(padding[..., None], 0.0), lengths, padding)
    alone = pooling(states[1:2, :2], lengths[1:2], padding[1:2, :2])
    assert torch.allclose(pooled[1], alone[0], atol=1e-12) and (pooled[2] == 0).all()
    weights = pooling.weights(states, lengths, padding)
    assert torch.allclose(weights.sum(1), torch.tensor([1.0, 1, 0], dtype=torch.float64))
    assert (weights[padding] == 0).all()
    pooled.square().sum().backward()
    assert states.grad.isfinite().all() and (states.grad[padding] == 0).all()


def hierarchical(dtype=torch.float32, **changes) -> Classifier:
    torch.manual_seed(5)
    plain = {"hierarchical": True, "attention": "none", "pooling": "attention", "max_tokens": 700}
    h = dataclasses.replace(HYPERPARAMETERS, **plain | changes)
    return Classifier(30, 4, h).to(dtype).eval()


SENTENCES = st.lists(st.lists(st.integers(1, 5), max_size=4), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(
    documents=SENTENCES, pooling=st.sampled_from(POOLINGS),
    attention=st.sampled_from(["none", "multi-head", "single-head"]),
)  # fmt: skip
def test_sentences_have_the_same_logits_alone_and_in_a_batch(documents, pooling, attention):
    model = hierarchical(torch.float64, pooling=pooling, attention=attention)
    torch.manual_seed(0)
    texts = [torch.randint(2, 30, (sum(sentences),)).tolist() for sentences in documents]
    with torch.no_grad():
        batch = model(make_batch(texts, documents, padding=2))
        assert batch.isfinite().all()
        for i, (text, sentences) in enumerate(zip(texts, documents, strict=True)):
            assert torch.allclose(model(make_batch([text], [sentences]))[0], batch[i], atol=1e-12)


def test_hierarchical_attention_is_yang_et_al_s_two_levels_written_out():
    model = hierarchical(torch.float64)
    encoder, embedding = model.network.encoder, model.network.embedding.word.weight
    text, sentences = [2, 3, 4, 5, 6, 7], [4, 2]
    vectors = []
    for words in (text[:4], text[4:]):
        e = embedding[words][None]
        vectors.append(encoder.words(e, torch.tensor([len(words)]))[0])
    expected = encoder.sentences(torch.stack(vectors)[None], torch.tensor([2]))
    document = encoder(embedding[text][None], torch.tensor([sentences]))
    assert torch.allclose(document, expected, atol=1e-12)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_both_levels_of_weights_are_given_and_sum_to_one(pooling):
    model = hierarchical(torch.float64, pooling=pooling)
    documents = [[3, 1, 2], [4], [], [1] * 300]
    torch.manual_seed(0)
    texts = [torch.randint(2, 30, (sum(sentences),)).tolist() for sentences in documents]
    batch = make_batch(texts, documents)
    with torch.no_grad():
        tokens, sentences = model.token_weights(batch), model.sentence_weights(batch)
        words = model.network.encoder.word_weights(model.network.embedding(batch), batch.sentences)
    expected = torch.tensor([1.0, 1, 0, 1], dtype=torch.float64)
    assert torch.allclose(sentences.sum(1), expected) and torch.allclose(tokens.sum(1), expected)
    assert torch.allclose(words[0, :3].sum(), expected[0])
    assert torch.allclose(words[0, 3], expected[0])
    assert torch.allclose(tokens[0, 4:6].sum(), sentences[0, 2])
    assert (sentences[batch.sentences == 0] == 0).all() and (tokens[batch.ids == 0] == 0).all()


def test_sentences_read_in_groups_are_sentences_read_together(monkeypatch):
    model = hierarchical(torch.float64)
    texts, documents = [list(range(2, 14)), [4, 5]], [[1, 4, 2, 5], [2]]
    whole = model(make_batch(texts, documents))
    monkeypatch.setattr(type(model.network.encoder), "GROUP_SIZE", 2)
    assert torch.allclose(model(make_batch(texts, documents)), whole, atol=1e-12)


@pytest.mark.parametrize("name", ["additive", "concat", "concat-tanh"])
def test_a_score_computed_in_chunks_has_the_same_values_and_gradients(name, monkeypatch):
    results = []
    for elements in (scores.MAX_ELEMENTS, 2 * KEYS * SIZE):
        monkeypatch.setattr(scores, "MAX_ELEMENTS", elements)
        query, keys = (t.requires_grad_() for t in inputs())
        result = make(name)(query, keys)
        results.append([result, *torch.autograd.grad(result.square().sum(), (query, keys))])
    for whole, parts in zip(*results, strict=True):
        assert torch.allclose(whole, parts, atol=1e-12)

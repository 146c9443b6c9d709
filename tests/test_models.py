"""The models are the field's own mathematics: each row of STYLE.md's bug table that concerns them is a test here."""

import csv

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from heed import params
from heed.models.attention import MultiHeadSelfAttention, attention_weights, uniform_weights
from heed.models.classifier import Classifier, count_parameters
from heed.models.pooling import POOLINGS, importance
from heed.models.recurrent import BiLSTM, padding_mask, reverse_within_length
from heed.recipe import widen
from tests.conftest import HYPERPARAMETERS, ROOT


def packed(lstm: BiLSTM, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """torch's own answer: a bidirectional nn.LSTM with the same weights on a packed sequence."""
    both = nn.LSTM(inputs.shape[-1], lstm.hidden_size, batch_first=True, bidirectional=True)
    for name in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"):
        getattr(both, name).data = getattr(lstm.forward_lstm, name).data
        getattr(both, f"{name}_reverse").data = getattr(lstm.backward_lstm, name).data
    sequence = nn.utils.rnn.pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
    return nn.utils.rnn.pad_packed_sequence(
        both.to(inputs.dtype)(sequence)[0], batch_first=True, total_length=inputs.shape[1]
    )[0]


@settings(max_examples=20, deadline=None)
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=6), seed=st.integers(0, 1000))
def test_the_bilstm_equals_the_packed_one(lengths, seed):
    torch.manual_seed(seed)
    lstm = BiLSTM(4, 3).double()
    inputs = torch.randn(len(lengths), max(lengths) + 2, 4, dtype=torch.float64)
    size = torch.tensor(lengths)
    assert torch.allclose(lstm(inputs, size), packed(lstm, inputs, size), atol=1e-12)


def test_reversing_within_the_length_twice_is_nothing_and_leaves_padding():
    inputs = torch.arange(10.0).view(2, 5, 1)
    lengths = torch.tensor([3, 0])
    once = reverse_within_length(inputs, lengths)
    assert once[0, :, 0].tolist() == [2, 1, 0, 3, 4]
    assert once[1, :, 0].tolist() == [5, 6, 7, 8, 9]
    assert torch.equal(reverse_within_length(once, lengths), inputs)


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_multi_head_attention_equals_torchs(heads):
    torch.manual_seed(0)
    ours, theirs = MultiHeadSelfAttention(8, heads), nn.MultiheadAttention(8, heads, batch_first=True)
    theirs.in_proj_weight.data = torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]).data
    theirs.in_proj_bias.data = torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]).data
    theirs.out_proj.weight.data, theirs.out_proj.bias.data = ours.output.weight.data, ours.output.bias.data
    states, mask = torch.randn(3, 5, 8), padding_mask(torch.tensor([5, 3, 1]), 5)
    expected, weights = theirs(states, states, states, key_padding_mask=mask, average_attn_weights=False)
    assert torch.allclose(ours(states, mask), expected, atol=1e-6)
    assert torch.allclose(ours.weights(states, mask), weights, atol=1e-6)


def test_scores_are_divided_by_the_root_of_the_dimension_not_multiplied():
    query = torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]])
    key = torch.tensor([[[[1.0, 0, 0, 0], [0.0, 0, 0, 0]]]])
    expected = torch.softmax(torch.tensor([2.0 / 2, 0.0]), 0)  # d_k = 4
    assert torch.allclose(attention_weights(query, key, torch.zeros(1, 2, dtype=torch.bool))[0, 0, 0], expected)


@pytest.mark.parametrize("kind", [attention_weights, uniform_weights])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weights_are_zero_at_padding_and_rows_sum_to_one(kind, dtype):
    torch.manual_seed(1)
    query = torch.randn(3, 2, 4, 5, dtype=dtype)
    mask = padding_mask(torch.tensor([4, 2, 0]), 4)
    weights = kind(query, query, mask)
    assert weights.dtype == dtype
    assert (weights[1, ..., 2:] == 0).all()
    assert torch.allclose(weights[:2].sum(-1), torch.ones(2, 2, 4, dtype=dtype))
    assert (weights[2] == 0).all()  # every key is padding: defined, no NaN


def test_the_worked_example_of_lecture_001():
    values = torch.tensor([[1.0, 4, -3], [2, 2, 2], [0.5, -2, 1], [3, 0, 1]])
    for query, scores, expected in (
        ([3.0, -1, 0], [-1, 4, 3.5, 9], [0.000, 0.007, 0.004, 0.989]),
        ([2.0, 0, 1], [-1, 6, 2, 7], [0.000, 0.268, 0.005, 0.727]),
    ):
        q = torch.tensor(query)
        assert (values @ q).tolist() == scores
        # the lecture's dot product is ours with the division undone
        weights = attention_weights(
            (q * 3**0.5).view(1, 1, 1, 3), values.view(1, 1, 4, 3), torch.zeros(1, 4, dtype=torch.bool)
        )
        assert [round(float(w), 3) for w in weights[0, 0, 0]] == expected


def make(dtype=torch.float32, **changes) -> Classifier:
    torch.manual_seed(3)
    return Classifier(30, 4, HYPERPARAMETERS | changes).to(dtype).eval()


@settings(max_examples=25, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    padding=st.integers(0, 4),
    attention=st.sampled_from(["none", "multi-head", "uniform"]),
    pooling=st.sampled_from(sorted(POOLINGS)),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_logits_are_the_same_alone_in_a_batch_in_any_order_with_any_padding(
    lengths, padding, attention, pooling, dtype
):
    model = make(dtype, attention=attention, pooling=pooling)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    size = torch.tensor(lengths)
    ids = (
        torch.randint(2, 30, (len(lengths), max(1, *lengths) + padding))
        if len(lengths) > 1
        else torch.randint(2, 30, (1, max(1, lengths[0]) + padding))
    )
    ids[padding_mask(size, ids.shape[1])] = 0
    with torch.no_grad():
        batch = model(ids, size)
        assert batch.isfinite().all()
        assert torch.allclose(model(ids.flip(0), size.flip(0)).flip(0), batch, atol=tolerance)
        for i, length in enumerate(lengths):
            alone = model(ids[i : i + 1, : max(1, length)], size[i : i + 1])
            assert torch.allclose(alone[0], batch[i], atol=tolerance)


@pytest.mark.parametrize("attention", ["none", "multi-head", "uniform"])
@pytest.mark.parametrize("pooling", sorted(POOLINGS))
def test_token_weights_sum_to_one_and_are_zero_at_padding(attention, pooling):
    model = make(attention=attention, pooling=pooling)
    lengths = torch.tensor([6, 1, 3])
    ids = torch.randint(2, 30, (3, 7))
    with torch.no_grad():
        weights = model.token_weights(ids, lengths)
    assert torch.allclose(weights.sum(1), torch.ones(3), atol=1e-6)
    assert (weights[padding_mask(lengths, 7)] == 0).all()
    assert (weights >= 0).all()


def test_gradients_of_padding_are_zero():
    model = make()
    inputs = torch.randn(2, 5, 8, requires_grad=True)
    lengths = torch.tensor([5, 2])
    states = model.lstm(inputs, lengths)
    model.attention(states, padding_mask(lengths, 5)).masked_fill(
        padding_mask(lengths, 5)[..., None], 0
    ).sum().backward()
    assert (inputs.grad[1, 2:] == 0).all()
    assert (inputs.grad[1, :2] != 0).any()


def test_the_embedding_of_padding_stays_zero_in_training():
    model = make().train()
    model(torch.tensor([[5, 6, 0, 0]]), torch.tensor([2])).sum().backward()
    assert (model.embedding.weight.grad[0] == 0).all()
    assert (model.embedding.weight[0] == 0).all()


def test_evaluation_leaves_no_dropout():
    model = make(dropout=0.9, embedding_dropout=0.9)
    ids, lengths = torch.randint(2, 30, (4, 6)), torch.tensor([6, 5, 4, 3])
    assert torch.equal(model(ids, lengths), model(ids, lengths))
    model.train()
    assert not torch.equal(model(ids, lengths), model(ids, lengths))


def test_last_pooling_reads_both_ends():
    states = torch.arange(12.0).view(1, 3, 4)
    assert POOLINGS["last"](states, torch.tensor([2]), padding_mask(torch.tensor([2]), 3))[0].tolist() == [4, 5, 2, 3]
    assert importance("last", states, torch.tensor([2]), padding_mask(torch.tensor([2]), 3))[0].tolist() == [
        0.5,
        0.5,
        0,
    ]


CLASSES = {"letters-language": 6, "letters-author": 7, "imdb": 2, "imdb-suboptimal": 2, "news": 34, "news-big": 34}


def test_the_twelve_models_have_the_talks_parameter_counts_and_hyperparameters():
    study = params.load(ROOT / "workflow/studies/talk.yaml")
    with (ROOT / "data/published/talk_results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(study.models) == 12
    for row in rows:
        name = f"{row['experiment']}-{row['variant']}"
        h = study.hyperparameters(name)
        keys = {"epochs": h.epochs, "batch_size": h.batch_size, "learning_rate": h.learning_rate, "embedding_dim": h.embedding_dim,
                "vocabulary_size": h.vocabulary_size, "lstm_hidden": h.hidden_size, "linear_size": h.linear_size, "dropout": h.dropout,
                "heads": h.heads if h.attention != "none" else 0}  # fmt: skip
        assert {key: float(row[key]) for key in keys} == keys, name
        millions = count_parameters(30000, CLASSES[row["experiment"]], h.model_dump()) / 1e6
        # One figure cannot be met to the digit: letters-author-baseline has 4.96, which the talk prints as 4.9.
        assert abs(millions - float(row["parameters_million"])) <= 0.07, name
        assert round(millions, 1) == float(row["parameters_million"]) or name == "letters-author-baseline"


def test_the_talks_171_with_two_heads_is_right():
    assert MultiHeadSelfAttention(2 * 171, 2).heads == 2
    with pytest.raises(ValueError, match="do not divide"):
        MultiHeadSelfAttention(342, 4)


@pytest.mark.parametrize("attention_hidden", [8, 55, 256])
def test_wide_has_the_parameter_count_of_the_model_it_matches(attention_hidden):
    h = HYPERPARAMETERS | {"hidden_size": attention_hidden, "heads": 2}
    target = count_parameters(1000, 5, h)
    wide = widen(h, target, 1000, 5)
    assert wide["attention"] == "none" and wide["hidden_size"] > attention_hidden
    step = count_parameters(1000, 5, wide | {"hidden_size": wide["hidden_size"] + 1}) - count_parameters(1000, 5, wide)
    assert abs(count_parameters(1000, 5, wide) - target) <= step / 2 + 1
    assert np.isclose(count_parameters(1000, 5, wide) / target, 1, atol=0.05)

"""The lectures' claim on the long way of the gradient, as statements that are exact: how much of it
reaches the first word, with and without attention, and when backpropagation is truncated."""

import functools

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F

from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import PairBatch
from heed.models import recurrent
from heed.models.dependence import SourceGradients, source_gradients
from heed.models.recurrent import run_to_end, step_layer
from heed.models.translator import Translator
from heed.report.figures.translation import gradients_by_length
from heed.tasks.translation.prediction import sentence_gradients
from tests.makers import translators

SIZES = {"embedding_dim": 6, "hidden_size": 6, "max_source_tokens": 40, "feed_forward_size": 8}
ARCHITECTURE = TranslatorArchitecture(**SIZES, heads=2)
TRANSFORMER = {"encoder": "transformer", "decoder": "transformer"}
DEEP = {"encoder_layers": 3, "decoder_layers": 2, "residual": True}
RECURRENT = [
    {"decoder": decoder, "encoder": encoder, **stack}
    for decoder in ("last-state", "concatenate", "output", "input", "input-literal")
    for encoder in ("unidirectional", "bidirectional")
    for stack in ({}, DEEP)
]
ATTENTION = ("output", "input", "input-literal")
LENGTH = 10
make_model = functools.partial(translators.make_model, 1.5, (20, 20), ARCHITECTURE)


WORDS = np.random.default_rng(1).integers(4, 20, LENGTH + 7).tolist()
PAIR = translators.make_pairs([WORDS[:LENGTH]], [WORDS[LENGTH:]])


def log_probability(model: Translator, pair: PairBatch, embedded: torch.Tensor) -> torch.Tensor:
    """Return the mean log probability of the target's tokens, computed as in training."""
    memory, state = model.read(embedded, pair.source_lengths)
    features = model.decode(pair.target[:, :-1], memory, state).features
    logits = model.logits(features)
    return logits.log_softmax(-1).gather(-1, pair.target[:, 1:, None]).mean()


@pytest.mark.parametrize("changes", [*RECURRENT, TRANSFORMER], ids=str)
def test_the_gradient_is_that_of_the_translator_itself(changes):
    model = make_model(**changes)
    embedded = model.embed(PAIR.source).detach().requires_grad_()
    (expected,) = torch.autograd.grad(log_probability(model, PAIR, embedded), embedded)
    found = source_gradients(model, PAIR)
    np.testing.assert_allclose(found.whole, expected[0].norm(dim=-1).numpy(), rtol=1e-9)
    assert (found.whole > 0).all()


@pytest.mark.parametrize("changes", RECURRENT, ids=str)
def test_the_forward_part_is_the_gradient_of_what_the_forward_direction_reads(changes, monkeypatch):
    model = make_model(**changes)
    first = model.encoder.layers[0]
    if changes["encoder"] == "bidirectional":
        first = next(first.children())
    added = torch.zeros(1, LENGTH, 6, dtype=torch.float64, requires_grad=True)
    monkeypatch.setattr(
        recurrent, "run_to_end",
        lambda layer, inputs, lengths: run_to_end(
            layer, inputs + added if layer is first else inputs, lengths
        ),
    )  # fmt: skip
    embedded = model.embed(PAIR.source).detach()
    (expected,) = torch.autograd.grad(log_probability(model, PAIR, embedded), added)
    found = source_gradients(model, PAIR)
    np.testing.assert_allclose(found.forward, expected[0].norm(dim=-1).numpy(), rtol=1e-9)
    if changes["encoder"] == "unidirectional":
        np.testing.assert_array_equal(found.forward, found.whole)
    else:
        assert (np.abs(found.forward - found.whole) > 1e-12).all()


@pytest.mark.parametrize("decoder", ["last-state", "output"])
@pytest.mark.parametrize("truncation", [1, 3, 4])
def test_truncation_detaches_every_state_after_so_many_steps(decoder, truncation):
    model = make_model(decoder=decoder, encoder="unidirectional")
    embedded = model.embed(PAIR.source).detach().requires_grad_()
    layer = model.encoder.layers[0]
    state = (embedded.new_zeros(1, 6),) * 2
    states = []
    for t in range(LENGTH):
        if t % truncation == 0:
            state = tuple(each.detach() for each in state)
        state = step_layer(layer, embedded[:, t], state)
        states.append(state[0])
    by_step = torch.stack(states, 1), state
    memory, state = model.read(embedded, PAIR.source_lengths, lambda *_: by_step)
    loss = torch.zeros(())
    tokens = PAIR.target.shape[1] - 1
    for t in range(tokens):
        if t and t % truncation == 0:
            state = tuple(each.detach() for each in state)
        decoded = model.decode(PAIR.target[:, t : t + 1], memory, state)
        state = decoded.state
        logits = model.logits(decoded.features)[0]
        loss = loss + F.cross_entropy(logits, PAIR.target[0, t + 1 : t + 2])
    (expected,) = torch.autograd.grad(loss / tokens, embedded)
    found = source_gradients(model, PAIR, truncation).whole
    np.testing.assert_allclose(found, expected[0].norm(dim=-1).numpy(), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("changes", RECURRENT, ids=str)
def test_truncated_the_first_word_learns_through_attention_alone(changes):
    model = make_model(**changes)
    found = source_gradients(model, PAIR, 4)  # 10 words: steps 1 to 4, 5 to 8, 9 and 10
    reads_all_states = changes["decoder"] in (*ATTENTION, "concatenate")
    if reads_all_states:
        assert (found.forward > 0).all()
    else:
        assert (found.forward[:8] == 0).all() and (found.forward[8:] > 0).all()
    if changes["encoder"] == "unidirectional":
        np.testing.assert_array_equal(found.whole, found.forward)
    elif "encoder_layers" not in changes:  # the backward direction ends at the first word
        assert found.whole[0] > 0


def test_a_transformer_has_no_time_to_go_back_through():
    model = make_model(**TRANSFORMER)
    assert source_gradients(model, PAIR).forward is None
    with pytest.raises(ValueError, match="recurrent models alone"):
        source_gradients(model, PAIR, 4)


def test_the_first_words_share_is_averaged_over_the_sentences_of_a_length():
    def sentence(id_: str, norms: list[float], truncation: int | None) -> pd.DataFrame:
        values = np.asarray(norms)
        return sentence_gradients(id_, len(norms), truncation, SourceGradients(values, values**2))

    table = pd.concat(
        [
            sentence("a", [1, 3], None), sentence("b", [2, 2, 2], None),
            sentence("c", [1, 2, 3, 6], None), sentence("c", [0, 0, 0, 2], 2),
            sentence("d", [0, 0, 0, 0, 0], 2),
        ]
    )  # fmt: skip
    found = gradients_by_length(table, np.array([3, 5]))
    expected = pd.DataFrame(
        {
            "truncation": [0, 0, 2], "longest": [3, 5, 5],
            "mean_length": [2.5, 4.0, 4.5], "relative": [(0.5 + 1) / 2, 1 / 3, 0.0],
            "forward_relative": [(0.2 + 1) / 2, 1 / 12.5, 0.0],
        }
    )  # fmt: skip
    pd.testing.assert_frame_equal(found, expected)

"""Recurrent translators are the lectures' equations, and no sentence depends on its batch: each row
of the table of bugs of seq2seq code is a test here."""

import dataclasses
import itertools
import math

import pytest
import torch
from torch import nn

from heed.files import HeedError
from heed.inputs.pairs import PairBatch
from heed.inputs.vocabulary import BOS, PADDING
from heed.models.dependence import require_attention
from heed.models.recurrent import RecurrentEncoder, padding_mask, run_layer
from heed.models.scores import SCORES, ConcatTanh
from heed.models.translator import Memory
from heed.models.translators import RecurrentTranslator, SourceAttention
from tests.makers import translators
from tests.makers.precision import has_bfloat16
from tests.makers.translators import SOURCES, TARGETS, make_model, make_pairs, read_packed

ATTENTION = ["output", "input", "input-literal"]
PLAIN = ["last-state", "concatenate"]
DECODERS = [*itertools.product(ATTENTION, SCORES), *((decoder, "dot") for decoder in PLAIN)]
FIXED = [{"score": "diagonal"}, *({"decoder": name, "context": "each-step"} for name in PLAIN)]
STACKS = [
    {"encoder": encoder, **layers}
    for encoder in ("bidirectional", "unidirectional")
    for layers in ({}, {"encoder_layers": 3, "decoder_layers": 2, "residual": True})
]
SOME_STACKS = (STACKS[0], STACKS[1], STACKS[3])


def decode(model, batch: PairBatch, weights=None):
    memory, state = model.encode(batch.source, batch.source_lengths)
    return model.decode(batch.target[:, :-1], memory, state, weights)


@pytest.mark.parametrize("parts", [*({"decoder": d, "score": s} for d, s in DECODERS), *FIXED])
def test_a_pair_alone_in_a_batch_and_word_by_word_is_the_same(parts):
    batch = make_pairs(SOURCES, TARGETS, padding=2)
    # all stacks with one score, and all scores with two stacks
    for stack in STACKS if parts.get("score") == "dot" else SOME_STACKS[:2]:
        model = make_model(**parts, **stack)
        with torch.no_grad():
            together = decode(model, batch)
            for i in range(len(SOURCES)):
                alone = make_pairs([SOURCES[i]], [TARGETS[i]])
                expected = decode(model, alone)
                size = alone.target.shape[1] - 1
                assert torch.allclose(together.features[i, :size], expected.features[0], atol=1e-10)
                memory, state = model.encode(alone.source, alone.source_lengths)
                for t in range(size):
                    step = model.decode(alone.target[:, t : t + 1], memory, state)
                    state = step.state
                    assert torch.allclose(step.features[0, 0], expected.features[0, t], atol=1e-10)
                for stepped, read_at_once in zip(state, expected.state, strict=True):
                    assert torch.allclose(stepped, read_at_once, atol=1e-10)


@pytest.mark.parametrize("decoder", [*ATTENTION, *PLAIN])
@pytest.mark.parametrize("tied", [False, True])
def test_the_loss_of_a_batch_is_the_sum_of_its_pairs_losses(decoder, tied):
    model = make_model(decoder=decoder, tied_readout=tied)
    for smoothing in (0.0, 0.1):
        whole = model.loss(make_pairs(SOURCES, TARGETS, padding=1), smoothing)
        pairs = (make_pairs([x], [y]) for x, y in zip(SOURCES, TARGETS, strict=True))
        single = [model.loss(pair, smoothing) for pair in pairs]
        assert torch.allclose(whole, torch.stack(single).sum(), atol=1e-10)


@pytest.mark.parametrize("decoder", [*ATTENTION, *PLAIN])
@pytest.mark.parametrize("stack", SOME_STACKS)
def test_no_gradient_reaches_padding_and_its_entries_do_not_matter(decoder, stack):
    model = make_model(decoder=decoder, score="additive", **stack)
    batch = make_pairs(SOURCES, TARGETS, padding=2)
    padding = padding_mask(batch.source_lengths, batch.source.shape[1])
    embedded = model.embed(batch.source).detach().requires_grad_()
    memory, state = model.read(embedded, batch.source_lengths)
    features = model.decode(batch.target[:, :-1], memory, state).features
    features[batch.target[:, 1:] != PADDING].square().sum().backward()
    assert (embedded.grad[padding] == 0).all() and (embedded.grad[~padding] != 0).all()
    noise = torch.randint_like(batch.source, 4, translators.SOURCE).where(padding, batch.source)
    changed = dataclasses.replace(batch, source=noise)
    assert torch.equal(model.loss(changed), model.loss(batch))
    behind = padding_mask(batch.target_lengths, batch.target.shape[1])
    noise = torch.randint_like(batch.target, 4, translators.TARGET).where(behind, batch.target)
    other = decode(model, dataclasses.replace(batch, target=noise)).features
    assert torch.equal(other[~behind[:, 1:]], decode(model, batch).features[~behind[:, 1:]])


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize(("dtype", "precision", "tolerance"), [
    (torch.float64, None, 1e-12), (torch.float32, None, 1e-5),
    pytest.param(torch.float32, torch.bfloat16, 0.03, marks=has_bfloat16),
])  # fmt: skip
def test_the_encoder_its_last_states_and_cells_and_gradients_equal_packed_ones(
    bidirectional, layers, dtype, precision, tolerance
):
    torch.manual_seed(0)
    encoder = RecurrentEncoder(4, 6, layers, bidirectional, False, 0.0).to(dtype)
    lengths = torch.tensor([3, 5, 1, 7])
    tokens = ~padding_mask(lengths, 9)
    inputs = torch.randn(4, 9, 4, dtype=dtype, requires_grad=True)
    with torch.autocast("cpu", precision, enabled=precision is not None):
        padded = encoder(inputs, lengths)
    found = []
    for states, last in (padded, read_packed(encoder.layers, inputs, lengths)):
        assert [len(state) for state in last] == [2] * layers
        values = [states[tokens], *(tensor for state in last for tensor in state)]
        loss = sum(value.to(dtype).square().sum() for value in values)
        gradients = torch.autograd.grad(loss, [inputs, *encoder.parameters()])
        found.append([tensor.to(dtype) for tensor in (*values, *gradients)])
    for tensor, expected in zip(*found, strict=True):
        largest = expected.abs().max().item()
        assert largest > 0
        torch.testing.assert_close(tensor, expected, rtol=0, atol=tolerance * max(1, largest))


@pytest.mark.parametrize("decoder", [*ATTENTION, *PLAIN])
def test_the_decoder_starts_from_the_encoders_states_and_cells(decoder):
    """Of all decoders but `concatenate`, whose one vector has no cell."""
    model = make_model(decoder=decoder, encoder_layers=2, decoder_layers=3, score="dot")
    batch = make_pairs(SOURCES, TARGETS, padding=2)
    with torch.no_grad():
        embedded = model.embed(batch.source)
        states, last = read_packed(model.encoder.layers, embedded, batch.source_lengths)
        _, state = model.encode(batch.source, batch.source_lengths)
        if model.concatenated is not None:
            padding = padding_mask(batch.source_lengths, batch.source.shape[1])
            vector = model.concatenated(states, padding)
            last = [(vector,) * 2]
    # from the last layer down; a layer that the encoder does not have starts from its first
    expected = [*last[0], *last[0], *last[-1]]
    for found, start in zip(state, expected, strict=True):
        assert torch.allclose(found, start, atol=1e-12)


def copying_model(decoder: str, ahead: int) -> RecurrentTranslator:
    """Return a model whose queries name a source word by hand.

    States of source and target hold the last word read alone: one feature a word, from tanh(+-2).
    What the decoder holds after word w matches the source's word w + `ahead`."""
    words = 10
    h = dataclasses.replace(
        translators.ARCHITECTURE, embedding_dim=words, hidden_size=words, score="general",
        encoder="unidirectional", decoder=decoder,
    )  # fmt: skip
    model = RecurrentTranslator(words, words, h).eval()
    with torch.no_grad():
        codes = 4 * torch.eye(words) - 2
        model.source_embedding.weight.copy_(codes)
        model.target_embedding.weight.copy_(codes.roll(-ahead, 0))
        for layer in (model.encoder.layers[0], model.decoder.stack.layers[0]):
            for weights in layer.parameters():
                weights.zero_()
            layer.weight_ih_l0[2 * words : 3 * words, :words] = torch.eye(words)  # the new cell
            layer.bias_ih_l0.fill_(50.0)[words : 3 * words] = 0.0  # input and output are open
            layer.bias_ih_l0[words : 2 * words] = -50.0  # the forget gate: nothing of the old cell
        model.decoder.attention.score.weight.weight.copy_(5 * torch.eye(words))
    return model


@pytest.mark.parametrize(("decoder", "ahead", "first"), [("output", 1, 0), ("input", 2, 1)])
def test_row_t_of_the_weights_belongs_to_the_word_predicted_at_t(decoder, ahead, first):
    # The target copies the source 4 5 6 7 8. When word t is predicted, the word before has been
    # read, and by the query of `input`, s(t-1), the one before that: BOS (2) or EOS (3) at first.
    words = [4, 5, 6, 7, 8]
    batch = make_pairs([words], [words])
    model = copying_model(decoder, ahead)
    with torch.no_grad():
        model.target_embedding.weight[BOS] = model.target_embedding.weight[words[first] - ahead]
        weights = model.weights(batch)[0]
    for t in range(first, len(words)):
        assert weights[t, t] > 0.99, (t, weights)


@pytest.mark.parametrize("decoder", ATTENTION)
def test_given_weights_replace_the_decoders_own(decoder):
    model, batch = make_model(decoder=decoder), make_pairs(SOURCES, TARGETS)
    with torch.no_grad():
        own = decode(model, batch)
        again = decode(model, batch, own.weights)
        assert torch.allclose(again.features, own.features, atol=1e-12)
        padding = padding_mask(batch.source_lengths, batch.source.shape[1])
        uniform = (~padding / batch.source_lengths[:, None])[:, None].expand_as(own.weights)
        uniform = uniform.double()
        given = decode(model, batch, uniform)
        assert torch.equal(given.weights, uniform)
        memory, _ = model.encode(batch.source, batch.source_lengths)
    context = given.features[..., translators.ARCHITECTURE.hidden_size :]
    assert torch.allclose(context, uniform @ memory.states, atol=1e-12)
    assert not torch.allclose(given.features, own.features, atol=1e-3)


@pytest.mark.parametrize("decoder", PLAIN)
def test_a_decoder_without_attention_has_no_weights_and_takes_none(decoder):
    model, batch = make_model(decoder=decoder), make_pairs(SOURCES, TARGETS)
    assert model.weights(batch) is None
    with pytest.raises(HeedError, match="decoder: last-state or concatenate"):
        decode(model, batch, torch.zeros(3, 5, 5, dtype=torch.float64))


@pytest.mark.parametrize("decoder", ATTENTION)
def test_with_equal_weights_each_step_reads_the_mean_of_the_states_and_returns_no_weights(decoder):
    model = make_model(decoder=decoder, score="uniform")
    batch = make_pairs(SOURCES, TARGETS, padding=2)
    with torch.no_grad():
        memory, _ = model.encode(batch.source, batch.source_lengths)
        decoded = decode(model, batch)
    for i, length in enumerate(batch.source_lengths.tolist()):
        mean = memory.states[i, :length].mean(0)
        context = decoded.features[i, :, translators.ARCHITECTURE.hidden_size :]
        assert torch.allclose(context, mean.expand_as(context), atol=1e-12)
    assert decoded.weights is None and model.weights(batch) is None
    learned = make_model(decoder=decoder, score="dot")
    learned.load_state_dict(model.state_dict())
    with torch.no_grad():
        weights = decode(learned, batch).weights
        padding = padding_mask(batch.source_lengths, batch.source.shape[1])
        equal = (~padding / batch.source_lengths[:, None])[:, None].expand_as(weights).double()
        assert torch.allclose(decode(learned, batch, equal).features, decoded.features, atol=1e-12)
    with pytest.raises(HeedError, match="none is learned"):
        require_attention(model)


@pytest.mark.parametrize("parts", FIXED)
def test_a_fixed_context_is_the_state_at_the_words_place_or_the_one_vector_in_each_step(parts):
    model = make_model(encoder_layers=2, **parts)
    batch = make_pairs(SOURCES, TARGETS, padding=2)
    with torch.no_grad():
        states, last = model.encoder(model.embed(batch.source), batch.source_lengths)
        decoded = decode(model, batch)
        if model.concatenated is not None:
            padding = padding_mask(batch.source_lengths, batch.source.shape[1])
            last = [(model.concatenated(states, padding),)]
    contexts = decoded.features[..., translators.ARCHITECTURE.hidden_size :]
    for i, length in enumerate(batch.source_lengths.tolist()):
        for t in range(contexts.shape[1]):
            expected = states[i, min(t, length - 1)] if "score" in parts else last[-1][0][i]
            assert torch.equal(contexts[i, t], expected)
    assert decoded.weights is None
    with pytest.raises(HeedError, match="none is learned"):
        require_attention(model)


def test_the_literal_decoder_of_lecture_004_never_reads_the_previous_word():
    batch = make_pairs(SOURCES, TARGETS)
    other = dataclasses.replace(batch, target=(batch.target + 3) % translators.TARGET)
    literal, practice = make_model(decoder="input-literal"), make_model(decoder="input")
    assert torch.equal(decode(literal, batch).features, decode(literal, other).features)
    assert not torch.equal(decode(practice, batch).features, decode(practice, other).features)
    assert literal.target_embedding is None


def test_a_source_longer_than_the_positions_of_location_gets_weights_at_those_alone():
    model = make_model(decoder="output", score="location", max_source_tokens=3)
    batch = make_pairs([[5, 6, 7, 8, 9], [4]], [[4], [5]])
    weights = model.weights(batch)
    assert (weights[0, :, :3] > 0).all() and (weights[0, :, 3:] == 0).all()
    assert torch.allclose(weights.sum(-1), torch.ones(2, 2, dtype=torch.float64))


def test_concatenate_cuts_a_source_at_its_cap_and_grows_with_it():
    short, long = [5, 6, 7], [5, 6, 7, 8, 9]
    model = make_model(decoder="concatenate", encoder="unidirectional", max_source_tokens=3)
    cut, whole = (decode(model, make_pairs([source], [[4]])).features for source in (long, short))
    assert torch.allclose(cut, whole, atol=1e-12), "what is behind the cap is not read"
    size = translators.ARCHITECTURE.hidden_size
    models = [make_model(decoder="concatenate", max_source_tokens=cap) for cap in (10, 30, 60)]
    counts = [sum(p.numel() for p in model.parameters()) for model in models]
    assert counts[1] - counts[0] == 20 * size**2 and counts[2] - counts[1] == 30 * size**2


@pytest.mark.parametrize("vocabulary", [25, 32])
def test_the_logits_and_their_gradients_are_those_of_the_output_layer(vocabulary):
    torch.manual_seed(0)
    model = RecurrentTranslator(translators.SOURCE, vocabulary, translators.ARCHITECTURE)
    features = torch.randn(3, 4, model.output.in_features, requires_grad=True)
    found = []
    for layer in (model.logits, model.output):
        logits = layer(features)
        loss = (logits * torch.linspace(0, 1, vocabulary)).sum()
        read = (features, model.output.weight, model.output.bias)
        found.append((logits, *torch.autograd.grad(loss, read)))
    torch.testing.assert_close(*found, rtol=1e-5, atol=1e-6)


def test_the_tied_readout_is_the_target_embedding():
    torch.manual_seed(0)
    h = dataclasses.replace(translators.ARCHITECTURE, embedding_dim=64, tied_readout=True)
    model = RecurrentTranslator(translators.SOURCE, 500, h).eval()
    assert model.output.weight is model.target_embedding.weight
    assert float(model.output.weight.detach().std()) == pytest.approx(64**-0.5, rel=0.02)
    features = decode(model, make_pairs(SOURCES, TARGETS)).features
    assert features.shape[-1] == 64 and features.abs().max() <= 1
    expected = features @ model.target_embedding.weight.T + model.output.bias
    assert torch.equal(model.logits(features), expected)


def test_residual_layers_that_return_nothing_change_nothing():
    batch = make_pairs(SOURCES, TARGETS)
    for residual in (True, False):
        model = make_model(encoder_layers=4, decoder_layers=4, residual=residual)
        for layers in (model.encoder.layers[1:], model.decoder.stack.layers[1:]):
            for parameter in layers.parameters():
                nn.init.zeros_(parameter)
        states, last = model.encoder(model.embed(batch.source), batch.source_lengths)
        first = model.encoder.layers[0](model.embed(batch.source), batch.source_lengths)
        tokens = ~padding_mask(batch.source_lengths, batch.source.shape[1])
        is_first = torch.allclose(states[tokens], first[tokens], atol=1e-12)
        assert is_first == residual and (last[-1][0] == 0).all()
        # a decoder's zero cells do not stay zero where the cell starts at something else
        inputs = torch.randn(2, 3, 5, dtype=torch.float64)
        zeros = tuple(torch.zeros(2, 6, dtype=torch.float64) for _ in range(8))
        upper, _ = model.decoder.stack(inputs, zeros)
        lower, _ = run_layer(model.decoder.stack.layers[0], inputs)
        assert torch.equal(upper, lower) == residual


def test_lecture_004s_score_gives_one_word_of_twenty_at_most_28_percent():
    torch.manual_seed(0)
    query, keys = 100 * torch.randn(1, 50, 6), 100 * torch.randn(1, 20, 6)
    lecture, dot = SourceAttention("concat-tanh", 6, 20), SourceAttention("dot", 6, 20)
    assert isinstance(lecture.score, ConcatTanh)
    bound = math.e / (math.e + 19 / math.e)
    assert round(bound, 2) == 0.28
    with torch.no_grad():
        assert dot.weights(query, memory_of(keys, dot)).max() > 0.99
        assert lecture.weights(query, memory_of(keys, lecture)).max() <= bound + 1e-6
        # the bound is reached: one key at +1, nineteen at -1
        lecture.score.weight.weight.copy_(torch.tensor([[0.0] * 6 + [1.0] + [0.0] * 5]))
        keys = torch.zeros(1, 20, 6)
        keys[0, :, 0] = -50.0
        keys[0, 7, 0] = 50.0
        reached = lecture.weights(query, memory_of(keys, lecture))
    assert reached[0, :, 7].tolist() == pytest.approx([bound] * 50)


def memory_of(states: torch.Tensor, attention: SourceAttention) -> Memory:
    padding = torch.zeros(states.shape[:2], dtype=torch.bool)
    return Memory(states, padding, attention.keys(states))

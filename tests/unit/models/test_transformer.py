"""The transformer is torch's with the same weights; steps, batches and padding change nothing."""

import dataclasses
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import PairBatch
from heed.models.classifier import Classifier
from heed.models.recurrent import padding_mask
from heed.models.transformer import positions
from heed.models.translators import TransformerTranslator
from tests.conftest import HYPERPARAMETERS
from tests.makers import translators
from tests.makers.translators import copy_attention

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # of nn.Transformer

SOURCE, TARGET, SIZE = 13, 11, 8
ARCHITECTURE = TranslatorArchitecture(
    encoder="transformer", decoder="transformer", embedding_dim=SIZE, heads=2, encoder_layers=2,
    decoder_layers=2, feed_forward_size=12, dropout=0.3,
)  # fmt: skip


def make(dtype=torch.float32, **changes) -> TransformerTranslator:
    """A translator in evaluation mode, whose norms and biases are not at their initial values."""
    torch.manual_seed(0)
    h = dataclasses.replace(ARCHITECTURE, **changes)
    model = TransformerTranslator(SOURCE, TARGET, h).to(dtype).eval()
    for parameter in model.parameters():
        parameter.data += 0.2 * torch.randn_like(parameter)
    return model


def make_pairs(
    source_lengths: list[int], target_lengths: list[int], source_more: int = 0, target_more: int = 0
) -> PairBatch:
    generator = torch.Generator().manual_seed(7)

    def texts(lengths: list[int], vocabulary: int) -> list[list[int]]:
        draws = [torch.randint(4, vocabulary, (n,), generator=generator) for n in lengths]
        return [draw.tolist() for draw in draws]

    sources, targets = texts(source_lengths, SOURCE), texts(target_lengths, TARGET)
    return translators.make_pairs(sources, targets, source_more, target_more)


def select(batch: PairBatch, row: int) -> PairBatch:
    source, target = batch.source_lengths[row], batch.target_lengths[row]
    return PairBatch(
        batch.source[row : row + 1, :source], batch.source_lengths[row : row + 1],
        batch.target[row : row + 1, :target], batch.target_lengths[row : row + 1],
        batch.rows[row : row + 1],
    )  # fmt: skip


def forced(model: TransformerTranslator, batch: PairBatch) -> torch.Tensor:
    """The features of all predicted tokens, by teacher forcing."""
    memory, state = model.encode(batch.source, batch.source_lengths)
    return model.decode(batch.target[:, :-1], memory, state).features


def copy_layer(ours: nn.Module, theirs: nn.Module) -> None:
    copy_attention(ours.attention, theirs.self_attn)
    norms = [ours.attention_norm, ours.feed_forward_norm]
    if hasattr(ours, "cross_attention"):
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        norms.insert(1, ours.cross_attention_norm)
    for number, norm in enumerate(norms, 1):
        getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward[0].state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward[2].state_dict())


def torchs(model: TransformerTranslator) -> nn.Transformer:
    theirs = nn.Transformer(
        SIZE, ARCHITECTURE.heads, len(model.encoder.layers), len(model.decoder.layers),
        ARCHITECTURE.feed_forward_size, batch_first=True, norm_first=True,
    )  # fmt: skip
    for ours, stack in ((model.encoder, theirs.encoder), (model.decoder, theirs.decoder)):
        stack.norm.load_state_dict(ours.norm.state_dict())
        for layer, torch_layer in zip(ours.layers, stack.layers, strict=True):
            copy_layer(layer, torch_layer)
    return theirs.to(model.output.weight.dtype).eval()


@pytest.mark.parametrize(("encoder_layers", "decoder_layers"), [(1, 1), (2, 3)])
def test_the_transformer_equals_torchs_with_the_same_weights(encoder_layers, decoder_layers):
    model = make(encoder_layers=encoder_layers, decoder_layers=decoder_layers)
    batch = make_pairs([5, 2, 7], [4, 6, 1], source_more=1)
    source = model.source_embedding(batch.source) * math.sqrt(SIZE)
    target = model.target_embedding(batch.target[:, :-1]) * math.sqrt(SIZE)
    time = target.shape[1]
    padding = padding_mask(batch.source_lengths, batch.source.shape[1])
    expected = torchs(model)(
        source + positions(source), target + positions(target),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(time),
        src_key_padding_mask=padding, memory_key_padding_mask=padding,
    )  # fmt: skip
    assert torch.allclose(forced(model, batch), expected, atol=1e-5)


@pytest.mark.parametrize("size", [6, 7])
def test_positions_are_the_sinusoids_of_section_3_5(size):
    encoded = positions(torch.empty(1, 5, size), first=90)
    for row, position in enumerate(range(90, 95)):
        for i in range(size):
            angle = position / 10_000 ** (2 * (i // 2) / size)
            expected = math.cos(angle) if i % 2 else math.sin(angle)
            assert encoded[row, i] == pytest.approx(expected, abs=1e-5)
    shifted = positions(torch.empty(1, 3, size), first=92)
    assert torch.allclose(encoded[2:], shifted, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 7), st.integers(0, 6)), min_size=1, max_size=4),
    source_more=st.integers(0, 3), target_more=st.integers(0, 3),
)  # fmt: skip
def test_a_pair_alone_and_in_any_padded_batch_is_the_same(lengths, source_more, target_more):
    model = make(torch.float64)
    batch = make_pairs(*map(list, zip(*lengths, strict=True)), source_more, target_more)
    with torch.no_grad():
        together, weights = forced(model, batch), model.weights(batch)
        losses = [float(model.loss(select(batch, row))) for row in range(len(lengths))]
        assert float(model.loss(batch)) == pytest.approx(sum(losses), rel=1e-12)
        for row in range(len(lengths)):
            pair = select(batch, row)
            time, source_time = pair.target.shape[1] - 1, pair.source.shape[1]
            assert torch.allclose(forced(model, pair)[0], together[row, :time], atol=1e-12)
            expected = weights[row, :time, :source_time]
            assert torch.allclose(model.weights(pair)[0], expected, atol=1e-12)


@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 3], [1, 6]])
@pytest.mark.parametrize("layers", [1, 2])
def test_steps_with_stored_keys_and_values_equal_teacher_forcing(steps, layers):
    model, batch = make(decoder_layers=layers), make_pairs([5, 2, 7], [6, 6, 2])
    with torch.no_grad():
        memory, state = model.encode(batch.source, batch.source_lengths)
        assert all(tensor.shape == (3, 0, SIZE) for tensor in state) and len(state) == 2 * layers
        features, weights, first = [], [], 0
        for count in steps:
            tokens = batch.target[:, first : first + count]
            decoded = model.decode(tokens, memory, state, with_weights=True)
            features.append(decoded.features)
            weights.append(decoded.weights)
            state, first = decoded.state, first + count
        assert all(tensor.shape == (3, 7, SIZE) for tensor in state)
        assert torch.allclose(torch.cat(features, 1), forced(model, batch), atol=1e-5)
        assert torch.allclose(torch.cat(weights, 1), model.weights(batch), atol=1e-5)


def test_weights_are_those_of_the_last_layer_and_given_back_change_nothing():
    model, batch = make(torch.float64, heads=1), make_pairs([5, 2], [6, 3])
    memory, state = model.encode(batch.source, batch.source_lengths)
    tokens = batch.target[:, :-1]
    fused = model.decode(tokens, memory, state)
    assert fused.weights is None
    asked = model.decode(tokens, memory, state, with_weights=True)
    assert torch.allclose(asked.features, fused.features, atol=1e-12)
    assert torch.equal(asked.weights, model.weights(batch))
    assert torch.allclose(asked.weights.sum(-1), torch.ones(2, 7, dtype=torch.float64))
    assert (asked.weights[1, :, 2:] == 0).all()
    given = model.decode(tokens, memory, state, asked.weights)
    assert torch.allclose(given.features, fused.features, atol=1e-12)
    assert torch.equal(given.weights, asked.weights)


def test_given_weights_replace_those_of_every_head_of_the_last_layer():
    model, batch = make(torch.float64), make_pairs([5, 5], [3, 3])
    memory, state = model.encode(batch.source, batch.source_lengths)
    tokens, third = batch.target[:, :-1], torch.zeros(2, 4, 5, dtype=torch.float64)
    third[..., 2] = 1
    last = model.decoder.layers[-1].cross_attention
    expected = last.output(last.value(memory.states[:, 2:3])).expand(-1, 4, -1)
    outputs = []
    last.output.register_forward_hook(lambda *call: outputs.append(call[2]))
    decoded = model.decode(tokens, memory, state, third)
    assert torch.equal(decoded.weights, third) and torch.allclose(outputs[0], expected, atol=1e-12)


def classifier(**changes) -> Classifier:
    torch.manual_seed(3)
    h = dataclasses.replace(
        HYPERPARAMETERS, encoder="transformer", attention="none", heads=2, encoder_layers=2,
        feed_forward_size=12, **changes,
    )  # fmt: skip
    return Classifier(30, 4, h).eval()


def test_embeddings_are_scaled_and_the_vectors_of_sentences_are_not():
    flat, two_levels = classifier(), classifier(hierarchical=True)
    inputs, lengths = torch.randn(2, 5, SIZE), torch.tensor([5, 3])
    padding = padding_mask(lengths, 5)
    levels = two_levels.network.encoder
    scales = {flat.network.encoder: math.sqrt(SIZE), levels.words: math.sqrt(SIZE)}
    for encoder, scale in (scales | {levels.sentences: 1.0}).items():
        expected = encoder.transformer(inputs * scale, padding)
        assert torch.allclose(encoder.encode(inputs, lengths).vectors, expected, atol=1e-6)


def test_a_transformer_is_not_without_attention():
    model = dataclasses.replace(HYPERPARAMETERS, encoder="transformer", attention="none")
    assert model.attends and model.has_heads and not model.chooses_weights
    assert model.score_functions == {"scaled-dot": "transformer"}
    with pytest.raises(ValueError, match="transformer is attention"):
        model.without_attention()

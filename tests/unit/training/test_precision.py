"""The precision of a training: float32 is exact, and bfloat16 keeps weights and sums in float32."""

import numpy as np
import pytest
import torch
from torch import nn

from heed.files import HeedError
from heed.inputs.pairs import PairBatch
from heed.inputs.vocabulary import SPECIAL_OF_PAIRS
from heed.models.attention import masked_softmax
from heed.models.translators import make_translator
from heed.tasks.translation.learning import TranslationLearner
from heed.tasks.translation.recipe import Hyperparameters
from heed.training import machine
from heed.training.machine import machine_kind, make_deterministic, products_library
from tests.conftest import cases, change_recipe, contents, train
from tests.makers.precision import has_bfloat16

CASES = cases(__file__)


@pytest.mark.parametrize(("processor", "has", "instructions", "library"), CASES["products"])
def test_products_go_to_onednn_where_it_is_faster(
    monkeypatch, processor, has, instructions, library
):
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: has)
    monkeypatch.setattr(machine, "_processor", lambda: processor)
    assert machine.bfloat16_instructions() == instructions and products_library() == library


@pytest.mark.parametrize("library", ["mkl", "onednn", None])
def test_a_product_in_float32_has_float32s_error(monkeypatch, library):
    """None: as a training has it. Nothing sends a product to instructions of bfloat16."""
    if library == "onednn" and machine.bfloat16_instructions() == "amx_bf16":
        pytest.skip("with AMX oneDNN rounds to bfloat16, so it is never chosen there")
    with monkeypatch.context() as changed:
        if library:
            changed.setattr(machine, "products_library", lambda: library)
        make_deterministic()
    generator = torch.Generator().manual_seed(1)
    a, b, bias = (torch.randn(*shape, generator=generator) for shape in ((512,) * 2,) * 3)
    exact, with_bias = a.double() @ b.double(), a.double() @ b.double() + bias.double()
    products = [
        (a @ b, exact), (torch.addmm(bias, a, b), with_bias),
        (nn.functional.linear(a, b.T), exact), (nn.functional.linear(a, b.T, bias[0]), None),
        (torch.bmm(a[None], b[None])[0], exact), ((a.T.contiguous().T @ b), exact),
    ]  # fmt: skip
    for product, expected in products:
        expected = exact + bias[0].double() if expected is None else expected
        error = float((product.double() - expected).abs().max() / expected.abs().max())
        assert error < 2e-6, "bfloat16 has 3e-3"
    assert float((a.bfloat16() @ b.bfloat16() - exact).abs().max() / exact.abs().max()) > 1e-3
    make_deterministic()


def test_bfloat16_on_a_machine_without_it_is_one_clear_message(workplace, monkeypatch):
    change_recipe(precision="bfloat16")
    monkeypatch.setattr(machine, "bfloat16_instructions", lambda: "")
    message = "needs a GPU, or a processor with one of amx_bf16, avx512_bf16; this one .*float32$"
    with pytest.raises(HeedError, match=message):
        train("tiny-self-attention", 1)


@has_bfloat16
def test_a_training_in_bfloat16_says_so_and_has_other_weights_in_float32(workplace):
    train("tiny-self-attention", 1)
    exact = contents()["model.safetensors"]
    change_recipe(precision="bfloat16")
    kind = train("tiny-self-attention", 1).machine_kind
    assert kind == machine_kind("cpu", "bfloat16") == f"{machine_kind('cpu')}, avx512_bf16"
    assert contents()["model.safetensors"] != exact


def translation(h: Hyperparameters) -> tuple[TranslationLearner, PairBatch]:
    """Return the learner of an untrained translator, and random pairs, all of one length."""
    torch.manual_seed(1)
    learner = TranslationLearner.__new__(TranslationLearner)
    learner.model, learner.device, learner._h = make_translator(30, 30, h), "cpu", h
    source, target = torch.randint(len(SPECIAL_OF_PAIRS), 30, (2, 4, 7))
    lengths = torch.full((4,), 7)
    return learner, PairBatch(source, lengths, target, lengths, np.arange(4))


@has_bfloat16
@pytest.mark.parametrize("changes", [
    {}, {"decoder": "input", "score": "additive", "tied_readout": True},
    {"encoder": "transformer", "decoder": "transformer", "heads": 2},
], ids=str)  # fmt: skip
def test_the_products_of_a_translator_are_bfloat16_and_its_loss_and_gradients_float32(changes):
    size = {"embedding_dim": 8, "hidden_size": 8, "dropout": 0.0}
    learner, batch = translation(Hyperparameters(**size, **changes, precision="bfloat16"))
    types = set()
    for module in learner.model.modules():
        if isinstance(module, nn.Linear | nn.LSTM):
            module.register_forward_hook(
                lambda _, __, out: types.add((out if torch.is_tensor(out) else out[0]).dtype)
            )
    exact = learner.model.loss(batch)
    assert types == {torch.float32}, "a model that predicts computes in float32"
    types.clear()
    loss = learner.loss(learner.model, batch)
    loss.backward()
    assert types == {torch.bfloat16} and loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.item(), rel=5e-3) and loss.item() != exact.item()
    assert {p.grad.dtype for p in learner.model.parameters()} == {torch.float32}


def test_the_weights_of_attention_are_summed_in_float32():
    """In bfloat16 the equal weights of 300 words would add up to 1.0029."""
    weights = masked_softmax(torch.zeros(1, 300).bfloat16(), torch.zeros(1, 300, dtype=torch.bool))
    assert float(weights.double().sum()) == pytest.approx(1, abs=1e-6)
    exact = torch.zeros(1, 3, dtype=torch.float64)
    assert masked_softmax(exact, exact > 0).dtype == torch.float64

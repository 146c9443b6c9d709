"""What a translator costs by its hyperparameters is what its layers do."""

import dataclasses

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from heed.inputs.special import BOS
from heed.models.translators import make_translator
from heed.tasks.translation.cost import multiply_adds
from heed.tasks.translation.recipe import Hyperparameters

H = Hyperparameters(
    embedding_dim=6, hidden_size=8, source_vocabulary=40, target_vocabulary=50,
    max_source_tokens=9, feed_forward_size=10, heads=2, dropout=0.0,
)  # fmt: skip
CHANGES = {
    "last-state": {"decoder": "last-state"},
    "concatenate": {"decoder": "concatenate"},
    **{
        score: {"score": score}
        for score in ("general", "dot", "additive", "concat", "concat-tanh", "uniform")
    },
    "input": {"decoder": "input", "score": "additive"},
    "literal": {"decoder": "input-literal"},
    "tied": {"tied_readout": True},
    "tied-last-state": {"tied_readout": True, "decoder": "last-state"},
    "gru": {"recurrence": "gru", "encoder": "unidirectional"},
    "deep": {"encoder_layers": 3, "decoder_layers": 2},
    "transformer": {"encoder": "transformer", "decoder": "transformer", "decoder_layers": 2},
}


def uncounted_operations(model: nn.Module, h: Hyperparameters, length: int) -> int:
    """The multiply-adds of the kernels that torch's counter leaves out, for one sentence.

    They are those of nn.LSTM, but for a decoder that goes step by step, and those of the fused
    attention: scores and weighted sums of every layer that attends.
    """
    if h.decoder == "transformer":
        attentions = h.encoder_layers + 2 * h.decoder_layers
        return attentions * 2 * length**2 * h.embedding_dim
    stepped = model.decoder.stack if h.decoder.startswith("input") else nn.Module()
    lstms = [module for module in model.modules() if isinstance(module, nn.LSTM)]
    return length * sum(
        weights.numel()
        for lstm in lstms
        if lstm not in set(stepped.modules())
        for weights in lstm.parameters()
        if weights.dim() > 1
    )


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES.keys())
def test_multiply_adds_are_those_that_torch_counts(changes):
    h, length = dataclasses.replace(H, **changes), 7
    model = make_translator(40, 50, h).eval()
    source, target = torch.full((1, length), 5), torch.full((1, length), 5)
    target[0, 0] = BOS
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        memory, state = model.encode(source, torch.tensor([length]))
        model.logits(model.decode(target, memory, state).features)
    expected = counter.get_total_flops() // 2 + uncounted_operations(model, h, length)
    assert multiply_adds(h, length) == pytest.approx(expected, rel=1e-9)

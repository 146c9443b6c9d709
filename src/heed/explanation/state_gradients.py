"""The gradient that reaches each state of a classifier's BiLSTM: how far learning looks back.

g(h_t) = dL/dh_t with L the negative log probability of the predicted class. It has two parts: what
the layers above take from h_t itself, and what reaches h_t through the states after it. For the
second a disturbance d_t is added to the state that step t starts from, so that its gates read
W_ih x_t + W_hh (h_{t-1} + d_t): then dL/dd_t is what h_{t-1} passes on. With the inputs [x_t; d_t]
and the matrix [W_ih, W_hh] that is an ordinary LSTM, and one pass gives the gradients of all t.
(Cell states are held, as in the authors' program of Maini et al. 2020, arxiv.org/abs/2005.00159.)

L is scaled so that its gradient with respect to the logits has length 1: a certain prediction, with
a gradient near 0, then counts as much as any other. Ratios within a document are as without.
"""

import copy

import torch
from torch import nn

from heed.inputs.batches import Batch
from heed.models.classifier import Network
from heed.models.recurrent import BiLSTM, reverse_within_length


class _DisturbedBiLSTM(nn.Module):
    """The same BiLSTM, with a disturbance of 0 added to each state before its next step."""

    def __init__(self, lstm: BiLSTM) -> None:
        super().__init__()
        self.hidden_size = lstm.hidden_size
        self.layers = nn.ModuleList(
            _with_disturbance(layer) for layer in (lstm.forward_lstm, lstm.backward_lstm)
        )
        self.states: torch.Tensor
        self.disturbances: list[torch.Tensor]
        self.lengths: torch.Tensor

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the states (batch, time, 2 * hidden_size); they and what was read are kept."""
        forwards, backwards = self.layers
        self.disturbances = [
            inputs.new_zeros(*inputs.shape[:2], self.hidden_size).requires_grad_() for _ in range(2)
        ]
        states, _ = forwards(torch.cat([inputs, self.disturbances[0]], -1))
        reversed_inputs = reverse_within_length(inputs, lengths)
        reversed_states, _ = backwards(torch.cat([reversed_inputs, self.disturbances[1]], -1))
        self.lengths = lengths
        self.states = torch.cat([states, reverse_within_length(reversed_states, lengths)], -1)
        return self.states


def _with_disturbance(layer: nn.LSTM) -> nn.LSTM:
    """Return the same layer for inputs [x; d], where d is added to the previous state."""
    size = layer.input_size + layer.hidden_size
    extended = nn.LSTM(size, layer.hidden_size, batch_first=True)
    values = {name: value.detach() for name, value in layer.named_parameters()}
    values["weight_ih_l0"] = torch.cat([values["weight_ih_l0"], values["weight_hh_l0"]], 1)
    extended.load_state_dict(values)
    return extended.to(values["weight_ih_l0"].dtype).requires_grad_(False)


def with_disturbed_states(network: Network) -> Network:
    """Return a copy of a network for `state_gradients`; its encoder of documents is recurrent."""
    network = copy.deepcopy(network).requires_grad_(False)
    lstm = network.document_encoder.lstm
    assert lstm is not None
    network.document_encoder.lstm = _DisturbedBiLSTM(lstm)  # type: ignore[assignment]
    return network


def state_gradients(network: Network, batch: Batch, constant: torch.Tensor) -> torch.Tensor:
    """Return the length of the gradient of each state, (batch, time, 2): forwards and backwards.

    Of a hierarchical model time counts sentences. Values at padding have no meaning.

    Args:
        network: of `with_disturbed_states`, in evaluation mode.
        batch: documents.
        constant: added to the logits, (batch, classes)

    """
    lstm = network.document_encoder.lstm
    assert isinstance(lstm, _DisturbedBiLSTM)
    with torch.enable_grad():
        logits = network(batch) + constant
        loss = (logits * _loss_gradient(logits)).sum()
        direct, *passed = torch.autograd.grad(loss, [lstm.states, *lstm.disturbances])
    after = torch.zeros_like(passed[0])
    after[:, :-1] = passed[0][:, 1:]
    before = torch.zeros_like(passed[1])
    before[:, :-1] = passed[1][:, 1:]  # its time runs backwards
    forwards, backwards = direct.chunk(2, -1)
    backwards = backwards + reverse_within_length(before, lstm.lengths)
    return torch.stack([(forwards + after).norm(dim=-1), backwards.norm(dim=-1)], -1)


def _loss_gradient(logits: torch.Tensor) -> torch.Tensor:
    """Return dL/dlogits, scaled to length 1, (batch, classes); float64 within, for p near 1."""
    probabilities = torch.softmax(logits.detach().double(), -1)
    predicted = probabilities.argmax(1, keepdim=True)
    gradient = probabilities.scatter(1, predicted, 0.0)
    gradient.scatter_(1, predicted, -gradient.sum(1, keepdim=True))  # p - 1, exact for p near 1
    return nn.functional.normalize(gradient, eps=1e-300).to(logits.dtype)

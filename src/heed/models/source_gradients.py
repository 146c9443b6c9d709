"""The gradient that reaches each position of a source: how far learning can look back.

Of a pair of a source and a target of T predicted tokens, y(1) to y(T) with EOS as the last, and of
a vector v that the translation depends on, the gradient is that of the mean log probability:

    g(v) = d/dv (1/T) sum over t of log P(y(t) | y(1) ... y(t-1), source)

`whole` has the norm of g(e(i)), with e(i) the input of the encoder at position i.

Lecture 001 speaks of the way back to the first state h(1), through every state after it. e(1)
reaches the states of the forward direction through h(1) alone: by the chain rule its gradient there
is g(h(1)) times the matrix dh(1)/de(1), which knows nothing of what follows. In an encoder with one
direction `whole` is therefore what the lecture speaks of. The backward direction of the other kind
ends at the first word, so e(1) has a short way there, and `whole` hides the long one. So each
direction is given an input of its own, with the same values: `forward` has the norm of the gradient
of f(i), the input of the forward direction. With b(i), that of the backward direction, the gradient
of e(i) is the sum of both: g(e(i)) = g(f(i)) + g(b(i)).

Backpropagation through time is truncated to k steps by detaching the state of every recurrent
layer, of encoder and decoder, after every k tokens that it reads. The state from which the decoder
starts stays attached, and so do the states that attention reads. All values stay as they are.
"""

import dataclasses

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from heed.inputs.pairs import PairBatch
from heed.models.recurrent import run_layer
from heed.models.translator import Memory, State, Translator
from heed.models.translators import RecurrentTranslator


@dataclasses.dataclass(frozen=True)
class SourceGradients:
    """Norms of gradients, float64, (source time,) each.

    whole: of the encoder's input
    forward: of the input of its forward direction; None for a model without recurrence
    """

    whole: np.ndarray
    forward: np.ndarray | None


def source_gradients(
    model: Translator, pair: PairBatch, truncation: int | None = None
) -> SourceGradients:
    """Return the norms of the gradients at each position of a source.

    Args:
        model: in evaluation mode.
        pair: a batch of one pair.
        truncation: k, at least 1; None: the gradient goes through all steps.

    Raises:
        ValueError: the batch has more than one pair, or a model without recurrence is truncated.

    """
    if len(pair.rows) != 1:
        raise ValueError(f"the gradients of one pair, found {len(pair.rows)}")
    embedded = model.embed(pair.source).detach()
    inputs = embedded.clone().requires_grad_(), embedded.clone().requires_grad_()
    # cuDNN has no backward pass of a recurrent layer in evaluation mode
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        if isinstance(model, RecurrentTranslator):
            memory, state = _read(model, *inputs, truncation)
        elif truncation is None:
            memory, state = model.read(inputs[0], pair.source_lengths)
        else:
            raise ValueError("backpropagation through time is truncated in recurrent models alone")
        log_p = _mean_log_probability(model, pair, memory, state, truncation)
        # of an input that the model does not read: zeros
        forward, backward = torch.autograd.grad(log_p, inputs, materialize_grads=True)
    is_recurrent = isinstance(model, RecurrentTranslator)
    return SourceGradients(_norms(forward + backward), _norms(forward) if is_recurrent else None)


def _norms(gradients: torch.Tensor) -> np.ndarray:
    """Return the norm of each position of (1, time, size)."""
    return gradients[0].double().norm(dim=-1).cpu().numpy()


def _read(
    model: RecurrentTranslator,
    forward: torch.Tensor,
    backward: torch.Tensor,
    truncation: int | None,
) -> tuple[Memory, State]:
    """Return what `model.read` returns for one source, from an input for each direction.

    Args:
        model: a recurrent translator.
        forward, backward: (1, source time, embedding_dim); an encoder with one direction does not
            read `backward`.
        truncation: as in `source_gradients`.

    """
    first, *others = model.encoder.layers
    if isinstance(first, nn.RNNBase):
        states = _run(first, forward, truncation)
        last = [states[:, -1]]
    else:
        forwards, backwards = first.children()
        ahead = _run(forwards, forward, truncation)
        back = _run(backwards, backward.flip(1), truncation)
        states = torch.cat([ahead, back.flip(1)], -1)
        last = [torch.cat([ahead[:, -1], back[:, -1]], -1)]
    for layer in others:
        upper = _run(layer, states, truncation)
        last.append(upper[:, -1])
        states = upper + states if model.encoder.residual else upper
    return model.hand_on(states, last, torch.zeros_like(states[..., 0], dtype=torch.bool))


def _run(layer: nn.Module, inputs: torch.Tensor, truncation: int | None) -> torch.Tensor:
    """Return the states of a layer, whose state is detached after every `truncation` steps."""
    assert isinstance(layer, nn.RNNBase)
    state, parts = None, []
    for part in inputs.split(truncation or inputs.shape[1], 1):
        states, state = run_layer(layer, part, state)
        state = tuple(tensor.detach() for tensor in state)
        parts.append(states)
    return torch.cat(parts, 1)


def _mean_log_probability(
    model: Translator, pair: PairBatch, memory: Memory, state: State, truncation: int | None
) -> torch.Tensor:
    """Return the mean log probability of the target's tokens."""
    tokens, features = pair.target[:, :-1], []
    for part in tokens.split(truncation or tokens.shape[1], 1):
        decoded = model.decode(part, memory, state)
        state = tuple(tensor.detach() for tensor in decoded.state)
        features.append(decoded.features)
    return -F.cross_entropy(model.logits(torch.cat(features, 1))[0], pair.target[0, 1:])

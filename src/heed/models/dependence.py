"""How a translation depends on its source: by gradients, and by the weights of attention.

**Gradients** are of the mean log probability of the T predicted tokens, EOS included: g(v) = d/dv
(1/T) sum over t of log P(y(t) | y(1) ... y(t-1), source). A backward direction has a short way to
the first word, which would hide the long one through every state (lecture 001). So each direction
has a separate gradient: g(e(i)) = g(f(i)) + g(b(i)), f being e and added zeros. Truncation to k
steps detaches the state of every recurrent layer after every k tokens that it reads; the decoder's
first state and the states that attention reads stay attached.

**Weights**: steps of a decoder as functions of the weights at that step alone, given the reference.
All before is held: of recurrent decoders the word before and all states (in `input` the sum enters
the cell too); of a transformer what enters the last layer's attention over the source.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.files import HeedError
from heed.inputs.pairs import PairBatch
from heed.models.recurrent import run_layer
from heed.models.transformer import DecoderLayer
from heed.models.translator import Memory, State, Translator
from heed.models.translators import (
    AttentionDecoder,
    PlainDecoder,
    RecurrentTranslator,
    TransformerTranslator,
)


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
    """Return the norms of the gradients at each position of the source of a batch of one pair.

    The model is in evaluation mode. `truncation` is k, at least 1; None: through all steps. Raises
    ValueError: the batch has more than one pair, or a model without recurrence is truncated.
    """
    if len(pair.rows) != 1:
        raise ValueError(f"the gradients of one pair, found {len(pair.rows)}")
    embedded = model.embed(pair.source).detach().requires_grad_()
    added = torch.zeros_like(embedded, requires_grad=True)  # to what the forward direction reads
    # cuDNN has no backward pass of a recurrent layer in evaluation mode
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        if isinstance(model, RecurrentTranslator):
            forward = next(rnn for rnn in model.encoder.modules() if isinstance(rnn, nn.LSTM))

            def run(layer: nn.LSTM, inputs: Tensor) -> tuple[Tensor, State]:
                inputs = inputs + added if layer is forward else inputs
                return _run_truncated(layer, inputs, truncation)

            memory, state = model.read(embedded, pair.source_lengths, run)
        elif truncation is None:
            memory, state = model.read(embedded, pair.source_lengths)
        else:
            raise ValueError("backpropagation through time is truncated in recurrent models alone")
        log_p = _mean_log_probability(model, pair, memory, state, truncation)
        # of zeros that the model does not read: zeros
        gradients = torch.autograd.grad(log_p, (embedded, added), materialize_grads=True)
    whole, ahead = (gradient[0].double().norm(dim=-1).cpu().numpy() for gradient in gradients)
    return SourceGradients(whole, ahead if isinstance(model, RecurrentTranslator) else None)


def _run_truncated(layer: nn.LSTM, inputs: Tensor, truncation: int | None) -> tuple[Tensor, State]:
    """Return the states of a layer, and the last; it is detached between `truncation` steps."""
    first, *others = inputs.split(truncation or inputs.shape[1], 1)
    states, state = run_layer(layer, first)
    parts = [states]
    for part in others:
        states, state = run_layer(layer, part, tuple(tensor.detach() for tensor in state))
        parts.append(states)
    return torch.cat(parts, 1), state


def _mean_log_probability(
    model: Translator, pair: PairBatch, memory: Memory, state: State, truncation: int | None
) -> Tensor:
    tokens, features = pair.target[:, :-1], []
    for part in tokens.split(truncation or tokens.shape[1], 1):
        decoded = model.decode(part, memory, state)
        state = tuple(tensor.detach() for tensor in decoded.state)
        features.append(decoded.features)
    return -F.cross_entropy(model.logits(torch.cat(features, 1))[0], pair.target[0, 1:])


@dataclasses.dataclass(frozen=True)
class TargetSteps:
    """Some steps of a decoder, or (by indexing) one of them.

    weights: the model's own, (steps, source time, heads); a head's sum to 1, 0 at padding
    values: what they weigh, (steps, source time, heads, d)
    lengths: of the sources, (steps,)
    held: what else the steps read, each (steps, …)
    finish: the logits (n, vocabulary) of sums (n, heads, d) and of what is held, (n, …) each
    """

    weights: Tensor
    values: Tensor
    lengths: Tensor
    held: tuple[Tensor, ...]
    finish: Callable[..., Tensor]

    def __getitem__(self, step: int) -> "TargetSteps":
        """Return one step without padding: weights (length, heads), values (length, heads, d)."""
        length = int(self.lengths[step])
        return TargetSteps(
            self.weights[step, :length], self.values[step, :length], self.lengths[step],
            tuple(kept[step] for kept in self.held), self.finish,
        )  # fmt: skip

    def predict(self, weights: Tensor | None = None) -> Tensor:
        """Return the logits of the next word under `weights`, by default the model's own.

        Weights are (…, steps, source time, heads), logits (…, steps, vocabulary).
        """
        weights = self.weights if weights is None else weights
        sums = torch.einsum("...th,...thd->...hd", weights, self.values)
        shape = sums.shape[:-2]
        # what is held is the same for all weights of a step
        held = (
            kept.expand(*shape, kept.shape[-1]).reshape(-1, kept.shape[-1]) for kept in self.held
        )
        logits: Tensor = self.finish(sums.reshape(-1, *sums.shape[-2:]), *held)
        return logits.view(*shape, -1)


def target_steps(
    model: Translator, batch: PairBatch, pairs: Tensor, positions: Tensor
) -> TargetSteps:
    """Return the steps that predict some target units, without gradients.

    `pairs` has the index in the batch of each unit's pair, and `positions` its place in the target,
    from 0, (steps,). Raises HeedError for a model without attention, and ValueError for one in
    training mode, where dropout would change what is held.
    """
    require_attention(model)
    if model.training:
        raise ValueError("the steps of a decoder need a model in evaluation mode: model.eval()")
    with torch.no_grad():
        if isinstance(model, TransformerTranslator):
            weights, values, held = _transformer_steps(model, batch)
            finish = functools.partial(_finish_transformer, model)
        else:
            weights, values, held = _recurrent_steps(model, batch)
            finish = functools.partial(_finish_recurrent, model)
    at = pairs, positions
    return TargetSteps(
        weights[at], values[pairs], batch.source_lengths[pairs], tuple(kept[at] for kept in held),
        finish,
    )  # fmt: skip


def require_attention(model: Translator) -> None:
    """Raise HeedError for a model that has no learned weights over the source."""
    decoder = model.decoder
    if isinstance(decoder, PlainDecoder):
        raise HeedError(
            "the decoders last-state and concatenate have no attention over the source, and so no "
            "weights"
        )
    if isinstance(decoder, AttentionDecoder) and not decoder.attention.is_learned:
        raise HeedError(
            "the weights are fixed, and none is learned (score: uniform or diagonal, or a decoder "
            "without attention whose one vector is given in each step)"
        )


# weights (batch, target time, source time, heads); values (batch, source time, heads, d); what is
# held, (batch, target time, size) each
_Parts = tuple[Tensor, Tensor, tuple[Tensor, ...]]


def _recurrent_steps(model: Translator, batch: PairBatch) -> _Parts:
    """Return the parts of every step: the word before, and the states before it, are held."""
    memory, state = model.encode(batch.source, batch.source_lengths)
    weights, states = [], []
    words = batch.target[:, :-1]
    for word in words.split(1, 1):
        states.append(state)
        decoded = model.decode(word, memory, state)
        assert decoded.weights is not None
        weights.append(decoded.weights)
        state = decoded.state
    before = (torch.stack(tensors, 1) for tensors in zip(*states, strict=True))
    return torch.cat(weights, 1)[..., None], memory.states[:, :, None], (words[..., None], *before)


def _finish_recurrent(model: Translator, sums: Tensor, word: Tensor, *state: Tensor) -> Tensor:
    """Return the logits of a step with the sums (n, 1, d), as if the source had this one state."""
    padding = torch.zeros(sums.shape[:2], dtype=torch.bool)
    decoded = model.decode(word, Memory(sums, padding), state, torch.ones_like(sums[..., :1]))
    return model.logits(decoded.features[:, 0])


def _transformer_steps(model: TransformerTranslator, batch: PairBatch) -> _Parts:
    """Return the parts of every step; a hook takes the input of the last layer's attention."""
    memory, state = model.encode(batch.source, batch.source_lengths)
    norm = _last_layer(model).cross_attention_norm
    inputs: list[Tensor] = []
    hook = norm.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    with hook:
        _, weights = read_target(model, batch.target[:, :-1], memory, state)
    assert weights is not None
    heads = weights.shape[-1]
    return weights, memory.keys[-1].unflatten(-1, (heads, -1)), (inputs[0],)


def _finish_transformer(model: TransformerTranslator, sums: Tensor, states: Tensor) -> Tensor:
    """Return the logits of a step whose attention over the source has given `sums`, (n, H, d)."""
    layer = _last_layer(model)
    states = states + layer.cross_attention.output(sums.flatten(1))
    states = states + layer.feed_forward(layer.feed_forward_norm(states))
    return model.logits(model.decoder.norm(states))


def _last_layer(model: TransformerTranslator) -> DecoderLayer:
    layer = model.decoder.layers[-1]
    assert isinstance(layer, DecoderLayer)
    return layer


def read_target(
    model: Translator, words: Tensor, memory: Memory, state: State, weights: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Return the features of target words, and the weights over the source for each head.

    Given weights are used in place of the model's own, (batch, target time, source time, heads),
    which a decoder without attention has not: None.
    """
    if not isinstance(model, TransformerTranslator):
        decoded = model.decode(words, memory, state, None if weights is None else weights[..., 0])
        return decoded.features, None if decoded.weights is None else decoded.weights[..., None]
    given = None if weights is None else weights.permute(0, 3, 1, 2)
    features, _, used = model.decoder(
        model.target_embedding(words) * model.scale, state, memory.keys, memory.padding, given, True
    )
    return features, used.permute(0, 2, 3, 1)

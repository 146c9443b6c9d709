"""The steps of a decoder at some target positions, as functions of the weights at that step alone.

The reference is given to the decoder, so the words before a position are known, and the step that
predicts the next one is a function of the attention over the source at this position: of weights a,
each head sums to 1, and of what is held, everything that the model computed before them.

- recurrent decoders: the word before and the states of all layers before the step are held. In
  `output` the sum h* = sum_i a_i h(i) enters the features [s(t); h*] alone. In `input` and
  `input-literal` the sum enters the recurrent cell, and so the layers above it, and the features;
  the states before the step were made by the model's own weights, and what later steps would make
  of the new state is not followed.
- transformer: the attention over the source of the decoder's last layer, the one whose weights are
  the model's links, with weights of its own for each head. What enters that sub-layer is held: the
  layers below with all their attention, and this layer's self-attention. What follows is computed
  anew: the output projection, the feed-forward network and the norm. No later position reads it.
"""

import dataclasses
import functools
from collections.abc import Callable

import torch

from heed.files import HeedError
from heed.inputs.pairs import PairBatch
from heed.models.decoder import PlainDecoder, SourceAttention
from heed.models.transformer_layers import DecoderLayer
from heed.models.translator import Memory, State, Translator
from heed.models.translators import RecurrentTranslator, TransformerTranslator


@dataclasses.dataclass(frozen=True)
class TargetSteps:
    """Some steps of a decoder, or (by indexing) one of them.

    weights: the model's own, (steps, source time, heads); those of a head sum to 1, 0 at padding
    values: what they weigh, (steps, source time, heads, d)
    lengths: of the sources, (steps,)
    held: what else the steps read, each (steps, …)
    finish: the logits (n, vocabulary) of sums (n, heads, d) and of what is held, (n, …) each
    """

    weights: torch.Tensor
    values: torch.Tensor
    lengths: torch.Tensor
    held: tuple[torch.Tensor, ...]
    finish: Callable[..., torch.Tensor]

    def __getitem__(self, step: int) -> "TargetSteps":
        """Return one step without padding: weights (length, heads), values (length, heads, d)."""
        length = int(self.lengths[step])
        return TargetSteps(
            self.weights[step, :length],
            self.values[step, :length],
            self.lengths[step],
            tuple(each[step] for each in self.held),
            self.finish,
        )

    def predict(self, weights: torch.Tensor | None = None) -> torch.Tensor:
        """Return the logits of the next word under `weights`, by default the model's own.

        Args:
            weights: (…, steps, source time, heads)

        Returns:
            logits: (…, steps, vocabulary)

        """
        weights = self.weights if weights is None else weights
        sums = torch.einsum("...th,...thd->...hd", weights, self.values)
        shape = sums.shape[:-2]
        # what is held is the same for all weights of a step
        held = (
            each.expand(*shape, each.shape[-1]).reshape(-1, each.shape[-1]) for each in self.held
        )
        logits: torch.Tensor = self.finish(sums.reshape(-1, *sums.shape[-2:]), *held)
        return logits.view(*shape, -1)


def target_steps(
    model: Translator, batch: PairBatch, pairs: torch.Tensor, positions: torch.Tensor
) -> TargetSteps:
    """Return the steps that predict some target units, without gradients.

    Args:
        model: with attention, in evaluation mode.
        batch: pairs.
        pairs: the pair of each unit, its index in the batch, (steps,)
        positions: of each unit in its target, from 0, (steps,)

    Raises:
        HeedError: the model has no attention.
        ValueError: the model is in training mode, where dropout would change what is held.

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
        weights[at], values[pairs], batch.source_lengths[pairs], tuple(each[at] for each in held),
        finish,
    )  # fmt: skip


def require_attention(model: Translator) -> None:
    """Raise HeedError for a model that has no learned weights over the source."""
    if not isinstance(model, RecurrentTranslator):
        return
    if isinstance(model.decoder, PlainDecoder):
        raise HeedError(
            "the decoders last-state and concatenate have no attention over the source, and so no "
            "weights"
        )
    attention = model.decoder.attention
    if isinstance(attention, SourceAttention) and not attention.is_learned:
        raise HeedError("with score: uniform the weights are equal, and none is learned")


# weights (batch, target time, source time, heads); values (batch, source time, heads, d); what is
# held, (batch, target time, size) each
_Parts = tuple[torch.Tensor, torch.Tensor, tuple[torch.Tensor, ...]]


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
    before = (torch.stack(each, 1) for each in zip(*states, strict=True))
    return torch.cat(weights, 1)[..., None], memory.states[:, :, None], (words[..., None], *before)


def _finish_recurrent(
    model: Translator, sums: torch.Tensor, word: torch.Tensor, *state: torch.Tensor
) -> torch.Tensor:
    """Return the logits of a step whose attention has given `sums`, (n, 1, d).

    They are those of a source with one state, the sum, which has all the weight.
    """
    padding = torch.zeros(sums.shape[:2], dtype=torch.bool)
    decoded = model.decode(word, Memory(sums, padding), state, torch.ones_like(sums[..., :1]))
    return model.logits(decoded.features[:, 0])


def _transformer_steps(model: TransformerTranslator, batch: PairBatch) -> _Parts:
    """Return the parts of every step: the input of the last layer's attention over the source.

    That input is taken by a hook, so that the layers of training need not be cut in two.
    """
    memory, state = model.encode(batch.source, batch.source_lengths)
    norm = _last_layer(model).cross_attention_norm
    inputs: list[torch.Tensor] = []
    hook = norm.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    with hook:
        _, weights = read_target(model, batch.target[:, :-1], memory, state)
    assert weights is not None
    heads = weights.shape[-1]
    return weights, memory.keys[-1].unflatten(-1, (heads, -1)), (inputs[0],)


def _finish_transformer(
    model: TransformerTranslator, sums: torch.Tensor, states: torch.Tensor
) -> torch.Tensor:
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
    model: Translator,
    words: torch.Tensor,
    memory: Memory,
    state: State,
    weights: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Return what `model.decode` returns, with weights for each head: features and weights.

    Args:
        model: any translator.
        words, memory, state: as of `Translator.decode`
        weights: (batch, target time, source time, heads), used in place of the model's own

    Returns:
        features: (batch, target time, size)
        weights: as given, or the model's own; None for a decoder without attention

    """
    if not isinstance(model, TransformerTranslator):
        decoded = model.decode(words, memory, state, None if weights is None else weights[..., 0])
        return decoded.features, None if decoded.weights is None else decoded.weights[..., None]
    given = None if weights is None else weights.permute(0, 3, 1, 2)
    features, _, used = model.decoder(
        model.target_embedding(words) * model.scale, state, memory.keys, memory.padding, given, True
    )
    return features, used.permute(0, 2, 3, 1)

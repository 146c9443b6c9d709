"""Recurrent decoders: how a translation is written from the states of the source.

s(t) is the decoder's state after reading u(t), the embedding of the word before; H are the
encoder's states. Sources: lecture 001 (`last-state`, `output`), lecture 004 (`concatenate`,
`input`, `input-literal`).
"""

import abc

import torch
import torch.nn.functional as F
from torch import nn

from heed.files import HeedError
from heed.models.attention import masked_softmax
from heed.models.recurrent import RecurrentStack, step_layer
from heed.models.scores import SCORES, Location, Uniform
from heed.models.translator import Decoded, Memory, State


class SourceAttention(nn.Module):
    """ATT(q, H): the sum of the source's states, each times its weight softmax(score(q, h)).

    The score `location` has parameters for so many positions: those after them have weight 0.
    """

    def __init__(self, score: str, size: int, positions: int) -> None:
        """Build the score, for queries and states of `size`."""
        super().__init__()
        self.score = SCORES[score](size, size, positions)
        self.positions = positions if isinstance(self.score, Location) else None
        self.is_learned = not isinstance(self.score, Uniform)

    def keys(self, states: torch.Tensor) -> State:
        """Return what is made once a sentence, for `Memory.keys`; () if that is `states`."""
        projected = self.score.project_keys(states)
        return () if projected is states else (projected,)

    def weights(self, query: torch.Tensor, memory: Memory) -> torch.Tensor:
        """Return the weights (batch, queries, source time) of queries (batch, queries, size)."""
        keys = memory.keys[0] if memory.keys else memory.states
        time = keys.shape[1]
        used = time if self.positions is None else min(time, self.positions)
        scores = self.score.compare(query, keys[:, :used])
        return F.pad(masked_softmax(scores, memory.padding[:, :used]), (0, time - used))

    def forward(
        self, query: torch.Tensor, memory: Memory, weights: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Return the sums (batch, queries, size) and the weights used: its own, or as given.

        Equal weights are not returned, since they say nothing: None.
        """
        own = self.weights(query, memory) if weights is None else weights
        return own @ memory.states, own if self.is_learned else weights


class RecurrentDecoder(nn.Module, abc.ABC):
    """Reads target words, and returns what the next one is chosen by.

    feature_size: of the features, [s; h*] or s
    """

    feature_size: int

    def __init__(self, stack: RecurrentStack) -> None:
        super().__init__()
        self.stack = stack

    def keys(self, states: torch.Tensor) -> State:
        """Return what the decoder derives from the source's states alone, for `Memory.keys`."""
        return ()

    @abc.abstractmethod
    def forward(
        self,
        inputs: torch.Tensor,
        memory: Memory,
        state: State,
        weights: torch.Tensor | None = None,
    ) -> Decoded:
        """Return features (batch, time, feature_size), weights and state; see `Translator.decode`.

        Args:
            inputs: u, the embeddings of the words before, (batch, time, embedding_dim)
            memory, state, weights: as of `Translator.decode`

        """


class PlainDecoder(RecurrentDecoder):
    """Without attention: all it knows of the source is its first state (lecture 001's recap)."""

    def __init__(self, stack: RecurrentStack, size: int) -> None:
        super().__init__(stack)
        self.feature_size = size

    def forward(
        self,
        inputs: torch.Tensor,
        memory: Memory,
        state: State,
        weights: torch.Tensor | None = None,
    ) -> Decoded:
        """Return s(t) as features, and no weights.

        Raises HeedError if weights are given.
        """
        if weights is not None:
            raise HeedError(
                "weights of an attention are given to a decoder that has none (decoder: last-state "
                "or concatenate)"
            )
        states, state = self.stack(inputs, state)
        return Decoded(states, None, state)


class OutputAttentionDecoder(RecurrentDecoder):
    """h*(t) = ATT(s(t), H) with s(t) = RNN(s(t-1), u(t)), and features [s; h*] (lecture 001).

    The recurrence does not see the context: all words of a translation are one call of the stack
    and one of the attention. The query is the state of the last layer.
    """

    def __init__(self, stack: RecurrentStack, size: int, score: str, positions: int) -> None:
        super().__init__(stack)
        self.attention = SourceAttention(score, size, positions)
        self.feature_size = 2 * size

    def keys(self, states: torch.Tensor) -> State:
        """Return the keys of the attention."""
        return self.attention.keys(states)

    def forward(
        self,
        inputs: torch.Tensor,
        memory: Memory,
        state: State,
        weights: torch.Tensor | None = None,
    ) -> Decoded:
        """Return features [s; h*], weights and state."""
        states, state = self.stack(inputs, state)
        context, weights = self.attention(states, memory, weights)
        return Decoded(torch.cat([states, context], -1), weights, state)


class InputAttentionDecoder(RecurrentDecoder):
    """s(t) = RNN(s(t-1), x(t)) with A(t) = ATT(s(t-1), H) and features [s; A] (lecture 004).

    x(t) = [u(t); A(t)], as it is built in practice (Bahdanau et al. 2015, appendix A.2). With
    `literal` x(t) = [s(t-1); A(t)], as the lecture writes it: the previous word is never read.

    Queries are the states of the first layer, and that layer alone reads the contexts, so it goes
    word by word; the layers above it do not. GNMT takes its queries from there too, but all its
    layers read the contexts.
    """

    def __init__(
        self, stack: RecurrentStack, size: int, score: str, positions: int, literal: bool
    ) -> None:
        super().__init__(stack)
        self.attention = SourceAttention(score, size, positions)
        self.literal = literal
        self.feature_size = 2 * size

    def keys(self, states: torch.Tensor) -> State:
        """Return the keys of the attention."""
        return self.attention.keys(states)

    def forward(
        self,
        inputs: torch.Tensor,
        memory: Memory,
        state: State,
        weights: torch.Tensor | None = None,
    ) -> Decoded:
        """Return features [s; A], weights and state; with `literal` nothing of `inputs` is read."""
        layer = self.stack.layers[0]
        assert isinstance(layer, nn.RNNBase)
        first = self.stack.state_of(state, 0)
        states, contexts, all_weights = [], [], list[torch.Tensor]()
        for t in range(inputs.shape[1]):
            given = None if weights is None else weights[:, t : t + 1]
            context, used = self.attention(first[0][:, None], memory, given)
            previous = first[0] if self.literal else inputs[:, t]
            first = step_layer(layer, torch.cat([previous, context[:, 0]], -1), first)
            states.append(first[0])
            contexts.append(context)
            all_weights += [] if used is None else [used]
        upper, upper_state = self.stack(torch.stack(states, 1), state, first_layer=1)
        features = torch.cat([upper, torch.cat(contexts, 1)], -1)
        used_weights = torch.cat(all_weights, 1) if all_weights else None
        return Decoded(features, used_weights, first + upper_state)

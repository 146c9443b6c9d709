"""Translators: two recurrent networks, with attention or without (lectures 001 and 004), and the
transformer (Vaswani et al. 2017, arxiv.org/abs/1706.03762).

s(t) is a recurrent decoder's state after reading u(t), the embedding of the word before; H are the
encoder's states. Sources: lecture 001 (`last-state`, `output`), lecture 004 (`concatenate`,
`input`, `input-literal`).
"""

import abc
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.files import HeedError
from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import PairBatch
from heed.inputs.vocabulary import PADDING
from heed.models.attention import masked_softmax
from heed.models.recurrent import RecurrentEncoder, RecurrentStack, Run, padding_mask, step_layer
from heed.models.scores import SCORES, Diagonal, Location, Uniform
from heed.models.transformer import TransformerDecoder, TransformerEncoder
from heed.models.translator import Decoded, Memory, State, Translator


class SourceAttention(nn.Module):
    """ATT(q, H): the sum of the source's states, each times its weight softmax(score(q, h)).

    The score `location` has parameters for `positions` positions: later ones have weight 0.
    """

    def __init__(self, score: str, size: int, positions: int) -> None:
        super().__init__()
        self.score = (SCORES | {"diagonal": Diagonal})[score](size, size, positions)
        self.positions = positions if isinstance(self.score, Location) else None
        self.is_learned = not isinstance(self.score, (Uniform, Diagonal))

    def keys(self, states: Tensor) -> State:
        """Return the keys for `Memory.keys`, made once a sentence; () if they are `states`."""
        projected = self.score.project_keys(states)
        return () if projected is states else (projected,)

    def weights(self, query: Tensor, memory: Memory) -> Tensor:
        """Return the weights (batch, queries, source time) of queries (batch, queries, size)."""
        keys = memory.keys[0] if memory.keys else memory.states
        time = keys.shape[1]
        used = time if self.positions is None else min(time, self.positions)
        scores = self.score.compare(query, keys[:, :used])
        return F.pad(masked_softmax(scores, memory.padding[:, :used]), (0, time - used))

    def forward(
        self, query: Tensor, memory: Memory, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the sums (batch, queries, size) and the weights used; None: its own fixed ones."""
        places = memory.places
        if places is not None:  # a sentence's queries, one of each row: nothing is copied for them
            query = places.spread(query[:, 0])
        own = self.weights(query, memory) if weights is None else weights
        context = own @ memory.states
        if places is not None:
            own, context = (places.gather(tensor)[:, None] for tensor in (own, context))
        return context, own if self.is_learned else weights


class RecurrentDecoder(nn.Module, abc.ABC):
    """Reads target words, and returns what the next one is chosen by: [s; h*] or s."""

    feature_size: int

    def __init__(self, stack: RecurrentStack) -> None:
        super().__init__()
        self.stack = stack

    def keys(self, states: Tensor) -> State:
        """Return the tensors derived from the source's states alone, for `Memory.keys`."""
        return ()

    def first_state(self, last: list[State]) -> State:
        """Return the state before the first word, from the encoder's last states."""
        return self.stack.first_state(last)

    @abc.abstractmethod
    def forward(
        self, inputs: Tensor, memory: Memory, state: State, weights: Tensor | None = None
    ) -> Decoded:
        """Return features (batch, time, feature_size), weights, state; as `Translator.decode`."""


class PlainDecoder(RecurrentDecoder):
    """Without attention: all it knows of the source is its first state (lecture 001's recap)."""

    def __init__(self, stack: RecurrentStack, size: int) -> None:
        super().__init__(stack)
        self.feature_size = size

    def forward(
        self, inputs: Tensor, memory: Memory, state: State, weights: Tensor | None = None
    ) -> Decoded:
        """Return s(t) as features, and no weights. Raises HeedError if weights are given."""
        if weights is not None:
            raise HeedError(
                "weights of an attention are given to a decoder that has none (decoder: last-state "
                "or concatenate)"
            )
        states, state = self.stack(inputs, state)
        return Decoded(states, None, state)


class AttentionDecoder(RecurrentDecoder, abc.ABC):
    """A decoder with attention over the source: its features are the state and the context."""

    def __init__(self, stack: RecurrentStack, size: int, score: str, positions: int) -> None:
        super().__init__(stack)
        self.attention = SourceAttention(score, size, positions)
        self.feature_size = 2 * size

    def keys(self, states: Tensor) -> State:
        """Return the keys of the attention."""
        return self.attention.keys(states)


class OutputAttentionDecoder(AttentionDecoder):
    """h*(t) = ATT(s(t), H) with s(t) = RNN(s(t-1), u(t)), and features [s; h*] (lecture 001).

    The recurrence does not see the context. The query is the state of the last layer; of the score
    `diagonal` the position of the word, which the decoder's state then counts.
    """

    def first_state(self, last: list[State]) -> State:
        """Return the state before the first word, with `diagonal` its position too, (batch,)."""
        h, counted = last[0][0], isinstance(self.attention.score, Diagonal)
        position = (h.new_zeros(len(h), dtype=torch.float32),) if counted else ()
        return (*super().first_state(last), *position)

    def forward(
        self, inputs: Tensor, memory: Memory, state: State, weights: Tensor | None = None
    ) -> Decoded:
        """Return features [s; h*], weights and state."""
        states, after = self.stack(inputs, state)
        query = states
        if isinstance(self.attention.score, Diagonal):
            count = states.shape[1]
            query = (state[-1][:, None] + torch.arange(count, device=states.device))[..., None]
            after = (*after, state[-1] + count)
        context, weights = self.attention(query, memory, weights)
        return Decoded(torch.cat([states, context], -1), weights, after)


class InputAttentionDecoder(AttentionDecoder):
    """s(t) = RNN(s(t-1), x(t)) with A(t) = ATT(s(t-1), H) and features [s; A] (lecture 004).

    x(t) = [u(t); A(t)], as it is built in practice (Bahdanau et al. 2015, appendix A.2). With
    `literal` x(t) = [s(t-1); A(t)], as the lecture writes it: the previous word is never read.
    Queries are the states of the first layer, and that layer alone reads the contexts, so it goes
    word by word (in GNMT all layers read them).
    """

    def __init__(
        self, stack: RecurrentStack, size: int, score: str, positions: int, literal: bool
    ) -> None:
        super().__init__(stack, size, score, positions)
        self.literal = literal

    def forward(
        self, inputs: Tensor, memory: Memory, state: State, weights: Tensor | None = None
    ) -> Decoded:
        """Return features [s; A], weights and state; with `literal` nothing of `inputs` is read."""
        layer = self.stack.layers[0]
        assert isinstance(layer, nn.LSTM)
        first = self.stack.state_of(state, 0)
        states, contexts, all_weights = [], [], list[Tensor]()
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


class ConcatenatedStates(nn.Module):
    """tanh(W [h(1); ...; h(n)] + b): all states of the source as one (lecture 004's naive cure).

    n is `max_states`: 0 where a source has none, and what it has beyond that is cut.
    """

    def __init__(self, max_states: int, size: int) -> None:
        super().__init__()
        self.max_states = max_states
        self.linear = nn.Linear(max_states * size, size)

    def forward(self, states: Tensor, padding: Tensor) -> Tensor:
        """Return one state for each source, (batch, size), of states (batch, source time, size)."""
        kept = states.masked_fill(padding[..., None], 0.0)[:, : self.max_states]
        fixed = F.pad(kept, (0, 0, 0, self.max_states - kept.shape[1]))
        return torch.tanh(self.linear(fixed.flatten(1)))


class RecurrentTranslator(Translator):
    """Embeddings, a recurrent encoder, a recurrent decoder, and an output layer.

    The output layer reads the decoder's features, or, with `tied_readout`, tanh(W features + b) of
    the embedding's size, and is then the target embedding itself, of standard deviation
    embedding_dim^-0.5: the first logits are of order 1.
    """

    reads_places = True

    def __init__(
        self, source_vocabulary: int, target_vocabulary: int, h: TranslatorArchitecture
    ) -> None:
        super().__init__()
        size, e = h.hidden_size, h.embedding_dim
        self.reads_words = h.decoder != "input-literal"
        self.source_embedding = nn.Embedding(source_vocabulary, e, padding_idx=PADDING)
        self.target_embedding = None
        if self.reads_words or h.tied_readout:
            self.target_embedding = nn.Embedding(target_vocabulary, e, padding_idx=PADDING)
        self.embedding_dropout = nn.Dropout(h.dropout)
        self.encoder = RecurrentEncoder(
            e, size, h.encoder_layers, h.encoder == "bidirectional", h.residual, h.dropout
        )  # fmt: skip
        self.concatenated = None
        self.repeats = h.repeats_context
        if h.decoder == "concatenate":
            self.concatenated = ConcatenatedStates(h.max_source_tokens, size)
        self.decoder = make_decoder(h)
        self.readout: nn.Module = nn.Identity()
        if h.tied_readout:
            self.readout = nn.Sequential(nn.Linear(self.decoder.feature_size, e), nn.Tanh())
        read = e if h.tied_readout else self.decoder.feature_size
        self.output = nn.Linear(read, target_vocabulary)
        self.output_dropout = nn.Dropout(h.dropout)
        if h.tied_readout:
            assert self.target_embedding is not None
            nn.init.normal_(self.target_embedding.weight, std=e**-0.5)
            self.output.weight = self.target_embedding.weight

    def embed(self, source: Tensor) -> Tensor:
        """Return the embeddings of the source (batch, source time, embedding_dim)."""
        return self.embedding_dropout(self.source_embedding(source))

    def read(
        self, embedded: Tensor, lengths: Tensor, run: Run | None = None
    ) -> tuple[Memory, State]:
        """Return the memory of the source, and the decoder's first state; `run` of the encoder."""
        states, last = self.encoder(embedded, lengths, run)
        padding = padding_mask(lengths, embedded.shape[1])
        if self.concatenated is not None:  # one vector, and no cell: its starts as its state
            last = [(self.concatenated(states, padding),) * 2]
        if self.repeats:  # all that the output layer reads is the one state that is handed on
            states, padding = last[-1][0][:, None], padding.new_zeros(len(padding), 1)
        memory = Memory(states, padding, self.decoder.keys(states))
        return memory, self.decoder.first_state(last)

    def decode(
        self, tokens: Tensor, memory: Memory, state: State, weights: Tensor | None = None
    ) -> Decoded:
        """Return features, weights and state. HeedError for weights of no attention."""
        if self.reads_words:
            assert self.target_embedding is not None
            inputs = self.embedding_dropout(self.target_embedding(tokens))
        else:
            inputs = memory.states.new_empty(*tokens.shape, 0)
        decoded = self.decoder(inputs, memory, state, weights)
        return Decoded(self.readout(decoded.features), decoded.weights, decoded.state)


def make_decoder(h: TranslatorArchitecture) -> RecurrentDecoder:
    """Return the decoder of these hyperparameters."""
    size = h.hidden_size
    input_size = {"input": h.embedding_dim + size, "input-literal": 2 * size}
    stack = RecurrentStack(
        input_size.get(h.decoder, h.embedding_dim), size, h.decoder_layers, h.residual, h.dropout
    )
    if h.decoder == "output" or h.repeats_context:
        score = "uniform" if h.repeats_context else h.score  # of one state: all weight on it
        return OutputAttentionDecoder(stack, size, score, h.max_source_tokens)
    if h.decoder in ("input", "input-literal"):
        literal = h.decoder == "input-literal"
        return InputAttentionDecoder(stack, size, h.score, h.max_source_tokens, literal)
    return PlainDecoder(stack, size)


class TransformerTranslator(Translator):
    """Encoder and decoder without recurrence; every state has the embeddings' size.

    Embeddings are multiplied by the square root of their size (section 3.4). Dropout is also before
    the output layer, where the paper has none. `Memory.keys` and the decoder's `State` are the
    projected keys and values of each layer: of the source, and of the target tokens so far. Weights
    are the last layer's over the source, the mean over its heads, where `decode` is asked for them.
    """

    def __init__(
        self, source_vocabulary: int, target_vocabulary: int, h: TranslatorArchitecture
    ) -> None:
        super().__init__()
        size, layer = h.embedding_dim, (h.heads, h.feed_forward_size, h.dropout)
        self.source_embedding = nn.Embedding(source_vocabulary, size)
        self.target_embedding = nn.Embedding(target_vocabulary, size)
        self.encoder = TransformerEncoder(size, h.encoder_layers, *layer)
        self.decoder = TransformerDecoder(size, h.decoder_layers, *layer)
        self.output = nn.Linear(size, target_vocabulary)
        self.output_dropout = nn.Dropout(h.dropout)
        self.scale = math.sqrt(size)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=1 / self.scale)
        if h.tied_readout:
            self.output.weight = self.target_embedding.weight

    def embed(self, source: Tensor) -> Tensor:
        """Return the embeddings times the square root of their size, without positions."""
        return self.source_embedding(source) * self.scale

    def read(self, embedded: Tensor, lengths: Tensor) -> tuple[Memory, State]:
        """Return the memory of the source, and the state of no word, with tensors of time 0."""
        padding = padding_mask(lengths, embedded.shape[1])
        states = self.encoder(embedded, padding)
        keys = self.decoder.project(states)
        return Memory(states, padding, keys), tuple(tensor[:, :0] for tensor in keys)

    def decode(
        self, tokens: Tensor, memory: Memory, state: State, weights: Tensor | None = None,
        with_weights: bool = False,
    ) -> Decoded:  # fmt: skip
        """Return features, state, and weights where given, to all heads, or asked for."""
        inputs = self.target_embedding(tokens) * self.scale
        given = None if weights is None else weights[:, None]
        features, state, used = self.decoder(
            inputs, state, memory.keys, memory.padding, given, with_weights
        )
        return Decoded(features, None if used is None else used.mean(1), state)

    def weights(self, batch: PairBatch) -> Tensor:
        """Return the attention of each predicted token, (batch, target time - 1, source time)."""
        memory, state = self.encode(batch.source, batch.source_lengths)
        weights = self.decode(batch.target[:, :-1], memory, state, with_weights=True).weights
        assert weights is not None
        return weights


def make_translator(
    source_vocabulary: int, target_vocabulary: int, h: TranslatorArchitecture
) -> Translator:
    """Return an untrained translator, of hyperparameters without a contradiction."""
    if h.decoder == "transformer":
        return TransformerTranslator(source_vocabulary, target_vocabulary, h)
    return RecurrentTranslator(source_vocabulary, target_vocabulary, h)

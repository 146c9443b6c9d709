"""Encoders: from a sequence of vectors to one vector, by recurrence or a transformer,
self-attention and pooling.
"""

import abc
import dataclasses
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from heed.files import HeedError
from heed.hyperparameters.classifier import Architecture, encoder_size
from heed.models.attention import Attention, MultiHeadAttention, SingleHeadAttention, sum_type
from heed.models.recurrent import Bidirectional, padding_mask
from heed.models.transformer import TransformerEncoder


class Pooling(nn.Module, abc.ABC):
    """From the states of a text to one vector, and the weight of each position in it.

    States are (batch, time, size), lengths (batch,), padding (batch, time), True at padding.
    Vectors (batch, size) are 0 for an empty text, weights (batch, time) 0 at padding; rows sum to
    1. The vector is sum_t a_t h_t with the weights a, but for poolings with a `no_sum_reason`.
    """

    no_sum_reason = ""  # for a pooling that is not a weighted sum of the states: why

    @abc.abstractmethod
    def weights(self, states: Tensor, lengths: Tensor, padding: Tensor) -> Tensor:
        """Return the weight of each position (batch, time)."""

    def forward(self, states: Tensor, lengths: Tensor, padding: Tensor) -> Tensor:
        """Return the pooled vectors (batch, size)."""
        return self.pool(states, lengths, padding)[0]

    def pool(
        self, states: Tensor, lengths: Tensor, padding: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the pooled vectors (batch, size) and the weights used (batch, time).

        Raises HeedError if weights are given to a pooling that is not a weighted sum of the states.
        """
        if weights is None:
            weights = self.weights(states, lengths, padding)
        else:
            self.check_weighted_sum()
        if self.no_sum_reason:
            return self(states, lengths, padding), weights
        return (weights[:, None] @ states).squeeze(1), weights

    def check_weighted_sum(self) -> None:
        """Raise HeedError if the vector is not a weighted sum of the states."""
        if self.no_sum_reason:
            raise HeedError(
                f"{self.no_sum_reason}. Poolings that are a weighted sum: mean, attention"
            )


class Mean(Pooling):
    """The mean over the tokens: attention with uniform weights. Weights: equal."""

    def weights(self, states: Tensor, lengths: Tensor, padding: Tensor) -> Tensor:
        """Return the weights."""
        return (~padding).to(sum_type(states)) / lengths.clamp(min=1)[:, None]


class Last(Pooling):
    """The last state of each direction, and the mean of what `skip` appends to the states.

    The first `hidden_size` features are the forward direction's, which ends at the last token, as
    many after them the backward one's, which ends at the first. Weights: the share of features.
    """

    no_sum_reason = (
        "pooling `last` takes the features of one direction from the last token and of the other "
        "from the first: one weight for each token cannot make that vector"
    )

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.hidden_size = hidden_size

    def forward(self, states: Tensor, lengths: Tensor, padding: Tensor) -> Tensor:
        """Return the pooled vectors."""
        sizes, weights = self._parts(states, lengths, padding)
        parts = zip(weights, states.split(sizes, -1), strict=True)
        return torch.cat([(weight[:, None] @ part).squeeze(1) for weight, part in parts], -1)

    def weights(self, states: Tensor, lengths: Tensor, padding: Tensor) -> Tensor:
        """Return the weights."""
        sizes, weights = self._parts(states, lengths, padding)
        shares = weights.new_tensor(sizes) / states.shape[-1]
        return (shares[:, None, None] * weights).sum(0)

    def _parts(self, states: Tensor, lengths: Tensor, padding: Tensor) -> tuple[list[int], Tensor]:
        """Return the sizes of forward, backward and other features, and the weights of each."""
        sizes = [self.hidden_size, self.hidden_size, states.shape[-1] - 2 * self.hidden_size]
        ends = torch.stack([(lengths - 1).clamp(min=0), torch.zeros_like(lengths)])
        at_ends = _one_hot(ends, states).masked_fill(padding, 0.0)
        return sizes, torch.cat([at_ends, Mean().weights(states, lengths, padding)[None]])


class Max(Pooling):
    """The maximum of each feature; weights: the share of features whose maximum is there."""

    no_sum_reason = (
        "pooling `max` takes each feature from a different token: one weight for each token "
        "cannot make that vector"
    )

    def forward(self, states: Tensor, lengths: Tensor, padding: Tensor) -> Tensor:
        """Return the pooled vectors."""
        pooled = states.masked_fill(padding[..., None], -torch.inf).amax(1)
        return pooled.masked_fill((lengths == 0)[:, None], 0.0)

    def weights(self, states: Tensor, lengths: Tensor, padding: Tensor) -> Tensor:
        """Return the weights."""
        winner = states.masked_fill(padding[..., None], -torch.inf).argmax(1)  # batch x features
        weights = _one_hot(winner, states).mean(1)
        return weights.masked_fill(padding, 0.0)


class LearnedQuery(Pooling):
    """Attention with a learned query (lectures 001 and 003; Yang et al. 2016, equations 5-7).

    The query is a parameter of the model. With the score `additive` this is lecture 003's
    u_t = tanh(W2 h_t + b), a = softmax(u . u_t): the bias is b = W1 q, and the lecture's weight
    vector w is the score's u.
    """

    def __init__(self, score: str, size: int, positions: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.empty(size).normal_(std=size**-0.5))
        self.attention = Attention(score, size, size, positions)

    def weights(self, states: Tensor, lengths: Tensor, padding: Tensor) -> Tensor:
        """Return the weights."""
        query = self.query.expand(states.shape[0], 1, -1)
        return self.attention.weights(query, states, padding).squeeze(1)


def _one_hot(positions: Tensor, states: Tensor) -> Tensor:
    """Return 1 at each of `positions` and else 0, (*positions.shape, time)."""
    time = torch.arange(states.shape[1], device=states.device)
    return (positions[..., None] == time).to(states.dtype)


def make_pooling(h: Architecture, size: int) -> Pooling:
    """Return the pooling of an encoder's states of `size`."""
    poolings: dict[str, Callable[[], Pooling]] = {
        "mean": Mean, "max": Max, "last": lambda: Last(h.hidden_size),
        "attention": lambda: LearnedQuery(h.score, size, h.max_tokens),
    }  # fmt: skip
    return poolings[h.pooling]()


@dataclasses.dataclass(frozen=True)
class States:
    """Vectors (batch, time, size), lengths (batch,), and padding (batch, time), True at padding."""

    vectors: Tensor
    lengths: Tensor
    padding: Tensor


class Encoder(nn.Module):
    """BiLSTM, transformer or none, self-attention or none, pooling.

    With `skip` the inputs are concatenated to the states. A transformer multiplies inputs by
    `scale`. `size` is the output's.
    """

    def __init__(self, input_size: int, h: Architecture, scale: float = 1.0) -> None:
        super().__init__()
        self.lstm = Bidirectional(input_size, h.hidden_size) if h.encoder == "bilstm" else None
        self.transformer: TransformerEncoder | None = None
        if h.encoder == "transformer":
            self.transformer = TransformerEncoder(
                input_size, h.encoder_layers, h.heads, h.feed_forward_size, h.state_dropout
            )
        self.skip, self.scale = h.skip and h.is_recurrent, scale
        self.size = encoder_size(h, input_size)
        self.dropout = nn.Dropout(h.state_dropout)
        self.attention: MultiHeadAttention | SingleHeadAttention | None = None
        if h.attention == "single-head":
            self.attention = SingleHeadAttention(h.score, self.size, h.max_tokens)
        elif h.attention != "none":
            self.attention = MultiHeadAttention(self.size, h.heads, h.attention == "uniform")
        self.pooling: Pooling = make_pooling(h, self.size)

    def forward(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """Return vectors (batch, size) of inputs (batch, time, input_size); 0 for an empty text."""
        states = self.encode(inputs, lengths)
        return self.pooling(self._self_attention(states), states.lengths, states.padding)

    def encode(self, inputs: Tensor, lengths: Tensor) -> States:
        """Return the states of the positions."""
        vectors, padding = inputs, padding_mask(lengths, inputs.shape[1])
        if self.transformer is not None:
            vectors = self.transformer(self.scale * inputs, padding)
        if self.lstm is not None:
            vectors = self.lstm(inputs, lengths)
        if self.skip:
            vectors = torch.cat([vectors, inputs], -1)
        return States(self.dropout(vectors), lengths, padding)

    def attend(
        self, states: States, pooling: Tensor | None = None, attention: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the texts' vectors, and the weights that made them: computed, or as given.

        Vectors are (batch, size), weights of the pooling (batch, time), and of the self-attention
        (batch, heads, time, time), None without one. Raises HeedError: weights are given to a
        pooling that is not a weighted sum of the states, or to a model without self-attention.
        """
        vectors = states.vectors
        if self.attention is None and attention is not None:
            raise HeedError(
                "weights of a self-attention are given to a model that has none (attention: none)"
            )
        if self.attention is not None:
            vectors, attention = self.attention.attend(
                vectors, vectors, vectors, states.padding, attention
            )
        pooled, pooling = self.pooling.pool(vectors, states.lengths, states.padding, pooling)
        return pooled, pooling, attention

    def token_weights(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        """Return the weight of each token, (batch, time); see `weights`."""
        return self.weights(self.encode(inputs, lengths))

    def head_weights(self, inputs: Tensor, lengths: Tensor) -> Tensor | None:
        """Return how much each token attends to each other, (batch, heads, queries, keys).

        Of the self-attention over the states, or without one of a transformer's last layer.
        """
        if self.attention is not None:
            states = self.encode(inputs, lengths)
            return self.attention.weights(states.vectors, states.vectors, states.padding)
        if self.transformer is not None:
            padding = padding_mask(lengths, inputs.shape[1])
            return self.transformer.last_weights(self.scale * inputs, padding)
        return None

    def weights(self, states: States) -> Tensor:
        """Return the weight of each position, (batch, time); rows sum to 1, 0 at padding.

        Without self-attention these are the pooling's weights p. With it they are p A: the
        pooling's weight of each query, times the attention weights A, averaged over heads.
        """
        pooling = self.pooling.weights(self._self_attention(states), states.lengths, states.padding)
        if self.attention is None:
            return pooling
        attention = self.attention.weights(states.vectors, states.vectors, states.padding).mean(1)
        return (pooling[:, None] @ attention).squeeze(1)

    def _self_attention(self, states: States) -> Tensor:
        vectors = states.vectors
        if self.attention is None:
            return vectors
        return self.attention(vectors, vectors, vectors, states.padding)


class HierarchicalEncoder(nn.Module):
    """Words to sentences, sentences to the document (lecture 001; Yang et al. 2016, section 2.2).

    One Encoder reads the words of each sentence, another the sentence vectors. With the pooling
    `attention` this is the hierarchical attention network, with `mean` its control.
    """

    GROUP_SIZE = 256  # sentences of similar length are read together, so that padding stays short

    def __init__(self, input_size: int, h: Architecture, scale: float = 1.0) -> None:
        super().__init__()
        self.words = Encoder(input_size, h, scale)
        self.sentences = Encoder(self.words.size, h)
        self.size = self.sentences.size

    def forward(self, inputs: Tensor, sentences: Tensor) -> Tensor:
        """Return the documents' vectors (batch, size), 0 for a document without a sentence.

        `inputs` are the words, sentence after sentence, (batch, time, input_size), `sentences` the
        lengths of these, (batch, sentences); 0 after the last.
        """
        return self.sentences(*self._encode_sentences(inputs, sentences))

    def encode(self, inputs: Tensor, sentences: Tensor) -> States:
        """Return the sentences' states (batch, sentences, size)."""
        return self.sentences.encode(*self._encode_sentences(inputs, sentences))

    def sentence_weights(self, inputs: Tensor, sentences: Tensor) -> Tensor:
        """Return the weight of each sentence, (batch, sentences); rows sum to 1."""
        return self.sentences.weights(self.encode(inputs, sentences))

    def word_weights(self, inputs: Tensor, sentences: Tensor) -> Tensor:
        """Return the weight of each word within its sentence, (batch, time): they sum to 1."""
        time = inputs.shape[1]

        def padded_weights(words: Tensor, lengths: Tensor) -> Tensor:
            weights = self.words.token_weights(words, lengths)
            return F.pad(weights, (0, time - weights.shape[1]))

        # batch x sentences x position in the sentence
        table = self._apply_to_sentences(inputs, sentences, padded_weights, time)
        sentence, position, token_mask = _locate_tokens(sentences, time)
        rows = torch.arange(len(sentences), device=sentences.device)[:, None]
        return table[rows, sentence, position].masked_fill(~token_mask, 0.0)

    def token_weights(self, inputs: Tensor, sentences: Tensor) -> Tensor:
        """Return the weight of each word, (batch, time): in its sentence, times the sentence's."""
        sentence, _, token_mask = _locate_tokens(sentences, inputs.shape[1])
        sentence_weights = self.sentence_weights(inputs, sentences).gather(1, sentence)
        weights = self.word_weights(inputs, sentences) * sentence_weights
        return weights.masked_fill(~token_mask, 0.0)

    def _encode_sentences(self, inputs: Tensor, sentences: Tensor) -> tuple[Tensor, Tensor]:
        vectors = self._apply_to_sentences(inputs, sentences, self.words, self.words.size)
        return vectors, (sentences > 0).sum(1)

    def _apply_to_sentences(
        self, inputs: Tensor, sentences: Tensor, function: Callable[[Tensor, Tensor], Tensor],
        size: int,
    ) -> Tensor:  # fmt: skip
        """Return `function(words, lengths)` of every sentence, (batch, sentences, size); else 0.

        It maps words (group, time, input_size) and lengths (group,) to (group, size).
        """
        sentence_mask = sentences > 0
        lengths = sentences[sentence_mask]  # of the sentences of all documents, in order
        starts = (sentences.cumsum(1) - sentences)[sentence_mask]
        rows = torch.arange(len(inputs), device=inputs.device)[:, None]
        document = rows.expand_as(sentences)[sentence_mask]
        order = torch.argsort(lengths, stable=True)
        if not len(order):
            return inputs.new_zeros(*sentences.shape, size)
        results = []
        for group in order.split(self.GROUP_SIZE):
            time = torch.arange(int(lengths[group].max()), device=inputs.device)[None]
            position = (starts[group][:, None] + time).clamp(max=inputs.shape[1] - 1)
            words = inputs[document[group][:, None], position]
            results.append(function(words, lengths[group]))
        in_order = torch.cat(results)[torch.argsort(order)]
        table = in_order.new_zeros(*sentences.shape, size)  # which autocast may have made shorter
        return table.masked_scatter(sentence_mask[..., None], in_order)


def _locate_tokens(sentences: Tensor, time: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return sentence and place in it of each token, and the token mask: (batch, time) each."""
    ends = sentences.cumsum(1)
    in_document = torch.arange(time, device=sentences.device)[None]
    in_document = in_document.expand(len(sentences), -1).contiguous()
    sentence = torch.searchsorted(ends, in_document, right=True)
    token_mask = in_document < ends[:, -1:]
    sentence = sentence.clamp(max=sentences.shape[1] - 1)
    starts = (ends - sentences).gather(1, sentence)
    return sentence, (in_document - starts).clamp(0, time - 1), token_mask

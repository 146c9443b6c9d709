"""From a sequence of vectors to one vector: recurrence, self-attention, pooling, each of them a
hyperparameter.
"""

import dataclasses
from collections.abc import Callable

import torch
from torch import nn

from heed.files import HeedError
from heed.hyperparameters import Architecture, encoder_size
from heed.models.attention import MultiHeadAttention, SingleHeadAttention
from heed.models.pooling import Pooling, make_pooling
from heed.models.recurrent import BiLSTM, padding_mask


@dataclasses.dataclass(frozen=True)
class States:
    """What self-attention and pooling read: vectors (batch, time, size), lengths (batch,), padding
    (batch, time).
    """

    vectors: torch.Tensor
    lengths: torch.Tensor
    padding: torch.Tensor


class Encoder(nn.Module):
    """BiLSTM or none, self-attention or none, pooling.

    With `skip` the inputs stand beside the states, so that pooling and attention see both. `size`
    is the size of what comes out.
    """

    def __init__(self, input_size: int, hyperparameters: Architecture) -> None:
        """Build the layers for inputs of `input_size`."""
        super().__init__()
        h = hyperparameters
        recurrent = h.encoder == "bilstm"
        self.lstm = BiLSTM(input_size, h.hidden_size) if recurrent else None
        self.skip = h.skip and recurrent
        self.size = encoder_size(h, input_size)
        self.dropout = nn.Dropout(h.state_dropout)
        self.attention: MultiHeadAttention | SingleHeadAttention | None = None
        if h.attention == "single-head":
            self.attention = SingleHeadAttention(h.score, self.size, h.max_tokens)
        elif h.attention != "none":
            self.attention = MultiHeadAttention(self.size, h.heads, h.attention == "uniform")
        self.pooling: Pooling = make_pooling(h.pooling, h.score, self.size, h.max_tokens)

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return (batch, size) for `inputs` (batch, time, input_size) with `lengths` (batch,); 0
        for an empty text.
        """
        states = self.encode(inputs, lengths)
        return self.pooling(self._self_attention(states), states.lengths, states.padding)

    def encode(self, inputs: torch.Tensor, lengths: torch.Tensor) -> States:
        """Return the states; arguments as in `forward`."""
        vectors = inputs
        if self.lstm is not None:
            vectors = self.lstm(inputs, lengths)
            if self.skip:
                vectors = torch.cat([vectors, inputs], -1)
        return States(self.dropout(vectors), lengths, padding_mask(lengths, inputs.shape[1]))

    def attend(
        self,
        states: States,
        pooling: torch.Tensor | None = None,
        attention: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """Return the vectors (batch, size), and the weights behind them: computed, or as given.

        Args:
            states: of `encode`.
            pooling: weights of the pooling, (batch, time)
            attention: weights of the self-attention, (batch, heads, time, time)

        Returns:
            vectors (batch, size); the pooling's weights; the self-attention's, None without one.

        Raises:
            HeedError: weights are given to a pooling that is no weighted sum of the states, or to a
                self-attention that is not there.

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

    def token_weights(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return how much each token counts, (batch, time): the `weights` of the states of
        `encode`.
        """
        return self.weights(self.encode(inputs, lengths))

    def weights(self, states: States) -> torch.Tensor:
        """Return how much each position counts, (batch, time); rows sum to 1, 0 at padding.

        Without self-attention that is the pooling's own weight. With it, the pooling's weight of
        each query is handed on through the attention weights, averaged over heads. The pooling
        reads what `forward` gives it, to the last bit.
        """
        pooling = self.pooling.weights(self._self_attention(states), states.lengths, states.padding)
        if self.attention is None:
            return pooling
        attention = self.attention.weights(states.vectors, states.vectors, states.padding).mean(1)
        return (pooling[:, None] @ attention).squeeze(1)

    def _self_attention(self, states: States) -> torch.Tensor:
        """Return the vectors that the pooling reads, without the weights behind them."""
        vectors = states.vectors
        return (
            vectors
            if self.attention is None
            else self.attention(vectors, vectors, vectors, states.padding)
        )


class HierarchicalEncoder(nn.Module):
    """Words make sentences, sentences make the document (lecture 001; Yang et al. 2016, section
    2.2).

    One Encoder reads the words of each sentence, another the sentence vectors. With the pooling
    `attention` this is the hierarchical attention network, with a BiLSTM where the paper has a GRU;
    with `mean` it is its control.
    """

    SENTENCES = 256  # of similar length, read together: one long sentence does not pad them all

    def __init__(self, input_size: int, hyperparameters: Architecture) -> None:
        """Build both encoders, of the same hyperparameters."""
        super().__init__()
        self.words = Encoder(input_size, hyperparameters)
        self.sentences = Encoder(self.words.size, hyperparameters)
        self.size = self.sentences.size

    def forward(self, inputs: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """Return (batch, size); 0 for a document without a sentence.

        Args:
            inputs: the documents' tokens, sentence after sentence, (batch, time, input_size)
            sentences: tokens of each sentence, (batch, sentences), 0 after a document's last

        """
        return self.sentences(*self._read_sentences(inputs, sentences))

    def encode(self, inputs: torch.Tensor, sentences: torch.Tensor) -> States:
        """Return the states of the sentences, time counting sentences; arguments as in
        `forward`.
        """
        return self.sentences.encode(*self._read_sentences(inputs, sentences))

    def sentence_weights(self, inputs: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """Return how much each sentence counts, (batch, sentences); rows sum to 1.

        Arguments as in `forward`.
        """
        return self.sentences.weights(self.encode(inputs, sentences))

    def word_weights(self, inputs: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """Return how much each word counts in its sentence, (batch, time); the words of a sentence
        sum to 1.
        """
        time = inputs.shape[1]

        def weights(words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            of_words = self.words.token_weights(words, lengths)
            return nn.functional.pad(of_words, (0, time - of_words.shape[1]))

        # batch x sentences x place in the sentence
        table = self._by_sentence(inputs, sentences, weights, time)
        number, place, token_mask = _addresses(sentences, time)
        rows = torch.arange(len(sentences), device=sentences.device)[:, None]
        return table[rows, number, place].masked_fill(~token_mask, 0.0)

    def token_weights(self, inputs: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """Return how much each word counts in the document, (batch, time): its weight times its
        sentence's.
        """
        number, _, token_mask = _addresses(sentences, inputs.shape[1])
        sentence_weights = self.sentence_weights(inputs, sentences).gather(1, number)
        return (self.word_weights(inputs, sentences) * sentence_weights).masked_fill(
            ~token_mask, 0.0
        )

    def _read_sentences(
        self, inputs: torch.Tensor, sentences: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the vector of every sentence, (batch, sentences, size), and how many each document
        has (batch,).
        """
        return self._by_sentence(inputs, sentences, self.words, self.words.size), (
            sentences > 0
        ).sum(1)

    def _by_sentence(
        self,
        inputs: torch.Tensor,
        sentences: torch.Tensor,
        read: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        size: int,
    ) -> torch.Tensor:
        """Return `read(words, lengths)` (…, size) of every sentence, (batch, sentences, size); 0
        where there is none.
        """
        sentence_mask = sentences > 0
        lengths = sentences[sentence_mask]  # of all documents' sentences, one after the other
        starts = (sentences.cumsum(1) - sentences)[sentence_mask]
        document = torch.arange(len(inputs), device=inputs.device)[:, None].expand_as(sentences)[
            sentence_mask
        ]
        order = torch.argsort(lengths, stable=True)
        table = inputs.new_zeros(*sentences.shape, size)
        if not len(order):
            return table
        parts = []
        for group in order.split(self.SENTENCES):
            time = torch.arange(int(lengths[group].max()), device=inputs.device)[None]
            position = (starts[group][:, None] + time).clamp(max=inputs.shape[1] - 1)
            parts.append(read(inputs[document[group][:, None], position], lengths[group]))
        vectors = torch.cat(parts)[torch.argsort(order)]
        return table.masked_scatter(sentence_mask[..., None], vectors)


def _addresses(
    sentences: torch.Tensor, time: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return each token's sentence and place in it, (batch, time), and whether there is a token."""
    ends = sentences.cumsum(1)
    position = (
        torch.arange(time, device=sentences.device)[None].expand(len(sentences), -1).contiguous()
    )
    number = torch.searchsorted(ends, position, right=True)
    token_mask = position < ends[:, -1:]
    number = number.clamp(max=sentences.shape[1] - 1)
    place = (position - (ends - sentences).gather(1, number)).clamp(0, time - 1)
    return number, place, token_mask

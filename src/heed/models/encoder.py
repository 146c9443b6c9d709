"""From a sequence of vectors to one vector: recurrence, self-attention, pooling, each of them a hyperparameter."""

from typing import Any

import torch
from torch import nn

from heed.hyperparameters import Architecture, encoder_size
from heed.models.attention import MultiHeadSelfAttention, SelfAttention
from heed.models.pooling import Pooling, make_pooling
from heed.models.recurrent import BiLSTM, padding_mask


class Encoder(nn.Module):
    """BiLSTM or none, self-attention or none, pooling.

    With `skip` the inputs stand beside the states, so that pooling and attention see both. `size` is the size of what
    comes out.
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
        self.attention: MultiHeadSelfAttention | SelfAttention | None = None
        if h.attention == "single-head":
            self.attention = SelfAttention(h.score, self.size, h.max_tokens)
        elif h.attention != "none":
            self.attention = MultiHeadSelfAttention(self.size, h.heads, h.attention == "uniform")
        self.pooling: Pooling = make_pooling(h.pooling, h.score, self.size, h.max_tokens)

    def forward(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return (batch, size) for `inputs` (batch, time, input_size) with `lengths` (batch,); 0 for an empty text."""
        states, padding = self._states(inputs, lengths)
        if self.attention is not None:
            states = self.attention(states, padding)
        return self.pooling(states, lengths, padding)

    def weights(self, inputs: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return how much each position counts, (batch, time); rows sum to 1, 0 at padding.

        Without self-attention that is the pooling's own weight. With it, the pooling's weight of each query is handed on
        through the attention weights, averaged over heads.
        """
        states, padding = self._states(inputs, lengths)
        if self.attention is None:
            return self.pooling.weights(states, lengths, padding)
        queries = self.pooling.weights(self.attention(states, padding), lengths, padding)
        weights = self.attention.weights(states, padding).mean(1)  # batch x queries x keys
        return (queries[:, None] @ weights).squeeze(1)

    def _states(self, inputs: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        padding = padding_mask(lengths, inputs.shape[1])
        states = inputs
        if self.lstm is not None:
            states = self.lstm(inputs, lengths)
            if self.skip:
                states = torch.cat([states, inputs], -1)
        return self.dropout(states), padding


class HierarchicalEncoder(nn.Module):
    """Words make sentences, sentences make the document (lecture 001; Yang et al. 2016, section 2.2).

    One Encoder reads the words of each sentence, another the sentence vectors. With the pooling `attention` this is the
    hierarchical attention network, with a BiLSTM where the paper has a GRU; with `mean` it is its control.
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
        vectors = self._by_sentence(inputs, sentences, self.words, self.words.size)
        return self.sentences(vectors, (sentences > 0).sum(1))

    def sentence_weights(self, inputs: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """Return how much each sentence counts, (batch, sentences); rows sum to 1. Arguments as in `forward`."""
        vectors = self._by_sentence(inputs, sentences, self.words, self.words.size)
        return self.sentences.weights(vectors, (sentences > 0).sum(1))

    def word_weights(self, inputs: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """Return how much each word counts in its sentence, (batch, time); the words of a sentence sum to 1."""
        time = inputs.shape[1]

        def weights(words: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
            found = self.words.weights(words, lengths)
            return nn.functional.pad(found, (0, time - found.shape[1]))

        of_sentence = self._by_sentence(inputs, sentences, weights, time)  # batch x sentences x place in the sentence
        number, place, inside = _addresses(sentences, time)
        rows = torch.arange(len(sentences), device=sentences.device)[:, None]
        return of_sentence[rows, number, place].masked_fill(~inside, 0.0)

    def weights(self, inputs: torch.Tensor, sentences: torch.Tensor) -> torch.Tensor:
        """Return how much each word counts in the document, (batch, time): its weight times its sentence's."""
        number, _, inside = _addresses(sentences, inputs.shape[1])
        of_sentence = self.sentence_weights(inputs, sentences).gather(1, number)
        return (self.word_weights(inputs, sentences) * of_sentence).masked_fill(~inside, 0.0)

    def _by_sentence(self, inputs: torch.Tensor, sentences: torch.Tensor, read: Any, size: int) -> torch.Tensor:
        """Return `read(words, lengths)` (…, size) of every sentence, (batch, sentences, size); 0 where there is none."""
        there = sentences > 0
        lengths = sentences[there]  # of all documents' sentences, one after the other
        starts = (sentences.cumsum(1) - sentences)[there]
        document = torch.arange(len(inputs), device=inputs.device)[:, None].expand_as(sentences)[there]
        order = torch.argsort(lengths, stable=True)
        table = inputs.new_zeros(*sentences.shape, size)
        if not len(order):
            return table
        parts = []
        for group in order.split(self.SENTENCES):
            time = torch.arange(int(lengths[group].max()), device=inputs.device)[None]
            at = (starts[group][:, None] + time).clamp(max=inputs.shape[1] - 1)
            parts.append(read(inputs[document[group][:, None], at], lengths[group]))
        found = torch.cat(parts)[torch.argsort(order)]
        return table.masked_scatter(there[..., None], found)


def _addresses(sentences: torch.Tensor, time: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return each token's sentence and place in it, (batch, time), and whether there is a token."""
    ends = sentences.cumsum(1)
    at = torch.arange(time, device=sentences.device)[None].expand(len(sentences), -1).contiguous()
    number = torch.searchsorted(ends, at, right=True)
    inside = at < ends[:, -1:]
    number = number.clamp(max=sentences.shape[1] - 1)
    place = (at - (ends - sentences).gather(1, number)).clamp(0, time - 1)
    return number, place, inside

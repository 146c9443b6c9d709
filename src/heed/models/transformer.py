"""The transformer as a translator (Vaswani et al. 2017, arxiv.org/abs/1706.03762)."""

import math

import torch
from torch import nn

from heed.hyperparameters.translator import TranslatorArchitecture
from heed.inputs.pairs import PairBatch
from heed.models.recurrent import padding_mask
from heed.models.transformer_layers import TransformerDecoder, TransformerEncoder
from heed.models.translator import Decoded, Memory, State, Translator


class TransformerTranslator(Translator):
    """Encoder and decoder without recurrence; every state has the embeddings' size.

    Embeddings are multiplied by the square root of their size (section 3.4). Dropout is also before
    the output layer, as in every translator here; the paper has none there. `Memory.keys` and the
    decoder's `State` are the projected keys and values of each layer: of the source, and of the
    target tokens so far.

    Weights are those of the last layer's attention over the source, the mean over its heads. The
    fused attention of training and search has none, so `decode` returns them only where they are
    asked for, as `weights` does.
    """

    def __init__(
        self, source_vocabulary: int, target_vocabulary: int, h: TranslatorArchitecture
    ) -> None:
        """Build the layers for vocabularies with their special entries.

        Raises ValueError where `heads` do not divide `embedding_dim`.
        """
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

    def embed(self, source: torch.Tensor) -> torch.Tensor:
        """Return the embeddings times the square root of their size, without positions."""
        return self.source_embedding(source) * self.scale

    def read(self, embedded: torch.Tensor, lengths: torch.Tensor) -> tuple[Memory, State]:
        """Return what the decoder reads of the source, and the state before any target token.

        That state has tensors of time 0. Arguments as in `Translator.read`.
        """
        padding = padding_mask(lengths, embedded.shape[1])
        states = self.encoder(embedded, padding)
        keys = self.decoder.project(states)
        return Memory(states, padding, keys), tuple(each[:, :0] for each in keys)

    def decode(
        self,
        tokens: torch.Tensor,
        memory: Memory,
        state: State,
        weights: torch.Tensor | None = None,
        with_weights: bool = False,
    ) -> Decoded:
        """Return features, the state after `tokens`, and weights where given or asked for.

        Arguments as in `Translator.decode`; given weights are used by all heads of the last layer.
        """
        inputs = self.target_embedding(tokens) * self.scale
        given = None if weights is None else weights[:, None]
        features, state, used = self.decoder(
            inputs, state, memory.keys, memory.padding, given, with_weights
        )
        return Decoded(features, None if used is None else used.mean(1), state)

    def weights(self, batch: PairBatch) -> torch.Tensor:
        """Return the attention of each predicted token, (batch, target time - 1, source time)."""
        memory, state = self.encode(batch.source, batch.source_lengths)
        weights = self.decode(batch.target[:, :-1], memory, state, with_weights=True).weights
        assert weights is not None
        return weights

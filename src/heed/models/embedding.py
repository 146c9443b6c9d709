"""Token embeddings: word, and optionally hashed word bigram and hashed character n-grams."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from heed.hyperparameters.classifier import Architecture
from heed.inputs.batches import Batch
from heed.inputs.special import UNKNOWN


class TokenEmbedding(nn.Module):
    """e_t = word_t + bigram(t-1, t) + mean of character n-grams_t, then dropout.

    In training each token is replaced by the unknown word, without n-grams, with probability
    `word_dropout`. With `vectors: frozen` the embeddings of words are not trained, whether they are
    from a file or random (CNN-static of Kim 2014, arxiv.org/abs/1408.5882, section 3.1).
    """

    def __init__(self, vocabulary: int, hyperparameters: Architecture) -> None:
        """Build the tables; `vocabulary` includes padding and unknown."""
        super().__init__()
        h = hyperparameters
        size, std = h.embedding_dim, h.embedding_std
        self.word = nn.Embedding(vocabulary, size, padding_idx=0)
        self.bigram = (
            nn.Embedding(h.bigram_buckets + 1, size, padding_idx=0) if h.bigram_buckets else None
        )
        self.character = nn.EmbeddingBag(h.character_buckets, size) if h.character_buckets else None
        self.dropout = nn.Dropout(h.embedding_dropout)
        self.word_dropout = h.word_dropout
        for table in (self.word, self.bigram, self.character):
            if table is not None:
                nn.init.normal_(table.weight, std=std)
        with torch.no_grad():
            self.word.weight[0] = 0.0
            if self.bigram is not None:
                self.bigram.weight[0] = 0.0
        self._is_frozen = h.vectors == "frozen"
        self.require_gradients()

    def require_gradients(self) -> None:
        """Let all embeddings be trained but frozen ones."""
        self.requires_grad_(True)
        self.word.requires_grad_(not self._is_frozen)

    def set_words(self, entries: np.ndarray, vectors: np.ndarray) -> None:
        """Replace the embeddings of words.

        Args:
            entries: their indices in the vocabulary, (entries,)
            vectors: float32 (entries, embedding_dim)

        """
        with torch.no_grad():
            self.word.weight[torch.from_numpy(entries)] = torch.from_numpy(vectors)

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return the embeddings (batch, time, embedding_dim); 0 at padding."""
        ids, dropped = batch.ids, None
        if self.training and self.word_dropout:
            dropped = (torch.rand(ids.shape, device=ids.device) < self.word_dropout) & (ids != 0)
            ids = ids.masked_fill(dropped, UNKNOWN)
        embedded = self.word(ids)
        if (ngrams := self._ngrams(batch)) is not None:
            masked = batch.ids == 0 if dropped is None else dropped | (batch.ids == 0)
            embedded = embedded + ngrams.masked_fill(masked[..., None], 0.0)
        return self.dropout(embedded)

    def _ngrams(self, batch: Batch) -> torch.Tensor | None:
        """Return the sum of the n-gram embeddings (batch, time, embedding_dim); None without any.

        Padding is not masked.
        """
        embedded = None
        if self.bigram is not None:
            embedded = self.bigram(batch.bigrams)
        if self.character is not None:
            assert batch.characters is not None and batch.character_of is not None
            by_type = self.character(batch.characters.ids, batch.characters.begin)
            # one row more: a batch of empty texts has no types
            by_type = F.pad(by_type, (0, 0, 0, 1))
            by_token = F.embedding(batch.character_of, by_type)
            embedded = by_token if embedded is None else embedded + by_token
        return embedded

"""The talk's two models: a BiLSTM classifier with and without multi-head self-attention."""

from typing import Any

import torch
from torch import nn

from heed.models.attention import MultiHeadSelfAttention
from heed.models.pooling import POOLINGS, importance
from heed.models.recurrent import BiLSTM, padding_mask


class Classifier(nn.Module):
    """Embedding, BiLSTM, self-attention or none, pooling, linear layer with GELU, output layer.

    The sizes are those that fit the parameter counts of all twelve models of the talk (DESIGN.md 5); what the talk leaves
    open (pooling, places of dropout, initialisation) are hyperparameters.
    """

    def __init__(self, vocabulary: int, classes: int, hyperparameters: dict[str, Any]) -> None:
        """Build the layers; `vocabulary` and `classes` are counts, `hyperparameters` are a recipe's."""
        super().__init__()
        h = hyperparameters
        states = 2 * h["hidden_size"]
        self.embedding = nn.Embedding(vocabulary, h["embedding_dim"], padding_idx=0)
        self.lstm = BiLSTM(h["embedding_dim"], h["hidden_size"])
        self.attention = (
            None
            if h["attention"] == "none"
            else MultiHeadSelfAttention(states, h["heads"], h["attention"] == "uniform")
        )
        self.pooling = h["pooling"]
        self.linear = nn.Linear(states, h["linear_size"])
        self.output = nn.Linear(h["linear_size"], classes)
        self.embedding_dropout = nn.Dropout(h["embedding_dropout"])
        self.dropout = nn.Dropout(h["dropout"])
        nn.init.normal_(self.embedding.weight, std=h["embedding_std"])
        with torch.no_grad():
            self.embedding.weight[0] = 0.0

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return the logits (batch, classes) of texts `ids` (batch, time) with `lengths` (batch,)."""
        states, padding = self._states(ids, lengths)
        if self.attention is not None:
            states = self.attention(states, padding)
        pooled = POOLINGS[self.pooling](states, lengths, padding)
        hidden = nn.functional.gelu(self.linear(self.dropout(pooled)))
        return self.output(self.dropout(hidden))

    def token_weights(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return one weight a token (batch, time), rows sum to 1: how much each position counts in the pooled vector.

        Without attention that is the pooling's own weight; with it, the pooling's weight of each query handed on through
        the attention weights, averaged over heads. Weights are not explanations by themselves (lecture 002).
        """
        states, padding = self._states(ids, lengths)
        if self.attention is None:
            return importance(self.pooling, states, lengths, padding)
        queries = importance(self.pooling, self.attention(states, padding), lengths, padding)
        weights = self.attention.weights(states, padding).mean(1)  # batch x queries x keys
        return (queries[:, None] @ weights).squeeze(1)

    def _states(self, ids: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        states = self.lstm(self.embedding_dropout(self.embedding(ids)), lengths)
        return states, padding_mask(lengths, ids.shape[1])


def count_parameters(vocabulary: int, classes: int, hyperparameters: dict[str, Any]) -> int:
    """Return the number of trainable parameters, without allocating them."""
    with torch.device("meta"):
        return sum(p.numel() for p in Classifier(vocabulary, classes, hyperparameters).parameters())

"""The hyperparameters of a classifier: how documents become its input, and its architecture."""

import dataclasses
from typing import Literal, Self

from heed.hyperparameters import (
    ATTENTIONS,
    ENCODERS,
    MAX_LAYERS,
    MAX_ROWS,
    MAX_SIZE,
    POOLINGS,
    SCORES,
    SHARE,
    Reading,
    part,
)
from heed.hyperparameters import hyperparameter as key


@dataclasses.dataclass(frozen=True)
class Preprocessing(Reading):
    """How the documents of a corpus become the input of a network."""

    vocabulary_size: int = key(30000, "types of the training split in the vocabulary",
        ge=3, le=MAX_ROWS)  # fmt: skip
    lowercase: bool = key(True, "types that differ only in case are one entry of the vocabulary")
    max_tokens: int = key(400, "tokens of a document that are read", gt=0, le=1_000_000)
    truncation: Literal["head", "ends"] = key("head", "what is read of longer documents: the first "
        "tokens, or half from each end")  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Architecture(Preprocessing):
    """The architecture of a classifier."""

    embedding_dim: int = key(100, "E, size of a token embedding", gt=0, le=MAX_SIZE)
    embedding_std: float = key(0.1, "standard deviation of the initial embeddings", ge=1e-6, le=100)
    vectors: Literal["none", "frozen", "tuned"] = key("none", "start from the corpus's word "
        "vectors, of size embedding_dim; frozen: no word's embedding is trained")  # fmt: skip
    character_buckets: int = key(0, "rows of hashed character 2- to 5-grams, added to the "
        "embedding; 0: none", ge=0, le=MAX_ROWS)  # fmt: skip
    encoder: str = part("bilstm", "what makes states; ", ENCODERS)
    encoder_layers: int = key(1, "layers of a transformer", gt=0, le=MAX_LAYERS)
    feed_forward_size: int = key(512, "inner size of a transformer's feed-forward layers",
        gt=0, le=MAX_SIZE)  # fmt: skip
    hierarchical: bool = key(False, "words make sentence vectors, and these the document's")
    hidden_size: int = key(64, "H, size of the states in each direction; both have 2H",
        gt=0, le=MAX_SIZE)  # fmt: skip
    skip: bool = key(False, "embeddings beside the states (2H + E); for pooling last their mean")
    linear_size: int = key(64, "L, size of the linear layer before the output", gt=0, le=MAX_SIZE)
    attention: str = part("none", "self-attention over the states; ", ATTENTIONS)
    heads: int = key(1, "heads of attention; divides the size of the states", gt=0, le=MAX_SIZE)
    pooling: str = part("last", "how the states become one vector; ", POOLINGS)
    score: str = key("additive", "score of single-head attention and of pooling attention "
        "(docs/reference/attention.md)", choices=SCORES)  # fmt: skip
    word_dropout: float = key(0.0, "share of tokens replaced by the unknown word in each step",
        **SHARE)  # fmt: skip
    embedding_dropout: float = key(0.0, "dropout on the embeddings", **SHARE)
    state_dropout: float = key(0.0, "dropout on the states, and within a transformer", **SHARE)
    dropout: float = key(0.5, "dropout on the pooled vector and on the linear layer's output",
        **SHARE)  # fmt: skip

    @property
    def state_size(self) -> int:
        """Size of the states: 2H, with `skip` 2H + E; without a BiLSTM E."""
        return encoder_size(self, self.embedding_dim)

    @property
    def is_recurrent(self) -> bool:
        """Whether the states are computed one after the other."""
        return self.encoder == "bilstm"

    @property
    def has_heads(self) -> bool:
        """Whether `heads` has an effect."""
        return self.attention in ("multi-head", "uniform") or self.encoder == "transformer"

    @property
    def attends(self) -> bool:
        """Whether attention is asked for: in the encoder, over its states, or in the pooling."""
        return self.learns_weights or self.encoder == "transformer"

    @property
    def attends_to_states(self) -> bool:
        """Whether states attend to each other with learned weights: by self-attention."""
        by_attention = self.attention in ("multi-head", "single-head")
        return by_attention or (self.attention == "none" and self.encoder == "transformer")

    @property
    def score_functions(self) -> dict[str, str]:
        """The network's score functions → where they are."""
        places = (
            ("scaled-dot", "transformer", self.encoder == "transformer"),
            (self.score, "pooling", self.pooling == "attention"),
            (self.score, "single-head", self.attention == "single-head"),
            ("scaled-dot", "multi-head", self.attention == "multi-head"),
        )
        return {score: where for score, where, has in places if has}

    def without_attention(self) -> Self:
        """Return the network without attention; a transformer without it raises ValueError."""
        if self.encoder == "transformer":
            raise ValueError("encoder transformer is attention: there is none without it")
        pooling = "mean" if self.pooling == "attention" else self.pooling
        return dataclasses.replace(self, attention="none", pooling=pooling)

    @property
    def learns_weights(self) -> bool:
        """Whether the states become one vector by learned weights: none within a transformer."""
        by_attention = self.attention in ("multi-head", "single-head")
        return by_attention or self.pooling == "attention"

    @property
    def chooses_weights(self) -> bool:
        """Whether the weights of the states depend on the text: by a score or a maximum."""
        return self.learns_weights or self.pooling == "max"


def encoder_size(h: Architecture, input_size: int) -> int:
    """Return the size of the states for inputs (words, or sentences) of `input_size`."""
    return 2 * h.hidden_size + h.skip * input_size if h.is_recurrent else input_size

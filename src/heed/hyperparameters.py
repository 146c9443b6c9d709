"""The hyperparameters of a network and its training, each declared once.

The schema of params.yaml is generated from these declarations (heed.study.defaults), and recipes
are read into them, also where pydantic is not installed. A task combines those that its models have
(tasks/TASK/recipe.py).
"""

import dataclasses
from typing import Any, Literal, Self

Value = bool | int | float | str
Configuration = dict[str, Value]  # some hyperparameters and their values, as a search draws them
# Limits that no study of text reaches: a mistyped size is an error before any memory is taken.
MAX_SIZE = 65_536  # of a layer
MAX_ROWS = 2**27  # of a table of embeddings or features
MAX_COUNT = 100_000  # of epochs, trials, documents in a step
MAX_THREADS = 4096
MAX_SEED = 2**31 - 1  # for every generator, also where a number of folds is added
ATTENTION_POOLINGS = ("attention", "max-attention")  # poolings with a score function


def hyperparameter(default: Any, description: str, **limits: float) -> Any:
    """Return a dataclass field for the schema; `limits` are pydantic's gt, ge, lt and le."""
    return dataclasses.field(
        default=default, metadata={"description": description, "limits": limits}
    )


@dataclasses.dataclass(frozen=True)
class Preprocessing:
    """How the documents of a corpus become the input of a network."""

    vocabulary_size: int = hyperparameter(
        30000,
        "types of the run's training part in the vocabulary, with padding and unknown",
        ge=3,
        le=MAX_ROWS,
    )
    lowercase: bool = hyperparameter(
        True, "types that differ only in case are one entry of the vocabulary"
    )
    max_tokens: int = hyperparameter(
        400, "length cap: the tokens of a document that are read", gt=0, le=1_000_000
    )
    truncation: Literal["head", "ends"] = hyperparameter(
        "head",
        (
            "of a longer document the first tokens are read, or half from its start and half up "
            "to its end"
        ),
    )


@dataclasses.dataclass(frozen=True)
class Architecture(Preprocessing):
    """The architecture of a classifier: the network and a linear branch."""

    embedding_dim: int = hyperparameter(100, "E, size of a token embedding", gt=0, le=MAX_SIZE)
    embedding_std: float = hyperparameter(
        0.1,
        "standard deviation of the initial embeddings, which are normal (torch's default is 1)",
        gt=0,
    )
    bigram_buckets: int = hyperparameter(
        0, "rows of hashed word bigrams, added to the embedding; 0: none", ge=0, le=MAX_ROWS
    )
    character_buckets: int = hyperparameter(
        0,
        "rows of hashed character 2- to 5-grams, their mean added to the embedding; 0: none",
        ge=0,
        le=MAX_ROWS,
    )
    encoder: Literal["bilstm", "embeddings", "none"] = hyperparameter(
        "bilstm",
        (
            "what makes states: a BiLSTM; the embeddings themselves (features only: a control); "
            "none: the linear branch alone (a control)"
        ),
    )
    hierarchical: bool = hyperparameter(
        False, "words to sentence vectors, these to the document's: an encoder at each level"
    )
    hidden_size: int = hyperparameter(
        64, "H, LSTM hidden size of each direction; states have 2H", gt=0, le=MAX_SIZE
    )
    skip: bool = hyperparameter(
        False, "the embeddings are concatenated to the BiLSTM's states, which have 2H + E"
    )
    linear_size: int = hyperparameter(
        64, "L, size of the linear layer before the output", gt=0, le=MAX_SIZE
    )
    attention: Literal["none", "multi-head", "single-head", "uniform"] = hyperparameter(
        "none",
        (
            "self-attention over the states: multi-head scaled dot-product; single-head with any "
            "`score`, without projections; uniform: multi-head with equal weights in place of "
            "learned ones (a control)"
        ),
    )
    heads: int = hyperparameter(
        1, "heads of multi-head and uniform attention; divides the states' size", gt=0, le=MAX_SIZE
    )
    pooling: Literal["last", "mean", "max", "attention", "max-attention"] = hyperparameter(
        "last",
        (
            "how the states become one vector; attention: by a learned query and `score`; "
            "max-attention: the query is the maximum of the states"
        ),
    )
    score: Literal[
        "additive", "concat", "concat-tanh", "location", "general", "dot", "scaled-dot"
    ] = hyperparameter(
        "additive",
        "the score of single-head attention and of the pooling attention (docs/attention.md)",
    )
    linear_branch: Literal["none", "words", "characters", "both"] = hyperparameter(
        "none",
        ("a linear model on TF-IDF features, trained together with the rest: its logits are added"),
    )
    branch_buckets: int = hyperparameter(
        262144, "columns that each kind of the branch's features is hashed into", gt=0, le=MAX_ROWS
    )
    branch_loss: Literal["joint", "separate"] = hyperparameter(
        "joint",
        (
            "joint: one loss on the sum of both logits; separate: a loss for each part; the sum of "
            "logits is only for prediction"
        ),
    )
    branch_rate: float = hyperparameter(
        1.0, "the branch's learning rate, as a multiple of `learning_rate`", gt=0
    )
    branch_dropout: float = hyperparameter(0.0, "dropout on the branch's features", ge=0, lt=1)
    word_dropout: float = hyperparameter(
        0.0,
        "share of tokens that are replaced by the unknown word, at random in every step",
        ge=0,
        lt=1,
    )
    embedding_dropout: float = hyperparameter(0.0, "dropout on the embeddings", ge=0, lt=1)
    state_dropout: float = hyperparameter(0.0, "dropout on the states", ge=0, lt=1)
    dropout: float = hyperparameter(
        0.5, "dropout on the pooled vector and on the linear layer's output", ge=0, lt=1
    )

    @property
    def state_size(self) -> int:
        """Size of the states: 2H, with `skip` 2H + E; without a BiLSTM E."""
        return encoder_size(self, self.embedding_dim)

    @property
    def score_functions(self) -> dict[str, str]:
        """The network's score functions → where they are: multi-head, single-head or pooling."""
        scores: dict[str, str] = {}
        if self.encoder == "none":
            return scores
        if self.pooling in ATTENTION_POOLINGS:
            scores[self.score] = "pooling"
        if self.attention == "single-head":
            scores[self.score] = "single-head"
        if self.attention == "multi-head":
            scores["scaled-dot"] = "multi-head"
        return scores

    def without_attention(self) -> Self:
        """Return the same network without attention; a pooling by attention becomes the mean."""
        pooling = "mean" if self.pooling in ATTENTION_POOLINGS else self.pooling
        return dataclasses.replace(self, attention="none", pooling=pooling)

    @property
    def chooses_weights(self) -> bool:
        """Whether the weights of words depend on the text: by a score function or a maximum."""
        return bool(self.score_functions) or (self.encoder != "none" and self.pooling == "max")


def encoder_size(h: Architecture, input_size: int) -> int:
    """Return the size of the states for inputs (words, or sentences) of `input_size`."""
    return 2 * h.hidden_size + h.skip * input_size if h.encoder == "bilstm" else input_size


@dataclasses.dataclass(frozen=True)
class Training:
    """How a network of any task is trained."""

    epochs: int = hyperparameter(10, "passes over the training part, at most", gt=0, le=MAX_COUNT)
    batch_size: int = hyperparameter(64, "documents a step", gt=0, le=MAX_COUNT)
    learning_rate: float = hyperparameter(0.001, "Adam's step size", gt=0)
    warmup: float = hyperparameter(
        0.0, "share of all steps over which the learning rate rises from 0", ge=0, lt=1
    )
    decay: Literal["none", "linear", "cosine"] = hyperparameter(
        "none", "how the learning rate falls to 0 at the end of all epochs"
    )
    weight_decay: float = hyperparameter(
        0.0, "decoupled weight decay (AdamW) on all but biases", ge=0
    )
    clip: float = hyperparameter(
        0.0, "largest norm of all gradients together; larger ones are scaled down. 0: none", ge=0
    )
    label_smoothing: float = hyperparameter(
        0.0,
        "share of each target that is spread evenly over all that could be predicted",
        ge=0,
        lt=1,
    )
    averaging: float = hyperparameter(
        0.0,
        (
            "decay of the exponential moving average of the weights that is validated and kept; "
            "0: none"
        ),
        ge=0,
        lt=1,
    )
    patience: int = hyperparameter(
        0,
        "stop after this many epochs without a better one by `select`; 0: never",
        ge=0,
        le=MAX_COUNT,
    )
    precision: Literal["float32", "bfloat16"] = hyperparameter(
        "float32", "bfloat16: the network's arithmetic by torch.autocast; needs a GPU"
    )
    select: str = hyperparameter(
        "loss",
        ("the epoch kept: the best on validation by this figure (ties: the earliest), or the last"),
    )
    device: Literal["auto", "cpu", "cuda"] = hyperparameter(
        "auto", "auto: a free GPU if there is one, else the CPU"
    )
    threads: int = hyperparameter(
        1,
        (
            "torch threads of a training on CPU; changes the last bits of the result, so it is a "
            "parameter"
        ),
        gt=0,
        le=MAX_THREADS,
    )

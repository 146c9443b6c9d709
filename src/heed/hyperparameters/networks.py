"""The parts that a network is made of, each described once.

A part is a value of a hyperparameter: `encoder: gru`. The values that params.yaml may have, the
docs, the sentence on a variant in the report's glossary and its drawing are read from here. The
layers of a part are in `models`.
"""

import dataclasses
from typing import TYPE_CHECKING, Literal, TypeAlias


@dataclasses.dataclass(frozen=True)
class Part:
    """A value of a hyperparameter that chooses a part of a network.

    sentence: what the part does, in the report; it may name {hyperparameters}. For the values that
        say nothing to a reader it is empty.
    meaning: what it is, in the description of the hyperparameter; empty where the name says it.
    label: in the drawing of a network.
    count, plural: the hyperparameter that is counted, and the sentence for several.
    recurrent: whether states are computed one after the other.
    """

    sentence: str
    meaning: str = ""
    label: str = ""
    count: str = ""
    plural: str = ""
    recurrent: bool = False


def describe(start: str, parts: dict[str, Part]) -> str:
    """Return the description of a hyperparameter whose values are these parts."""
    return start + "; ".join(part.meaning for part in parts.values() if part.meaning)


ENCODERS = {
    "bilstm": Part(
        "a BiLSTM makes a state of each word", "a BiLSTM", label="BiLSTM", recurrent=True
    ),
    "gru": Part(
        "a bidirectional GRU makes a state of each word", "gru: a bidirectional GRU", label="BiGRU",
        recurrent=True,
    ),
    "transformer": Part(
        "a transformer of {count} layer makes a state of each word",
        "a transformer: self-attention without recurrence", label="transformer",
        count="encoder_layers", plural="a transformer of {count} layers makes a state of each word",
    ),
    "embeddings": Part(
        "each word is its embedding, without a network that reads its neighbours",
        "the embeddings themselves (features only: a control)", label="embeddings",
    ),
    "none": Part("", "none: the linear branch alone (a control)"),
}  # fmt: skip
ATTENTIONS = {
    "none": Part(""),
    "multi-head": Part(
        "self-attention of {count} head lets each state read all others",
        "multi-head scaled dot-product", label="self-attention", count="heads",
        plural="self-attention of {count} heads lets each state read all others",
    ),
    "single-head": Part(
        "self-attention with the score {score} lets each state read all others",
        "single-head with any `score`, without projections", label="self-attention",
    ),
    "uniform": Part(
        "the layer of self-attention, but with equal weights in place of learned ones",
        "uniform: multi-head with equal weights in place of learned ones (a control)",
        label="equal weights",
    ),
}  # fmt: skip
POOLINGS = {
    "last": Part("the text is the last state", label="last state"),
    "mean": Part("the text is the mean of the states", label="mean"),
    "max": Part("the text is the maximum of the states in each of their numbers", label="maximum"),
    "attention": Part(
        "the text is the average of the states, weighted by a learned query (score {score})",
        "attention: by a learned query and `score`", label="learned query",
    ),
    "max-attention": Part(
        "the text is the average of the states, weighted by their own maximum as query",
        "max-attention: the query is the maximum of the states", label="maximum as query",
    ),
}  # fmt: skip
SOURCE_ENCODERS = {
    "bidirectional": Part(
        "a recurrent network reads the source in both directions",
        "bidirectional: a recurrent network in both directions, each with half the states' size",
        recurrent=True,
    ),
    "unidirectional": Part(
        "a recurrent network reads the source in one direction",
        "unidirectional: in one direction",
        recurrent=True,
    ),
    "transformer": Part(
        "a transformer reads the source", "transformer: self-attention without recurrence"
    ),
}
DECODERS = {
    "last-state": Part(
        "the translation is written from its last state alone",
        "last-state: from the encoder's last state alone", recurrent=True,
    ),
    "concatenate": Part(
        "the translation is written from all states in one vector",
        "concatenate: from all states in one vector", recurrent=True,
    ),
    "output": Part(
        "in each step attention (score {score}) reads all states, before the output layer",
        "output: attention before the output layer", recurrent=True,
    ),
    "input": Part(
        "in each step attention (score {score}) reads all states, and is the decoder’s input",
        "input: attention in the input of the recurrence", recurrent=True,
    ),
    "input-literal": Part(
        "in each step attention (score {score}) reads all states, and is the decoder’s only "
        "input: not the previous word",
        "input-literal: as lecture 004 writes it, without the previous word", recurrent=True,
    ),
    "transformer": Part(
        "each layer of the decoder reads all states, by attention of {count} head", "transformer",
        count="heads",
        plural="each layer of the decoder reads all states, by attention of {count} heads",
    ),
}  # fmt: skip
# the same decoders where equal weights take the place of learned ones (score: uniform)
UNIFORM_DECODERS = {
    "output": Part("in each step the mean of all states is read, before the output layer"),
    "input": Part("in each step the mean of all states is read, in the decoder’s input"),
    "input-literal": Part(
        "in each step the mean of all states is read, and is the decoder’s only input: not the "
        "previous word"
    ),
}
PARTS = (ENCODERS, ATTENTIONS, POOLINGS, SOURCE_ENCODERS, DECODERS, UNIFORM_DECODERS)
# score functions of attention (docs/attention.md); with equal weights in place of learned ones
SCORES = ("additive", "concat", "concat-tanh", "location", "general", "dot", "scaled-dot")
UNIFORM = "uniform"

# The types of the hyperparameters: type checkers cannot read the names from the tables above.
if TYPE_CHECKING:
    EncoderName: TypeAlias = str
    AttentionName: TypeAlias = str
    PoolingName: TypeAlias = str
    SourceEncoderName: TypeAlias = str
    DecoderName: TypeAlias = str
    ScoreName: TypeAlias = str
    SourceScoreName: TypeAlias = str
else:
    EncoderName = Literal[tuple(ENCODERS)]
    AttentionName = Literal[tuple(ATTENTIONS)]
    PoolingName = Literal[tuple(POOLINGS)]
    SourceEncoderName = Literal[tuple(SOURCE_ENCODERS)]
    DecoderName = Literal[tuple(DECODERS)]
    ScoreName = Literal[SCORES]
    SourceScoreName = Literal[(*SCORES, UNIFORM)]

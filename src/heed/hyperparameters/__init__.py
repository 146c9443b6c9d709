"""The hyperparameters of networks and their training, each declared once.

Here are the hyperparameters of every training, and the parts of a network, values such as
`encoder: bilstm`, with their words in docs, glossary and drawing; `classifier` and `translator`
have one architecture each. A task combines what its models have (tasks/TASK/recipe.py).
"""

import dataclasses
from collections.abc import Container
from typing import Any, Literal, NamedTuple

Value = bool | int | float | str
Configuration = dict[str, Value]  # some hyperparameters and their values, as a search draws them
# Limits that no study of text reaches: a mistyped size is an error before any memory is taken.
MAX_SIZE = 65_536  # of a layer
MAX_ROWS = 2**24  # of a table of embeddings or features
MAX_LAYERS = 64  # of an encoder or a decoder
MAX_COUNT = 100_000  # of epochs, trials, documents in a step
MAX_THREADS = 4096
MAX_SEEDS = 1000  # of a study
# a share that is left out, smoothed or warmed up: less has no effect, more leaves nothing
SHARE = {"or_zero": 1e-6, "le": 0.95}
MAX_SEED = 2**31 - 1  # for every generator, also where a number of folds is added


class CorpusSizes(NamedTuple):
    """The sizes of a corpus on which the shapes of a network depend."""

    types: tuple[int, ...]  # different tokens of each language
    outputs: int = 0  # what is predicted, if no word: one of how many values, or how many at once


def required(description: str = "", **limits: object) -> Any:
    """Return a dataclass field of a key that must be there; `limits` are heed.records.LIMITS."""
    return dataclasses.field(metadata={"description": description, "limits": limits})


def hyperparameter(default: Any, description: str, **limits: object) -> Any:
    """Return a dataclass field of a key with a default."""
    metadata = {"description": description, "limits": limits}
    if isinstance(default, list | dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


@dataclasses.dataclass(frozen=True)
class Preset:
    """Hyperparameters under a name. `description` says for which corpora they are."""

    description: str
    values: Configuration


@dataclasses.dataclass(frozen=True)
class Training:
    """How a network of any task is trained."""

    epochs: int = hyperparameter(10, "most passes over the training split", gt=0, le=MAX_COUNT)
    batch_size: int = hyperparameter(64, "documents a step", gt=0, le=MAX_COUNT)
    learning_rate: float = hyperparameter(0.001, "Adam's step size", ge=1e-8, le=10)
    warmup: float = hyperparameter(0.0, "share of the steps over which the learning rate rises "
        "from 0", **SHARE)  # fmt: skip
    lr_schedule: Literal["none", "linear", "cosine"] = hyperparameter("none", "how the learning "
        "rate falls to 0 by the last epoch")  # fmt: skip
    weight_decay: float = hyperparameter(0.0, "AdamW's weight decay, on all but biases",
        or_zero=1e-9, le=10)  # fmt: skip
    max_grad_norm: float = hyperparameter(0.0, "gradients with a larger norm are scaled down to "
        "it; 0: none", or_zero=1e-6, le=1_000_000)  # fmt: skip
    label_smoothing: float = hyperparameter(0.0, "share of each target that is spread over all "
        "outputs", **SHARE)  # fmt: skip
    ema_decay: float = hyperparameter(0.0, "decay of the moving average of the weights that is "
        "kept; 0: none", or_zero=0.001, le=0.99999)  # fmt: skip
    patience: int = hyperparameter(0, "stop after this many epochs without a better one; 0: never",
        ge=0, le=MAX_COUNT)  # fmt: skip
    precision: Literal["float32", "bfloat16"] = hyperparameter("float32", "bfloat16: products in "
        "training, on a GPU or with avx512_bf16 or AMX")  # fmt: skip
    monitor: str = hyperparameter("loss", "validation metric that selects the epoch kept, or the "
        "last epoch")  # fmt: skip
    device: Literal["auto", "cpu", "cuda"] = hyperparameter("auto", "auto: a free GPU if there is "
        "one, else the CPU")  # fmt: skip


class Reading:
    """How texts become the input of a network: the base of the hyperparameters that say it."""


# Equal where two models differ in nothing but their architecture, beside those of training, of
# reading a text, and all dropouts: how the weights begin, and the loss that is minimized.
OTHERS = {"class_weights", "embedding_std", "vectors"}
# These may differ: they change no outcome on purpose; and decoder `concatenate` has as many states
# as its sources may have words.
FREE = {"device", "max_source_tokens", "precision"}


def besides_architecture(hyperparameters: Training, searched: Container[str] = ()) -> Configuration:
    """Return the values of a model besides the architecture that were not searched."""
    kinds = [k for k in type(hyperparameters).__mro__ if k is Training or Reading in k.__bases__]
    of_kinds = ({field.name for field in dataclasses.fields(kind)} for kind in kinds)
    names = OTHERS.union(*of_kinds) - FREE
    return {
        key: value
        for key, value in vars(hyperparameters).items()
        if (key in names or key.endswith("dropout")) and key not in searched
    }


@dataclasses.dataclass(frozen=True)
class Part:
    """A value of a hyperparameter that chooses a part of a network."""

    sentence: str  # in the report, on what it does; it may name {hyperparameters}
    meaning: str = ""  # in the hyperparameter's description; empty where the name says it
    count: str = ""  # the hyperparameter that is counted
    plural: str = ""  # the sentence for several


def part(default: str, start: str, parts: dict[str, Part]) -> Any:
    """Return a dataclass field for a hyperparameter whose values are these parts."""
    meanings = "; ".join(part.meaning for part in parts.values() if part.meaning)
    return hyperparameter(default, start + meanings, choices=tuple(parts))


ENCODERS = {
    "bilstm": Part("a BiLSTM makes a state of each word"),
    "transformer": Part("a transformer of {count} layer makes a state of each word",
        count="encoder_layers",
        plural="a transformer of {count} layers makes a state of each word"),
    "embeddings": Part("each word is its embedding, without a network that reads its neighbours",
        "embeddings: no network, a control"),
}  # fmt: skip
ATTENTIONS = {
    "none": Part(""),
    "multi-head": Part("self-attention of {count} head lets each state read all others",
        count="heads",
        plural="self-attention of {count} heads lets each state read all others"),
    "single-head": Part("self-attention with the score {score} lets each state read all others",
        "single-head: with any `score`"),
    "uniform": Part("the layer of self-attention, but with equal weights in place of learned ones",
        "uniform: equal weights, a control"),
}  # fmt: skip
POOLINGS = {
    "last": Part("the text is the last state"),
    "mean": Part("the text is the mean of the states"),
    "max": Part("the text is the maximum of the states in each of their numbers"),
    "attention": Part("the text is the average of the states, weighted by a learned query (score "
        "{score})", "attention: by a learned query and `score`"),
}  # fmt: skip
SOURCE_ENCODERS = {
    "bidirectional": Part("a recurrent network reads the source in both directions",
        "bidirectional: each direction has half the states' size"),
    "unidirectional": Part("a recurrent network reads the source in one direction"),
    "transformer": Part("a transformer reads the source"),
}  # fmt: skip
DECODERS = {
    "last-state": Part("the translation is written from its last state alone",
        "last-state: the last state alone"),
    "concatenate": Part("the translation is written from all states in one vector",
        "concatenate: all states in one vector"),
    "output": Part("in each step attention (score {score}) reads all states, before the output "
        "layer", "output: by attention, before the output layer"),
    "input": Part("in each step attention (score {score}) reads all states, and is the decoder’s "
        "input", "input: by attention, in the recurrence's input"),
    "input-literal": Part("in each step attention (score {score}) reads all states, and is the "
        "decoder’s only input: not the previous word", "input-literal: the same without the "
        "previous word"),
    "transformer": Part("each layer of the decoder reads all states, by attention of {count} head",
        count="heads",
        plural="each layer of the decoder reads all states, by attention of {count} heads"),
}  # fmt: skip
# the same decoders where equal weights take the place of learned ones (score: uniform)
UNIFORM_DECODERS = {
    "output": Part("in each step the mean of all states is read, before the output layer"),
    "input": Part("in each step the mean of all states is read, in the decoder’s input"),
    "input-literal": Part("in each step the mean of all states is read, and is the decoder’s only "
        "input: not the previous word"),
}  # fmt: skip
DIAGONAL_DECODERS = {
    "output": Part("in each step the state of the source word at the same place is read, before "
        "the output layer"),
}  # fmt: skip
# score functions of attention (docs/reference/attention.md); controls with fixed weights
SCORES = ("additive", "concat", "concat-tanh", "location", "general", "dot", "scaled-dot")
FIXED_SCORES = {"uniform": UNIFORM_DECODERS, "diagonal": DIAGONAL_DECODERS}

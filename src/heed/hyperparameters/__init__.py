"""The hyperparameters of networks and their training, each declared once.

Here are those of every training; `classifier` and `translator` have those of one architecture each.
The schema of params.yaml is generated from these declarations (heed.study.defaults), and recipes
are read into them, also where pydantic is not installed. A task combines those that its models have
(tasks/TASK/recipe.py).
"""

import dataclasses
from typing import Any, Literal, NamedTuple

Value = bool | int | float | str
Configuration = dict[str, Value]  # some hyperparameters and their values, as a search draws them
# Limits that no study of text reaches: a mistyped size is an error before any memory is taken.
MAX_SIZE = 65_536  # of a layer
MAX_ROWS = 2**27  # of a table of embeddings or features
MAX_LAYERS = 64  # of an encoder or a decoder
MAX_COUNT = 100_000  # of epochs, trials, documents in a step
MAX_THREADS = 4096
MAX_SEED = 2**31 - 1  # for every generator, also where a number of folds is added


class CorpusSizes(NamedTuple):
    """What the shapes of a network depend on, beside its hyperparameters.

    types: different tokens of a corpus, of each language that a network reads or writes.
    outputs: what is predicted, if it is no word: one of how many values, or how many at once.
    """

    types: tuple[int, ...]
    outputs: int = 0


def hyperparameter(default: Any, description: str, **limits: float) -> Any:
    """Return a dataclass field for the schema; `limits` are pydantic's gt, ge, lt and le."""
    metadata = {"description": description, "limits": limits}
    if isinstance(default, list):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def required(description: str) -> Any:
    """Return a dataclass field for the schema without a default: a key that must be there."""
    return dataclasses.field(metadata={"description": description, "limits": {}})


@dataclasses.dataclass(frozen=True)
class Preset:
    """Hyperparameters under a name. `description` says for which corpora they are."""

    description: str
    values: Configuration


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
        0.0, "share of each target that is spread evenly over all that could be predicted",
        ge=0, lt=1,
    )  # fmt: skip
    averaging: float = hyperparameter(
        0.0, "decay of the exponential moving average of the weights that is validated and kept; "
        "0: none", ge=0, lt=1,
    )  # fmt: skip
    patience: int = hyperparameter(
        0, "stop after this many epochs without a better one by `select`; 0: never",
        ge=0, le=MAX_COUNT,
    )  # fmt: skip
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

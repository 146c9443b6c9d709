"""The hyperparameters of the training of any network."""

import dataclasses
from typing import Literal

from heed.hyperparameters import MAX_COUNT, hyperparameter


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

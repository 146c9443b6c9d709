"""Load the weights of a run into the model of its recipe, after a check of names and shapes."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import nn

from heed.files import HeedError
from heed.models.size import shapes_alone

Model = TypeVar("Model", bound=nn.Module)
# What a missing or broken file of a run can raise.
ERRORS = (OSError, SafetensorError, RuntimeError, ValueError, OverflowError)


@contextlib.contextmanager
def whole_run(folder: Path, command: str) -> Iterator[None]:
    """Turn what a missing or broken file of a run raises into one message.

    Raises HeedError, which names the folder; `command` makes the run again.
    """
    try:
        yield
    except ERRORS as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise HeedError(f"{folder}: not a whole run ({reason}). Run again: {command}") from None


def load_weights(path: Path, make_model: Callable[[], Model]) -> Model:
    """Return a model with the weights of a file.

    Raises one of ERRORS: the file is missing or broken, or its tensors are not the model's.
    """
    with shapes_alone():
        _check_tensors(path, make_model().state_dict())
    model = make_model()
    model.load_state_dict(load_file(path))
    return model


def _check_tensors(path: Path, expected: dict[str, torch.Tensor]) -> None:
    """Raise ValueError unless a file has these tensors; their values are not read."""
    with safe_open(path, "pt") as file:
        names = set(file.keys())
        for name in sorted(names | expected.keys()):
            if name not in names:
                raise ValueError(f"{path.name} has no tensor {name}")
            if name not in expected:
                raise ValueError(
                    f"{path.name} has the tensor {name}, which the recipe's model does not have"
                )
            header = file.get_slice(name)
            shape, dtype = header.get_shape(), header.get_dtype()
            if shape != list(expected[name].shape) or dtype != "F32":
                raise ValueError(
                    f"{path.name}: tensor {name} is {dtype} {shape}, not F32 "
                    f"{list(expected[name].shape)} as the recipe's model has it"
                )

"""Checkpoints of unfinished trainings: a safetensors file in .heed/work, never in an output."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from safetensors.torch import save as serialize
from torch import Tensor, nn

from heed.digests import digest_value, loaded_modules, versions
from heed.files import HeedError, writing
from heed.paths import WORK
from heed.recipe import Recipe
from heed.task import import_stage_modules

CHECKPOINT = "checkpoint.safetensors"


class State(TypedDict):
    """All of a training between two epochs but for its tensors."""

    history: list[dict[str, float]]
    best_epoch: int
    machine_kind: str


def code_digest(task: str) -> str:
    """Return the digest of the code that trains models of a task, and of its libraries' versions.

    Asked before a training, whose lazy imports would change it.
    """
    import_stage_modules(task, "train")
    return digest_value([loaded_modules(), versions(sys.modules)])[:16]


def work_folder(recipe: Recipe[Any, Any], seed: int, code: str) -> Path:
    """Return the work folder of a run; `code` is the digest of the code that trains it."""
    return WORK / f"train-{digest_value([recipe.as_dict(), seed, code])[:16]}"


def write_tensors(
    path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None
) -> None:
    """Write a safetensors file. A tensor with several names is written under each.

    Raises OSError on a full disk, which safetensors' own writer would not.
    """
    written: dict[str, Tensor] = {}
    addresses: set[int] = set()
    for name, tensor in tensors.items():
        contiguous = tensor.contiguous().cpu()
        is_shared = contiguous.data_ptr() in addresses  # a tied readout: safetensors refuses it
        written[name] = contiguous.clone() if is_shared else contiguous
        addresses.add(contiguous.data_ptr())
    path.write_bytes(serialize(written, metadata))


def save(path: Path, tensors: dict[str, dict[str, Tensor]], state: State) -> None:
    """Write groups of tensors and the `state`; an interrupted write leaves no file."""
    named = {
        f"{group}/{key}": value
        for group, values in tensors.items()
        for key, value in values.items()
    }
    with writing(path) as temporary:
        write_tensors(temporary, named, {"state": json.dumps(state)})


def load(path: Path) -> tuple[dict[str, dict[str, Tensor]], State] | None:
    """Return the tensors and state that `save` wrote; None if there is no complete file."""
    try:
        with safe_open(path, "pt") as file:
            tensors: dict[str, dict[str, Tensor]] = {}
            for key in file.keys():  # noqa: SIM118 (it is not a dict)
                group, name = key.split("/", 1)
                tensors.setdefault(group, {})[name] = file.get_tensor(key)
            return tensors, json.loads(file.metadata()["state"])
    except (OSError, SafetensorError, ValueError, KeyError):
        return None


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return the optimizer's state as named tensors."""
    state = optimizer.state_dict()["state"]
    return {
        f"{index}.{key}": value for index, values in state.items() for key, value in values.items()
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Restore the state that `optimizer_tensors` returned."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})


Model = TypeVar("Model", bound=nn.Module)
# What a missing or broken file of a run can raise.
ERRORS = (OSError, SafetensorError, RuntimeError, ValueError, OverflowError)


@contextlib.contextmanager
def whole_run(folder: Path, command: str) -> Iterator[None]:
    """Turn what a missing or broken file of a run raises into one HeedError.

    It names the folder; `command` makes the run again.
    """
    try:
        yield
    except ERRORS as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise HeedError(f"{folder}: not a whole run ({reason}). Run again: {command}") from None


def load_weights(path: Path, make_model: Callable[[], Model]) -> Model:
    """Return a model with the weights of a file. Raises one of ERRORS."""
    model = make_model()
    model.load_state_dict(load_file(path))
    return model

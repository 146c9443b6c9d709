"""Where an unfinished training waits: a safetensors file and its times below .heed/work, never
below a stage's output.
"""

import contextlib
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialize

from heed.code.digests import loaded_modules
from heed.files import write_json, writing
from heed.paths import WORK
from heed.recipe import Recipe
from heed.tasks import load_parts

CHECKPOINT = "checkpoint.safetensors"


def folder(recipe: Recipe[Any, Any], seed: int) -> Path:
    """Return the work folder of a run: another recipe, seed, code or torch is another folder."""
    load_parts(recipe.task, "train")
    what = json.dumps([recipe.as_dict(), seed, loaded_modules(), torch.__version__], sort_keys=True)
    return WORK / f"train-{hashlib.sha256(what.encode()).hexdigest()[:16]}"


def begin(work: Path) -> float:
    """Note that a process begins here; return the seconds of those that were killed before it, up
    to their last checkpoint.
    """
    note, spent = work / "begun.json", 0.0
    with contextlib.suppress(OSError, ValueError):
        before = json.loads(note.read_text(encoding="utf-8"))
        spent = before["spent"] + max(0.0, (work / CHECKPOINT).stat().st_mtime - before["began"])
    write_json(note, {"spent": spent, "began": time.time()})
    return spent


def write_tensors(
    path: Path, tensors: dict[str, torch.Tensor], about: dict[str, str] | None = None
) -> None:
    """Write a safetensors file; a full disk is an OSError, as for every other file (safetensors has
    one of its own).
    """
    path.write_bytes(
        serialize({name: tensor.contiguous().cpu() for name, tensor in tensors.items()}, about)
    )


def save(path: Path, tensors: dict[str, dict[str, torch.Tensor]], state: dict[str, Any]) -> None:
    """Write groups of tensors and the JSON-able `state` whole, or not at all."""
    flat = {
        f"{group}/{key}": value for group, part in tensors.items() for key, value in part.items()
    }
    with writing(path) as temporary:
        write_tensors(temporary, flat, {"state": json.dumps(state)})


def load(path: Path) -> tuple[dict[str, dict[str, torch.Tensor]], dict[str, Any]] | None:
    """Return what `save` wrote, or None where there is nothing that can be read whole."""
    try:
        with safe_open(path, "pt") as file:
            tensors: dict[str, dict[str, torch.Tensor]] = {}
            for key in file.keys():  # noqa: SIM118 (it is no dict)
                group, name = key.split("/", 1)
                tensors.setdefault(group, {})[name] = file.get_tensor(key)
            return tensors, json.loads(file.metadata()["state"])
    except (OSError, SafetensorError, ValueError, KeyError):
        return None


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    """Return the optimizer's state as named tensors."""
    state = optimizer.state_dict()["state"]
    return {f"{index}.{key}": value for index, part in state.items() for key, value in part.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, torch.Tensor]) -> None:
    """Put back what `optimizer_tensors` returned."""
    state: dict[int, dict[str, torch.Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(optimizer.state_dict() | {"state": state})

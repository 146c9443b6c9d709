"""The training loop: epochs of Adam on cross entropy, validated after each, the best epoch kept."""

import dataclasses
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from heed.metrics import summary
from heed.text.batches import Batch, Encoded
from heed.training import checkpoint
from heed.training.determinism import seed_everything

EVALUATION_BATCH = 256


@dataclasses.dataclass(frozen=True)
class Task:
    """What is trained on what: `labels` (documents,) are class indices of the whole corpus."""

    encoded: Encoded
    labels: np.ndarray
    classes: list[str]
    train: np.ndarray
    validation: np.ndarray


@dataclasses.dataclass
class Progress:
    """Told to the person who waits, after every batch and every epoch."""

    epoch: int
    epochs: int
    documents: int
    of: int
    loss: float
    seconds: float
    validation: dict[str, float] | None = None  # None in mid-epoch


def probabilities(model: nn.Module, batches: Iterable[Batch], rows: np.ndarray, device: str) -> np.ndarray:
    """Return the class probabilities (rows, classes), float32, in the order of `rows`; dropout is off."""
    model.eval()
    found: list[np.ndarray] = []
    order: list[np.ndarray] = []
    with torch.inference_mode():
        for batch in batches:
            logits = model(batch.ids.to(device), batch.lengths.to(device))
            found.append(torch.softmax(logits.float(), -1).cpu().numpy())
            order.append(batch.rows)
    at = {row: i for i, row in enumerate(np.concatenate(order))}
    return np.concatenate(found)[[at[row] for row in rows]]


def validate(model: nn.Module, task: Task, device: str) -> dict[str, float]:
    """Return loss, accuracy and macro F1 on the validation part."""
    rows = task.validation
    predicted = probabilities(model, task.encoded.evaluation(rows, EVALUATION_BATCH), rows, device)
    labels = task.labels[rows]
    likelihood = np.maximum(predicted[np.arange(len(rows)), labels].astype(np.float64), 1e-30)
    names = np.asarray(task.classes)
    figures = summary(names[labels], names[predicted.argmax(1)], task.classes)
    return {
        "loss": float(-np.log(likelihood).mean()),
        "accuracy": figures["accuracy"],
        "macro_f1": figures["macro_f1"],
    }


def train(
    model: nn.Module,
    task: Task,
    hyperparameters: dict[str, Any],
    seed: int,
    device: str,
    work: Path,
    tell: Callable[[Progress], None],
) -> tuple[list[dict[str, float]], int]:
    """Train `model` in place; it ends with the weights of the epoch that `select` names.

    An epoch that ended is kept in `work`; a training that was killed goes on after it and ends with the same weights.

    Returns:
        history: one row an epoch (docs/contracts.md).
        best_epoch: counted from 1.

    """
    h, path = hyperparameters, work / "checkpoint.safetensors"
    # fused Adam: the step on a 30000 x 128 embedding 34.7 -> 5.0 ms on one core (DESIGN.md 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=h["learning_rate"], fused=True)
    history: list[dict[str, float]] = []
    best = {key: value.clone() for key, value in model.state_dict().items()}
    best_epoch = 0
    if (saved := checkpoint.load(path)) is not None:
        tensors, state = saved
        model.load_state_dict(tensors["model"])
        checkpoint.restore_optimizer(optimizer, tensors["optimizer"])
        best, history, best_epoch = tensors["best"], state["history"], state["best_epoch"]
    for epoch in range(len(history) + 1, h["epochs"] + 1):
        seed_everything(seed, epoch)
        loss = _epoch(model, optimizer, task, h, seed, epoch, device, tell)
        figures = validate(model, task, device)
        history.append({"epoch": epoch, "train_loss": loss, **{f"validation_{k}": v for k, v in figures.items()}})
        if _is_best(history, h["select"]):
            best_epoch = epoch
            best = {key: value.clone() for key, value in model.state_dict().items()}
        groups = {"model": model.state_dict(), "best": best, "optimizer": checkpoint.optimizer_tensors(optimizer)}
        checkpoint.save(path, groups, {"history": history, "best_epoch": best_epoch})
        tell(Progress(epoch, h["epochs"], len(task.train), len(task.train), loss, 0.0, figures))
    model.load_state_dict(best)
    return history, best_epoch


def _epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    task: Task,
    h: dict[str, Any],
    seed: int,
    epoch: int,
    device: str,
    tell: Callable[[Progress], None],
) -> float:
    """Train one epoch; return the mean loss over its documents."""
    model.train()
    labels = torch.from_numpy(task.labels)
    total, documents, started = 0.0, 0, time.perf_counter()
    for batch in task.encoded.training(task.train, h["batch_size"], seed, epoch):
        logits = model(batch.ids.to(device), batch.lengths.to(device))
        loss = nn.functional.cross_entropy(logits, labels[batch.rows].to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch.rows)
        documents += len(batch.rows)
        seconds = time.perf_counter() - started
        tell(Progress(epoch, h["epochs"], documents, len(task.train), total / documents, seconds))
    return total / max(1, documents)


def _is_best(history: list[dict[str, float]], select: str) -> bool:
    """Return whether the newest epoch is the one to keep so far; ties go to the earliest."""
    if select == "last":
        return True
    sign = -1 if select == "loss" else 1
    figures = [sign * row[f"validation_{select}"] for row in history]
    return all(figures[-1] > earlier for earlier in figures[:-1])

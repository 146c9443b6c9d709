"""The training loop: epochs of Adam on cross entropy, validated after each, the best epoch kept."""

import copy
import dataclasses
import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from heed.metrics import summary
from heed.models.classifier import Classifier
from heed.text.batches import PLACES, Batch, Encoded, batches_an_epoch
from heed.training import checkpoint
from heed.training.determinism import seed_everything


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
    glance: tuple[int, dict[str, float]] | None = None  # in mid-epoch: which one, and the figures on a sample


def probabilities(model: nn.Module, batches: Iterable[Batch], rows: np.ndarray, device: str) -> np.ndarray:
    """Return the class probabilities (rows, classes), float32, in the order of `rows`; dropout is off."""
    model.eval()
    found: list[np.ndarray] = []
    order: list[np.ndarray] = []
    with torch.inference_mode():
        for batch in batches:
            logits = model(batch.to(device))
            found.append(torch.softmax(logits.float(), -1).cpu().numpy())
            order.append(batch.rows)
    at = {row: i for i, row in enumerate(np.concatenate(order))}
    return np.concatenate(found)[[at[row] for row in rows]]


def validate(model: nn.Module, task: Task, device: str) -> dict[str, float]:
    """Return loss, accuracy and macro F1 on the validation part."""
    rows = task.validation
    predicted = probabilities(model, task.encoded.evaluation(rows), rows, device)
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
    model: Classifier,
    task: Task,
    hyperparameters: dict[str, Any],
    seed: int,
    device: str,
    work: Path,
    tell: Callable[[Progress], None],
    glances: int = 1,
) -> tuple[list[dict[str, float]], int]:
    """Train `model` in place; it ends with the weights of the epoch that `select` names.

    With `glances` above 1 the validation part is looked at that many times an epoch: at its end all of it, before that every
    glances-th document. It changes nothing in the training.

    An epoch that ended is kept in `work`; a training that was killed goes on after it and ends with the same weights.

    Returns:
        history: one row an epoch (docs/contracts.md).
        best_epoch: counted from 1.

    """
    h, path = hyperparameters, work / checkpoint.CHECKPOINT
    optimizer = _optimizer(model, h)
    average = copy.deepcopy(model) if h.averaging else model  # what is validated and kept
    history: list[dict[str, float]] = []
    best = _weights(average)
    best_epoch = 0
    if (saved := checkpoint.load(path)) is not None:
        tensors, state = saved
        model.load_state_dict(tensors["model"])
        checkpoint.restore_optimizer(optimizer, tensors["optimizer"])
        best, history, best_epoch = tensors["best"], state["history"], state["best_epoch"]
        if average is not model:
            average.load_state_dict(tensors["average"])
    for epoch in range(len(history) + 1, h.epochs + 1):
        if is_over(len(history), best_epoch, h.patience):
            break
        seed_everything(seed, epoch)
        loss = _epoch(model, average, optimizer, task, h, seed, epoch, device, tell, glances)
        figures = validate(average, task, device)
        history.append({"epoch": epoch, "train_loss": loss, **{f"validation_{k}": v for k, v in figures.items()}})
        if _is_best(history, h.select):
            best_epoch = epoch
            best = _weights(average)
        groups = {"model": model.state_dict(), "best": best, "optimizer": checkpoint.optimizer_tensors(optimizer)}
        if average is not model:
            groups["average"] = average.state_dict()
        checkpoint.save(path, groups, {"history": history, "best_epoch": best_epoch})
        tell(Progress(epoch, h.epochs, len(task.train), len(task.train), loss, 0.0, figures))
    model.load_state_dict(best)
    return history, best_epoch


def _weights(model: nn.Module) -> dict[str, torch.Tensor]:
    return {key: value.clone() for key, value in model.state_dict().items()}


def _optimizer(model: nn.Module, h: dict[str, Any]) -> torch.optim.Optimizer:
    """Return Adam with decoupled weight decay on everything but biases; without decay it is plain Adam.

    Each group has a `factor`, by which the learning rate is multiplied: `branch_rate` for the linear branch.
    """
    groups = [
        {
            "params": [
                p
                for name, p in model.named_parameters()
                if (p.dim() > 1) == decays and name.startswith("branch.") == branch
            ],
            "weight_decay": h.weight_decay if decays else 0.0,
            "factor": h.branch_rate if branch else 1.0,
        }
        for decays in (True, False)
        for branch in (False, True)
    ]
    # fused: the step on a 30000 x 128 embedding 34.7 -> 5.0 ms on one core
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=h.learning_rate, fused=True)


def learning_rate(step: int, steps: int, h: dict[str, Any]) -> float:
    """Return the rate of `step` of `steps`, from 0: a linear rise over the share `warmup`, then what `decay` names."""
    rise = h.warmup * steps
    if step < rise:
        return float(h.learning_rate * (step + 1) / (rise + 1))
    share = (step - rise) / max(1.0, steps - rise)  # 0 to 1
    factor = {"none": 1.0, "linear": 1.0 - share, "cosine": 0.5 * (1 + math.cos(math.pi * share))}[h.decay]
    return float(h.learning_rate * factor)


def is_over(epochs: int, best_epoch: int, patience: int) -> bool:
    """Return whether a training ends early: `patience` epochs (0: never) brought nothing better than `best_epoch`."""
    return bool(patience) and epochs - best_epoch >= patience


def _epoch(
    model: Classifier,
    average: Classifier,
    optimizer: torch.optim.Optimizer,
    task: Task,
    h: dict[str, Any],
    seed: int,
    epoch: int,
    device: str,
    tell: Callable[[Progress], None],
    glances: int,
) -> float:
    """Train one epoch; return the mean loss over its documents."""
    model.train()
    labels = torch.from_numpy(task.labels)
    an_epoch = batches_an_epoch(len(task.train), h.batch_size)
    first, steps = (epoch - 1) * an_epoch, h.epochs * an_epoch
    step, sample = first, dataclasses.replace(task, validation=task.validation[::glances])
    total = torch.zeros((), dtype=torch.float64, device=device)
    documents, started = 0, time.perf_counter()
    cross_entropy = nn.CrossEntropyLoss(reduction="sum", label_smoothing=h.label_smoothing)
    places = PLACES if device == "cpu" else None  # a GPU does a step at once
    for parts in task.encoded.training(task.train, h.batch_size, seed, epoch, places):
        for group in optimizer.param_groups:
            group["lr"] = group["factor"] * learning_rate(step, steps, h)
        optimizer.zero_grad()
        size = sum(len(part.rows) for part in parts)
        for part in parts:  # the gradients add up to those of the whole
            logits = model.parts(part.to(device))
            targets = labels[part.rows].to(device)
            if h.branch_loss == "joint":
                logits = [torch.stack(logits).sum(0)]
            loss = torch.stack([cross_entropy(found, targets) for found in logits]).sum()
            (loss / size).backward()
            total += loss.detach()
        if h.clip:
            nn.utils.clip_grad_norm_(model.parameters(), h.clip)
        optimizer.step()
        step += 1
        if average is not model:
            _average(average, model, min(h.averaging, step / (step + 9)))
        documents += size
        seconds = time.perf_counter() - started
        progress = Progress(epoch, h.epochs, documents, len(task.train), total.item() / documents, seconds)
        number = (step - first) * glances // an_epoch
        if (step - first - 1) * glances // an_epoch < number < glances:
            progress.glance = (number, validate(average, sample, device))
            model.train()
        tell(progress)
    return total.item() / max(1, documents)


def _average(average: nn.Module, model: nn.Module, decay: float) -> None:
    """Move `average` towards `model`: an exponential moving average of the weights, faster in the first steps."""
    with torch.no_grad():
        torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 1 - decay)


def _is_best(history: list[dict[str, float]], select: str) -> bool:
    """Return whether the newest epoch is the one to keep so far; ties go to the earliest."""
    if select == "last":
        return True
    sign = -1 if select == "loss" else 1
    figures = [sign * row[f"validation_{select}"] for row in history]
    return all(figures[-1] > earlier for earlier in figures[:-1])

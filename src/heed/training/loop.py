"""The training loop: epochs of Adam on a task's loss; the weights of the best epoch are kept."""

import copy
import inspect
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from heed.files import HeedError
from heed.hyperparameters import Training
from heed.inputs.batches import MAX_PADDED_TOKENS
from heed.progress import Progress
from heed.task.interface import Learner, lower_is_better
from heed.training import checkpoint
from heed.training.machine import continue_kind, machine_kind, seed_everything

LAST = "last"  # in place of a metric: the last epoch is kept


class DivergedError(HeedError):
    """A training whose loss or weights are no longer finite; the same training diverges again."""


class _Training:
    """A training between two epochs, of which a checkpoint holds all that changes.

    `average` is the model that is validated: `model`, or the moving average of its weights. `best`
    has the weights of `best_epoch`, from 1.
    """

    def __init__(self, learner: Learner, h: Training) -> None:
        self.learner, self.h, self.device = learner, h, learner.device
        self.model: nn.Module = learner.model
        self.average = _copy(self.model) if h.ema_decay else self.model
        self.optimizer = _make_optimizer(learner, h)
        self.best, self.best_epoch = _copy_weights(self.average), 0
        self.history: list[dict[str, float]] = []
        self.machine_kind = ""
        self.steps = math.ceil(learner.items / h.batch_size)
        self.total_steps = h.epochs * self.steps

    def save(self, path: Path) -> None:
        groups = {"model": self.model.state_dict(), "best": self.best}
        groups["optimizer"] = checkpoint.optimizer_tensors(self.optimizer)
        if self.average is not self.model:
            groups["average"] = self.average.state_dict()
        state = checkpoint.State(
            history=self.history, best_epoch=self.best_epoch, machine_kind=self.machine_kind
        )
        checkpoint.save(path, groups, state)

    def restore(self, path: Path) -> None:
        if (saved := checkpoint.load(path)) is None:
            return
        tensors, values = saved
        self.model.load_state_dict(tensors["model"])
        checkpoint.restore_optimizer(self.optimizer, tensors["optimizer"])
        self.best, self.history = tensors["best"], values["history"]
        self.best_epoch, self.machine_kind = values["best_epoch"], values["machine_kind"]
        if self.average is not self.model:
            self.average.load_state_dict(tensors["average"])

    def add_epoch(self, loss: float, metrics: dict[str, float]) -> None:
        validation = {f"validation_{name}": value for name, value in metrics.items()}
        self.history.append({"epoch": len(self.history) + 1, "train_loss": loss, **validation})
        if _is_best(self.history, self.h.monitor):
            self.best, self.best_epoch = _copy_weights(self.average), len(self.history)
        kind = machine_kind(self.device, self.h.precision)
        self.machine_kind = continue_kind(self.machine_kind, kind)

    def train_epoch(self, epoch: int, report_progress: Callable[[Progress], None]) -> float:
        """Train one epoch; return its mean loss. Raises DivergedError."""
        learner, h = self.learner, self.h
        self.model.train()
        total = torch.zeros((), dtype=torch.float64, device=self.device)
        items, weight, started = 0, 0.0, time.perf_counter()
        # a GPU takes a step in one batch
        max_tokens = MAX_PADDED_TOKENS if self.device == "cpu" else None
        for done, batches in enumerate(learner.steps(epoch, max_tokens), 1):
            step = (epoch - 1) * self.steps + done
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate(step - 1, self.total_steps, h)
            for loss in _step(learner, batches, self.optimizer, h.max_grad_norm):
                total += loss
            if self.average is not self.model:
                _update_average(self.average, self.model, min(h.ema_decay, step / (step + 9)))
            items += sum(len(batch.rows) for batch in batches)
            weight += sum(map(learner.weight, batches))
            seconds, mean_loss = time.perf_counter() - started, total.item() / weight
            if not math.isfinite(mean_loss):
                raise self._diverged(f"the loss ({mean_loss})", step)
            report_progress(Progress(epoch, h.epochs, items, learner.items, mean_loss, seconds))
        return total.item() / max(1.0, weight)

    def validate(self, epoch: int) -> dict[str, float]:
        """Return the metrics at the end of an epoch. Raises DivergedError.

        The weights are checked here: in each step, a GPU would wait for its end.
        """
        last_step = epoch * self.steps
        tensors = {*self.model.parameters(), *self.average.parameters()}
        # a sum with NaN or infinity is not finite: .3 ms for 3 million weights; isfinite() 8.4
        sums = [tensor.detach().sum() for tensor in tensors]
        device = sums[0].device  # the layers of a deep model may be on several
        if not torch.stack([total.to(device) for total in sums]).isfinite().all():
            raise self._diverged("a weight", last_step)
        metrics = self.learner.validate(self.average)
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise self._diverged(f"the validation {name} ({value})", last_step)
        return metrics

    def _diverged(self, quantity: str, step: int) -> DivergedError:
        rate = learning_rate(step - 1, self.total_steps, self.h)
        return DivergedError(
            f"the training diverged: {quantity} is not finite at step {step} of "
            f"{self.total_steps}, in epoch {(step - 1) // self.steps + 1} of {self.h.epochs}, "
            f"with learning rate {rate:g}. Make `learning_rate` smaller, or set `max_grad_norm`"
        )


def train(
    learner: Learner, h: Training, work: Path, report_progress: Callable[[Progress], None]
) -> tuple[list[dict[str, float]], int, str]:
    """Train the learner's model in place; it ends with the weights of the best epoch by `monitor`.

    After each epoch a checkpoint is written to `work`, from which a killed training resumes.
    Returns the history (docs/internals/contracts.md), the best epoch from 1, and the machine kind.
    Raises DivergedError.
    """
    training, path = _Training(learner, h), work / checkpoint.CHECKPOINT
    training.restore(path)
    for epoch in range(len(training.history) + 1, h.epochs + 1):
        if is_over(len(training.history), training.best_epoch, h.patience):
            break
        seed_everything(learner.seed, epoch)
        loss = training.train_epoch(epoch, report_progress)
        metrics = training.validate(epoch)
        training.add_epoch(loss, metrics)
        training.save(path)
        report_progress(Progress(epoch, h.epochs, learner.items, learner.items, loss, 0, metrics))
    learner.model.load_state_dict(training.best)
    return training.history, training.best_epoch, training.machine_kind


def _copy(model: nn.Module) -> nn.Module:
    """Return a copy of a model; on a GPU the weights of its recurrent layers lie in one piece."""
    copied = copy.deepcopy(model)
    for module in copied.modules():
        if isinstance(module, nn.RNNBase):
            module.flatten_parameters()  # else cuDNN joins them in each call, and torch warns
    return copied


def _copy_weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def _make_optimizer(learner: Learner, h: Training) -> torch.optim.Optimizer:
    """Return Adam with decoupled weight decay on all but biases."""
    groups: dict[bool, list[nn.Parameter]] = {}
    for parameter in learner.model.parameters():
        groups.setdefault(parameter.dim() > 1, []).append(parameter)
    settings = [
        {"params": parameters, "weight_decay": h.weight_decay if decays else 0.0}
        for decays, parameters in groups.items()
    ]
    # fused: the step on a 30000 x 128 embedding 34.7 -> 5.0 ms on one core
    return AdamW(settings, lr=h.learning_rate, fused=True)


def learning_rate(step: int, steps: int, h: Training) -> float:
    """Return the learning rate of `step` (counted from 0) of `steps`.

    It rises linearly over the share `warmup` of all steps, and then follows `lr_schedule`.
    """
    warmup_steps = h.warmup * steps
    if step < warmup_steps:
        return float(h.learning_rate * (step + 1) / (warmup_steps + 1))
    share = (step - warmup_steps) / max(1.0, steps - warmup_steps)  # 0 to 1
    factor = {"none": 1.0, "linear": 1.0 - share, "cosine": 0.5 * (1 + math.cos(math.pi * share))}[
        h.lr_schedule
    ]
    return float(h.learning_rate * factor)


def is_over(epochs: int, best_epoch: int, patience: int) -> bool:
    """Return whether a training stops early: `patience` epochs since the best (0: never)."""
    return bool(patience) and epochs - best_epoch >= patience


def _step(
    learner: Learner, batches: list[Any], optimizer: torch.optim.Optimizer, clip: float
) -> list[Tensor]:
    """Take one step by the gradient of its mean loss; return each batch's loss, a sum."""
    optimizer.zero_grad()
    weight = sum(map(learner.weight, batches))
    losses = []
    for batch in batches:
        loss = learner.loss(learner.model, batch)
        (loss / weight).backward()
        losses.append(loss.detach())
    if clip:
        nn.utils.clip_grad_norm_(learner.model.parameters(), clip)
    optimizer.step()
    return losses


def _update_average(average: nn.Module, model: nn.Module, decay: float) -> None:
    with torch.no_grad():
        own, new = [*average.parameters()], [*model.parameters()]
        torch._foreach_lerp_(own, new, 1 - decay)  # type: ignore[call-overload]


def _is_best(history: list[dict[str, float]], select: str) -> bool:
    """Return whether the newest epoch is the best so far; ties go to the earliest."""
    if select == LAST:
        return True
    sign = -1 if lower_is_better(select) else 1
    scores = [sign * row[f"validation_{select}"] for row in history]
    return all(scores[-1] > earlier for earlier in scores[:-1])


class AdamW(torch.optim.AdamW):
    """torch's AdamW without the wrappers of its methods, which import the compiler.

    heed compiles nothing. The results are the same bytes.
    """

    _run_step: Callable[..., Any] = staticmethod(inspect.unwrap(torch.optim.AdamW.step))

    def __init__(self, *args: Any, **settings: Any) -> None:
        for wrapper in vars(torch.optim.Optimizer).values():
            method = getattr(wrapper, "__wrapped__", None)
            if method is not None:  # torch/_compile.py keeps what it calls in this attribute
                vars(method).setdefault("__dynamo_disable", method)
        super().__init__(*args, **settings)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Change the parameters by one step, as torch's does."""
        return self._run_step(self, closure)

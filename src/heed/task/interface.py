"""The interface of a task: the types that its parts take and return (docs/internals/tasks.md)."""

import abc
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # a comparison imports no torch, and a training no pandas
    import pandas as pd
    import torch
    from torch import nn


# Names of hyperparameters, the likeliest mistake first, and a message.
Contradiction = tuple[tuple[str, ...], str]


def lower_is_better(metric: str) -> bool:
    """Return whether lower scores of a metric are better: by its name, as in scikit-learn."""
    name = metric.lower()
    return name.endswith(("loss", "error")) and not name.startswith("neg_")


@dataclasses.dataclass(frozen=True)
class Scale:
    """How the scores of a task's metrics, and their differences, are printed.

    names: metric → its name in a sentence, where that is not its key.
    in_hundreds: scores between 0 and 1 are printed between 0 and 100, but for a loss.
    in_points: differences are in points of the metric, and not in percentage points.
    percentages: metrics with differences in percentage points nevertheless.
    planned: the deviation of a score over seeds, and the variance of a difference over items, about
        as in published studies, which predict the detectable difference. None: it is not predicted
    """

    names: Mapping[str, str] = dataclasses.field(default_factory=dict)
    in_hundreds: bool = False
    in_points: bool = False
    percentages: tuple[str, ...] = ()
    planned: tuple[float, float] | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeclaredExperiment:
    """The keys of an experiment of params.yaml that its task's part `recipe` declares."""

    task: str
    corpus: str
    data: Any
    options: Any
    metric: str | None = None


@dataclasses.dataclass(frozen=True)
class DeclaredCorpus:
    """The names that a corpus of params.yaml has, as far as they are known before it is read.

    labels_are_columns: labels have the names of the columns of a table.
    """

    name: str
    labels: tuple[str, ...]
    labels_are_columns: bool
    languages: tuple[str, ...]


class Learner(abc.ABC):
    """A model and the documents that it learns from; each training has a new one."""

    model: "nn.Module"
    items: int  # number, in the training split
    encoded: Any  # the items as batches: EncodedCorpus or EncodedPairs
    train: np.ndarray  # rows of the training split
    seed: int
    device: str
    _h: Any  # hyperparameters

    def autocast(self) -> "torch.autocast":
        """Return the context of the network's part of a loss: bfloat16, if `precision` is that.

        Products and recurrent layers take bfloat16 and add in float32; weights stay float32.
        """
        import torch

        device = torch.device(self.device).type
        return torch.autocast(device, torch.bfloat16, enabled=self._h.precision == "bfloat16")

    def steps(self, epoch: int, max_tokens: int | None) -> Iterator[list[Any]]:
        """Yield the batches of each step; together they have every training item once.

        The order depends on the seed and `epoch` alone. A batch has at most `max_tokens` tokens,
        padding included, or one item.
        """
        yield from self.encoded.training_steps(
            self.train, self._h.batch_size, self.seed, epoch, max_tokens
        )

    def weight(self, batch: Any) -> float:
        """Return what the loss of a batch is a sum over: by default its items."""
        return len(batch.rows)

    @abc.abstractmethod
    def loss(self, model: "nn.Module", batch: Any) -> "torch.Tensor":
        """Return the loss of `model`, summed over the items of a batch, or what `weight` counts."""

    @abc.abstractmethod
    def validate(self, model: "nn.Module") -> dict[str, float]:
        """Return `loss` and the task's metrics on the validation split."""

    @abc.abstractmethod
    def write(self, folder: Path) -> None:
        """Write the files that a trained run needs in addition to its weights."""


class Predictor(abc.ABC):
    """A trained run, ready to predict."""

    @abc.abstractmethod
    def predict(self, tokens: Any, rows: np.ndarray) -> "pd.DataFrame":
        """Return one row for each item in `rows`, in that order; the first column is `id`.

        `tokens` is the corpus: Tokens, or ParallelTokens (heed.tokens.arrays).
        """

    @abc.abstractmethod
    def statistics(self, predictions: "pd.DataFrame") -> "pd.DataFrame":
        """Return the additive statistics (columns) of each row of `predictions`."""

    @abc.abstractmethod
    def explain(self, tokens: Any, predictions: "pd.DataFrame") -> dict[str, "pd.DataFrame"]:
        """Return tables of documents that a rule chooses, and of the weights of their tokens."""


@dataclasses.dataclass(frozen=True)
class Fitted:
    """The predictions of an experiment's reference models, by name and fold, with a column `split`.

    `statistics` maps such a table to the additive statistics of each row; `selection` is how the
    reference models were chosen, for reference_models.json.
    """

    predictions: "dict[tuple[str, int], pd.DataFrame]"
    statistics: "Callable[[pd.DataFrame], pd.DataFrame]"
    selection: dict[str, Any]


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the ratio of sums of items; 0 where the denominator is 0."""
    zeros = np.zeros(np.shape(numerator))
    return np.divide(numerator, denominator, out=zeros, where=denominator != 0)


@dataclasses.dataclass(frozen=True)
class Metric:
    """A metric of the items' summed statistics, (..., statistics); the mean of number `mean_of`."""

    name: str
    value: Callable[[np.ndarray], np.ndarray]
    mean_of: int | None = None

    def by_item(self, statistics: np.ndarray) -> np.ndarray:
        """Return a value for each item, (runs, items); their mean over items is the metric.

        If the metric is not the mean of a statistic, the value is the item's jackknife pseudo-value
        (Efron & Tibshirani 1993, equation 11.4), shifted so that the mean is the metric itself.
        """
        if self.mean_of is not None:
            return statistics[..., self.mean_of]
        items = statistics.shape[-2]
        totals = statistics.sum(-2, keepdims=True, dtype=np.float64)
        value = self.value(totals)  # runs x 1
        leave_one_out = self.value(totals - statistics)  # runs x items
        return value + (items - 1) * (leave_one_out.mean(-1, keepdims=True) - leave_one_out)


Details = dict[str, dict[str, dict[str, float]]]  # kind of group → group → metric → value


@dataclasses.dataclass(frozen=True)
class Metrics:
    """All metrics of a task, the default first; `details` are of groups of items."""

    all: tuple[Metric, ...]
    details: Callable[[np.ndarray], Details]

    def named(self, name: str | None) -> Metric:
        """Return the metric of this name; the first for None."""
        return next(metric for metric in self.all if name in (None, metric.name))

    def compute(self, statistics: np.ndarray) -> dict[str, float]:
        """Return every metric of a set of items from their statistics (items, statistics)."""
        total = statistics.sum(0, dtype=np.float64)
        return {metric.name: float(metric.value(total)) for metric in self.all}

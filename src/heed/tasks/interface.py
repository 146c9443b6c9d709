"""What a task gives to the stages.

Each class here is what one module of a task's package offers (`heed.tasks.PARTS`).

| module | what it holds |
|---|---|
| `recipe` | `Hyperparameters`, `Data` (what is learned of a corpus), `resolve_data`, `FIGURES` of
validation, the first of which decides |
| `capacity` | `count` of a model's parameters, and `widen`: the control that is as large as another
model |
| `learning` | `make_learner` → `Learner`: the model, its batches and loss, and what validation
measures |
| `prediction` | `load_predictor` → `Predictor`: what a trained run predicts, and the statistics of
each item |
| `opponents` | `fit`: the reference models from outside |
| `metrics` | `make_metrics` → `Metrics`: from the sum of the items' statistics to each figure;
`about` names the details; `NAMES` of the figures |
| `evaluation` | `tables`: a model's tables from its predictions; `EXACT` names those with every
digit |
"""

import abc
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:  # comparisons need no torch, and trainings no pandas
    import pandas as pd
    import torch
    from torch import nn

    from heed.tokens.arrays import Tokens


LOWER_IS_BETTER = frozenset({"loss"})  # figures of validation, of any task


class Learner(abc.ABC):
    """A model, and the part of a corpus that it learns from; made anew for each training."""

    model: "nn.Module"
    items: int  # of the training part

    @abc.abstractmethod
    def steps(self, epoch: int, max_tokens: int | None) -> Iterator[list[Any]]:
        """Yield every training item once, a step at a time; the order depends on the seed and on
        `epoch` alone.

        A step's items come in as many batches as are needed for none to have more than `max_tokens`
        tokens, padding included, or one item; None: in one batch.
        """

    @abc.abstractmethod
    def size(self, batch: Any) -> int:
        """Return the number of items in a batch."""

    @abc.abstractmethod
    def loss(self, model: "nn.Module", batch: Any) -> "torch.Tensor":
        """Return the loss of `model`, summed over the items of a batch."""

    @abc.abstractmethod
    def validate(self, model: "nn.Module", every: int = 1) -> dict[str, float]:
        """Return the task's figures on the validation part, or on each `every`-th item of it."""

    @abc.abstractmethod
    def write(self, folder: Path) -> None:
        """Write what a trained run needs beside its weights."""

    def rate(self, parameter: str) -> float:
        """Return the factor on the learning rate of a parameter, by its name in the model."""
        return 1.0


class Predictor(abc.ABC):
    """A trained run, ready to predict."""

    @abc.abstractmethod
    def predict(self, tokens: "Tokens", rows: np.ndarray) -> "pd.DataFrame":
        """Return one row for each of the documents `rows` of a corpus, in their order, with the
        column `id` first.
        """

    @abc.abstractmethod
    def statistics(self, predictions: "pd.DataFrame") -> "pd.DataFrame":
        """Return the additive statistics of each row of `predictions`, a column for each."""

    @abc.abstractmethod
    def show(self, tokens: "Tokens", predictions: "pd.DataFrame") -> dict[str, "pd.DataFrame"]:
        """Return tables of a few documents that the report shows, chosen by a rule, by name; with
        the model's weights.
        """


@dataclasses.dataclass(frozen=True)
class Fitted:
    """What the opponents of an experiment predict.

    predictions: (opponent, fold) → a table as `Predictor.predict` returns it, with the column
        `split` (validation, test). statistics: from such a table to the additive statistics of each
        row. about: how the opponents were chosen.
    """

    predictions: "dict[tuple[str, int], pd.DataFrame]"
    statistics: "Callable[[pd.DataFrame], pd.DataFrame]"
    about: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Metric:
    """A figure of merit as a function of the sum of all items' statistics.

    `value` maps sums (..., statistics) to (...,). Where it is the mean over the items of one
    statistic, `mean_of` is that statistic's index: every item then has a figure of its own.
    """

    name: str
    value: Callable[[np.ndarray], np.ndarray]
    mean_of: int | None = None

    def by_item(self, statistics: np.ndarray) -> np.ndarray:
        """Return what each item contributes, so that the mean over items is the figure.

        Args:
            statistics: (runs, items, statistics)

        Returns: (runs, items): the statistic itself where the figure is its mean. Else the items'
        jackknife pseudo-values (Efron & Tibshirani 1993, equation 11.4), shifted so that their mean
        is the figure itself and not its estimate with less bias.

        """
        if self.mean_of is not None:
            return statistics[..., self.mean_of]
        items = statistics.shape[-2]
        totals = statistics.sum(-2, keepdims=True, dtype=np.float64)
        figure = self.value(totals)  # runs x 1
        without = self.value(totals - statistics)  # runs x items
        return figure + (items - 1) * (without.mean(-1, keepdims=True) - without)


Details = dict[str, dict[str, dict[str, float]]]  # what → name → figure → value


@dataclasses.dataclass(frozen=True)
class Metrics:
    """All figures of a task; models are compared by the first, if a study names no other.

    `details` maps a sum (statistics,) to finer figures, those of each group of items. The task's
    `about` names the groups, and what is in each, in order.
    """

    figures: tuple[Metric, ...]
    details: Callable[[np.ndarray], Details]

    def named(self, name: str | None) -> Metric:
        """Return the figure of this name; the first for None."""
        return next(each for each in self.figures if name in (None, each.name))

    def of(self, statistics: np.ndarray) -> dict[str, float]:
        """Return every figure of a test part with these statistics, (items, statistics)."""
        total = statistics.sum(0, dtype=np.float64)
        return {figure.name: float(figure.value(total)) for figure in self.figures}

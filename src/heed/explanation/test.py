"""A test of weights: a class whose name is its entry in summary.csv, and what all tests share.

A test says what it computes of a prediction, when weights pass or fail it, and how the report
prints it, in plain English. `registry.TESTS` lists all. The report reads these classes, so a module
with a test imports torch in its functions alone.
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    import torch

    from heed.models.classifier import WeightedSum
    from heed.models.dependence import TargetSteps

# the weighted sums behind some predictions, documents or steps of a translation, or behind one
Weighted: TypeAlias = "WeightedSum | TargetSteps"
Tensor: TypeAlias = "torch.Tensor"
Generator: TypeAlias = "torch.Generator"

# the weights themselves, their gradients, and what each weight adds to the sum
WEIGHT_RANKINGS = ("attention", "weight_gradient", "product", "signed_product", "value_norm")
HELD = "gradient_held_weights"  # gradient times input, the weights being constants
GRADIENT_RANKINGS = ("gradient", HELD, "integrated_gradients")
REMOVAL_RANKINGS = ("leave_one_out", "replacement")
RANKINGS = (*WEIGHT_RANKINGS, *GRADIENT_RANKINGS, *REMOVAL_RANKINGS, "random")
ALL_UNITS = 60  # of a document in which every unit is left out; of longer ones ...
DRAWN_UNITS = 16  # ... these are drawn at random: about as many tokens are read

PASS, FAIL, UNDEFINED = "pass", "fail", "undefined"
# why a criterion is undefined, of more than one test
NO_WEIGHTS = "no weights"
EQUAL = "equal weights"
ONE_SEED = "no second seed"
OTHER_TEXTS = "no two runs share a test text"  # of a fold each
ROUNDING = 1e-9  # of differences of scores in the tables
LARGEST_DIVERGENCE = math.log(2)  # of two distributions, by Jensen and Shannon, in nats
SMALLEST = 1e-12  # log(0) is infinite, and the gradient of x log x at 0 is NaN


@dataclasses.dataclass(frozen=True)
class Prediction:
    """One prediction, of a document's class or of the next unit of a translation.

    units: number of units that rankings are of
    probabilities: of all outcomes, (outcomes,)
    rankings: by name (units,); NaN for units that were not drawn
    measures: by their names in docs/internals/contracts.md, as far as they need no rationales
    weighted: the weighted sum behind a document's class, if there is one
    adversarial: the most different weights with the same prediction (units,), if searched
    numbers: for further random rankings
    predict_kept: maps units that are kept (n, units) to probabilities (n, outcomes), if asked
    """

    units: int
    probabilities: np.ndarray
    rankings: dict[str, np.ndarray]
    measures: dict[str, float]
    weighted: "WeightedSum | None"
    adversarial: np.ndarray | None
    numbers: np.random.Generator
    predict_kept: Callable[[Tensor], Tensor] | None = None


class MeansColumn(NamedTuple):
    """A column of the report's table of means."""

    title: str
    measure: str
    ranking: str = ""


@dataclasses.dataclass(frozen=True)
class Judged:
    """The tables by which criteria judge a model; `planted`: whether its corpus's rationale is."""

    summary: pd.DataFrame
    adversarial_attention: Sequence[pd.DataFrame] = ()
    planted: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """PASS, FAIL or UNDEFINED by a criterion, with the deciding score or why there is none."""

    outcome: str
    value: float | None = None
    reason: str = ""


class WeightsTest:
    """A test; a subclass overrides what it has.

    name: of its results, and of its criterion in the report
    table: of `heed explain`, or all of `heed adversarial_attention`, that has its measures
    measures: in the order of summary.csv
    of_weights: measures that need a weighted sum; the others are defined without
    rankings: that it judges
    least_units: of a prediction that it is defined for
    of_translations: whether it is defined for the steps of a translation
    by_class: whether there are means of each class too
    not_all_units: why a ranking of only some units is not judged, if it is not
    """

    name: str
    table: Literal["documents", "rankings", "seeds", "recency", "adversarial_attention"] = (
        "documents"
    )
    measures: tuple[str, ...] = ()
    of_weights: tuple[str, ...] = ()
    rankings: tuple[str, ...] = ()
    least_units: int = 1
    of_translations: bool = True
    by_class: bool = False
    not_all_units: str = ""

    # the criterion: its name, its rule with the limits in it, and the least value that passes
    criterion: str = ""
    rule: str = ""
    least: float = 0.0

    # the report: what the test can show and what it cannot, and its columns in the table of means
    title: str = ""
    claim: str = ""
    columns: tuple[MeansColumn, ...] = ()

    def measure_weights(self, weighted: Weighted, generator: Generator) -> dict[str, float]:
        """Return the measures of one prediction's weights that need nothing else."""
        return {}

    def measure(self, prediction: Prediction, rationale: np.ndarray) -> dict[str, float]:
        """Return the measures of a prediction; `rationale` (units,) is True for units with some."""
        return {}

    def measure_rankings(
        self, prediction: Prediction, rationale: np.ndarray, share: float
    ) -> dict[str, dict[str, float]]:
        """Return the measures of each ranking of a prediction.

        `rationale` (units,) is True for units with some; `share` of the units is chosen to find it.
        """
        return {}

    def score(self, judged: Judged) -> float | str:
        """Return the value that decides about the criterion, or why it is undefined."""
        raise NotImplementedError

    def passes(self, value: float, judged: Judged) -> bool:
        """Return whether a value passes the criterion: by default, whether it is high enough."""
        return value >= self.least

    def judge(self, judged: Judged) -> Outcome:
        """Return the outcome of the criterion."""
        score = self.score(judged)
        if isinstance(score, str):
            return Outcome(UNDEFINED, reason=score)
        return Outcome(PASS if self.passes(score, judged) else FAIL, score)

    def rows(self, summary: pd.DataFrame, column: MeansColumn) -> pd.DataFrame:
        """Return the rows of the summary whose means a column of the table of means is of."""
        rows = measured(summary, self.name, column.measure)
        return rows[rows["ranking"].fillna("") == column.ranking]

    def means(self, summary: pd.DataFrame, column: MeansColumn) -> list[float]:
        """Return the value of each seed whose mean stands in a column of the table of means."""
        return self.rows(summary, column)["mean"].tolist()


def measured(summary: pd.DataFrame, test: str, measure: str) -> pd.DataFrame:
    """Return the rows with a mean of this measure over documents of all classes."""
    rows = summary[(summary["test"] == test) & (summary["measure"] == measure)]
    if "class" in rows:
        rows = rows[rows["class"].isna()]
    return rows.dropna(subset="mean")


def no_weights(summary: pd.DataFrame) -> str:
    """Return why a model has no learned weights: no sum, or equal ones; empty if it has."""
    changes = measured(summary, "permutation", "permutation_change")["mean"]
    if changes.empty:
        return NO_WEIGHTS
    return EQUAL if changes.max() < ROUNDING else ""


def descending(ranking: np.ndarray) -> np.ndarray:
    """Return the units of a ranking (units,), the highest first; equal ones in a drawn order.

    In reading order equal weights would find whatever stands first.
    """
    draw = np.random.default_rng(len(ranking)).permutation(len(ranking))
    return np.lexsort((draw, -ranking))


def total_variation(first: Tensor, second: Tensor) -> Tensor:
    """Return 1/2 sum |p - q| over the last dimension, from 0 to 1."""
    return 0.5 * (first - second).abs().sum(-1)


def jensen_shannon(first: Tensor, second: Tensor, dim: int = -1) -> Tensor:
    """Return the Jensen-Shannon divergence along `dim` in nats; entries 0 in both add nothing."""
    middle = 0.5 * (first + second)
    return 0.5 * (kullback_leibler(first, middle, dim) + kullback_leibler(second, middle, dim))


def divergence_of_means(first: Tensor, second: Tensor) -> Tensor:
    """Return the Jensen-Shannon divergence of weights (…, time, heads) averaged over heads, (…).

    Heads have no order: two that have exchanged their weights are the same mean.
    """
    return jensen_shannon(first.mean(-1), second.mean(-1))


def kullback_leibler(first: Tensor, second: Tensor, dim: int = -1) -> Tensor:
    """Return KL(first || second) along `dim` in nats; entries that are 0 in `first` add nothing."""
    ratio = first.clamp(min=SMALLEST).log() - second.clamp(min=SMALLEST).log()
    return (first * ratio).sum(dim)

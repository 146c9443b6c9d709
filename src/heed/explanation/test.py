"""A test of weights: a class of one file, whose name is its entry in summary.csv.

A test says what it computes of a prediction, when weights pass or fail it, and how the report
prints it: the texts are plain English, and the report translates them. `registry.TESTS` lists all
tests; the stage, the criteria, the tables, the chapter and its figures go through that list.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import torch

if TYPE_CHECKING:
    from heed.models.classifier import WeightedSum
    from heed.models.dependence import TargetSteps
    from heed.report.explanations import AdversarialAttention, Explanation

# an explained model, and one that was trained against it, as the report reads their tables
Explained: TypeAlias = "Explanation"
Trained: TypeAlias = "AdversarialAttention"
# the weighted sums behind some predictions, documents or steps of a translation, or behind one
Weighted: TypeAlias = "WeightedSum | TargetSteps"

PASS, FAIL, UNDEFINED = "pass", "fail", "undefined"
# why a criterion is undefined, of more than one test
NO_WEIGHTS = "no weights"
EQUAL = "equal weights"
ONE_SEED = "no second seed"
ROUNDING = 1e-9  # of differences of scores in the tables
LARGEST_DIVERGENCE = math.log(2)  # of two distributions, by Jensen and Shannon, in nats
SMALLEST = 1e-12  # log(0) is infinite, and the gradient of x log x at 0 is NaN
SHARE_ENDS = (-0.03, 1.03)  # of an axis for values from 0 to 1
DIVERGENCE_ENDS = (-0.02, LARGEST_DIVERGENCE + 0.03)


@dataclasses.dataclass(frozen=True)
class Prediction:
    """One prediction, of a document's class or of the next unit of a translation.

    units: number of units that rankings are of
    probabilities: of all outcomes, (outcomes,)
    rankings: by name (units,); NaN for units that were not drawn
    measures: by their names in docs/contracts.md, as far as they need no rationales
    weighted: the weighted sum behind the prediction, if there is one
    adversarial: the most different weights with the same prediction (units,), if they were searched
    numbers: for further random rankings
    predict_kept: maps units that are kept (n, units) to probabilities (n, outcomes) without the
        others; None where the input is not changed
    """

    units: int
    probabilities: np.ndarray
    rankings: dict[str, np.ndarray]
    measures: dict[str, float]
    weighted: "Weighted | None"
    adversarial: np.ndarray | None
    numbers: np.random.Generator
    predict_kept: Callable[[torch.Tensor], torch.Tensor] | None = None


class Text(NamedTuple):
    """A text of the report in English, with the values for its names in braces."""

    english: str
    values: tuple[tuple[str, str], ...] = ()


class Axis(NamedTuple):
    """One axis of a test's figure.

    measure: that is drawn
    label: of the axis
    ends: of its scale; None: as far as the values go
    limit: a dotted line
    """

    measure: str
    label: str
    ends: tuple[float, float] | None = None
    limit: float | None = None


class Column(NamedTuple):
    """A column of the report's table of means."""

    title: str
    measure: str
    ranking: str = ""


@dataclasses.dataclass(frozen=True)
class Judged:
    """The tables by which criteria judge a model.

    summary: of the model
    adversarial_attention: the summaries of its trained adversarial models
    planted: whether the rationale of its corpus is planted
    """

    summary: pd.DataFrame
    adversarial_attention: Sequence[pd.DataFrame] = ()
    planted: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a criterion for a model.

    outcome: PASS, FAIL or UNDEFINED
    value: the score that decided, None where it is undefined
    reason: why it is undefined
    """

    outcome: str
    value: float | None = None
    reason: str = ""


Series = dict[str | Text, list[float]]  # name → a value for each seed
Table = Literal["documents", "rankings", "seeds", "recency", "adversarial_attention"]


class WeightsTest:
    """A test; a subclass overrides what it has.

    name: of its results, and of its figure and criterion in the report
    table: of `heed explain` that has its measures, or that of `heed adversarial_attention`
    rows: its name in that table, where it has another
    measures: in the order of summary.csv
    of_weights: measures that need a weighted sum; those of the others are defined without
    rankings: that it judges
    least_units: of a prediction that it is defined for
    of_translations: whether it is defined for the steps of a translation
    by_class: whether there are means of each class too
    """

    name: str
    table: Table = "documents"
    rows: str = ""
    measures: tuple[str, ...] = ()
    of_weights: tuple[str, ...] = ()
    rankings: tuple[str, ...] = ()
    least_units: int = 1
    of_translations: bool = True
    by_class: bool = False

    # the criterion: its name, its rule, and why it may be undefined; empty without one
    criterion: str = ""
    rule: Text = Text("")
    reasons: tuple[str, ...] = ()

    # the figure: nothing is drawn without a title
    title: str = ""
    claim: str = ""
    caption: str = ""
    axes: tuple[Axis, ...] = ()
    has_groups: bool = False  # the series are groups of documents by their largest weight
    series: ClassVar[Mapping[str, str]] = {}  # ranking or weights → name in the legend
    printed: ClassVar[Mapping[str, str]] = {}  # measure that papers print → series
    columns: tuple[Column, ...] = ()

    def measure_weights(self, weighted: Weighted, generator: torch.Generator) -> dict[str, float]:
        """Return the measures of one prediction's weights that need nothing else."""
        return {}

    def measure(self, prediction: Prediction, rationale: np.ndarray) -> dict[str, float]:
        """Return the measures of a prediction; `rationale` (units,) is True for units with some."""
        return {}

    def measure_rankings(
        self, prediction: Prediction, rationale: np.ndarray, share: float
    ) -> dict[str, dict[str, float]]:
        """Return the measures of each ranking of a prediction.

        Args:
            prediction: the prediction.
            rationale: True for units with some, (units,)
            share: of the units that is chosen to find the rationale: the corpus's mean share of it.

        """
        return {}

    def missing(self, ranking: str) -> str:
        """Return why a ranking has no measure of the test, if there is a reason of its own."""
        return ""

    def score(self, judged: Judged) -> float | str:
        """Return the value that decides about the criterion, or why it is undefined."""
        raise NotImplementedError

    def passes(self, value: float, judged: Judged) -> bool:
        """Return whether a value passes the criterion."""
        raise NotImplementedError

    def judge(self, judged: Judged) -> Outcome:
        """Return the outcome of the criterion."""
        score = self.score(judged)
        if isinstance(score, str):
            return Outcome(UNDEFINED, reason=score)
        return Outcome(PASS if self.passes(score, judged) else FAIL, score)

    def drawn_rows(self, explained: Explained, measure: str) -> dict[str, Series]:
        """Return the rows of a model in the figure: its class, or nothing, and the series."""
        return {"": self.drawn(explained, measure)}

    def drawn(self, explained: Explained, measure: str) -> Series:
        """Return the series of a model in the figure: its groups, or one for each of `series`."""
        if self.has_groups:
            return _by_largest_weight(explained, self.table, measure)
        return {
            name: explained.means(self.name, measure, ranking)
            for ranking, name in self.series.items()
        }

    def mean_values(self, explained: Explained, column: Column) -> list[float]:
        """Return the values of each seed whose mean stands in the table of means."""
        return explained.means(self.name, column.measure, column.ranking)

    def texts(self) -> Iterator[str]:
        """Yield every text of the report that the test brings, for its translation."""
        texts = [
            self.criterion, self.rule.english, *self.reasons, self.title, self.claim, self.caption,
            *(axis.label for axis in self.axes), *self.series.values(), *self.printed.values(),
            *(column.title for column in self.columns),
        ]  # fmt: skip
        return filter(None, texts)


# The upper ends of the groups of documents by their largest weight, as in Jain & Wallace 2019.
LARGEST_WEIGHTS = (0.25, 0.5, 0.75, 1.0)
FIRST_GROUP, NEXT_GROUP = "largest weight up to {end}", "up to {end}"


def _by_largest_weight(explained: Explained, table: str, measure: str) -> Series:
    """Return the means of groups of documents by their largest weight; empty without weights."""
    if not explained.has_weights:
        return {}
    means = explained.by_largest_weight(table, measure)
    return {
        Text(NEXT_GROUP if i else FIRST_GROUP, (("end", f"{end:g}"),)): means.get(end, [])
        for i, end in enumerate(LARGEST_WEIGHTS)
    }


def measured(summary: pd.DataFrame, test: str, measure: str) -> pd.DataFrame:
    """Return the rows with a mean of this measure over documents of all classes."""
    rows = summary[(summary["test"] == test) & (summary["measure"] == measure)]
    if "class" in rows:
        rows = rows[rows["class"].isna()]
    return rows.dropna(subset="mean")


def no_weights(summary: pd.DataFrame) -> str:
    """Return why a model has no weights of its own: no sum, or equal ones; empty if it has."""
    changes = measured(summary, "permutation", "permutation_change")["mean"]
    if changes.empty:
        return NO_WEIGHTS
    return EQUAL if changes.max() < ROUNDING else ""


def descending(ranking: np.ndarray) -> np.ndarray:
    """Return the units of a ranking (units,), the highest first.

    Equal ones are in an order drawn once for each number of units, the same for all rankings of a
    document: in reading order equal weights would find whatever stands first.
    """
    draw = np.random.default_rng(len(ranking)).permutation(len(ranking))
    return np.lexsort((draw, -ranking))


def total_variation(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return 1/2 sum |p - q| over the last dimension, from 0 to 1."""
    return 0.5 * (first - second).abs().sum(-1)


def jensen_shannon(first: torch.Tensor, second: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return the Jensen-Shannon divergence along `dim` in nats, from 0 to log 2 = 0.693.

    Entries that are 0 in both, as padding is, add nothing and have the gradient 0.
    """
    middle = 0.5 * (first + second)
    return 0.5 * (kullback_leibler(first, middle, dim) + kullback_leibler(second, middle, dim))


def divergence_of_means(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return the Jensen-Shannon divergence of weights (…, time, heads) averaged over heads, (…).

    Of several heads it is not the mean of theirs: two heads that have exchanged their weights are
    the same mean. The agreement of seeds compares these means, since heads have no order.
    """
    return jensen_shannon(first.mean(-1), second.mean(-1))


def kullback_leibler(first: torch.Tensor, second: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Return KL(first || second) along `dim` in nats; entries that are 0 in `first` add nothing."""
    ratio = first.clamp(min=SMALLEST).log() - second.clamp(min=SMALLEST).log()
    return (first * ratio).sum(dim)

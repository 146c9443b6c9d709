"""All pairs of the models in a table of scores: differences, intervals, verdicts."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pandas as pd

from heed.evaluation import results, significance
from heed.evaluation.looks import Looks
from heed.evaluation.results import UNDECIDED, Difference
from heed.evaluation.significance import Scores
from heed.files import HeedError
from heed.task.interface import lower_is_better

RUN = ["model", "seed", "fold"]
SHARES = ("bleu", "chrf")  # metrics that are shares, though an item may add more than 1 to them
MARGIN = 1.0  # of shares, in points, where none is asked
IN_POINTS = [field for field in Difference.__dataclass_fields__ if field.endswith("_pp")]


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a user asks of a table of scores."""

    control: str = ""  # the model that all others are compared with; empty: all pairs
    margin: float | None = None  # within which two models are practically the same
    lower_is_better: bool = False
    looks: tuple[int, ...] = ()  # the numbers of seeds at which the scores are looked at

    def margin_of(self, in_points: bool) -> float | None:
        """Return the margin that is asked, or else that of scores in points; others have none."""
        return MARGIN if self.margin is None and in_points else self.margin

    def sign_of(self, metric: str) -> int:
        """Return -1 where lower scores are better: where the user says so, or the metric's name."""
        return -1 if self.lower_is_better or lower_is_better(metric) else 1


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two models; `result` is the first one's score minus the second one's, in the scores' unit.

    `items_needed` is how many items would decide an open pair with as many seeds, as
    `result.seeds_needed` says how many seeds; None: no number that anybody tests.
    """

    first: str
    second: str
    result: Difference
    items_needed: int | None

    @property
    def is_shown(self) -> bool:
        """Whether the first one's score is shown to be higher, perhaps within the margin."""
        return (self.result.interval_pp or (0.0, 0.0))[0] > 0


@dataclasses.dataclass(frozen=True)
class Verdict:
    """The models of one table, and what separates them."""

    dataset: str
    metric: str
    control: str
    margin: float | None  # within which two models are practically the same; None: not asked
    scores: dict[str, float]  # the best model first
    pairs: list[Pair]  # the better model is the first of each, or the control the second
    in_points: bool  # whether all numbers are in percentage points, or else in that of the scores
    seeds: int
    items: int  # of one test split
    folds: int  # 0: a fixed split
    looks: Looks | None = None  # that were declared
    once: tuple[str, ...] = ()  # the models with one seed, where others have several
    lower_is_better: bool = False


def judge(table: pd.DataFrame, asked: Asked, dataset: str = "", metric: str = "") -> Verdict:
    """Return the verdict on a complete table of scores: see `heed.verdict.scores`.

    All comparisons are one family, so that their intervals hold together (Bonferroni). Raises
    HeedError: the plan has no look with this number of seeds.
    """
    sign = asked.sign_of(metric)
    in_points = _are_shares(table, metric, sign)
    # the tests are of shares, here of the range of the scores; a percent of it in their own unit
    scale = 1.0 if in_points else float(np.ptp(table["score"])) or 1.0
    point = 1.0 if in_points else scale / 100
    margin = asked.margin_of(in_points)
    runs = by_model(table.assign(score=sign * table["score"] / scale))
    means = {name: significance.mean_difference(scores) for name, scores in runs.items()}
    order = sorted(means, key=lambda name: -means[name])
    names, repeats = _compared(order, asked.control), repeats_of(table)
    within = (margin or 0) / point
    looks = _look(table, asked.looks)
    pairs = [
        _in_unit(compare(*pair, runs, len(names), repeats, within, looks, in_points), point)
        for pair in names
    ]
    scores = {name: sign * 100 * means[name] * point for name in order}
    return Verdict(
        dataset, metric, asked.control, margin, scores, pairs, in_points, *_size(table), looks,
        _once(table), sign < 0,
    )  # fmt: skip


def _are_shares(table: pd.DataFrame, metric: str, sign: int) -> bool:
    """Return whether scores are shares, which are compared in points.

    Losses are only if each item has 0 or 1; others below 1, such as squared errors, keep their
    unit. An item may add more than 1 to a metric in SHARES: there the scores of the runs decide.
    """
    scores = table.groupby(RUN)["score"].mean() if metric.lower() in SHARES else table["score"]
    return bool((scores.between(0, 1) if sign > 0 else scores.isin((0, 1))).all())


def _look(table: pd.DataFrame, planned: tuple[int, ...]) -> Looks | None:
    """Return which of the planned looks a table is, by the seeds of its models. Raises HeedError.

    None: there is no plan.
    """
    seeds = int(table.groupby("model")["seed"].nunique().max())
    if planned and seeds not in planned:
        raise HeedError(
            f"--looks {','.join(map(str, planned))}: there are {seeds} seeds. Give the scores of "
            "as many seeds as a look has"
        )
    return Looks(planned, seeds) if planned else None


def count_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the number of seeds of each model (row) in each fold (column)."""
    return table.groupby(["model", "fold"])["seed"].nunique().unstack(fill_value=0)


def _once(table: pd.DataFrame) -> tuple[str, ...]:
    """Return the models with one seed, where others have several."""
    seeds = count_seeds(table).max(axis=1)
    return tuple(map(str, seeds.index[(seeds == 1) & (seeds.max() > 1)]))


def _compared(order: list[str], control: str) -> list[tuple[str, str]]:
    """Return the pairs that are compared: all, or each model with the control."""
    if control:
        return [(name, control) for name in order if name != control]
    return [*itertools.combinations(order, 2)]


def by_model(table: pd.DataFrame) -> dict[str, Scores]:
    """Return what each item adds to the score of each run, (seeds, items), by model and fold.

    Raises ValueError: the models have not the same items.
    """
    return {
        str(model): [
            of_fold.pivot(index="seed", columns="item", values="score").to_numpy()
            for _, of_fold in of_model.groupby("fold")
        ]
        for model, of_model in table.groupby("model", sort=False)
    }


def _size(table: pd.DataFrame) -> tuple[int, int, int]:
    """Return the seeds of the model with the most, the items of a test split, and the folds."""
    seeds = int(count_seeds(table).to_numpy().max())
    items = int(table.groupby(RUN)["item"].nunique().max())
    folds = table["fold"].nunique()
    return seeds, items, folds if folds > 1 else 0


def repeats_of(table: pd.DataFrame) -> int:
    """Return how often the items were divided into folds. Raises HeedError: they were not."""
    folds, of_items = table["fold"].nunique(), table.groupby("item")["fold"].nunique()
    repeats = int(of_items.max())
    if folds > 1 and (of_items.min() < repeats or folds % repeats or folds == repeats):
        raise HeedError(
            f"the item {of_items.idxmax()} is in {repeats} of {folds} folds. heed compares over "
            "folds that divide the items, once or several times: each item is in the same number "
            "of folds. Give the score of each item, and number the items through all folds"
        )
    return repeats


def compare(
    first: str, second: str, runs: dict[str, Scores], tests: int, repeats: int = 1,
    margin: float = MARGIN, looks: Looks | None = None, bounded: bool = True,
) -> Pair:  # fmt: skip
    """Return the tests of two models, in percentage points, corrected for `tests` of a family."""
    one, other = runs[first], runs[second]
    found = significance.assess(one, other, tests, "", repeats, True, looks, bounded)
    method = results.Significance("", significance.ALPHA, significance.POWER, margin, None, {})
    found = dataclasses.replace(found, verdict=results.verdict(found, method, 0.0, 0.0))
    if (seeds := max(len(one[0]), len(other[0]))) == 1:
        found = dataclasses.replace(found, seeds_needed=None)  # one seed does not tell
    needed, level = None, significance.ALPHA / tests
    level = looks.level(level) if looks else level
    if found.verdict == UNDECIDED and found.interval_pp:
        components = significance.variance_components(one, other, repeats, alone=True)
        assert components  # where there is an interval
        needed = significance.items_needed(found.mean_pp / 100, components, seeds, level)
    return Pair(first, second, found, needed)


def _in_unit(pair: Pair, point: float) -> Pair:
    """Return a pair with its percentage points in the unit of the scores."""
    numbers: dict[str, Any] = {
        name: (value[0] * point, value[1] * point) if isinstance(value, tuple) else value * point
        for name in IN_POINTS
        if (value := getattr(pair.result, name)) is not None
    }
    return dataclasses.replace(pair, result=dataclasses.replace(pair.result, **numbers))

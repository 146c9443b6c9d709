"""The formulas of docs/read/statistics.md a second time, with numpy and scipy alone.

What heed computes is compared with them: they share no code with heed.
"""

import bisect
import functools
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats
from scipy.stats import norm

ALPHA, POWER, MAX_SEEDS, MANY_ITEMS, FEW_DIFFERENT = 0.05, 0.8, 1000, 100, 10
NOTHING, LEAST_P = 1e-12, 1e-100

Array = np.ndarray
Numbers = dict[str, float]  # of a comparison, by columns of verdicts.csv


class Variance(NamedTuple):
    """The variance of a mean difference: one part falls with the number of seeds, one stays."""

    of_seeds: float  # of one seed
    of_items: float
    models: float  # whose seeds vary; 0: folds, whose degrees of freedom are those of both parts
    freedom: float

    def error(self, seeds: int) -> float:
        """Return the standard error."""
        return float((self.of_seeds / seeds + self.of_items) ** 0.5)

    def critical(self, level: float, seeds: int) -> float:
        """Return the critical difference, two-sided: that of both parts, combined as Howe 1974."""
        t = stats.t.isf(level / 2, [self.models * (seeds - 1) or self.freedom, self.freedom])
        return float(np.hypot(*(t * np.sqrt([self.of_seeds / seeds, self.of_items]))))

    def power(self, size: float, level: float, seeds: int) -> float:
        """Return how probably a difference is found, by one t with the same critical difference."""
        if (error := self.error(seeds)) <= NOTHING**2:
            return float(size > NOTHING)
        t = self.critical(level, seeds) / error
        freedom = 1 / _root(lambda share: t - stats.t.isf(level / 2, 1 / share), 1e-9, 2)
        shift = min(size / error, 20 * t + 50)  # where it is 1; beyond, scipy returns NaN
        lower, upper = stats.nct.cdf(-t, freedom, shift), stats.nct.sf(t, freedom, shift)
        return float(np.nan_to_num(lower) + upper)


def _root(falls: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that falls is 0, or the end of the range that is nearest."""
    if falls(low) <= 0 or falls(high) >= 0:
        return low if falls(low) <= 0 else high
    return float(optimize.brentq(falls, low, high))


def crossed(first: Array, second: Array) -> Variance:
    """Return the variance with a fixed split: seeds (rows) and items are crossed.

    Student's t is for seeds (Welch 1947), and for items below MANY_ITEMS, else the normal one.
    """
    difference = first - second
    runs, items = difference.shape
    own = np.array([each.mean(1).var(ddof=1) if len(each) > 1 else 0 for each in (first, second)])
    by_item, by_run = difference.mean(0), difference.mean(1, keepdims=True)
    rest = ((difference - by_run - by_item + difference.mean()) ** 2).sum()
    residual = rest / ((runs - 1) * (items - 1))
    models = np.clip(own.sum() ** 2 / max((own**2).sum(), sys.float_info.min), 1, 2)
    of_items = max(by_item.var(ddof=1) - residual / runs, 0) / items
    freedom = items - 1 if items < MANY_ITEMS else np.inf
    return Variance(max(own.sum(), residual / items), of_items, models, freedom)


def folds(differences: Sequence[Array], k: int) -> Variance:
    """Return that of k folds, also drawn anew (Nadeau & Bengio 2003, Bouckaert & Frank 2004)."""
    number, runs = len(differences), len(differences[0])  # k times the draws; runs of a fold
    of_items = np.mean([each.mean(0).var(ddof=1) / each.shape[1] for each in differences])
    whole = np.var([each.mean() for each in differences], ddof=1)
    whole = whole if whole > NOTHING**2 else of_items
    one = np.mean([each.mean(1).var(ddof=1) for each in differences]) if runs > 1 else None
    of_seeds = np.clip(whole - of_items if one is None else one, 0, whole * runs)
    factor = 1 / number + 1 / (k - 1)
    return Variance(factor * number * of_seeds, factor * (whole - of_seeds / runs), 0, number - 1)


def _crossing(places: Array, mass: Array, step: float, more: float, end: float) -> float:
    """Return by how much the probability to cross an end, above or below, is more than `more`."""
    return float(mass @ (norm.sf(end, places, step) + norm.cdf(-end, places, step)) - more)


@functools.cache
def look_levels(looks: tuple[int, ...], alpha: float) -> list[float]:
    """Return the level of each look at so many seeds (Lan & DeMets 1983, as O'Brien & Fleming).

    A path is a sum of normal steps; `mass` has those that have crossed no boundary, by place.
    """
    places, mass, before, used, found = np.zeros(1), np.ones(1), 0.0, 0.0, []
    for share in np.array(looks) / looks[-1]:
        step, spent = (share - before) ** 0.5, 4 * norm.sf(norm.isf(alpha / 4) / share**0.5)
        crossing = functools.partial(_crossing, places, mass, step, spent - used)
        end = _root(crossing, 0, 40 * share**0.5)
        found.append(float(2 * norm.sf(end / share**0.5)))
        grid = np.linspace(-end, end, 1001)
        mass = (grid[1] - grid[0]) * (mass @ norm.pdf(grid, places[:, None], step))
        mass[[0, -1]] /= 2
        places, before, used = grid, share, spent
    return found


def _levels(looks: Sequence[int], seeds: int, alpha: float) -> tuple[float, float]:
    """Return the level of the look with so many seeds, and of the last one."""
    levels = look_levels((*looks,), alpha) if looks else [alpha]
    return levels[looks.index(seeds) if looks else 0], levels[-1]


def compare(
    first: Sequence[Array], second: Sequence[Array], k: int, tests: int, looks: Sequence[int] = ()
) -> Numbers:
    """Return the numbers of a comparison, corrected by Bonferroni for the tests of its family.

    The first arguments have for each test split what each item (column) contributes to each run.
    Of declared looks each has a level of its own, and `seeds_needed` is by that of the last.
    """
    differences = [one - other for one, other in zip(first, second, strict=True)]
    runs, items = zip(*(each.shape for each in differences), strict=True)
    mean, seeds = float(np.average([each.mean() for each in differences], weights=runs)), sum(runs)
    numbers: Numbers = {"tests": tests, "difference_pp": 100 * mean}
    if min(items) < 2 or seeds < 2:
        return numbers
    if k:
        variance, step = folds(differences, k), len(differences)
        number = sum(items) * k // step  # of different items
    else:
        variance, step, number = crossed(first[0], second[0]), 1, items[0]
    level, last = _levels(looks, seeds, ALPHA / tests)
    size = abs(mean)
    if (error := variance.error(seeds)) > NOTHING:
        half, within = (variance.critical(each, seeds) for each in (level, min(2 * level, 1)))
        within = max(size + within, _largest_share(differences, number, size, level))
        log = _root(lambda log: variance.critical(np.exp(log), seeds) - size, np.log(LEAST_P), 0)
        p, limit = float(np.exp(log)), 20 * half + 50 * error
        found = _root(lambda each: POWER - variance.power(each, level, seeds), 0, limit)
    else:
        half, p = _of_equal_differences(size, level, number)
        found, within = half, size + half
    numbers |= _seeds_needed(variance, size, last, range(max(step, 2), MAX_SEEDS + 1, step))
    low, high, within = max(mean - half, -1.0), min(mean + half, 1.0), min(within, 1.0)
    ends = {"low_pp": 100 * low, "high_pp": 100 * high, "p": p}
    others = {"equal_within_pp": 100 * within, "detectable_pp": min(100 * found, 100)}
    return numbers | ends | others | {"p_corrected": min(1.0, ALPHA / level * p)}


def _of_equal_differences(size: float, level: float, number: int) -> tuple[float, float]:
    """Return half the interval, and p: the number of items decides."""
    if size > NOTHING:
        half = 2 * size * (1 - (level / 2) ** (1 / number))
        return half, max(2 * 0.5**number, sys.float_info.min)
    return 1 - level ** (1 / number), 1.0


def _seeds_needed(variance: Variance, size: float, level: float, counts: range) -> Numbers:
    """Return the least number of seeds that detects a difference of this size, if any does."""
    powers = functools.partial(variance.power, size, level)
    enough = powers(counts[-1]) >= POWER
    return {"seeds_needed": counts[bisect.bisect(counts, POWER, key=powers)]} if enough else {}


def _largest_share(differences: Sequence[Array], number: int, size: float, level: float) -> float:
    """Return the largest tenable share of items that differ (Clopper & Pearson 1934).

    It is 0 where no share is compared, or FEW_DIFFERENT of so many items differ in any run.
    """
    each_item = np.concatenate([each.any(0) for each in differences])
    is_share = all(np.isin(each, (-1, 0, 1)).all() for each in differences)
    if not is_share or each_item.mean() * number >= FEW_DIFFERENT:
        return 0.0
    return float(stats.beta(size * number + 1, number * (1 - size)).isf(level))


def verdict(numbers: Numbers, margin: float, first: float, second: float) -> str:
    """Return the verdict; twice the epochs may raise the models by `first` and `second` points."""
    differs = numbers.get("p_corrected", 1) < ALPHA
    same = numbers.get("equal_within_pp", np.inf) < margin
    better = numbers["difference_pp"] >= 0
    said = "better" if better else "worse"
    if same or not differs:
        said, rise, near = "practically the same" if same else "undecided", first + second, 0.0
    else:
        rise = second if better else first
        near = min(abs(numbers.get("low_pp", 0)), abs(numbers.get("high_pp", 0)))
    return "not converged" if 0 < rise >= near else said

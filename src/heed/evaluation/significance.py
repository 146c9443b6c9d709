"""Significance of a difference between two models, over seeds and over test documents.

Any metric can be compared: the tests take the contribution of each document to it
(`task.interface.Metric.by_item`). docs/read/statistics.md explains each number, its assumptions,
its sources, and when to distrust it.

The mean difference has another standard error in each of two designs:

* A fixed split. Every seed is tested on the same documents: seeds and documents are *crossed*. The
  variance of the mean is the sum of a component of the seeds and one of the documents, as in
  studies where several radiologists read the same cases (Dorfman, Berbaum & Metz 1992). Seeds of
  two models have nothing in common but their number, so each model has a variance (Welch 1947).
* Folds. Each seed is tested on the documents of its fold: they are *nested*. The fold is the unit.
  Training splits of folds overlap, so the variance is multiplied by the correction of Nadeau &
  Bengio (2003), for repeated folds as Bouckaert & Frank (2004) have it.
"""

import bisect
import dataclasses
import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
from scipy import optimize, special

from heed.evaluation.looks import Looks
from heed.evaluation.results import UNDECIDED, Difference, Interval

ALPHA, POWER = 0.05, 0.8
MAX_SEEDS = 1000  # `seeds_needed` searches up to this number: nobody trains more
MAX_DOCUMENTS = 10_000_000  # and `items_needed` up to this
SMALLEST_P = sys.float_info.min  # a p is never reported as 0
SMALLEST_T_P = 1e-100  # below it scipy has no quantiles of Student's t for all degrees of freedom
# Of fewer documents the variance is estimated so badly that the normal distribution's critical
# values raise false alarms (docs/read/statistics.md); of more, Student's t hardly differs from it.
MANY_DOCUMENTS = 100
# Where fewer documents differ, the variance is estimated as too small to show that two models are
# practically the same (docs/read/statistics.md).
FEW_DIFFERENT = 10
TOLERANCE = 1e-12  # scores that differ by less are equal but for rounding

# What each document contributes to the score of each run, (runs, documents), for each test split:
# one of a fixed split, k of k folds, in each repeat. A reference model has one run. Whole numbers
# where the metric is a share of documents, else floats.
Scores = Sequence[np.ndarray]
Blocks = list[np.ndarray]  # one model's minus another's


@dataclasses.dataclass(frozen=True)
class VarianceComponents:
    """The components of the variance of the mean difference, in squares of the metric compared.

    With a fixed split the variance with n seeds is `seeds / n + documents`; with r repeats of k
    folds of n seeds each it is `(1 / (k * r) + 1 / (k - 1)) * (seeds / n + documents)`.
    """

    folds: int  # of all repeats together; 0: a fixed split
    seeds: float
    documents: float
    # Degrees of freedom of the seeds' component, in multiples of the seeds less one: 1 where one of
    # both models varies, 2 where both do alike (Welch 1947).
    models: float = 1.0
    repeats: int = 1  # of folds
    number: int = MANY_DOCUMENTS  # of documents, of a fixed split

    @property
    def of_documents(self) -> float:
        """The degrees of freedom of the documents' component."""
        return math.inf if self.number >= MANY_DOCUMENTS else self.number - 1

    def standard_error(self, seeds: int) -> float:
        """Return the standard error of the mean over this many seeds, of all folds together."""
        if self.folds:
            # The second term, the size of a test split over that of a training split, is for the
            # overlap of the latter; what a fold takes from it to validate counts as training.
            factor = 1 / self.folds + 1 / (self.folds / self.repeats - 1)
            return np.sqrt(factor * (self.seeds * self.folds / seeds + self.documents))
        return np.sqrt(self.seeds / seeds + self.documents)

    def critical_difference(self, seeds: int, alpha: float) -> float:
        """Return the smallest difference that is significant at `alpha`, two-sided.

        With folds by Student's t. With a fixed split few values estimate the seeds' part of the
        variance and as a rule many the documents': the critical differences of each alone are
        combined as the sides of a right angle (Howe 1974). One t with the degrees of freedom of
        Hillis (2007) raised false alarms at small levels (docs/internals/decisions.md).
        """
        if self.folds:
            return _critical_t(alpha, self.folds - 1) * self.standard_error(seeds)
        few = self.number < MANY_DOCUMENTS
        of_documents = _critical_t(alpha, self.number - 1) if few else -special.ndtri(alpha / 2)
        return np.hypot(
            _critical_t(alpha, np.maximum(self.models * (seeds - 1), 1))
            * np.sqrt(self.seeds / seeds),
            of_documents * np.sqrt(self.documents),
        )

    def p_value(self, difference: float, seeds: int) -> float:
        """Return the level, two-sided, at which this is the critical difference."""

        def excess(log_p: float) -> float:
            return self.critical_difference(seeds, math.exp(log_p)) - abs(difference)

        smallest = math.log(SMALLEST_T_P)
        if excess(smallest) <= 0:
            return SMALLEST_T_P
        if excess(0.0) >= 0:
            return 1.0
        return math.exp(optimize.brentq(excess, smallest, 0.0, xtol=1e-12))

    def degrees_of_freedom(self, seeds: int, alpha: float = ALPHA) -> float:
        """Return the degrees of freedom with which one t has the critical difference at `alpha`."""
        if self.folds:
            return self.folds - 1
        error = self.standard_error(seeds)
        if not error or not self.seeds:  # nothing else is estimated from few values
            return self.of_documents
        critical = self.critical_difference(seeds, alpha) / error

        def excess(share: float) -> float:  # of 1 / degrees of freedom
            return _critical_t(alpha, 1 / share) - critical

        few, many = 1 / min(self.models * (seeds - 1), self.of_documents), 1e-9
        if excess(few) <= 0:
            return 1 / few
        return math.inf if excess(many) >= 0 else 1 / optimize.brentq(excess, many, few)


def _critical_t(alpha: float, degrees_of_freedom: float) -> Any:
    """Return the two-sided critical value: `scipy.stats.t.isf(alpha / 2)`, 50 times as fast."""
    return -special.stdtrit(degrees_of_freedom, alpha / 2)


def variance_components(
    first: Scores, second: Scores, repeats: int = 1, alone: bool = False
) -> VarianceComponents | None:
    """Return the components of the variance; None where seeds or documents are too few.

    With `alone` one seed, or one document, leaves the component of the other alone.
    """
    blocks = differences(first, second)
    if len(blocks) > 1:
        return _nested_components(blocks, repeats)
    (table,) = blocks
    if max(table.shape) < 2 or (min(table.shape) < 2 and not alone):
        return None
    own, others = (
        float(scores.mean(axis=1).var(ddof=1)) if len(scores) > 1 else 0.0
        for (scores,) in (first, second)
    )
    if len(table) == 1:
        variance = float(table.var(ddof=1))
        return VarianceComponents(0, 0.0, variance / table.size, number=table.size)
    if table.shape[1] == 1:
        of_seeds = crossed_components(own, others, 0.0, 0.0, *table.shape)
        return dataclasses.replace(of_seeds, number=MANY_DOCUMENTS)
    _, documents, residual = mean_squares(table)
    return crossed_components(own, others, documents, residual, *table.shape)


def mean_squares(table: np.ndarray) -> tuple[float, float, float]:
    """Return the mean squares of rows, columns and residual (Shrout & Fleiss 1979, table 2)."""
    rows, columns = table.shape
    mean, row_means, column_means = table.mean(), table.mean(axis=1), table.mean(axis=0)
    row_sum = columns * float(((row_means - mean) ** 2).sum())
    column_sum = rows * float(((column_means - mean) ** 2).sum())
    residual = max(float(((table - mean) ** 2).sum()) - row_sum - column_sum, 0.0)
    return row_sum / (rows - 1), column_sum / (columns - 1), residual / ((rows - 1) * (columns - 1))


def crossed_components(
    first: float, second: float, document_square: float, residual: float, seeds: int, documents: int
) -> VarianceComponents:
    """Return the components of a fixed split.

    `first` and `second` are the variances over seeds of both models' scores, 0 of a reference
    model; the mean squares of documents and residual are the difference's. Where seeds vary less
    than the residual says, which is chance, the residual is taken: without this, intervals of two
    or three seeds covered the true value in 88% to 94% of simulations, not 95%.
    """
    squares = np.maximum(first**2 + second**2, SMALLEST_P)
    return VarianceComponents(
        folds=0,
        seeds=np.maximum(first + second, residual / documents),
        documents=np.maximum(document_square - residual, 0) / (seeds * documents),
        models=np.clip((first + second) ** 2 / squares, 1, 2),
        number=documents,
    )


def _nested_components(blocks: Blocks, repeats: int) -> VarianceComponents | None:
    """Return the components of folds, of all repeats, which have equally many seeds each."""
    if min(block.shape[1] for block in blocks) < 2:
        return None
    seeds_per_fold = len(blocks[0])
    of_folds = float(np.var([block.mean() for block in blocks], ddof=1))
    of_documents = float(
        np.mean([block.mean(axis=0).var(ddof=1) / block.shape[1] for block in blocks])
    )
    # Where all folds have the same mean, their documents still vary.
    of_folds = of_folds if of_folds > TOLERANCE**2 else of_documents
    if seeds_per_fold > 1:
        of_seeds = float(np.mean([block.mean(axis=1).var(ddof=1) for block in blocks]))
        of_seeds = min(of_seeds, seeds_per_fold * of_folds)
    else:  # the variance of seeds is confounded with that of folds: attribute all to seeds
        of_seeds = max(of_folds - of_documents, 0.0)
    documents = max(of_folds - of_seeds / seeds_per_fold, 0.0)
    return VarianceComponents(len(blocks), of_seeds, documents, repeats=repeats)


def power(
    difference: float, standard_error: float, degrees_of_freedom: float, alpha: float
) -> float:
    """Return the power of a two-sided t test at `alpha`, by the noncentral t distribution."""
    if not standard_error:
        return 1.0 if difference else alpha
    shift = abs(difference) / standard_error
    critical = _critical_t(alpha, degrees_of_freedom)
    # At this limit the power is 1. Beyond it, and for a tail of nearly 0, scipy returns NaN. The
    # upper tail is the lower one of the opposite shift: as `scipy.stats.nct.sf`, to the last bit,
    # without `scipy.stats`, which takes .4 seconds to import.
    shifts = np.array([-min(shift, 20 * critical + 50), shift])
    return float(np.nan_to_num(special.nctdtr(degrees_of_freedom, shifts, -critical)).sum())


def seeds_needed(
    difference: float, components: VarianceComponents, alpha: float = ALPHA
) -> int | None:
    """Return the smallest number of seeds that detects this difference with 80% power, or None.

    With folds it is a multiple of their number, and a lower bound: all variance between folds is
    taken for that of seeds. More repeats are not considered.
    """
    step = components.folds or 1
    counts = range(step if components.folds else 2, MAX_SEEDS + 1, step)

    def detects(seeds: int) -> bool:
        freedom = components.degrees_of_freedom(seeds, alpha)
        return power(difference, components.standard_error(seeds), freedom, alpha) >= POWER

    if not detects(counts[-1]):
        return None
    return counts[bisect.bisect_left(counts, True, key=detects)]  # more seeds, more power


def items_needed(
    difference: float, components: VarianceComponents, seeds: int, alpha: float = ALPHA
) -> int | None:
    """Return how many documents detect this difference with 80% power by as many seeds, or None."""

    def detects(number: int) -> bool:
        of_documents = components.documents * components.number / number
        more = dataclasses.replace(components, documents=of_documents, number=number)
        freedom = more.degrees_of_freedom(seeds, alpha)
        return power(difference, more.standard_error(seeds), freedom, alpha) >= POWER

    counts = range(2, MAX_DOCUMENTS + 1)
    if not difference or components.folds or not detects(counts[-1]):
        return None
    return counts[bisect.bisect_left(counts, True, key=detects)]


def minimum_detectable(
    standard_error: float, degrees_of_freedom: float, alpha: float = ALPHA
) -> float:
    """Return the smallest difference that is detected with 80% power at this standard error."""

    def excess(shift: float) -> float:
        return power(shift, 1.0, degrees_of_freedom, alpha) - POWER

    limit = 20 * _critical_t(alpha, degrees_of_freedom) + 50
    return standard_error * float(optimize.brentq(excess, 0.0, limit))


def planned_difference(
    seeds: int, documents: float, planned: tuple[float, float], folds: int = 0, repeats: int = 1,
    alpha: float = ALPHA,
) -> float | None:  # fmt: skip
    """Return the difference, in points, that a primary comparison finds with 80% power.

    `documents` are of one test split; `planned` is as in `task.interface.Scale`. None: too few.
    """
    if seeds < max(2, folds) or documents < 2:
        return None
    of_seeds, of_documents = 2 * planned[0] ** 2, planned[1] / documents
    components = VarianceComponents(
        folds, of_seeds, of_documents, models=2, repeats=repeats, number=round(documents)
    )
    freedom = components.degrees_of_freedom(seeds, alpha)
    error = components.standard_error(seeds)
    found = 100 * float(minimum_detectable(error, freedom, alpha))
    return found if found < 100 else None


class Test(NamedTuple):
    """The interval of a difference, p of no difference, and the least margin it lies within."""

    interval_pp: Interval
    p: float
    equal_within_pp: float


def differences(first: Scores, second: Scores) -> Blocks:
    """Return one model's score minus another's, (seeds, documents), for each test split."""
    blocks = []
    for one, other in zip(first, second, strict=True):
        dtype = np.int8 if one.dtype.kind in "bui" and other.dtype.kind in "bui" else np.float64
        # Always the same memory layout: the last bit of a sum of floats depends on it.
        blocks.append(np.ascontiguousarray(one.astype(dtype) - other.astype(dtype)))
    return blocks


def mean_difference(blocks: Scores) -> float:
    """Return the mean difference; test splits are weighted by their seeds, not their documents."""
    means, seeds = [block.mean() for block in blocks], [len(block) for block in blocks]
    return float(np.average(means, weights=seeds))


def t_test(
    first: Scores, second: Scores, alpha: float = ALPHA, repeats: int = 1,
    components: VarianceComponents | None = None,
) -> Test | None:  # fmt: skip
    """Return the interval and the p of a difference; None with one seed.

    The difference is shown to be less than `equal_within_pp` by two one-sided tests at `alpha`
    (Schuirmann 1987), of a share of documents in which few differ by an exact test as well.
    """
    components = components or variance_components(first, second, repeats)
    blocks = differences(first, second)
    if components is None:
        return None
    seeds, mean = sum(len(block) for block in blocks), mean_difference(blocks)
    documents = sum(block.shape[1] for block in blocks) // repeats
    if components.standard_error(seeds) <= TOLERANCE:
        return _test_without_variance(mean, documents, alpha)
    half = float(components.critical_difference(seeds, alpha))
    within = abs(mean) + float(components.critical_difference(seeds, min(2 * alpha, 1.0)))
    different = sum(int(block.any(axis=0).sum()) for block in blocks) / repeats
    is_share = all(np.isin(block, (-1, 0, 1)).all() for block in blocks)
    if is_share and different < FEW_DIFFERENT:
        within = max(within, _largest_share(abs(mean), documents, alpha))
    interval = 100 * (mean - half), 100 * (mean + half)
    return Test(interval, components.p_value(mean, seeds), 100 * within)


def _test_without_variance(mean: float, documents: int, alpha: float) -> Test:
    """Return what `documents` show that all have the same difference in all seeds.

    Where it is 0: a share of documents that differ of `unseen` or more would show in a sample but
    for a probability of `alpha`. Else p is that of the test over all sign flips, 2 / 2^documents.
    """
    if abs(mean) <= TOLERANCE:
        unseen = 100 * _largest_share(0.0, documents, alpha)
        return Test((-unseen, unseen), 1.0, unseen)
    half = 2 * abs(mean) * (1 - (alpha / 2) ** (1 / documents))
    interval = 100 * (mean - half), 100 * (mean + half)
    return Test(interval, max(0.5 ** (documents - 1), SMALLEST_P), 100 * (abs(mean) + half))


def _largest_share(share: float, documents: int, alpha: float) -> float:
    """Return the upper one-sided limit of a share at level alpha (Clopper & Pearson 1934)."""
    count = share * documents  # of a mean over seeds, so not always whole
    return float(special.betaincinv(count + 1, documents - count, 1 - alpha))


def assess(
    first: Scores, second: Scores, tests: int = 1, family: str = "", repeats: int = 1,
    alone: bool = False, looks: Looks | None = None, bounded: bool = True,
) -> Difference:  # fmt: skip
    """Return the tests of one difference, corrected for the `tests` of its family; not yet judged.

    `repeats` says how often the documents were divided into the folds of both scores; `alone`, as
    of `variance_components`, that one seed or one document is tested by the other alone; `bounded`,
    that scores are shares, whose differences are cut at those that can be.
    The correction is Bonferroni's: all of it is at the level ALPHA over `tests`, so that intervals
    of a family hold together, and one excludes 0 exactly where the corrected p is below ALPHA. With
    declared `looks` it is at the level that this look may spend of that one, and `seeds_needed` at
    that of the last look.
    """
    blocks = differences(first, second)
    seeds, mean, alpha = sum(len(block) for block in blocks), mean_difference(blocks), ALPHA / tests
    level, last, factor = alpha, alpha, float(tests)
    if looks:
        level, last = looks.level(alpha), looks.last_level(alpha)
        factor = ALPHA / level
    found: dict[str, object] = dict.fromkeys(field.name for field in dataclasses.fields(Difference))
    found |= {"family": family, "tests": tests, "mean_pp": 100 * mean, "verdict": UNDECIDED}
    components = variance_components(first, second, repeats, alone)
    test = t_test(first, second, level, repeats, components)
    if test is not None and components is not None:
        error, most = components.standard_error(seeds), 100.0 if bounded else math.inf
        freedom = components.degrees_of_freedom(seeds, level)
        detectable = test.equal_within_pp - 100 * abs(mean)  # without variance: the unseen
        if error > TOLERANCE:
            detectable = 100 * minimum_detectable(error, freedom, level)
        found |= {
            "interval_pp": tuple(np.clip(test.interval_pp, -most, most).tolist()),
            "equal_within_pp": min(test.equal_within_pp, most), "p": test.p,
            "p_corrected": min(1.0, factor * test.p),
            "standard_error_pp": 100 * float(error),
            "degrees_of_freedom": None if math.isinf(freedom) else float(freedom),
            "seeds_needed": seeds_needed(mean, components, last),
            "detectable_pp": min(detectable, most),
        }  # fmt: skip
    return Difference(**found)  # type: ignore[arg-type]


def signature(folds: bool, fixed: bool, looks: Sequence[int] = ()) -> str:
    """Return the method in one line, as sacrebleu does; reports compare where they are the same."""
    designs = ["crossed:seeds(Welch)×documents(Howe)"] * fixed + ["folds:t(Nadeau-Bengio)"] * folds
    fields: dict[str, object] = {
        "interval": "two-sided-t",
        "design": "+".join(designs),
        "alpha": ALPHA,
        "equivalence": "two-one-sided-t",
        "correction": "Bonferroni-within-family",
        "power": POWER,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    if looks:
        fields["looks"] = f"{','.join(map(str, looks))}(Lan-DeMets,OBrien-Fleming)"
    return "|".join(f"{key}:{value}" for key, value in fields.items())

"""The variance of the mean difference between two models, and the power that follows from it.

There are two designs, with different standard errors:

* A fixed split. Every seed is tested on the same documents: seeds and documents are *crossed*. The
  variance of the mean is the sum of a component of the seeds, one of the documents and a residual,
  as in studies where several radiologists read the same cases (Dorfman, Berbaum & Metz 1992).
* Folds. Seed s is tested on another split than seed s + 1: documents are *nested* in folds. The
  fold is the unit. The training splits of folds overlap, so the variance is multiplied by the
  correction of Nadeau & Bengio (2003).
"""

import bisect
import dataclasses
import math

import numpy as np
from scipy import optimize, special, stats

ALPHA, POWER = 0.05, 0.8
MAX_SEEDS = 1000  # `seeds_needed` searches up to this number: nobody trains more
SMALLEST_T_P = 1e-100  # below it scipy has no quantiles of Student's t for all degrees of freedom
TOLERANCE = 1e-12  # scores that differ by less are equal but for rounding

# One model's score minus another's, (seeds, documents), for each test split: one of a fixed split,
# k of k folds. Whole numbers where the metric is a share of documents, else floats.
Blocks = list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class VarianceComponents:
    """The components of the variance of the mean difference, in squares of the figure compared.

    With a fixed split the variance with n seeds is `seeds / n + documents + residual / n`; with k
    folds of n seeds each it is `(1 / k + 1 / (k - 1)) * (seeds / n + documents)`.
    """

    folds: int  # 0: a fixed split
    seeds: float
    documents: float
    residual: float = 0.0

    def standard_error(self, seeds: int) -> float:
        """Return the standard error of the mean over this many seeds, those of all folds."""
        if self.folds:
            return np.sqrt(
                _overlap_factor(self.folds) * (self.seeds * self.folds / seeds + self.documents)
            )
        return np.sqrt(self.seeds / seeds + self.documents + self.residual / seeds)

    def critical_difference(self, seeds: int, alpha: float) -> float:
        """Return the smallest difference that is significant at `alpha`, two-sided.

        With folds it is Student's t with the folds less one as degrees of freedom. With a fixed
        split the seeds' part of the variance is estimated from few values and the documents' from
        many: the critical difference of each alone, by Student's t and by the normal distribution,
        are combined as the sides of a right angle (Howe 1974). One t with the degrees of freedom of
        Hillis (2007) raised false alarms at small levels (docs/statistics.md).
        """
        if self.folds:
            return _critical_t(alpha, self.folds - 1) * self.standard_error(seeds)
        seed_error = np.sqrt((self.seeds + self.residual) / seeds)
        return np.hypot(
            _critical_t(alpha, seeds - 1) * seed_error,
            -special.ndtri(alpha / 2) * np.sqrt(self.documents),
        )

    def p_value(self, difference: float, seeds: int) -> float:
        """Return the level, two-sided, at which this is the critical difference."""
        size = abs(difference)

        def excess(log_p: float) -> float:
            return self.critical_difference(seeds, math.exp(log_p)) - size

        smallest = math.log(SMALLEST_T_P)
        if excess(smallest) <= 0:
            return SMALLEST_T_P
        if excess(0.0) >= 0:
            return 1.0
        return math.exp(optimize.brentq(excess, smallest, 0.0, xtol=1e-12))

    def equivalence_p(self, difference: float, margin: float, seeds: int) -> float:
        """Return p of the two one-sided tests of equivalence within `margin` (Schuirmann 1987)."""
        inside = margin - abs(difference)
        p = self.p_value(inside, seeds) / 2
        return p if inside > 0 else 1 - p

    def degrees_of_freedom(self, seeds: int, alpha: float = ALPHA) -> float:
        """Return the degrees of freedom with which one t has the critical difference at `alpha`.

        Folds less one; with a fixed split between the seeds less one and infinity.
        """
        if self.folds:
            return self.folds - 1
        error = self.standard_error(seeds)
        if not error or not self.seeds + self.residual:  # nothing is estimated from few values
            return math.inf
        critical = self.critical_difference(seeds, alpha) / error

        def excess(share: float) -> float:  # of 1 / degrees of freedom
            return _critical_t(alpha, 1 / share) - critical

        few, many = 1 / (seeds - 1), 1e-9
        if excess(few) <= 0:
            return seeds - 1
        return math.inf if excess(many) >= 0 else 1 / optimize.brentq(excess, many, few)


def _critical_t(alpha: float, degrees_of_freedom: float) -> float:
    """Return the two-sided critical value: `scipy.stats.t.isf(alpha / 2)`, 50 times as fast."""
    return float(-special.stdtrit(degrees_of_freedom, alpha / 2))


def mean_squares(table: np.ndarray) -> tuple[float, float, float]:
    """Return the mean squares of rows, columns and residual of a table, (rows, columns).

    The two-way analysis of variance without replication, as in Shrout & Fleiss (1979), table 2.
    The table has at least two rows and two columns.
    """
    rows, columns = table.shape
    mean, row_means, column_means = table.mean(), table.mean(axis=1), table.mean(axis=0)
    row_sum = columns * float(((row_means - mean) ** 2).sum())
    column_sum = rows * float(((column_means - mean) ** 2).sum())
    residual = max(float(((table - mean) ** 2).sum()) - row_sum - column_sum, 0.0)
    return row_sum / (rows - 1), column_sum / (columns - 1), residual / ((rows - 1) * (columns - 1))


def variance_components(blocks: Blocks) -> VarianceComponents | None:
    """Return the components of the variance; None where seeds or documents are too few.

    With a fixed split the seeds' mean square is raised to the residual's, since it can be smaller
    only by chance: without this, the intervals of two or three seeds covered the truth in 88% to
    94% of simulations, not 95%.
    """
    return _crossed_components(blocks[0]) if len(blocks) == 1 else _nested_components(blocks)


def _crossed_components(table: np.ndarray) -> VarianceComponents | None:
    if min(table.shape) < 2:
        return None
    return from_mean_squares(*mean_squares(table), *table.shape)


def from_mean_squares(
    seed_square: float, document_square: float, residual: float, seeds: int, documents: int
) -> VarianceComponents:
    """Return the components that mean squares of seeds, documents and residual are made of."""
    return VarianceComponents(
        folds=0,
        seeds=np.maximum(seed_square - residual, 0) / documents,
        documents=np.maximum(document_square - residual, 0) / (seeds * documents),
        residual=residual / documents,
    )


def _nested_components(blocks: Blocks) -> VarianceComponents | None:
    """Return the components of folds, which have the same number of seeds each."""
    if min(block.shape[1] for block in blocks) < 2:
        return None
    seeds_per_fold = len(blocks[0])
    fold_variance = float(np.var([block.mean() for block in blocks], ddof=1))
    document_variance = float(
        np.mean([block.mean(axis=0).var(ddof=1) / block.shape[1] for block in blocks])
    )
    # Where all folds have the same mean, their documents still vary.
    fold_variance = fold_variance if fold_variance > TOLERANCE**2 else document_variance
    if seeds_per_fold > 1:
        of_seeds = float(np.mean([block.mean(axis=1).var(ddof=1) for block in blocks]))
        seed_variance = min(of_seeds, seeds_per_fold * fold_variance)
    else:  # the variance of seeds cannot be told from that of folds: all of it is taken for seeds'
        seed_variance = max(fold_variance - document_variance, 0.0)
    return VarianceComponents(
        folds=len(blocks),
        seeds=seed_variance,
        documents=max(fold_variance - seed_variance / seeds_per_fold, 0.0),
    )


def _overlap_factor(folds: int) -> float:
    """Return 1/k + 1/(k - 1) for k folds, the factor of Nadeau & Bengio (2003).

    The second term, the size of a test part over that of a training part, is for their overlap.
    What a fold takes from its training part to validate counts as training.
    """
    return 1 / folds + 1 / (folds - 1)


def power(
    difference: float, standard_error: float, degrees_of_freedom: float, alpha: float
) -> float:
    """Return the power of a two-sided t test at `alpha`, by the noncentral t distribution."""
    if not standard_error:
        return 1.0 if difference else alpha
    if math.isinf(degrees_of_freedom):
        critical, shift = float(stats.norm.isf(alpha / 2)), abs(difference) / standard_error
        return float(stats.norm.sf(critical - shift) + stats.norm.cdf(-critical - shift))
    critical = float(stats.t.isf(alpha / 2, degrees_of_freedom))
    # At this limit the power is 1; beyond it scipy returns NaN.
    shift = min(abs(difference) / standard_error, 20 * critical + 50)
    return float(stats.nct.sf(critical, degrees_of_freedom, shift))


def seeds_needed(
    difference: float, components: VarianceComponents, alpha: float = ALPHA
) -> int | None:
    """Return the smallest number of seeds that detects this difference with 80% power.

    None where no number up to 1000 does: the test documents (or the folds) are too few, and more
    seeds are tested on the same ones. With folds it is a multiple of their number, and a lower
    bound: all variance between folds is taken for that of seeds.
    """
    step = components.folds or 1
    counts = range(step if components.folds else 2, MAX_SEEDS + 1, step)

    def detects(seeds: int) -> bool:
        freedom = components.degrees_of_freedom(seeds, alpha)
        return power(difference, components.standard_error(seeds), freedom, alpha) >= POWER

    if not detects(counts[-1]):
        return None
    return counts[bisect.bisect_left(counts, True, key=detects)]  # more seeds, more power


def minimum_detectable(
    standard_error: float, degrees_of_freedom: float, alpha: float = ALPHA
) -> float:
    """Return the smallest difference that a test with this standard error detects with 80% power.

    It is in the unit of the standard error.
    """
    if not standard_error:
        return 0.0
    limit = 20 * float(stats.t.isf(alpha / 2, degrees_of_freedom)) + 50
    return standard_error * float(
        optimize.brentq(
            lambda shift: power(shift, 1.0, degrees_of_freedom, alpha) - POWER, 0.0, limit
        )
    )

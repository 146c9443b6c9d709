"""Is a difference between two models more than chance? Paired over seeds and over test documents.

The figure compared may be any: what enters is what each document contributes to it
(`tasks.interface.Metric.by_item`).

In short: read `interval_pp` and `p_holm`; everything else is there to check them.
docs/statistics.md explains each number, its assumptions, its sources, and when to distrust it.

Two designs, and they must not be confused:

* A fixed split. Every seed is tested on the same documents: seeds and documents are *crossed*. The
  variance of the mean has a part of the seeds, a part of the documents and a rest, as that of
  radiologists who all read the same cases (Dorfman, Berbaum & Metz 1992; degrees of freedom of
  Hillis 2007).
* Folds. Seed s is tested on another part than seed s + 1: documents are *nested* in folds. The fold
  is the unit, and the training parts overlap, which the variance has to pay for (Nadeau & Bengio
  2003).
"""

import dataclasses
import math
import sys
from collections.abc import Sequence

import numpy as np
import scipy
from scipy import optimize, stats

from heed.evaluation.results import Difference, Effect, Interval, OtherTests
from heed.files import HeedError

ALPHA, POWER = 0.05, 0.8
RESAMPLES, GENERATOR_SEED = 10_000, 1
MOST_SEEDS = 1000  # more than this are not counted: nobody trains them
# a p is never 0: the smallest number that a computer holds stands for less
TINY = sys.float_info.min
SAME = 1e-12  # differences of figures closer than this are equal but for rounding
ENUMERATED = 15  # up to 2^15 sign flips are tried one by one; of more seeds, RESAMPLES are drawn

Blocks = list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Parts:
    """What the variance of the mean difference is made of, in squares of the figure compared.

    With a fixed split the variance with n seeds is `seeds / n + documents + rest / n`; with folds,
    n seeds for each of k folds, it is `(1 / k + 1 / (k - 1)) * (seeds / n + documents)`.
    """

    folds: int  # 0: a fixed split
    seeds: float
    documents: float
    rest: float = 0.0

    def error(self, seeds: int) -> float:
        """Return the standard error of the mean with this many seeds in all."""
        if self.folds:
            return math.sqrt(
                _overlap(self.folds) * (self.seeds * self.folds / seeds + self.documents)
            )
        return math.sqrt(self.seeds / seeds + self.documents + self.rest / seeds)

    def freedom(self, seeds: int) -> float:
        """Return the degrees of freedom: of the folds less one; with a fixed split those of Hillis
        (2007).
        """
        if self.folds:
            return self.folds - 1
        of_seeds = (self.seeds + self.rest) / seeds  # the only part that is estimated from few
        return (seeds - 1) * (self.error(seeds) ** 2 / of_seeds) ** 2 if of_seeds else math.inf


@dataclasses.dataclass(frozen=True)
class TTest:
    """What decides on a difference, in percentage points but for `p`; `freedom` is None where it is
    infinite.
    """

    interval_pp: Interval
    p: float
    error_pp: float
    freedom: float | None


def differences(ours: Sequence[np.ndarray], theirs: Sequence[np.ndarray]) -> Blocks:
    """Return what each document contributes to one model's figure minus the same of another, for
    each part tested on.

    Args:
        ours: for each part (one of a fixed split, k of folds) an array, (seeds tested on it,
            documents): of 0 and 1 where the figure is a share of documents, which keeps the tests
            that count exact; else of numbers with a fraction.
        theirs: the same of the other model; one row where it was fitted once.

    Raises:
        HeedError: nothing to compare, or not the same documents.

    """
    blocks = []
    for mine, other in zip(ours, theirs, strict=True):
        if mine.ndim != 2 or other.ndim != 2 or not mine.size or mine.shape[1] != other.shape[1]:
            raise HeedError(
                f"cannot compare {mine.shape} with {other.shape} answers (seeds, documents): not "
                "the same test documents. Run again: heed evaluate"
            )
        exact = np.int8 if mine.dtype.kind in "bui" and other.dtype.kind in "bui" else np.float64
        # One memory layout, whatever the tables came from: the last bit of a sum of floats depends
        # on it.
        blocks.append(np.ascontiguousarray(mine.astype(exact) - other.astype(exact)))
    if not blocks:
        raise HeedError("there are no test documents to compare. Run again: heed evaluate")
    return blocks


def mean_squares(table: np.ndarray) -> tuple[float, float, float]:
    """Return the mean squares of rows, of columns and of the rest of a table, (rows, columns), both
    at least 2.

    The two-way analysis of variance without replication, as in Shrout & Fleiss (1979), table 2.
    """
    rows, columns = table.shape
    mean, of_rows, of_columns = table.mean(), table.mean(axis=1), table.mean(axis=0)
    row_sum = columns * float(((of_rows - mean) ** 2).sum())
    column_sum = rows * float(((of_columns - mean) ** 2).sum())
    rest = max(float(((table - mean) ** 2).sum()) - row_sum - column_sum, 0.0)
    return row_sum / (rows - 1), column_sum / (columns - 1), rest / ((rows - 1) * (columns - 1))


def parts(blocks: Blocks) -> Parts | None:
    """Return the parts of the variance; None where seeds or documents are too few to estimate one.

    With a fixed split the seeds' mean square is raised to the rest's, below which only luck can
    bring it: without this floor intervals of two or three seeds covered the truth in 88% to 94% of
    simulations, not 95%.
    """
    return _crossed(blocks[0]) if len(blocks) == 1 else _nested(blocks)


def _crossed(table: np.ndarray) -> Parts | None:
    seeds, documents = table.shape
    if min(seeds, documents) < 2:
        return None
    of_seeds, of_documents, rest = mean_squares(table)
    return Parts(
        folds=0,
        seeds=max(of_seeds - rest, 0) / documents,
        documents=max(of_documents - rest, 0) / (seeds * documents),
        rest=rest / documents,
    )


def _nested(blocks: Blocks) -> Parts | None:
    seeds = {len(block) for block in blocks}
    if len(seeds) > 1:
        raise HeedError(
            f"the folds have {sorted(seeds)} seeds: the number of seeds must be a multiple of the "
            "folds"
        )
    if min(block.shape[1] for block in blocks) < 2:
        return None
    each = seeds.pop()
    of_folds = float(np.var([block.mean() for block in blocks], ddof=1))
    of_documents = float(
        np.mean([block.mean(axis=0).var(ddof=1) / block.shape[1] for block in blocks])
    )
    of_folds = (
        of_folds if of_folds > SAME**2 else of_documents
    )  # folds that agree to the last bit are not without error
    if each > 1:
        of_seeds = min(
            float(np.mean([block.mean(axis=1).var(ddof=1) for block in blocks])), each * of_folds
        )
    # one seed a fold: what is not the documents' may be the seed's or the fold's. Taken as the
    # seed's.
    else:
        of_seeds = max(of_folds - of_documents, 0.0)
    return Parts(folds=len(blocks), seeds=of_seeds, documents=max(of_folds - of_seeds / each, 0.0))


def _overlap(folds: int) -> float:
    """Return the factor of Nadeau & Bengio (2003): 1/k for k folds, and test part over train part
    for their overlap.
    """
    return 1 / folds + 1 / (folds - 1)


def mean_difference(blocks: Blocks) -> float:
    """Return the mean over seeds of the difference; each part counts by its seeds, not its
    documents.
    """
    return float(
        np.average([block.mean() for block in blocks], weights=[len(block) for block in blocks])
    )


def bootstrap(blocks: Blocks, alpha: float = ALPHA) -> tuple[float, float] | None:
    """Return the percentile interval of the mean difference that resamples seeds and documents, in
    shares; None of one seed.

    A fixed split: seeds and documents are drawn with replacement, independently (Owen 2007's
    pigeonhole bootstrap); of folds: folds, then seeds and documents within each. Documents that
    every seed answers alike are drawn together, which changes nothing but the time. The generator
    starts anew for each comparison, so that order does not matter.
    """
    if sum(len(block) for block in blocks) < 2:
        return None
    generator = np.random.default_rng(GENERATOR_SEED)
    drawn = np.zeros((RESAMPLES, len(blocks)), dtype=np.intp)
    if len(blocks) > 1:
        drawn = generator.integers(0, len(blocks), drawn.shape)
    means = np.empty(drawn.shape)
    for index, block in enumerate(blocks):
        means[drawn == index] = _resampled(block, int((drawn == index).sum()), generator)
    low, high = np.quantile(means.mean(axis=1), [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)


def _resampled(block: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Return `count` means of a table whose seeds and documents were drawn with replacement."""
    patterns, counts = np.unique(block, axis=1, return_counts=True)
    seeds, documents = block.shape
    at_once = max(1, 4_000_000 // len(counts))  # so many that memory stays below about 100 MB
    means = []
    for size in [at_once] * (count // at_once) + [count % at_once]:
        of_seeds = generator.multinomial(seeds, np.full(seeds, 1 / seeds), size)
        of_documents = generator.multinomial(documents, counts / documents, size)
        means.append(((of_seeds @ patterns) * of_documents).sum(axis=1) / (seeds * documents))
    return np.concatenate(means)


def documents_test(blocks: Blocks) -> float:
    """Return the exact p of the permutation test over documents: the trained runs are taken as
    given.

    What is permuted: for each document, the two models' names, in all its seeds together. So the
    sum of its differences keeps its size and takes either sign with probability 1/2. The
    distribution of the total is a convolution of binomial distributions, one for each size, so
    nothing is drawn at random. With one seed this is McNemar's (1947) exact test. Where the
    differences are no whole numbers, RESAMPLES of the sign flips are drawn.
    """
    if not _are_counts(blocks):
        return _documents_test_drawn(blocks)
    sums = np.concatenate([np.abs(block.sum(axis=0, dtype=np.int64)) for block in blocks])
    observed = abs(sum(int(block.sum(dtype=np.int64)) for block in blocks))
    distribution = np.ones(1)  # of the total of those that came out positive
    for size, count in zip(*np.unique(sums[sums > 0], return_counts=True), strict=True):
        wide = np.zeros(size * count + 1)
        wide[::size] = stats.binom.pmf(np.arange(count + 1), count, 0.5)
        distribution = np.convolve(distribution, wide)
    totals = 2 * np.arange(len(distribution)) - int(sums.sum())
    return min(max(float(distribution[np.abs(totals) >= observed].sum()), TINY), 1.0)


def _are_counts(blocks: Blocks) -> bool:
    return all(block.dtype.kind in "bui" for block in blocks)


def _documents_test_drawn(blocks: Blocks) -> float:
    """Return p of the permutation test over documents by drawn sign flips; the observed one counts
    as drawn.
    """
    sums = np.concatenate([block.sum(axis=0) for block in blocks])
    generator = np.random.default_rng(GENERATOR_SEED)
    at_once = max(1, 4_000_000 // len(sums))
    extreme = 1
    for start in range(0, RESAMPLES - 1, at_once):
        signs = (
            generator.integers(
                0, 2, (min(at_once, RESAMPLES - 1 - start), len(sums)), dtype=np.int8
            )
            * 2.0
            - 1
        )
        extreme += int((np.abs(signs @ sums) >= abs(sums.sum()) - SAME).sum())
    return extreme / RESAMPLES


def mcnemar(block: np.ndarray) -> list[float]:
    """Return the exact p of McNemar (1947) for each seed of a table of differences, (seeds,
    documents).
    """
    counts = [(int((row > 0).sum()), int((row < 0).sum())) for row in block]
    return [
        max(float(stats.binomtest(won, won + lost).pvalue), TINY) if won + lost else 1.0
        for won, lost in counts
    ]


def seeds_t_test(values: Sequence[float]) -> float | None:
    """Return p of the paired t test over seeds: the test documents are taken as given; None where
    it has no answer.
    """
    if len(values) < 2 or np.std(values) < SAME:
        return None
    return float(stats.ttest_1samp(values, 0.0).pvalue)


def seeds_sign_test(values: Sequence[float]) -> float | None:
    """Return p of Fisher's (1935) sign-flip test over seeds; exact up to 15 of them.

    None of one seed.

    Its smallest p is 2 / 2^n: with 5 seeds 0.0625, so that it can never come below 0.05 with fewer
    than 6.
    """
    if len(values) < 2:
        return None
    few = len(values) <= ENUMERATED
    # Rounded, so that two sums that are equal but for the last bit are equal.
    found = stats.permutation_test(
        (np.round(values, 12),),
        lambda x, axis: np.round(np.abs(x.mean(axis=axis)), 12),
        permutation_type="samples",
        vectorized=True,
        alternative="greater",
        n_resamples=np.inf if few else RESAMPLES - 1,
        batch=4096,
        rng=np.random.default_rng(GENERATOR_SEED),
    )
    return float(found.pvalue)


def power(difference: float, error: float, freedom: float, alpha: float) -> float:
    """Return how often a two-sided t test at `alpha` sees this difference, by the noncentral t
    distribution.
    """
    if not error:
        return 1.0 if difference else alpha
    if math.isinf(freedom):
        critical, shift = float(stats.norm.isf(alpha / 2)), abs(difference) / error
        return float(stats.norm.sf(critical - shift) + stats.norm.cdf(-critical - shift))
    critical = float(stats.t.isf(alpha / 2, freedom))
    # where the answer is 1 and scipy still has one
    shift = min(abs(difference) / error, 20 * critical + 50)
    return float(stats.nct.sf(critical, freedom, shift))


def seeds_needed(difference: float, found: Parts, alpha: float = ALPHA) -> int | None:
    """Return the fewest seeds that would see this difference with 80% power; None where no number
    up to 1000 would.

    None means that the test documents (or the folds) alone are too few: another seed reads the same
    ones again. Of folds it is a multiple of them, and the least: it takes all that differs between
    folds for the seeds' doing.
    """
    step = found.folds or 1
    counts = range(step if found.folds else 2, MOST_SEEDS + 1, step)

    def seen(count: int) -> bool:
        return power(difference, found.error(count), found.freedom(count), alpha) >= POWER

    if not seen(counts[-1]):
        return None
    low, high = 0, len(counts) - 1  # more seeds never see less
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if seen(counts[middle]) else (middle + 1, high)
    return counts[low]


def detectable(error: float, freedom: float, alpha: float = ALPHA) -> float:
    """Return the smallest difference that a test with this standard error sees with 80% power."""
    if not error:
        return 0.0
    most = 20 * float(stats.t.isf(alpha / 2, freedom)) + 50
    return error * float(
        optimize.brentq(lambda shift: power(shift, 1.0, freedom, alpha) - POWER, 0.0, most)
    )


def effect(blocks: Blocks, values: Sequence[float]) -> Effect:
    """Return three effect sizes that do not grow with the number of seeds or documents.

    `odds_ratio`: documents on which only the first model is right over those on which only the
    other is, each plus a half, so that it is never infinite. `g`: the mean over the deviation over
    seeds with Hedges' (1981) correction for few; None without a deviation. `seeds_won`: in what
    share of seeds the first was better, ties counting half (Bouthillier et al. 2021 call a
    difference meaningful from 0.75).
    """
    won, lost = (sum(int((sign * block > 0).sum()) for block in blocks) for sign in (1, -1))
    freedom = len(values) - 1
    deviation = float(np.std(values, ddof=1)) if freedom else 0.0
    g = (
        float(np.mean(values)) / deviation * (1 - 3 / (4 * freedom - 1))
        if deviation > SAME
        else None
    )
    return Effect(
        odds_ratio=(won + 0.5) / (lost + 0.5) if _are_counts(blocks) else None,
        g=g,
        seeds_won=float(
            np.mean([0.5 + 0.5 * np.sign(value) * (abs(value) > SAME) for value in values])
        ),
    )


def t_test(blocks: Blocks, alpha: float = ALPHA) -> TTest | None:
    """Return the interval and the p that decide, with standard error and degrees of freedom; None
    of one seed.

    The mean difference over its standard error (see `Parts`) is held against Student's t.
    """
    found = parts(blocks)
    if found is None:
        return None
    seeds, mean = sum(len(block) for block in blocks), mean_difference(blocks)
    error, freedom = found.error(seeds), found.freedom(seeds)
    half = float(stats.t.isf(alpha / 2, freedom)) * error
    return TTest(
        interval_pp=(100 * (mean - half), 100 * (mean + half)),
        # Nothing varied, as when one model is better on every document: the documents' test alone
        # can tell.
        p=max(float(2 * stats.t.sf(abs(mean) / error, freedom)), TINY)
        if error
        else documents_test(blocks),
        error_pp=100 * error,
        freedom=None if math.isinf(freedom) else float(freedom),
    )


def assess(blocks: Blocks, tests: int = 1, alpha: float = ALPHA, family: str = "") -> Difference:
    """Return all that is said of one difference, as it stands in comparison.json
    (docs/contracts.md), but for `p_holm`.

    Args:
        blocks: from `differences`.
        tests: how many differences the family has: `seeds_needed` and `detectable_pp` are for the
            strictest level that Holm's correction may ask for, alpha over their number.
        alpha: 1 minus the coverage of the intervals.
        family: the name of the family; none for a difference that stands alone.

    """
    values = [float(value) for block in blocks for value in block.mean(axis=1)]
    mean, found, decided = mean_difference(blocks), parts(blocks), t_test(blocks, alpha)
    needed = least = None
    if found is not None:
        error, freedom = found.error(len(values)), found.freedom(len(values))
        needed = seeds_needed(mean, found, alpha / tests)
        least = 100 * detectable(error, freedom, alpha / tests)
    return Difference(
        family=family,
        mean_pp=100 * mean,
        interval_pp=decided.interval_pp if decided else None,
        p=decided.p if decided else None,
        p_holm=None,
        error_pp=decided.error_pp if decided else None,
        freedom=decided.freedom if decided else None,
        seeds_needed=needed,
        detectable_pp=least,
        effect=effect(blocks, values),
        others=_other_tests(blocks, values, alpha),
    )


def _other_tests(blocks: Blocks, values: Sequence[float], alpha: float) -> OtherTests:
    resampled = bootstrap(blocks, alpha)
    return OtherTests(
        bootstrap_pp=(100 * resampled[0], 100 * resampled[1]) if resampled else None,
        documents_p=documents_test(blocks),
        mcnemar_p=[p for block in blocks for p in mcnemar(block)] if _are_counts(blocks) else None,
        seeds_t_p=seeds_t_test(values),
        seeds_sign_p=seeds_sign_test(values),
        seeds_sign_smallest_p=2.0 ** (1 - len(values)) if len(values) > 1 else None,
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p values corrected for their number by Holm (1979), in the order given.

    Raises:
        HeedError: a value is not between 0 and 1.

    """
    if not all(0 <= p <= 1 for p in p_values):
        raise HeedError(f"p values are between 0 and 1; found {list(p_values)}")
    ascending = np.argsort(p_values, kind="stable")
    factors = len(p_values) - np.arange(len(p_values))
    corrected = np.minimum(
        np.maximum.accumulate(np.asarray(p_values, float)[ascending] * factors), 1
    )
    out = np.empty(len(p_values))
    out[ascending] = corrected
    return [float(p) for p in out]


def signature(folds: bool, fixed: bool) -> str:
    """Return the method in one line, as sacrebleu does for BLEU: what must be equal for two reports
    to be compared.

    Args:
        folds: whether an experiment has folds.
        fixed: whether an experiment has a fixed split.

    """
    designs = [
        *(["crossed:seeds×documents(Hillis)"] if fixed else []),
        *(["folds:t(Nadeau-Bengio)"] if folds else []),
    ]
    fields: dict[str, object] = {
        "interval": "two-sided-t",
        "design": "+".join(designs),
        "alpha": ALPHA,
        "correction": "Holm-within-family",
        "power": POWER,
        "bootstrap": f"percentile,seeds+documents,{RESAMPLES}",
        "permutation": "exact",
        "generator": f"PCG64({GENERATOR_SEED})",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    return "|".join(f"{key}:{value}" for key, value in fields.items())

"""False alarms at the levels that Holm's correction uses, not at 5% alone.

A study with 36 comparisons judges its smallest p at 0.05 / 36. The gain varies by seed with a
deviation of 0 to 4 percentage points; the mean squares of seeds, documents and residual are drawn
from their distributions, so that hundreds of thousands of studies take a second.
"""

import numpy as np
import pytest
from scipy import stats

from heed.evaluation.significance import VarianceComponents, from_mean_squares, t_test
from tests.unit.evaluation.simulations import crossed

LEVELS = (0.05, 0.01, 0.05 / 36)
# Variances of a document's difference: over documents, and of the seeds' on the same document.
DOCUMENTS, RESIDUAL = 0.03, 0.07


def alarms_of_a_fixed_split(
    seeds: int, documents: int, std: float, studies: int
) -> tuple[np.ndarray, VarianceComponents]:
    """Return mean differences of studies without a true one, and the variances they estimate."""
    generator = np.random.default_rng([seeds, documents, round(10_000 * std)])

    def mean_square(expected: float, freedom: int) -> np.ndarray:
        return expected * generator.chisquare(freedom, studies) / freedom

    seed_square = documents * std**2 + RESIDUAL
    document_square = seeds * DOCUMENTS + RESIDUAL
    components = from_mean_squares(
        mean_square(seed_square, seeds - 1),
        mean_square(document_square, documents - 1),
        mean_square(RESIDUAL, (seeds - 1) * (documents - 1)),
        seeds,
        documents,
    )
    variance = (seed_square + document_square - RESIDUAL) / (seeds * documents)
    return generator.normal(0, np.sqrt(variance), studies), components


@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
@pytest.mark.parametrize("std", [0.0, 0.01, 0.02, 0.04])
def test_false_alarms_of_a_fixed_split_are_at_most_the_level(seeds, std):
    for documents in (500, 5000, 25_000):
        means, components = alarms_of_a_fixed_split(seeds, documents, std, 100_000)
        for level in LEVELS:
            alarms = np.abs(means) > components.critical_difference(seeds, level)
            expected = level * len(means)
            # three standard errors of the count
            assert alarms.sum() <= expected + 3 * np.sqrt(expected), (documents, level)


def alarms_of_one_t(means: np.ndarray, components: VarianceComponents, seeds: int) -> np.ndarray:
    """Return p of one t with the degrees of freedom of Hillis (2007), heed's earlier test."""
    error = components.standard_error(seeds)
    freedom = (seeds - 1) * (error**2 / ((components.seeds + components.residual) / seeds)) ** 2
    return 2 * stats.t.sf(np.abs(means) / error, freedom)


def test_one_t_with_hilliss_degrees_of_freedom_has_too_many_false_alarms_at_small_levels():
    """Why it was given up: three times the level and more where seeds differ by 1 to 2 points."""
    p = alarms_of_one_t(*alarms_of_a_fixed_split(5, 5000, 0.02, 100_000), 5)
    assert (p < LEVELS[-1]).mean() > 3 * LEVELS[-1]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_the_table_of_false_alarms(seeds):
    """The table in docs/statistics.md: a million studies a line, of 5,000 documents."""
    for std in (0.0, 0.01, 0.02, 0.04):
        means, components = alarms_of_a_fixed_split(seeds, 5000, std, 1_000_000)
        p = alarms_of_one_t(means, components, seeds)
        cells = []
        for level in LEVELS:
            alarms = np.abs(means) > components.critical_difference(seeds, level)
            cells.append(f"**{alarms.mean() / level:.2f}**, {(p < level).mean() / level:.2f}")
            assert alarms.mean() <= level * 1.03
        print(f"\n| {seeds} | {100 * std:.0f} | {' | '.join(cells)} |", end="")


@pytest.mark.parametrize("folds", [3, 5, 10])
def test_false_alarms_of_folds_are_at_most_the_level(folds):
    generator = np.random.default_rng(folds)
    fold_means = generator.normal(0, 0.02, (100_000, folds))
    components = VarianceComponents(folds=folds, seeds=fold_means.var(axis=1, ddof=1), documents=0)
    for level in LEVELS:
        alarms = np.abs(fold_means.mean(axis=1)) > components.critical_difference(folds, level)
        assert alarms.mean() <= level


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "std"), [(3, 0.01), (5, 0.02)])
def test_false_alarms_on_answers_of_0_and_1(seeds, std):
    """The same from answers, which are not normal: 20,000 studies of 500 documents."""
    generator = np.random.default_rng(seeds)
    p = np.array([t_test(crossed(generator, seeds, 500, 0.0, std)).p for _ in range(20_000)])
    rates = [float((p < level).mean()) / level for level in LEVELS]
    print(f"\n{seeds} seeds, deviation {100 * std:.0f}: false alarms {rates} times the level")
    for level, rate in zip(LEVELS, rates, strict=True):
        assert rate <= 1 + 3 / np.sqrt(level * len(p))

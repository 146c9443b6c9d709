"""False alarms are at most the level: in fewer studies of `python -m benchmarks.significance`, and
at the levels that Bonferroni's correction uses, by mean squares drawn from their distributions."""

import numpy as np
import pytest
from benchmarks import significance as calibration
from benchmarks.significance import CASES, FAMILY, SECONDARY, SEEDS

from heed.evaluation.significance import ALPHA, VarianceComponents, crossed_components

ALONE = ("a tenth of the first's runs collapses", "a tenth collapses, over a reference model")
SOUND = [name for name in CASES if name not in ALONE]
STUDIES = 20_000


def at_most(level: float) -> float:
    """Return the share that is above a level by three standard errors."""
    return level + 3 * (level * (1 - level) / STUDIES) ** 0.5


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.parametrize("seeds", SEEDS)
def test_false_alarms_and_equivalence_at_the_margin_are_at_most_the_level(name, seeds):
    compared = calibration.draw(CASES[name], seeds, STUDIES).compare(0, 1)
    for level in (ALPHA, ALPHA / FAMILY):
        assert compared.finds(0, level).mean() <= at_most(level)
    many = calibration.draw(CASES[name], seeds, STUDIES, calibration.MANY_DOCUMENTS).compare(0, 1)
    assert many.finds_same(1, 1).mean() <= at_most(ALPHA)
    assert compared.finds(10, ALPHA).mean() > compared.finds(5, ALPHA).mean() > ALPHA


@pytest.mark.parametrize("seeds", SEEDS)
def test_a_family_without_a_difference_has_an_alarm_in_at_most_5_percent(seeds):
    family = calibration.draw((calibration.normal(1),) * len(calibration.MODELS), seeds, STUDIES)
    alarms = [family.compare(*each).finds(0, ALPHA / FAMILY) for each in SECONDARY]
    assert np.any(alarms, axis=0).mean() <= at_most(ALPHA)


def test_three_seeds_do_not_show_that_a_tenth_of_the_runs_collapses():
    """The exception in docs/read/statistics.md: a test below its level here is another."""
    compared = calibration.draw(CASES[ALONE[1]], 3, STUDIES).compare(0, 1)
    assert 0.10 < compared.finds(0, ALPHA).mean() < 0.15


LEVELS = (0.05, 0.01, 0.05 / 36)
# Variances of a document's difference: over documents, and of the seeds' on the same document.
DOCUMENTS, RESIDUAL = 0.03, 0.07


def alarms_of_a_fixed_split(
    seeds: int, documents: int, std: float, studies: int, first: float = 0.5
) -> tuple[np.ndarray, VarianceComponents]:
    """Return mean differences of studies without a true one, and the variances they estimate.

    `first` is the first model's share of the variance over seeds; of 1 the second has no seeds."""
    generator = np.random.default_rng([seeds, documents, round(10_000 * std)])

    def mean_square(expected: float, freedom: int) -> np.ndarray:
        return expected * generator.chisquare(freedom, studies) / freedom

    seed_square = documents * std**2 + RESIDUAL
    document_square = seeds * DOCUMENTS + RESIDUAL
    components = crossed_components(
        mean_square(first * seed_square / documents, seeds - 1),
        mean_square((1 - first) * seed_square / documents, seeds - 1),
        mean_square(document_square, documents - 1),
        mean_square(RESIDUAL, (seeds - 1) * (documents - 1)), seeds, documents,
    )  # fmt: skip
    variance = (seed_square + document_square - RESIDUAL) / (seeds * documents)
    return generator.normal(0, np.sqrt(variance), studies), components


@pytest.mark.parametrize(("documents", "factor"), [
    *((count, 1.2) for count in (10, 30, 99)), *((count, 1.0) for count in (500, 5000, 25_000)),
])  # fmt: skip
@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
@pytest.mark.parametrize("std", [0.0, 0.01, 0.02, 0.04])
@pytest.mark.parametrize("first", [0.5, 1.0])
def test_false_alarms_are_at_most_the_level_or_a_fifth_more(documents, factor, seeds, std, first):
    means, components = alarms_of_a_fixed_split(seeds, documents, std, 100_000, first)
    for level in LEVELS:
        alarms = np.abs(means) > components.critical_difference(seeds, level)
        expected = factor * level * len(means)
        # three standard errors of the count
        assert alarms.sum() <= expected + 3 * np.sqrt(expected), level


@pytest.mark.parametrize("folds", [3, 5, 10])
def test_false_alarms_of_folds_are_at_most_the_level(folds):
    generator = np.random.default_rng(folds)
    fold_means = generator.normal(0, 0.02, (100_000, folds))
    components = VarianceComponents(folds=folds, seeds=fold_means.var(axis=1, ddof=1), documents=0)
    for level in LEVELS:
        alarms = np.abs(fold_means.mean(axis=1)) > components.critical_difference(folds, level)
        assert alarms.mean() <= level

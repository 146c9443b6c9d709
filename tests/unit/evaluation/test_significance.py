"""The statistics against published worked values, and on data whose true difference is known."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from heed.evaluation.significance import (
    VarianceComponents,
    assess,
    differences,
    mean_difference,
    minimum_detectable,
    planned_difference,
    power,
    seeds_needed,
    t_test,
    variance_components,
)
from heed.records import as_json
from tests.unit.evaluation.simulations import crossed, over_nothing

PLANNED = (0.01, 0.1)  # deviation over seeds, variance over documents
# Shrout & Fleiss (1979), Intraclass correlations, table 2: six targets (rows) rated by four judges.
RATED = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_the_critical_difference_of_a_fixed_split_is_howes():
    """With the mean squares of Shrout & Fleiss by hand: raters as seeds, targets as documents."""
    seeds, documents, residual = 97.458333 / 3, 56.208333 / 5, 15.291667 / 15
    components = variance_components(*over_nothing([np.array(RATED).T]))
    total = seeds + documents - residual
    assert components.standard_error(4) == pytest.approx(math.sqrt(total / 24), rel=1e-6)
    # Student's t with 3 degrees of freedom, 3.182446, for what differs between raters, and with 5,
    # 2.570582, for the six targets: the sides of a right angle (Howe 1974).
    of_seeds, of_targets = seeds / 24, (documents - residual) / 24
    expected = math.sqrt(3.182446**2 * of_seeds + 2.570582**2 * of_targets)
    assert components.critical_difference(4, 0.05) == pytest.approx(expected, rel=1e-6)
    assert components.p_value(expected, 4) == pytest.approx(0.05, rel=1e-5)
    freedom = components.degrees_of_freedom(4)
    assert stats.t.isf(0.025, freedom) * math.sqrt(total / 24) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("components", "freedom"), [
    (VarianceComponents(folds=0, seeds=1.0, documents=0.0), 4),
    (VarianceComponents(folds=0, seeds=0.0, documents=1.0), math.inf),
    (VarianceComponents(folds=0, seeds=0.0, documents=1.0, number=100), math.inf),
    (VarianceComponents(folds=0, seeds=0.0, documents=1.0, number=99), 98),
    (VarianceComponents(folds=0, seeds=1e-9, documents=1.0, number=4), 3),
    (VarianceComponents(folds=5, seeds=1.0, documents=1.0), 4),
])  # fmt: skip
def test_the_degrees_of_freedom_are_those_of_the_component_that_is_alone(components, freedom):
    assert components.degrees_of_freedom(5) == pytest.approx(freedom)


@pytest.mark.parametrize("seeds", [2, 5, 10, 20, 1000])
def test_p_is_that_of_students_t_where_only_seeds_vary(seeds):
    components = VarianceComponents(folds=0, seeds=seeds * 0.01**2, documents=0.0)
    for t in (0.0, 1.0, 5.0, 40.0):
        p = components.p_value(-0.01 * t, seeds)
        assert p == pytest.approx(max(2 * stats.t.sf(t, seeds - 1), 1e-100), rel=1e-6)
    assert 0 < components.p_value(1e60, seeds) <= 1e-50


def test_equivalence_is_where_the_90_percent_interval_lies_within_the_margin():
    """Schuirmann (1987): two one-sided tests at 5% are the 90% interval within the margin."""
    scores = crossed(np.random.default_rng(2), 5, 500, 0.02, 0.01)
    low, high = t_test(*scores, alpha=0.10).interval_pp
    assert t_test(*scores).equal_within_pp == pytest.approx(max(-low, high))


def test_folds_pay_for_the_overlap_of_their_training_parts():
    """scikit-learn's example "Statistical comparison of models using grid search": 100 scores of
    ten tenfold runs have t = 2.611 uncorrected and 0.750 corrected; the factor is that of Nadeau &
    Bengio (2003) for 1/9 of test to train."""
    assert round(2.611 * math.sqrt((1 / 100) / (1 / 100 + 1 / 9)), 3) == 0.750
    means = [0.04, 0.01, 0.03, 0.05, 0.02]
    blocks = [(np.arange(1000) < 1000 * mean).astype(int)[None] for mean in means]
    test = assess(*over_nothing(blocks))
    error = 100 * np.std(means, ddof=1) * math.sqrt(1 / 5 + 1 / 4)
    assert test.standard_error_pp == pytest.approx(error) and test.degrees_of_freedom == 4
    assert test.p == pytest.approx(2 * stats.t.sf(3 / test.standard_error_pp, 4))


def test_repeated_folds_have_the_variance_of_bouckaert_and_frank():
    """Their 10 x 10 folds: 1/100 + 1/9 of the variance of a fold, 99 degrees of freedom."""
    means = np.linspace(0.4, 0.6, 100)
    components = variance_components(*over_nothing([np.full((1, 2), m) for m in means]), repeats=10)
    error = means.std(ddof=1) * math.sqrt(1 / 100 + 1 / 9)
    assert components.standard_error(100) == pytest.approx(error)
    assert components.p_value(0.750 * error, 100) == pytest.approx(2 * stats.t.sf(0.750, 99))
    assert components.degrees_of_freedom(100) == 99


def test_documents_that_no_repeat_tells_apart_are_counted_once():
    blocks = over_nothing([np.zeros((1, 10), np.int8)] * 10)
    once, repeated = (t_test(*blocks, repeats=repeats).equal_within_pp for repeats in (1, 5))
    assert (1 - once / 100) ** 100 == pytest.approx((1 - repeated / 100) ** 20) == 0.05


def test_power_is_that_of_cohens_tables():
    """Cohen (1988): an effect of half a deviation needs 34 pairs for 80% power at 5%, two-sided;
    G*Power: 0.8078."""
    assert power(0.5, 1 / math.sqrt(33), 32, 0.05) < 0.8
    assert power(0.5, 1 / math.sqrt(34), 33, 0.05) == pytest.approx(0.8078, abs=5e-5)
    with_33, with_34 = (minimum_detectable(1 / math.sqrt(n), n - 1, 0.05) for n in (33, 34))
    assert with_34 < 0.5 < with_33
    of_normal = stats.norm.isf(0.025) + stats.norm.isf(0.2)
    assert minimum_detectable(1.0, math.inf, 0.05) == pytest.approx(of_normal, abs=1e-4)
    for freedom in (4, 1e6, math.inf):  # both tails count: without a difference power is the level
        assert power(0.0, 1.0, freedom, 0.05) == pytest.approx(0.05, rel=1e-4)
    for freedom in (1, 4, 1e3, math.inf):  # where scipy's noncentral t returns NaN
        assert power(1.0, 1e-7, freedom, 0.05 / 20) == pytest.approx(1)


def test_a_study_is_told_beforehand_what_it_finds():
    """By hand for 5 seeds and 500 texts: t of the equivalent degrees of freedom, and 80% power."""
    error = math.sqrt(2 * 0.01**2 / 5 + 0.1 / 500)
    found = planned_difference(5, 500, PLANNED) / 100
    freedom = VarianceComponents(0, 2 * 0.01**2, 0.1 / 500, models=2).degrees_of_freedom(5)
    assert power(found, error, freedom, 0.05) == pytest.approx(0.8)
    of_seeds = [planned_difference(seeds, 500, PLANNED) for seeds in (10, 5, 3)]
    assert of_seeds == sorted(of_seeds)
    # of 5 x 5 folds: t with 24 degrees of freedom, and (1/25 + 1/4) of the variance of a fold
    error = math.sqrt((1 / 25 + 1 / 4) * (2 * 0.01**2 + 0.1 / 500))
    repeated = planned_difference(25, 500, PLANNED, folds=25, repeats=5) / 100
    assert power(repeated, error, 24, 0.05) == pytest.approx(0.8)
    assert repeated < planned_difference(25, 500, PLANNED, folds=5) / 100
    assert planned_difference(1, 500, PLANNED) is None
    assert planned_difference(4, 500, PLANNED, folds=5) is None


def test_seeds_needed_are_those_of_a_paired_t_test_where_only_seeds_vary():
    of_seeds = VarianceComponents(folds=0, seeds=1.0, documents=0.0)
    of_documents = VarianceComponents(folds=0, seeds=0.0, documents=0.01**2)
    assert seeds_needed(0.5, of_seeds) == seeds_needed(-0.5, of_seeds) == 34
    assert seeds_needed(0.01, of_documents) is None, "more seeds make the test split no larger"
    assert seeds_needed(0.0, of_seeds) is None
    components = VarianceComponents(folds=5, seeds=1.0, documents=0.01)
    seeds = seeds_needed(1.0, components)
    assert seeds % 5 == 0 and power(1.0, components.standard_error(seeds), 4, 0.05) >= 0.8
    assert power(1.0, components.standard_error(seeds - 5), 4, 0.05) < 0.8


@pytest.mark.parametrize("documents", [2, 50, 200, 500])
def test_no_difference_in_few_documents_does_not_show_that_two_models_are_the_same(documents):
    scores = over_nothing([np.zeros((5, documents), np.int8)])
    found = t_test(*scores)
    unseen = found.equal_within_pp
    assert assess(*scores).detectable_pp == pytest.approx(unseen)
    assert found.interval_pp == (-unseen, unseen) and found.p == 1.0
    assert (1 - unseen / 100) ** documents == pytest.approx(0.05)
    assert (unseen < 1) == (documents == 500)
    always = t_test(*over_nothing([np.ones((5, documents), np.int8)]))
    assert always.equal_within_pp > 100 and always.p == 2.0 ** (1 - documents)
    assert (always.interval_pp[0] > 0) == (always.p < 0.05)


@pytest.mark.parametrize("differ", [1, 9])
def test_few_documents_that_differ_show_no_more_than_the_exact_interval_of_their_share(differ):
    right = np.tile(np.arange(310) < differ, (3, 1)).astype(np.int8)
    exact = stats.binomtest(differ, 310).proportion_ci(0.9, "exact").high
    assert t_test(*over_nothing([right])).equal_within_pp == pytest.approx(100 * exact)
    # Halves are no share of documents, as BLEU is none: the t tests alone, which show more.
    halves = t_test(*over_nothing([right / 2])).equal_within_pp
    assert halves < 100 * exact / 2
    many = [np.tile(np.arange(310) < 10, (3, 1)) * size for size in (1, 0.5)]
    of_ten, of_halves = (t_test(*over_nothing([block])).equal_within_pp for block in many)
    assert of_ten == pytest.approx(2 * of_halves)


def test_tests_are_deterministic_and_are_json_without_nan():
    generator = np.random.default_rng(8)
    drawn = [[crossed(generator, seeds, 20, 0.1, 0.01) for _ in range(3)] for seeds in (1, 3)]
    folds = [([x for (x,), _ in blocks], [y for _, (y,) in blocks]) for blocks in drawn]
    cases = [
        crossed(generator, 3, 50, 0.1, 0.01), *folds, [np.ones((1, 5), int)],
        [np.ones((3, 5), int)], [np.zeros((3, 5), int)], [np.zeros((3, 1), int)],
        [np.ones((1, 4), int)] * 2,
    ]  # fmt: skip
    for case in cases:
        scores = case if isinstance(case, tuple) else over_nothing(case)
        difference = assess(*scores, tests=3)
        again = json.dumps(as_json(assess(*scores, tests=3)))
        assert json.dumps(as_json(difference), allow_nan=False) == again
        assert (difference.interval_pp is None) == (difference.p is None)
        assert difference.p is None or 0 < difference.p <= 1


@pytest.mark.parametrize("tests", [1, 7])
def test_the_interval_excludes_zero_exactly_where_the_corrected_p_is_below_alpha(tests):
    generator = np.random.default_rng(9)
    significant = []
    for _ in range(200):
        found = assess(*crossed(generator, 3, 300, 0.12, 0.02), tests)
        significant.append(found.p_corrected < 0.05)
        assert (found.interval_pp[0] > 0 or found.interval_pp[1] < 0) == significant[-1]
    assert 0 < sum(significant) < len(significant)


def test_each_model_has_its_own_variance_over_seeds():
    """Welch's test where documents do not matter: as scipy has it, and Student's for one model."""
    generator = np.random.default_rng(5)
    first, second = (np.repeat(generator.normal(0, s, (5, 1)), 9, axis=1) for s in (0.01, 0.03))
    pair = t_test([first], [second])
    scipys = stats.ttest_ind(first[:, 0], second[:, 0], equal_var=False)
    assert pair.p == pytest.approx(scipys.pvalue, rel=1e-6)
    ends = scipys.confidence_interval()
    assert pair.interval_pp == pytest.approx((100 * ends.low, 100 * ends.high))
    alone = t_test([first], [np.zeros((1, 9))])
    assert alone.p == pytest.approx(stats.ttest_1samp(first[:, 0], 0.0).pvalue, rel=1e-6)


def test_unequal_folds_count_by_their_seeds_not_their_documents():
    blocks = differences(*over_nothing([np.ones((1, 10)), np.zeros((1, 30))]))
    assert mean_difference(blocks) == 0.5


def test_no_difference_and_no_interval_is_larger_than_there_can_be():
    first, second = np.array([[[1, 1, 0], [0, 1, 1]], [[0, 1, 0], [1, 0, 0]]], bool)
    found = assess([first], [second], tests=6)
    low, high = found.interval_pp
    assert -100 <= low < found.mean_pp < high <= 100
    assert found.detectable_pp == 100 and found.equal_within_pp <= 100

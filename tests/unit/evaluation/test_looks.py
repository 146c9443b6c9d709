"""Declared looks spend the level, and all of them together raise no more false alarms than one."""

import dataclasses

import numpy as np
import pytest
from benchmarks.significance import CASES, FAMILY, PLANS, draw
from scipy import special

from heed.evaluation.looks import Looks, levels
from heed.evaluation.significance import ALPHA, assess
from tests.unit.evaluation.simulations import crossed


def test_boundaries_are_the_published_ones():
    # ldbounds 2.0, `ldBounds(5, iuse=1, alpha=.05)`: Lan & DeMets, O'Brien-Fleming, two-sided
    found = [-special.ndtri(level / 2) for level in levels((1, 2, 3, 4, 5), 0.05)]
    assert found == pytest.approx([4.8769, 3.3569, 2.6803, 2.2898, 2.0310], abs=2e-4)


def test_one_look_has_the_whole_level_and_several_less():
    assert levels((20,), 0.05) == pytest.approx([0.05])
    first, second, last = levels((5, 10, 20), 0.05)
    assert first < second < last < 0.05


def test_correlated_normal_looks_cross_a_boundary_as_often_as_declared():
    plan, generator = (5, 10, 20), np.random.default_rng(3)
    sums = generator.normal(size=(200_000, 20)).cumsum(axis=1)
    crossed_any = [
        np.abs(sums[:, seeds - 1]) / seeds**0.5 > -special.ndtri(level / 2)
        for seeds, level in zip(plan, levels(plan, 0.05), strict=True)
    ]
    assert np.any(crossed_any, axis=0).mean() == pytest.approx(0.05, abs=0.002)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("case", ["1 and 1", "3 and 1", "1, over a reference model"])
def test_false_alarms_over_all_looks_are_at_most_those_of_one_test(plan, case):
    drawn = draw(CASES[case], plan[-1], 20_000)
    for level in (ALPHA, ALPHA / FAMILY):
        alarms = drawn.over_looks(plan, lambda run, looks, at=level: run.finds(0, looks.level(at)))
        assert alarms.mean() < 1.2 * level
    full = drawn.over_looks(plan, lambda run, _: run.finds(0, ALPHA))
    assert full.mean() > 0.06, "without a plan there are more"


def test_a_look_judges_by_the_level_that_it_may_spend():
    generator = np.random.default_rng(0)
    scores = crossed(generator, 10, 2000, 0.05, 0.02)
    looks = Looks((5, 10, 20), 10)
    whole, part = assess(*scores, 3), assess(*scores, 3, looks=looks)
    assert part.p == whole.p
    assert part.p_corrected == pytest.approx(part.p * ALPHA / looks.level(ALPHA / 3))
    assert part.p_corrected > whole.p_corrected
    width = [high - low for low, high in (whole.interval_pp, part.interval_pp)]
    assert width[0] < width[1]
    excludes_0 = part.interval_pp[0] > 0 or part.interval_pp[1] < 0
    assert excludes_0 == (part.p_corrected < ALPHA)
    assert dataclasses.replace(part, **{
        name: getattr(whole, name)
        for name in ("interval_pp", "p_corrected", "equal_within_pp", "degrees_of_freedom",
                     "seeds_needed", "detectable_pp")
    }) == whole, "all else is the same"  # fmt: skip

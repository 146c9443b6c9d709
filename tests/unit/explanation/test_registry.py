"""A test of weights is one class of one file: it is registered, and no other file knows it."""

from heed.explanation.registry import CRITERIA, EXPLAINED, TESTS
from heed.explanation.test import WeightsTest


def test_every_test_is_registered_once_and_what_it_declares_fits_together():
    assert {*WeightsTest.__subclasses__()} == {type(test) for test in TESTS}
    assert len({test.name for test in TESTS}) == len(TESTS)
    measures = [measure for test in EXPLAINED for measure in test.measures]
    assert len({*measures}) == len(measures)
    for test in TESTS:
        assert {*test.of_weights} <= {*test.measures}, test.name
        assert {column.measure for column in test.columns} <= {*test.measures}, test.name
        assert bool(test.title) == bool(test.claim), test.name
        assert bool(test.criterion) == bool(test.rule) == (test in CRITERIA.values())

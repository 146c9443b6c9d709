"""A test of weights is one class of one file: it is registered, and no other file knows it."""

from heed.explanation.registry import CRITERIA, EXPLAINED, TESTS
from heed.explanation.test import WeightsTest
from tests.conftest import ROOT

PACKAGE = ROOT / "src/heed"


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


def test_one_file_knows_the_measures_of_a_test():
    """A change of sufficiency, for example, is a change of one file."""
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    for measure, file in (("sufficiency", "erasure.py"), ("span_f1", "agreement.py"),
                          ("removed_share", "erasure.py"), ("top_flips", "erasure.py"),
                          ("tau_ceiling", "agreement.py")):  # fmt: skip
        knowing = [path for path, text in sources.items() if f'"{measure}"' in text]
        assert knowing == [PACKAGE / "explanation" / file]

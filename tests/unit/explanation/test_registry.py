"""A test of weights is one class of one file: it is registered, and no other file knows it."""

from collections.abc import Iterator

from heed.explanation.registry import CRITERIA, EXPLAINED, TESTS
from heed.explanation.test import WeightsTest
from tests.conftest import ROOT

PACKAGE = ROOT / "src/heed"


def subclasses(kind: type[WeightsTest]) -> Iterator[type[WeightsTest]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_test_that_has_a_name_is_registered_once():
    named = {each for each in subclasses(WeightsTest) if hasattr(each, "name")}
    assert named == {type(test) for test in TESTS}
    assert len({test.name for test in TESTS}) == len(TESTS) == len(named)
    measures = [(test.name, measure) for test in EXPLAINED for measure in test.measures]
    assert len({*measures}) == len(measures)


def test_what_a_test_declares_fits_together():
    for test in TESTS:
        assert set(test.of_weights) <= set(test.measures), test.name
        drawn = {axis.measure for axis in test.axes} | {column.measure for column in test.columns}
        assert drawn | set(test.printed) <= set(test.measures), test.name
        assert bool(test.title) == bool(test.claim) == bool(test.caption), test.name
        assert bool(test.criterion) == bool(test.rule.english) == (test in CRITERIA.values())


def test_one_file_knows_the_measures_of_a_test():
    """A change of sufficiency, for example, is a change of one file."""
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    for measure, file in (("sufficiency", "erasure.py"), ("span_f1", "agreement.py"),
                          ("removed_share", "erasure.py"), ("top_flips", "erasure.py"),
                          ("tau_ceiling", "agreement.py")):  # fmt: skip
        knowing = [path for path, text in sources.items() if f'"{measure}"' in text]
        assert knowing == [PACKAGE / "explanation" / file]

"""The report on a regression: the parts of an experiment that every task has."""

from typing import Any

from heed.report.blocks import Block, Group
from heed.report.chapters import comparisons, hyperparameters, provenance
from heed.report.chapters import experiment as beginning
from heed.report.figures.curves import curves
from heed.report.figures.variants import drawn_variants
from heed.report.measures import ReferenceModel

HAS_SCORES = HAS_BROWSER = False
REFERENCE_MODELS = {
    "ridge": ReferenceModel("Ridge", "ridge regression on TF-IDF", "Ridge on TF-IDF.")
}
VALUES = "Figures of a regression are means over seeds."


def chapter(results: Any, experiment: Any) -> list[Block]:
    """Return the learning curves."""
    return [Group((curves(results, experiment, drawn_variants(results, experiment)),), "plots")]


def first_example(results: Any, experiment: Any) -> list[Block]:
    """Return no text for the first screen: a table has none."""
    return []


CHAPTERS = [
    beginning.chapter, provenance.machine_kinds, beginning.scores, chapter, comparisons.chapter,
    hyperparameters.searches_chapter,
]  # fmt: skip
APPENDICES = [hyperparameters.chapter]

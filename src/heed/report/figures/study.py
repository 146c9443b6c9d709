"""The one figure that is a study's own, by what the study has."""

from heed.report.figures.amounts import learning_curve
from heed.report.figures.compared import compared
from heed.report.figures.ladder import ladder
from heed.report.figures.recency import recency
from heed.report.figures.shapes import Figure
from heed.report.figures.staircase import staircase
from heed.report.results import Results

MAKERS = learning_curve, ladder, staircase


def study_figure(results: Results) -> Figure | None:
    """Return the first of these that a study has the results for; None of a study without one.

    Several amounts of one kind of text; several corpora; the steps of a translation; recency.
    """
    found = compared(results)
    drawn = (make(found, sources=results.comparison_sources) for make in MAKERS)
    return next(filter(None, drawn), None) or next(iter(recency(results)), None)

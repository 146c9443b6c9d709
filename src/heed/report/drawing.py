"""Which figures a report has, by the names that templates call them; all are files in figures/."""

import functools
import itertools
from collections.abc import Callable, Iterable

from heed.report.figures import classification, translation
from heed.report.figures.curves import by_length, curves
from heed.report.figures.heatmaps import document_rankings, heads
from heed.report.figures.recency import recency
from heed.report.figures.scores import cost_figure, dot_charts
from heed.report.figures.shapes import Figure
from heed.report.figures.study import study_figure
from heed.report.figures.variants import Drawn, drawn_variants
from heed.report.results import Results
from heed.report.rows.trainings import read_costs

Figures = dict[tuple[str, str], tuple[Figure, ...]]  # by name and experiment ("": the study's)
StudyFigures = Callable[[Results], Iterable[Figure]]
ExperimentFigures = Callable[[Drawn], Iterable[Figure]]

STUDY_FIGURES: dict[str, StudyFigures] = {
    "study": lambda results: filter(None, [study_figure(results)]),
    "cost": lambda results: cost_figure(results, read_costs(results)),
    "models": dot_charts,
    "rankings": document_rankings,
    "recency": recency,
}
EVERY_TASK: dict[str, ExperimentFigures] = {"curves": curves}
TASK_FIGURES: dict[str, dict[str, ExperimentFigures]] = {
    "classification": {
        "lengths": by_length,
        "heads": heads,
        "matrices": classification.matrices,
        "calibration": classification.calibration,
    },
    "translation": {
        "alignment": translation.first_alignment,
        "alignments": translation.alignments,
        "lengths": by_length,
        "first_word": translation.first_word,
        "shares": translation.by_share,
        "distances": translation.by_distance,
    },
}


def make_figures(results: Results) -> Figures:
    """Return all figures of a study by name and experiment."""
    figures = {(name, ""): tuple(make(results)) for name, make in STUDY_FIGURES.items()}
    own = {each.key for each in figures["study", ""]}  # which may be one of recency
    figures["recency", ""] = tuple(e for e in figures["recency", ""] if e.key not in own)
    for each in results.experiments:
        variants = drawn_variants(results, each)
        for name, make in (EVERY_TASK | TASK_FIGURES.get(each.measure.task, {})).items():
            figures[name, each.key] = tuple(make(Drawn(results, each, variants)))
    return figures


@functools.cache
def figure_names() -> frozenset[str]:
    """Return every name that a template may call a figure by."""
    return frozenset(itertools.chain(STUDY_FIGURES, EVERY_TASK, *TASK_FIGURES.values()))

"""Which figures a report has, by the names that templates call them; all are files in figures/."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from heed.report.figures import curves, heatmaps, scores, translation
from heed.report.figures.recency import recency
from heed.report.figures.shapes import Figure
from heed.report.figures.study import study_figure
from heed.report.figures.variants import Drawn, drawn_variants
from heed.report.results import Results
from heed.report.rows.trainings import read_costs

Figures = dict[tuple[str, str], tuple[Figure, ...]]  # by name and experiment ("": the study's)
Makers = dict[str, Callable[[Any], Iterable[Figure]]]  # of Results, or of an experiment's Drawn

STUDY_FIGURES: Makers = {
    "study": lambda results: filter(None, [study_figure(results)]),
    "cost": lambda results: scores.cost_figure(results, read_costs(results)),
    "models": scores.dot_charts,
    "rankings": heatmaps.document_rankings,
    "recency": recency,
}
EVERY_TASK: Makers = {"curves": curves.curves}
TASK_FIGURES: dict[str, Makers] = {
    "classification": {
        "lengths": curves.by_length,
        "heads": heatmaps.heads,
        "matrices": heatmaps.matrices,
    },
    "translation": {
        "alignment": translation.first_alignment,
        "alignments": translation.alignments,
        "lengths": curves.by_length,
        "first_word": translation.first_word,
        "shares": translation.by_share,
    },
}


def make_figures(results: Results) -> Figures:
    """Return all figures of a study by name and experiment."""
    figures = {(name, ""): tuple(make(results)) for name, make in STUDY_FIGURES.items()}
    first = {each.key for each in figures["study", ""]}  # which may be one of recency
    figures["recency", ""] = tuple(e for e in figures["recency", ""] if e.key not in first)
    for each in results.experiments:
        variants, own = drawn_variants(results, each), TASK_FIGURES.get(each.measure.task, {})
        figures |= {(name, each.key): () for name in itertools.chain(*TASK_FIGURES.values())}
        for name, make in (EVERY_TASK | own).items():
            figures[name, each.key] = tuple(make(Drawn(results, each, variants)))
    return figures

"""Which figures a report has, by the names that templates call them; all are files in figures/."""

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

from heed.report.experiments import Experiment
from heed.report.figures import classification, translation
from heed.report.figures.curves import by_length, curves
from heed.report.figures.heatmaps import document_rankings, head_weights
from heed.report.figures.recency import recency
from heed.report.figures.scores import Cost, cost_figure, dot_charts
from heed.report.figures.shapes import Figure
from heed.report.figures.study import study_figure
from heed.report.figures.translation import alignments, first_alignment
from heed.report.figures.variants import drawn_variants
from heed.report.results import Results
from heed.report.rows.trainings import read_costs

StudyFigures = Callable[[Results], Sequence[Figure]]
ExperimentFigures = Callable[[Results, Experiment], Sequence[Figure]]
Figures = dict[tuple[str, str], tuple[Figure, ...]]  # by name and experiment ("": the study's)
MODELS_WITH_HEADS = 2


def _of_variants(make: Callable[..., Figure | list[Figure]]) -> ExperimentFigures:
    """Return the figures of the few variants that a figure draws."""

    def made(results: Results, experiment: Experiment) -> Sequence[Figure]:
        figures = make(results, experiment, drawn_variants(results, experiment))
        return [figures] if isinstance(figures, Figure) else figures

    return made


def heads(results: Results, experiment: Experiment) -> Iterator[Figure]:
    """Yield the heads of the first models with learned self-attention."""
    variants = [
        variant
        for variant, model in experiment.result.models.items()
        if model.hyperparameters.attends_to_states and not model.hyperparameters.hierarchical
    ][:MODELS_WITH_HEADS]
    for variant in variants if results.prints_texts(experiment) else []:
        yield from head_weights(results, experiment, variant)


def _own(results: Results) -> list[Figure]:
    """Return the study's own figure, for the first screen."""
    figure = study_figure(results)
    return [figure] if figure else []


def _costs(results: Results) -> list[Figure]:
    found = read_costs(results)
    costs = [Cost(each.experiment, each.variant, each.score, each.mean) for each in found]
    return cost_figure(results, costs)


STUDY_FIGURES: dict[str, StudyFigures] = {
    "study": _own,
    "cost": _costs,
    "models": dot_charts,
    "rankings": document_rankings,
    "recency": recency,
}
EVERY_TASK: dict[str, ExperimentFigures] = {"curves": _of_variants(curves)}
TASK_FIGURES: dict[str, dict[str, ExperimentFigures]] = {
    "classification": {
        "lengths": _of_variants(by_length),
        "heads": lambda results, experiment: [*heads(results, experiment)],
        "matrices": classification.matrices,
        "calibration": _of_variants(classification.calibration),
    },
    "translation": {
        "alignment": first_alignment,
        "alignments": alignments,
        "lengths": _of_variants(by_length),
        "first_word": _of_variants(translation.first_word),
        "shares": translation.by_share,
        "distances": _of_variants(translation.by_distance),
    },
}


def make_figures(results: Results) -> Figures:
    """Return all figures of a study by name and experiment."""
    figures = {(name, ""): tuple(make(results)) for name, make in STUDY_FIGURES.items()}
    own = {each.key for each in figures["study", ""]}  # which may be one of recency
    figures["recency", ""] = tuple(e for e in figures["recency", ""] if e.key not in own)
    for each in results.experiments:
        kinds = EVERY_TASK | TASK_FIGURES.get(each.measure.task, {})
        figures |= {(name, each.key): tuple(make(results, each)) for name, make in kinds.items()}
    return figures


@functools.cache
def figure_names() -> frozenset[str]:
    """Return every name that a template may call a figure by."""
    return frozenset(itertools.chain(STUDY_FIGURES, EVERY_TASK, *TASK_FIGURES.values()))

"""Whether the models of an experiment have converged: what twice the epochs reached."""

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator

from heed.evaluation.results import BETTER, NOT_CONVERGED, WORSE, LongerTraining, ModelResult
from heed.report.blocks import Block, Cell, Column, Disclosure, Paragraph, Span, Table
from heed.report.chapters.shared import experiment_table, glossary_address
from heed.report.experiments import Experiment
from heed.report.formats import DASH, POINTS, RIGHT, TEXT, VERDICT, decimals, format_count
from heed.report.measures import Measure
from heed.report.results import Results

CONVERGED, DIVERGED, NOT_TRIED = "converged", "diverged", "not tried"


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table: a model, and its longer training, if there is one."""

    variant: str
    model: ModelResult
    longer: LongerTraining | None
    measure: Measure

    @property
    def outcome(self) -> str:
        """What the longer training says of the model."""
        if self.longer is None:
            return NOT_TRIED
        if self.longer.diverged:
            return DIVERGED
        return NOT_CONVERGED if self.longer.did_better else CONVERGED


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return what to set where a model has not converged, and on demand the table of all."""
    lines = [*_lines(experiment)]
    tried = [line for line in lines if line.longer]
    if not tried:
        key = Span("study.longer_training", "code")
        return [Paragraph(("Whether the models have converged was not tried:", " ", key), "small")]
    better = [line for line in lines if line.outcome == NOT_CONVERGED]
    table = _table(results, experiment, lines, tried[0].measure)
    names, limit = ", ".join(line.variant for line in better), _limit(results, tried[0].measure)
    summary = (
        f"Convergence: {names} did better with twice the epochs"
        if better
        else f"Convergence: with twice the epochs no model did better by more than {limit}"
    )
    advice = [_advice(results, experiment, better)] if better else []
    advice += [Paragraph((text,), "note") for text in _winners(experiment, better)]
    return [*advice, Disclosure(summary, (table,), "others")]


def settings(results: Results, experiment: Experiment, variants: Collection[str]) -> list[str]:
    """Return the keys of params.yaml that train these models longer, if they have not converged."""
    better = (line for line in _lines(experiment) if line.outcome == NOT_CONVERGED)
    found = (_settings(results, line) for line in better if line.variant in variants)
    return [*dict.fromkeys(itertools.chain.from_iterable(found))]


def _limit(results: Results, measure: Measure) -> str:
    return measure.convergence_margin(results.comparison.significance.convergence_pp)


def _lines(experiment: Experiment) -> Iterator[Line]:
    for variant, model in experiment.result.models.items():
        longer = model.longer_training
        metric = longer.metric if longer else experiment.measure.metric
        yield Line(variant, model, longer, Measure(experiment.measure.task, metric))


def _advice(results: Results, experiment: Experiment, better: list[Line]) -> Paragraph:
    """Return what to set so that models that have not converged are trained so long."""
    text = (
        f"Not converged: {', '.join(line.variant for line in better)}. To train so long, set in "
        "params.yaml and run make report again:"
    )
    keys = settings(results, experiment, experiment.result.models)
    spans = [part for each in keys for part in (", ", Span(each, "code"))]
    return Paragraph((f"{text} ", *spans[1:], "."), "note")


def _winners(experiment: Experiment, better: list[Line]) -> Iterator[str]:
    """Yield a sentence for each model that is better than others, and has not converged."""
    judged = [each for each in experiment.comparisons if each.verdict in (BETTER, WORSE)]
    pairs = [(each.first, each.second)[:: 1 if each.mean > 0 else -1] for each in judged]
    for name in (line.variant for line in better):
        if beaten := [loser for winner, loser in pairs if winner == name]:
            yield (
                f"With twice the epochs {name} did better still: it remains better than "
                f"{', '.join(beaten)}."
            )


def _settings(results: Results, line: Line) -> Iterator[str]:
    """Yield the keys of params.yaml, with their values, that train a model longer."""
    params, name = results.params, line.model.model
    key, epochs = f"models.{name}", line.longer.epochs if line.longer else 0
    searched = params.models[name].search
    if searched != "none":
        key = f"searches.{searched}"  # its winner says for how many epochs
        epochs = max(epochs, 2 * (params.searches[searched].epochs or 0))
    yield f"{key}.epochs: {epochs}"
    if line.model.hyperparameters.patience:
        yield f"models.{name}.patience: 0"


def _table(results: Results, experiment: Experiment, lines: list[Line], measure: Measure) -> Table:
    """Return the table: a row for each model, its run with the first seed and its longer one."""
    return experiment_table(
        results,
        experiment,
        "_convergence",
        "Twice the epochs, with one seed",
        _columns(measure, results.comparison.seeds_of(experiment.key)[0]),
        lines,
        notes=tuple((text,) for text in _notes(results, lines, measure)),
        location=f"experiments.{experiment.key}.models",
        style="scores",
    )


def _columns(measure: Measure, seed: int) -> tuple[Column, ...]:
    heading, unit = f"{measure.name}, seed {seed}", measure.unit
    longer = f"{measure.name}, longer"

    def printed(name: str) -> Callable[[Line], str]:
        return lambda line: line.measure.format(getattr(line.longer, name)) if line.longer else DASH

    def name(line: Line) -> Cell:
        return Cell(line.variant, link=glossary_address(line.variant))

    return (
        Column("variant", "Model", value=name),
        Column("epochs", "Epochs", RIGHT, lambda line: _join(line.model.trained_epochs)),
        Column("best_epochs", "Epochs kept", RIGHT, lambda line: _join(line.model.best_epochs)),
        Column("metric", "", value="longer.metric"),
        Column("score", "", decimals(4), "longer.score"),
        Column("", heading, RIGHT, printed("score")),
        Column("longer_epochs", "Twice the epochs", RIGHT, "longer.epochs"),
        Column("longer_best_epoch", "Epoch kept", RIGHT, "longer.best_epoch"),
        Column("longer_score", "", decimals(4), "longer.longer_score"),
        Column("", longer, RIGHT, printed("longer_score")),
        Column("difference_pp", "Difference", POINTS, "longer.difference_pp", unit=unit),
        Column("margin_pp", "Margin", decimals(2), "longer.margin_pp", unit=unit),
        Column("standard_error_pp", "", decimals(2), "longer.standard_error_pp"),
        Column("validation_items", "", TEXT, "longer.validation_items"),
        Column("", "Verdict", VERDICT, "outcome"),
        Column("convergence", "", value="outcome"),
    )


def _join(values: list[int]) -> str:
    return " ".join(map(str, values))


def _notes(results: Results, lines: list[Line], measure: Measure) -> Iterator[str]:
    tried = [(line.variant, line.longer) for line in lines if line.longer]
    yield (
        "Each model was trained again with its first seed, with twice the epochs, the schedule "
        "of the learning rate stretched over them, without patience. Where the epoch kept there "
        f"has a higher validation score, by more than {_limit(results, measure)} (the margin), "
        "the model has not converged."
    )
    if errors := [each.standard_error_pp for _, each in tried if each.standard_error_pp]:
        error, count = measure.limit(float(f"{max(errors):.2g}")), tried[0][1].validation_items
        yield (
            f"One standard error of a score is up to {error} on the {format_count(count)} "
            f"{measure.item}s that this seed is validated on."
        )
    for name, each in tried:
        if each.diverged:
            yield f"The longer training of {name}: {each.diverged}."

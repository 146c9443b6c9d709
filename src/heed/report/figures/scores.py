"""The scores of all models: every seed a dot, and by what a training costs."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from heed.report.experiments import Experiment
from heed.report.figures import shapes, variants
from heed.report.figures.shapes import Axis, Figure, Mark, Panel, mark
from heed.report.figures.variants import factor, looks, name_with_unit
from heed.report.results import Results

ROW, FRAME = 0.19, 0.62  # inches: a model; title and scale of an experiment
NEAR, STACK = 0.015, 0.5  # of the scale, a dot's width; of a row, the height of a stack of dots


def dot_charts(results: Results) -> Iterator[Figure]:
    """Yield the chart, in parts where it would be higher than a page."""
    parts, height = list[dict[str, tuple[Experiment, Panel]]](), shapes.MAX_HEIGHT
    for experiment in results.experiments:
        panel = _panel(results, experiment)
        if variants.enough(panel):
            own = FRAME + panel.height
            if height + own > shapes.MAX_HEIGHT:
                parts.append({})
                height = 0.0
            parts[-1][experiment.key], height = (experiment, panel), height + own
    for number, part in enumerate(parts, 1):
        first, panels = next(iter(part.values()))[0], [panel for _, panel in part.values()]
        height = sum(FRAME + panel.height for panel in panels)
        told = (f"{e.title}: {', '.join((p.y.places or {}).values())}" for e, p in part.values())
        yield variants.make_figure(
            "dots", "models" if number == 1 else f"models-{number}", panels,
            (shapes.WIDTH, min(height, shapes.MAX_HEIGHT)),
            "; ".join(told),
            sources=results.comparison_sources, plain=len(part) > 1,
            model=first.words[next(iter(_runs(first)))],
            margin=f"{results.comparison.significance.equivalence_margin:g}",
        )  # fmt: skip


def _runs(experiment: Experiment) -> dict[str, list[float]]:
    """Return the scores of all runs by model, without the trivial one, the best first."""
    result, scale = experiment.result, factor(experiment.measure)
    models = result.reference_models | result.models
    names = [*result.models, *result.learned_reference_models]
    names.sort(key=lambda name: -result.sign * result.score_of(name))
    scores = {name: result.compared_score(models[name]).values for name in names}
    return {name: [scale * value for value in values] for name, values in scores.items()}


def _domain(results: Results, experiment: Experiment) -> tuple[float, float]:
    own = experiment.corpus_name, experiment.measure
    alike = [other for other in results.experiments if (other.corpus_name, other.measure) == own]
    marks: list[Mark] = [{"x": x} for other in alike for of in _runs(other).values() for x in of]
    return variants.least_extent(results, own[1].metric, marks, "x", factor(own[1]))


def _panel(results: Results, experiment: Experiment) -> Panel:
    """Return a row for each model of an experiment, on the scale of all those of its corpus."""
    look, measure, result = looks(experiment), experiment.measure, experiment.result
    runs, scale = _runs(experiment), factor(measure)
    low, high = domain = _domain(results, experiment)
    marks: list[Mark] = []
    margin = results.comparison.significance.equivalence_margin * scale / 100
    for name in result.attention[:1]:
        near = (scale * result.score_of(name) + side * margin for side in (-1, 1))
        start, end = (min(max(x, low), high) for x in near)
        marks.append(mark("square", (start, end), (-0.6, len(runs) - 0.4)))
    for place, (name, of) in enumerate(runs.items()):
        dots = zip(of, stacked(of, NEAR * (high - low)), strict=True)
        marks += [shapes.point(x, place + above, look[name], 14) for x, above in dots]
        marks.append(mark("rule", sum(of) / len(of), (place - 0.32, place + 0.32), wide=1.2))
    title = shapes.short_name(experiment.title, 60) if len(results.experiments) > 1 else ""
    words, short = experiment.words, measure.short
    labels = (f"{shapes.short_name(words[name])}  {short(result.score_of(name))}" for name in runs)
    y = Axis("", (len(runs) - 0.4, -0.6), dict(enumerate(labels)), strokes=False)
    return Panel(marks, Axis(name_with_unit(measure), domain), y, title, height=ROW * len(runs))


def stacked(values: list[float], near: float) -> list[float]:
    """Return how far each value's dot is moved from its row: those that would cover each other."""
    order = sorted(range(len(values)), key=values.__getitem__)
    moved, start = [0.0] * len(values), 0
    for end in range(1, len(order) + 1):
        if end == len(order) or values[order[end]] - values[order[start]] > near:
            for number, index in enumerate(order[start:end]):
                moved[index] = STACK * ((number + 0.5) / (end - start) - 0.5)
            start = end
    return moved


PANELS, WIDTH, HEIGHT, TITLE_LINE = 3, 2.25, 2.2, 23  # side by side; inches; letters of a title


def cost_figure(results: Results, costs: Sequence[Any]) -> Iterator[Figure]:
    """Yield a panel for each experiment with enough models for it; `costs`: rows/trainings.py."""
    groups: dict[str, list[Any]] = {}
    for cost in costs:
        groups.setdefault(cost.experiment.key, []).append(cost)
    panels = [*filter(variants.enough, map(_cost_panel, groups.values()))]
    if panels:
        columns = min(PANELS, len(panels))
        lines = -(-len(panels) // columns)
        size = max(WIDTH * columns, shapes.WIDTH), 0.2 + HEIGHT * lines
        sources = (*results.comparison_sources, results.times_source)
        yield variants.make_figure("cost", "cost", panels, size, sources=sources, columns=columns)


def _cost_panel(costs: Sequence[Any]) -> Panel:
    """Return the score of each model by its core time, and the best reference model as a line."""
    experiment, marks = costs[0].experiment, list[Mark]()
    scaled, minutes = experiment.measure.scaled, [cost.mean for cost in costs]
    for cost in costs:
        look, words = looks(cost.experiment)[cost.variant], cost.experiment.words[cost.variant]
        marks.append(shapes.point(cost.mean, scaled(cost.score), look, 28) | {"end": words})
    kind, domain = "linear", shapes.extent(marks, "x")
    if min(minutes) > 0:
        kind, domain = "log", (min(minutes) / 1.25, max(minutes) * 1.25)
    result = experiment.result
    if best := max(result.learned_reference_models, key=result.score_of, default=""):
        y = scaled(result.score_of(best))
        line = mark("rule", domain[::-1], y, colour=shapes.SOFT, dash=shapes.DASHED)
        marks.append(line | {"end": experiment.words[best]})
    x = Axis("core-minutes of a training", domain, scale=kind, format="~g", count=4)
    title = textwrap.fill(shapes.short_name(experiment.title, 60), TITLE_LINE, max_lines=2)
    return Panel(marks, x, Axis(experiment.measure.name, shapes.extent(marks)), title)

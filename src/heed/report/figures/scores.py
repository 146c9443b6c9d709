"""The scores of all models: every seed a dot, and by what a training costs."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.shapes import Axis, Figure, Mark, Panel
from heed.report.figures.variants import enough, least_extent, looks, make_figure, name_with_unit
from heed.report.results import Results

ROW, FRAME = 0.19, 0.62  # inches: a model; title and scale of an experiment
NEAR, STACK = 0.015, 0.5  # of the scale, a dot's width; of a row, the height of a stack of dots


def dot_charts(results: Results) -> list[Figure]:
    """Return the chart, in parts where it would be higher than a page."""
    panels = {each.key: _panel(results, each) for each in results.experiments}
    drawn = [each for each in results.experiments if enough(panels[each.key])]
    return [
        make_figure(
            "dots", "models" if number == 1 else f"models-{number}", results.comparison_sources,
            [[panels[each.key]] for each in part], (shapes.WIDTH, height),
            "; ".join(f"{each.title}: {', '.join(_labels(each))}" for each in part),
            plain=len(part) > 1, model=part[0].words[_models(part[0])[0]],
            margin=f"{results.comparison.significance.equivalence_margin:g}",
        )
        for number, (part, height) in enumerate(_parts(drawn), 1)
    ]  # fmt: skip


def _parts(experiments: list[Experiment]) -> Iterator[tuple[list[Experiment], float]]:
    """Yield experiments that fit a page together, with the height of their chart."""
    part: list[Experiment] = []
    height = 0.0
    for each in experiments:
        own = FRAME + ROW * len(_models(each))
        if part and height + own > shapes.MAX_HEIGHT:
            yield part, height
            part, height = [], 0.0
        part, height = [*part, each], height + own
    if part:
        yield part, min(height, shapes.MAX_HEIGHT)


def _models(experiment: Experiment) -> list[str]:
    """Return an experiment's models and reference models but the trivial one, the best first."""
    result = experiment.result
    models = [*result.models, *result.learned_reference_models]
    return sorted(models, key=lambda name: -result.sign * result.score_of(name))


def _labels(experiment: Experiment) -> list[str]:
    words, score, short = experiment.words, experiment.result.score_of, experiment.measure.short
    names = _models(experiment)
    return [f"{shapes.short_name(words[name])}  {short(score(name))}" for name in names]


def _scale(experiment: Experiment) -> int:
    return 100 if experiment.measure.is_accuracy or experiment.measure.in_hundreds else 1


def _runs(experiment: Experiment) -> dict[str, list[float]]:
    result, scale = experiment.result, _scale(experiment)
    models = result.reference_models | result.models
    scores = {name: result.compared_score(models[name]).values for name in _models(experiment)}
    return {name: [scale * each for each in values] for name, values in scores.items()}


def _domain(results: Results, experiment: Experiment) -> tuple[float, float]:
    """Return the scale of the scores, the same for all experiments of a corpus."""
    own = experiment.corpus_name, experiment.measure
    alike = [each for each in results.experiments if (each.corpus_name, each.measure) == own]
    marks: list[Mark] = [{"x": x} for each in alike for of in _runs(each).values() for x in of]
    return least_extent(results, own[1].metric, marks, "x", _scale(experiment))


def _panel(results: Results, experiment: Experiment) -> Panel:
    """Return the panel of an experiment: a row for each model."""
    look, scale, result = looks(experiment), _scale(experiment), experiment.result
    runs, domain = _runs(experiment), _domain(results, experiment)
    marks: list[Mark] = []
    margin = results.comparison.significance.equivalence_margin * scale / 100
    for name in result.attention[:1]:
        near = (scale * result.score_of(name) + side * margin for side in (-1, 1))
        low, high = (min(max(each, domain[0]), domain[1]) for each in near)
        marks.append(shapes.area((low, high), (-0.6, len(runs) - 0.4)))
    for place, (name, of) in enumerate(runs.items()):
        dots = zip(of, stacked(of, NEAR * (domain[1] - domain[0])), strict=True)
        marks += [shapes.point(each, place + above, look[name], 14) for each, above in dots]
        mean = sum(of) / len(of)
        marks.append(shapes.rule((mean, place - 0.32), (mean, place + 0.32), wide=1.2))
    title = shapes.short_name(experiment.title, 60) if len(results.experiments) > 1 else ""
    labels = _labels(experiment)
    y = Axis(domain=(len(runs) - 0.4, -0.6), places=dict(enumerate(labels)), strokes=False)
    x = Axis(name_with_unit(experiment.measure), domain)
    return Panel(marks, x, y, title, height=ROW * len(runs))


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


class Cost(NamedTuple):
    """A model of an experiment: its mean test score, and the core-minutes of a training."""

    experiment: Experiment
    variant: str
    score: float
    minutes: float


def cost_figure(results: Results, costs: Sequence[Cost]) -> list[Figure]:
    """Return a panel for each corpus whose models are enough for a picture; nothing without."""
    groups: dict[tuple[str, str], list[Cost]] = {}
    for cost in costs:
        own = cost.experiment
        groups.setdefault((own.corpus_name, own.measure.metric), []).append(cost)
    panels = [*filter(enough, map(_cost_panel, groups.values()))]
    if not panels:
        return []
    columns = min(PANELS, len(panels))
    lines = shapes.in_rows(panels, columns)
    size = max(WIDTH * columns, shapes.WIDTH), 0.2 + HEIGHT * len(lines)
    sources = (*results.comparison_sources, results.times_source)
    return [make_figure("cost", "cost", sources, lines, size)]


def _cost_panel(costs: Sequence[Cost]) -> Panel:
    """Return the score of each model by its core time, and the best reference model as a line."""
    experiment, marks = costs[0].experiment, list[Mark]()
    scaled, minutes = experiment.measure.scaled, [cost.minutes for cost in costs]
    for cost in costs:
        look, words = looks(cost.experiment)[cost.variant], cost.experiment.words[cost.variant]
        marks.append(shapes.point(cost.minutes, scaled(cost.score), look, 28) | {"end": words})
    kind, domain = "linear", shapes.extent(marks, "x")
    if min(minutes) > 0:
        kind, domain = "log", (min(minutes) / 1.25, max(minutes) * 1.25)
    result = experiment.result
    if best := max(result.learned_reference_models, key=result.score_of, default=""):
        y = scaled(result.score_of(best))
        line = shapes.rule((domain[1], y), (domain[0], y), shapes.SOFT, dash=shapes.DASHED)
        marks.append(line | {"end": experiment.words[best]})
    x = Axis("core-minutes of a training", domain, scale=kind, format="~g", count=4)
    title = textwrap.fill(shapes.short_name(experiment.title, 60), TITLE_LINE, max_lines=2)
    return Panel(marks, x, Axis(experiment.measure.name, shapes.extent(marks)), title)

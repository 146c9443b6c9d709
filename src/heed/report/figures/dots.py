"""Every model of every experiment, every seed a dot."""

from collections.abc import Iterator

from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.shapes import Axis, Figure, Mark, Panel
from heed.report.figures.variants import enough, least_extent, looks, make_figure
from heed.report.results import Results

ROW, FRAME = 0.19, 0.62  # inches: a model; title and scale of an experiment
NEAR, STACK = 0.015, 0.5  # of the scale, a dot's width; of a row, the height of a stack of dots


def dot_charts(results: Results) -> list[Figure]:
    """Return the chart, in parts where it would be higher than a page."""
    panels = {each.key: _panel(results, each) for each in results.experiments}
    drawn = [each for each in results.experiments if enough(panels[each.key])]
    figures = []
    for number, (part, height) in enumerate(_parts(drawn), 1):
        labels = ((each.title, _labels(each).values()) for each in part)
        figures.append(
            make_figure(
                "dots", "models" if number == 1 else f"models-{number}",
                results.comparison_sources, [[panels[each.key]] for each in part],
                (shapes.WIDTH, height),
                "; ".join(f"{title}: {', '.join(rows)}" for title, rows in labels),
                model=part[0].words[_models(part[0])[0]], plain=len(part) > 1,
                margin=f"{results.comparison.significance.equivalence_margin:g}",
            )
        )  # fmt: skip
    return figures


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


def _labels(experiment: Experiment) -> dict[float, str]:
    words, short = experiment.words, experiment.measure.short
    return {
        float(place): f"{shapes.short_name(words[name])}  {short(experiment.result.score_of(name))}"
        for place, name in enumerate(_models(experiment))
    }


def _runs(experiment: Experiment, scale: int) -> dict[str, list[float]]:
    result, models = (
        experiment.result,
        experiment.result.reference_models | experiment.result.models,
    )
    scores = {name: result.compared_score(models[name]).values for name in _models(experiment)}
    return {name: [scale * each for each in values] for name, values in scores.items()}


def _panel(results: Results, experiment: Experiment) -> Panel:
    """Return the panel of an experiment: a row for each model; all of a corpus have one scale."""
    look, measure, result = looks(experiment), experiment.measure, experiment.result
    scale = 100 if measure.is_accuracy or measure.in_hundreds else 1
    runs, own = _runs(experiment, scale), (experiment.corpus_name, measure)
    alike = [each for each in results.experiments if (each.corpus_name, each.measure) == own]
    values = [value for each in alike for of in _runs(each, scale).values() for value in of]
    domain = least_extent(results, measure.metric, [{"x": each} for each in values], "x", scale)
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
    x = Axis(f"{measure.name}, %" if measure.is_accuracy else measure.name, domain)
    y = Axis(domain=(len(runs) - 0.4, -0.6), places=_labels(experiment), strokes=False)
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

"""The first chart of a report: every model of every experiment, every seed a dot."""

import itertools
from collections.abc import Iterator

from heed.report.blocks import Axis, Figure, Mark, Panel
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.variants import least_extent, looks, ordered_variants
from heed.report.results import Results

ROW, FRAME = 0.19, 0.62  # inches: a model; title and scale of an experiment
REFERENCE = shapes.Look(shapes.SOFT, "diamond")
NEAR, STACK = 0.015, 0.5  # of the scale, a dot's width; of a row, the height of a stack of dots


def dot_charts(results: Results) -> list[Figure]:
    """Return the chart, in parts where it would be higher than a page."""
    caption = (
        "A dot is a run with one seed, equal ones above each other; the line is the mean, which "
        "stands beside the name. Grey: a reference model, fitted once, or once for each fold; the "
        "trivial one is left out."
    )
    figures = []
    for number, (experiments, height) in enumerate(_parts(results), 1):
        told = "; ".join(
            f"{each.title}: " + ", ".join(_label(each, name) for name in _models(results, each))
            for each in experiments
        )

        figures.append(
            Figure(
                "models" if number == 1 else f"models-{number}",
                "Every model, every seed a dot",
                caption,
                results.comparison_sources,
                [[_panel(results, each)] for each in experiments],
                (shapes.WIDTH, height),
                alt_text=told,
                in_rows=True,
            )
        )
    return figures


def _parts(results: Results) -> Iterator[tuple[list[Experiment], float]]:
    """Yield experiments that fit a page together, with the height of their chart."""
    part: list[Experiment] = []
    height = 0.0
    for each in results.experiments:
        own = FRAME + ROW * len(_models(results, each))
        if part and height + own > shapes.MAX_HEIGHT:
            yield part, height
            part, height = [], 0.0
        part, height = [*part, each], height + own
    if part:
        yield part, min(height, shapes.MAX_HEIGHT)


def _models(results: Results, experiment: Experiment) -> list[str]:
    """Return the models of an experiment from above: its own, then the reference models."""
    return [*ordered_variants(results, experiment), *experiment.result.learned_reference_models]


def _label(experiment: Experiment, name: str) -> str:
    score = experiment.measure.short(experiment.result.score_of(name))
    return f"{shapes.short_name(name)}  {score}"


def _panel(results: Results, experiment: Experiment) -> Panel:
    """Return the panel of an experiment: a row for each model."""
    known, measure, result = looks(results), experiment.measure, experiment.result
    scale = 100 if measure.is_accuracy or measure.in_hundreds else 1
    names, rows, models = _models(results, experiment), [], result.reference_models | result.models
    scores = map(result.compared_score, map(models.__getitem__, names))
    runs = [[scale * each for each in score.values] for score in scores]
    marks: list[Mark] = [{"x": each} for each in itertools.chain(*runs)]
    domain = least_extent(results, measure.metric, marks, "x", scale)
    near = NEAR * (domain[1] - domain[0])
    labels = {}
    for place, (name, values) in enumerate(zip(names, runs, strict=True)):
        labels[float(place)] = _label(experiment, name)
        dots = zip(values, stacked(values, near), strict=True)
        look = known.get(name, REFERENCE)
        rows += [shapes.point(each, place + above, look, 14) for each, above in dots]
        mean = sum(values) / len(values)
        rows.append(shapes.rule((mean, place - 0.32), (mean, place + 0.32), wide=1.2))
    title = shapes.short_name(experiment.title, 60) if len(results.experiments) > 1 else ""
    name = f"{measure.name}, %" if measure.is_accuracy else measure.name
    x = Axis(name, domain)
    y = Axis(domain=(len(names) - 0.4, -0.6), places=labels, strokes=False)
    return Panel(rows, x, y, title, height=ROW * len(names))


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

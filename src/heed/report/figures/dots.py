"""The first chart of a report: every model of every experiment, every seed a dot."""

from collections.abc import Iterator

import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import INK, MAX_HEIGHT, SOFT, WIDTH, short_name
from heed.report.figures.variants import Look, looks, ordered_variants
from heed.report.language import say
from heed.report.results import Results

ROW, FRAME = 0.19, 0.62  # inches: a model; title and scale of an experiment
REFERENCE = Look(SOFT, "D", "solid")


def dot_charts(results: Results) -> list[Figure]:
    """Return the chart, in parts where it would be higher than a page."""
    caption = say(
        "A dot is a run with one seed; the line is the mean, which stands beside the name. Grey: a "
        "reference model, fitted once, or once for each fold; the trivial one is left out."
    )
    figures = []
    for number, (experiments, height) in enumerate(_parts(results), 1):
        told = "; ".join(
            f"{each.title}: " + ", ".join(_label(each, name) for name in _models(results, each))
            for each in experiments
        )

        def draw(figure: matplotlib.figure.Figure, drawn: list[Experiment] = experiments) -> None:
            _draw(figure, results, drawn)

        figures.append(
            Figure(
                "models" if number == 1 else f"models-{number}",
                say("Every model, every seed a dot"),
                caption,
                results.comparison_sources,
                draw,
                (WIDTH, height),
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
        if part and height + own > MAX_HEIGHT:
            yield part, height
            part, height = [], 0.0
        part, height = [*part, each], height + own
    if part:
        yield part, min(height, MAX_HEIGHT)


def _models(results: Results, experiment: Experiment) -> list[str]:
    """Return the models of an experiment from above: its own, then the reference models."""
    _, *learned = experiment.result.reference_models  # the first is trivial
    return [*ordered_variants(results, experiment), *learned]


def _label(experiment: Experiment, name: str) -> str:
    score = experiment.measure.short(experiment.result.score_of(name))
    return f"{short_name(name)}  {score}"


def _draw(
    figure: matplotlib.figure.Figure, results: Results, experiments: list[Experiment]
) -> None:
    known = looks(results)
    names = [_models(results, each) for each in experiments]
    heights = [FRAME + ROW * len(each) for each in names]
    grid = figure.subplots(
        len(experiments), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
    )
    for axes, experiment, models in zip(grid[:, 0], experiments, names, strict=True):
        for row, name in enumerate(models):
            _draw_row(axes, experiment, name, row, known.get(name, REFERENCE))
        axes.set_yticks(range(len(models)), [_label(experiment, name) for name in models])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(models) - 0.4, -0.6)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.spines["left"].set_visible(False)
        if len(results.experiments) > 1:
            axes.set_title(short_name(experiment.title, 60), x=0, fontweight="bold", fontsize=8)
        measure = experiment.measure
        axes.set_xlabel(f"{measure.name}, %" if measure.is_accuracy else measure.name, fontsize=8)


def _draw_row(axes: Axes, experiment: Experiment, name: str, row: int, look: Look) -> None:
    """Draw the runs of a model as dots, and their mean as a line."""
    result, scale = experiment.result, 100 if experiment.measure.is_accuracy else 1
    known = result.models.get(name) or result.reference_models[name]
    values = [
        scale * each if scale > 1 else experiment.measure.scaled(each)
        for each in result.compared_score(known).values
    ]
    axes.plot(
        values, [row] * len(values), look.marker, color=look.colour, alpha=0.75, gid="run",
        markeredgewidth=0,
    )  # fmt: skip
    mean = sum(values) / len(values)
    axes.plot([mean, mean], [row - 0.32, row + 0.32], color=INK, lw=1.2, gid="mean")

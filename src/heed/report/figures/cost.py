"""Test figure against core time: a panel for each experiment, each model named beside its mark."""

import math
import textwrap
from collections.abc import Sequence

import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.evaluation.results import ExperimentResult
from heed.report.blocks import Figure
from heed.report.costs import Cost, time_unit
from heed.report.experiments import Experiment
from heed.report.figures.drawing import INK, LINE, SOFT, WIDTH, Style, short_name, spread_apart
from heed.report.figures.variants import Look, looks
from heed.report.language import say
from heed.report.renderers.escape import visible
from heed.report.results import Results

PANELS = 3  # side by side
PANEL_WIDTH, PANEL_HEIGHT = 2.25, 2.0  # inches
MAX_TICKS = 5
TITLE_LINE = 23  # characters of a panel's title, which has two lines at most
GAP = 0.085  # between labels, of the height of a panel
LABELS_AT = 1.06  # of the width of a panel
TRIVIAL = ("majority", "copy")  # opponents that read nothing
Label = tuple[float | None, float, str]  # of a model at x, y, or of a line at y


def cost_figure(results: Results, costs: dict[str, list[Cost]]) -> Figure:
    """Return the figure of all experiments.

    Args:
        results: of the study.
        costs: of the models of each experiment, by its key.

    """
    experiments = results.experiments
    columns = min(PANELS, len(experiments))
    rows = -(-len(experiments) // columns)
    title = say("What a model reaches, and what its training costs")
    caption = say(
        "Test figure against the core time of a training, means over seeds; the scale of time "
        "is logarithmic. Dashed line: the best opponent, whose time is not measured."
    )
    marks = {each.mark for each in experiments}
    width = PANEL_WIDTH * columns
    look_of = looks(results)

    def draw(figure: matplotlib.figure.Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, experiment in zip(grid.flat, experiments, strict=False):
            result = results.comparison.experiments[experiment.key]
            _draw_panel(axes, experiment, result, costs[experiment.key], look_of)
        for axes in grid.flat[len(experiments) :]:
            axes.set_visible(False)

    return Figure(
        "cost",
        title,
        caption,
        (*results.comparison_sources, results.times_source),
        draw,
        (width, 0.2 + PANEL_HEIGHT * rows),
        alt_text=caption,
        mark=marks.pop() if len(marks) == 1 else "",
        wide=width > WIDTH,
    )


def _draw_panel(
    axes: Axes,
    experiment: Experiment,
    result: ExperimentResult,
    costs: list[Cost],
    look_of: dict[str, Look],
) -> None:
    labels: list[Label] = []
    unit = time_unit(max(cost.mean for cost in costs))
    for cost in costs:
        look = look_of[cost.variant]
        value = experiment.measure.scaled(cost.figure)
        axes.plot(
            [unit.of(cost.mean)], [value], look.marker, color=look.colour, markersize=5, gid="model"
        )
        labels.append((unit.of(cost.mean), value, short_name(cost.variant)))
    opponents = {name: result.figure_of(name) for name in result.opponents if name not in TRIVIAL}
    if opponents:
        best = max(opponents, key=lambda name: opponents[name])
        value = experiment.measure.scaled(opponents[best])
        axes.axhline(value, color=SOFT, lw=1, linestyle=(0, (4, 2)), gid="opponent")
        labels.append((None, value, best))
    if all(cost.mean > 0 for cost in costs):
        axes.set_xscale("log")
        _set_ticks(axes, [unit.of(cost.mean) for cost in costs])
    axes.yaxis.set_major_locator(MaxNLocator(5))
    title = textwrap.fill(" ".join(visible(experiment.title).split()), TITLE_LINE, max_lines=2)
    axes.set_title(title, fontsize=8, loc="left")
    axes.set_xlabel(say("{unit} of a training", unit=unit.name))
    axes.set_ylabel(experiment.measure.name)
    _label(axes, labels)


def _set_ticks(axes: Axes, times: list[float]) -> None:
    """Put ticks at 1, 2 and 5 of each power of ten, on a scale of at least a factor of six."""
    low, high = min(times), max(times)
    margin = max(1.15, (6 * low / high) ** 0.5)
    low, high = low / margin, high * margin
    axes.set_xlim(low, high)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    ticks = [tick for tick in ticks if low <= tick <= high]
    ticks = ticks[:: -(-len(ticks) // MAX_TICKS)]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def _label(axes: Axes, labels: Sequence[Label]) -> None:
    """Print each name to the right of the panel, with a thin line from its mark; none overlap."""
    low, high = axes.get_ylim()
    ordered = sorted(labels, key=lambda label: (label[1], label[2]))
    heights = spread_apart([(y - low) / (high - low) for _, y, _ in ordered], GAP)
    style: Style = {"va": "center", "fontsize": 8, "color": INK}
    for (x, y, name), height in zip(ordered, heights, strict=True):
        axes.text(LABELS_AT, height, name, transform=axes.transAxes, **style)
        arrow: Style = {"arrowstyle": "-", "color": LINE, "lw": 0.7, "shrinkA": 0, "shrinkB": 3}
        target = (x, y) if x is not None else (1, (y - low) / (high - low))
        axes.annotate(
            "",
            xy=target,
            xycoords="data" if x is not None else "axes fraction",
            xytext=(LABELS_AT - 0.01, height),
            textcoords="axes fraction",
            arrowprops=arrow,
        )

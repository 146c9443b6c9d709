"""The cost of each result: core time of its trainings, and what attention costs for its gain."""

import dataclasses
import math
import statistics
import textwrap
from collections.abc import Iterable, Sequence

import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.evaluation.results import ExperimentResult
from heed.evaluation.verdicts import BASELINE
from heed.report.answer import verdict_text
from heed.report.blocks import (
    PAGE,
    Block,
    Cell,
    Column,
    Disclosure,
    Figure,
    Group,
    Items,
    Paragraph,
    Section,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import join_columns
from heed.report.escape import visible
from heed.report.experiments import Experiment
from heed.report.figures.drawing import INK, LINE, SOFT, WIDTH, Style, short_name, spread_apart
from heed.report.figures.variants import Look, looks
from heed.report.formats import (
    COUNT,
    DASH,
    RIGHT,
    TEXT,
    Format,
    decimals,
    format_count,
    format_number,
)
from heed.report.language import say, say_count
from heed.report.results import Results
from heed.search.results import read_search
from heed.training.times import TrainingTime


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a model costs, and what it reaches: its mean test figure, by which models compare."""

    variant: str
    figure: float
    parameters: int
    times: tuple[TrainingTime, ...]  # of its trainings, by seed

    @property
    def minutes(self) -> list[float]:
        """The core-minutes of each training."""
        return [each.core_minutes for each in self.times]

    @property
    def mean(self) -> float:
        """The core-minutes of a training, a mean over seeds."""
        return statistics.fmean(self.minutes)

    @property
    def total(self) -> float:
        """The core-minutes of all trainings."""
        return sum(self.minutes)

    def over(self, other: "Cost") -> float | None:
        """Return its core time over another model's; None where that is too short to measure."""
        return self.mean / other.mean if other.mean > 0 else None


@dataclasses.dataclass(frozen=True)
class TimeUnit:
    """A unit of core time: its name in the plural, and how many of it a core-minute is."""

    name: str
    per_minute: float

    def of(self, minutes: float) -> float:
        """Return core-minutes in this unit."""
        return minutes * self.per_minute


def time_unit(minutes: float) -> TimeUnit:
    """Return the unit in which a time of about so many core-minutes is easy to read."""
    if minutes < 1:
        return TimeUnit(say("core-seconds"), 60)
    return TimeUnit(say("core-minutes"), 1) if minutes < 60 else TimeUnit(say("core-hours"), 1 / 60)


def read_costs(results: Results, experiment: Experiment) -> dict[str, Cost]:
    """Return the cost of each model of an experiment, by variant.

    Raises HeedError: the time of a training is missing or broken.
    """
    result = results.comparison.experiments[experiment.key]
    return {
        variant: Cost(
            variant,
            result.figure_of(variant),
            model.parameters,
            tuple(results.training_times(model.model)),
        )
        for variant, model in result.models.items()
    }


PARAMETERS = Format(format_count, COUNT.plain, "right")
SEARCH = Format(lambda value: value or DASH, str, "left")


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table: a model of an experiment, its cost, and its baseline's."""

    experiment: Experiment
    result: ExperimentResult
    cost: Cost
    baseline: Cost | None
    search: str  # of its hyperparameters; empty without one

    @property
    def ratio(self) -> float | None:
        """The core time of a training over that of the baseline."""
        return None if self.baseline is None else self.cost.over(self.baseline)


def chapter(results: Results) -> list[Block]:
    """Return the section: what attention costs, a figure and a table of all models."""
    lines = [line for each in results.experiments for line in _lines(results, each)]
    if not lines:
        return []
    figure = cost_figure(results, {each.key: _costs(each, lines) for each in results.experiments})
    sentences = tuple(filter(None, (_sentence(each, lines) for each in results.experiments)))
    blocks = (
        Paragraph((_total(lines),)),
        Group((*([Items(sentences)] if sentences else []), figure), "beside"),
        Disclosure(
            say("Core time of every model"), (_table(results, lines),), "others", media=(PAGE,)
        ),
    )
    return [Section("cost", say("What it costs"), blocks)]


def _lines(results: Results, experiment: Experiment) -> list[Line]:
    result = results.comparison.experiments[experiment.key]
    costs = read_costs(results, experiment)
    searches = {folder.name: folder for folder in results.search_folders(experiment)}
    lines = []
    for variant, cost in costs.items():
        tuned_by = results.params.models[result.models[variant].model].tuned_by
        search = read_search(searches[tuned_by]) if tuned_by in searches else None
        text = ""
        if search:
            trials = say_count("{count} trial", "{count} trials", len(search.trials))
            text = say("{trials}, {epochs} epochs", trials=trials, epochs=f"{search.epochs:g}")
        lines.append(Line(experiment, result, cost, costs.get(BASELINE), text))
    return lines


def _costs(experiment: Experiment, lines: list[Line]) -> list[Cost]:
    return [line.cost for line in lines if line.experiment is experiment]


def _total(lines: list[Line]) -> str:
    """Return how much all trainings of the study took."""
    minutes = sum(line.cost.total for line in lines)
    trainings = sum(len(line.cost.times) for line in lines)
    unit = time_unit(minutes)
    time = f"{format_number(unit.of(minutes), 1)} {unit.name}"
    return say_count(
        "The study’s {count} training took {time}.",
        "The study’s {count} trainings took {time}.",
        trainings,
        time=time,
    )


def _sentence(experiment: Experiment, lines: list[Line]) -> Texts:
    """Return what attention costs for which gain; empty without attention and a baseline."""
    gain = experiment.gain
    line = next(
        (
            each
            for each in lines
            if gain and each.experiment is experiment and each.cost.variant == gain.first
        ),
        None,
    )
    if gain is None or line is None or line.ratio is None:
        return ()
    sentence = say(
        "{variant} costs {ratio} times the baseline’s core time for {size}: {verdict}.",
        variant=gain.first,
        ratio=format_number(line.ratio, 1),
        size=experiment.measure.difference(gain.mean),
        verdict=verdict_text(gain.verdict),
    )
    mark = (" ", Span(experiment.mark, "mark")) if experiment.mark else ()
    title = Span(experiment.title, link=f"#experiment-{experiment.key}")
    return (title, *mark, ": ", sentence)


def _table(results: Results, lines: list[Line]) -> Table:
    columns = (
        *join_columns(lambda line: line.experiment),
        Column("", say("Experiment"), TEXT, _title, merge=True, width=38),
        Column("variant", say("Model"), value=lambda line: line.cost.variant),
        Column("figure", "", value=lambda line: line.experiment.measure.metric),
        Column("value", "", decimals(4), lambda line: line.cost.figure),
        Column("", say("Test figure"), RIGHT, _figure),
        Column("parameters", say("Parameters"), PARAMETERS, lambda line: line.cost.parameters),
        *_time_columns(lines),
        Column(
            "ratio",
            say("Compared with the baseline"),
            decimals(2),
            lambda line: line.ratio,
            unit="×",
            meaning=say("the core time of a training over that of the baseline"),
        ),
        Column(
            "search",
            say("Search") if any(line.search for line in lines) else "",
            SEARCH,
            lambda line: line.search,
            meaning=say(
                "of its hyperparameters, whose time is not in this table; heed provenance writes it"
            ),
        ),
    )
    return Table(
        "cost",
        say("Core time of every model"),
        columns,
        make_rows(columns, lines),
        sources=(*results.comparison_sources, results.times_source),
        style="scores",
    )


def _time_columns(lines: list[Line]) -> tuple[Column, ...]:
    """Return the columns of core time: of a training, and of the trainings with all seeds."""
    meaning = describe_core_minutes(time for line in lines for time in line.cost.times)
    unit = time_unit(max(line.cost.mean for line in lines))
    return (
        Column("core_minutes", "", decimals(4), lambda line: line.cost.mean),
        Column("core_minutes_of_all_seeds", "", decimals(4), lambda line: line.cost.total),
        Column(
            "",
            say("A training"),
            decimals(1),
            lambda line: unit.of(line.cost.mean),
            unit=unit.name,
            meaning=meaning,
        ),
        Column(
            "", say("All seeds"), decimals(1), lambda line: unit.of(line.cost.total), unit=unit.name
        ),
    )


def _title(line: Line) -> Cell:
    experiment = line.experiment
    return Cell(experiment.title, mark=experiment.mark, link=f"#experiment-{experiment.key}")


def _figure(line: Line) -> str:
    return line.experiment.measure.figure(line.cost.figure)


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


def describe_core_minutes(times: Iterable[TrainingTime]) -> str:
    """Return which time the core-minutes of these trainings are: on CPUs, on GPUs, or on both."""
    meanings = {
        False: say(
            "the CPU time of a training, a mean over seeds. It is another one in every run and on "
            "every machine"
        ),
        True: say(
            "the time that a training on a GPU took, a mean over seeds. It is another one in every "
            "run and on every machine"
        ),
    }
    return "; ".join(meanings[on_gpu] for on_gpu in sorted({each.on_gpu for each in times}))

"""The cost of each result: core time of its trainings, and what attention costs for its gain."""

import dataclasses
import math
import statistics
import textwrap
from collections.abc import Iterable, Sequence

import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.evaluation.results import BASELINE
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
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.experiment import PARAMETERS
from heed.report.chapters.shared import experiment_title, join_columns
from heed.report.escape import visible
from heed.report.experiments import Experiment
from heed.report.figures.drawing import INK, LINE, SOFT, WIDTH, Style, short_name, spread_apart
from heed.report.figures.variants import looks
from heed.report.formats import DASH, RIGHT, TEXT, Format, decimals, format_number
from heed.report.language import say, say_count
from heed.report.results import Results
from heed.search.results import read_search
from heed.training.machine import TrainingTime

SEARCH = Format(lambda value: value or DASH, str, "left")


@dataclasses.dataclass(frozen=True)
class Cost:
    """The cost of a model of an experiment, and its mean test score, by which models compare."""

    experiment: Experiment
    variant: str
    score: float
    parameters: int
    times: list[TrainingTime]  # of its trainings, by seed
    search: str  # of its hyperparameters; empty without one

    @property
    def mean(self) -> float:
        """The core-minutes of a training, a mean over seeds."""
        return statistics.fmean(each.core_minutes for each in self.times)

    @property
    def total(self) -> float:
        """The core-minutes of all trainings."""
        return sum(each.core_minutes for each in self.times)


Costs = dict[str, dict[str, Cost]]  # by experiment and variant


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


def chapter(results: Results) -> list[Block]:
    """Return the section: what attention costs, a figure and a table of all models.

    Raises HeedError: the time of a training is missing or broken.
    """
    costs = {each.key: _read_costs(results, each) for each in results.experiments}
    if not any(costs.values()):
        return []
    sentences = tuple(filter(None, (_sentence(each, costs) for each in results.experiments)))
    told = [Items(sentences)] if sentences else []
    table = _table(results, costs)
    blocks = (
        Paragraph((_total(costs),)),
        Group((*told, cost_figure(results, costs)), "beside"),
        Disclosure(table.title, (table,), "others", media=(PAGE,)),
    )
    return [Section("cost", say("What it costs"), blocks)]


def _read_costs(results: Results, experiment: Experiment) -> dict[str, Cost]:
    result = experiment.result
    searches = {folder.name: folder for folder in results.search_folders(experiment)}
    costs = {}
    for variant, model in result.models.items():
        search_name = results.params.models[model.model].search
        text = ""
        if search := read_search(searches[search_name]) if search_name in searches else None:
            trials = say_count("{count} trial", "{count} trials", len(search.trials))
            text = say("{trials}, {epochs} epochs", trials=trials, epochs=f"{search.epochs:g}")
        score, times = result.score_of(variant), results.training_times(model.model)
        costs[variant] = Cost(experiment, variant, score, model.parameters, times, text)
    return costs


def _all(costs: Costs) -> list[Cost]:
    return [cost for of_experiment in costs.values() for cost in of_experiment.values()]


def _ratio(cost: Cost, costs: Costs) -> float | None:
    """Return the core time of a training over the baseline's; None where it has none."""
    baseline = costs[cost.experiment.key].get(BASELINE)
    return cost.mean / baseline.mean if baseline and baseline.mean > 0 else None


def _total(costs: Costs) -> str:
    """Return how much all trainings of the study took."""
    minutes = sum(cost.total for cost in _all(costs))
    unit = time_unit(minutes)
    return say_count(
        "The study’s {count} training took {time}.",
        "The study’s {count} trainings took {time}.",
        sum(len(cost.times) for cost in _all(costs)),
        time=f"{format_number(unit.of(minutes), 1)} {unit.name}",
    )


def _sentence(experiment: Experiment, costs: Costs) -> Texts:
    """Describe the cost of attention and its gain; empty without attention and a baseline."""
    gain = experiment.gain
    ratio = _ratio(costs[experiment.key][gain.first], costs) if gain else None
    if gain is None or ratio is None:
        return ()
    sentence = say(
        "{variant} costs {ratio} times the baseline’s core time for {size}: {verdict}.",
        variant=gain.first,
        ratio=format_number(ratio, 1),
        size=experiment.measure.difference(gain.mean),
        verdict=verdict_text(gain.verdict),
    )
    return (*experiment_title(experiment), sentence)


def _table(results: Results, costs: Costs) -> Table:
    """Return the table of all models: core time of a training, and of those with all seeds."""
    every = _all(costs)
    unit = time_unit(max(cost.mean for cost in every))
    search, over = say("Search") if any(e.search for e in every) else "", say("A training")
    ratio = say("the core time of a training over that of the baseline")
    tuning = say(
        "of its hyperparameters, whose time is not in this table; heed provenance writes it"
    )
    minutes = describe_core_minutes(time for cost in every for time in cost.times)
    columns = (
        *join_columns("experiment"),
        Column("", say("Experiment"), TEXT, _title, merge=True, width=38),
        Column("variant", say("Model"), value="variant"),
        Column("metric", "", value="experiment.measure.metric"),
        Column("value", "", decimals(4), "score"),
        Column("", say("Test score"), RIGHT, lambda e: e.experiment.measure.format(e.score)),
        Column("parameters", say("Parameters"), PARAMETERS, "parameters"),
        Column("core_minutes", "", decimals(4), "mean"),
        Column("core_minutes_of_all_seeds", "", decimals(4), "total"),
        Column("", over, decimals(1), lambda e: unit.of(e.mean), unit=unit.name, meaning=minutes),
        Column("", say("All seeds"), decimals(1), lambda e: unit.of(e.total), unit=unit.name),
        Column(
            "ratio", say("Compared with the baseline"), decimals(2), lambda e: _ratio(e, costs),
            unit="×", meaning=ratio,
        ),
        Column("search", search, SEARCH, "search", meaning=tuning),
    )  # fmt: skip
    return Table(
        "cost",
        say("Core time of every model"),
        columns,
        make_rows(columns, every),
        sources=(*results.comparison_sources, results.times_source),
        style="scores",
    )


def describe_core_minutes(times: Iterable[TrainingTime]) -> str:
    """Say whether the core-minutes of these trainings are of CPUs, of GPUs, or of both."""
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


def _title(cost: Cost) -> Cell:
    experiment = cost.experiment
    return Cell(experiment.title, mark=experiment.mark, link=f"#experiment-{experiment.key}")


PANELS = 3  # side by side
PANEL_WIDTH, PANEL_HEIGHT = 2.25, 2.0  # inches
MAX_TICKS = 5
TITLE_LINE = 23  # characters of a panel's title, which has two lines at most
GAP = 0.085  # between labels, of the height of a panel
LABELS_AT = 1.06  # of the width of a panel
TRIVIAL = ("majority", "copy")  # reference models that read nothing
Label = tuple[float | None, float, str]  # of a model at x, y, or of a line at y


def cost_figure(results: Results, costs: Costs) -> Figure:
    """Return the figure of test scores against core time: a panel for each experiment."""
    experiments = results.experiments
    columns = min(PANELS, len(experiments))
    rows = -(-len(experiments) // columns)
    caption = say(
        "Test score against the core time of a training, means over seeds; the scale of time "
        "is logarithmic. Dashed line: the best reference model, whose time is not measured."
    )
    marks, width = {each.mark for each in experiments}, PANEL_WIDTH * columns

    def draw(figure: matplotlib.figure.Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, experiment in zip(grid.flat, experiments, strict=False):
            _draw_panel(axes, results, experiment, [*costs[experiment.key].values()])
        for axes in grid.flat[len(experiments) :]:
            axes.set_visible(False)

    return Figure(
        "cost",
        say("What a model reaches, and what its training costs"),
        caption,
        (*results.comparison_sources, results.times_source),
        draw,
        (width, 0.2 + PANEL_HEIGHT * rows),
        alt_text=caption,
        mark=marks.pop() if len(marks) == 1 else "",
        wide=width > WIDTH,
    )


def _draw_panel(axes: Axes, results: Results, experiment: Experiment, costs: list[Cost]) -> None:
    result, scaled = experiment.result, experiment.measure.scaled
    labels: list[Label] = []
    unit = time_unit(max(cost.mean for cost in costs))
    for cost in costs:
        look, x, y = looks(results)[cost.variant], unit.of(cost.mean), scaled(cost.score)
        axes.plot([x], [y], look.marker, color=look.colour, markersize=5, gid="model")
        labels.append((x, y, short_name(cost.variant)))
    reference_models = {
        name: result.score_of(name) for name in result.reference_models if name not in TRIVIAL
    }
    if reference_models:
        best = max(reference_models, key=lambda name: reference_models[name])
        y = scaled(reference_models[best])
        axes.axhline(y, color=SOFT, lw=1, linestyle=(0, (4, 2)), gid="reference_model")
        labels.append((None, y, best))
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
    """Print the names to the right of the panel, with a thin line from its mark; none overlap."""
    low, high = axes.get_ylim()
    ordered = sorted(labels, key=lambda label: (label[1], label[2]))
    heights = spread_apart([(y - low) / (high - low) for _, y, _ in ordered], GAP)
    arrow: Style = {"arrowstyle": "-", "color": LINE, "lw": 0.7, "shrinkA": 0, "shrinkB": 3}
    for (x, y, name), height in zip(ordered, heights, strict=True):
        at = axes.transAxes
        axes.text(LABELS_AT, height, name, transform=at, va="center", fontsize=8, color=INK)
        axes.annotate(
            "",
            xy=(x, y) if x is not None else (1, (y - low) / (high - low)),
            xycoords="data" if x is not None else "axes fraction",
            xytext=(LABELS_AT - 0.01, height),
            textcoords="axes fraction",
            arrowprops=arrow,
        )

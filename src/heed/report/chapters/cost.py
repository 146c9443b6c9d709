"""The cost of each result: core time of its trainings, and what attention costs for its gain."""

import dataclasses
import math
import statistics
import textwrap
from collections.abc import Iterable, Iterator

from heed.evaluation.results import BASELINE
from heed.report.blocks import (
    PAGE,
    Axis,
    Block,
    Column,
    Disclosure,
    Figure,
    Group,
    Items,
    Panel,
    Paragraph,
    Section,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import experiment_title, join_columns, title_cell
from heed.report.escape import visible
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.figures.variants import looks
from heed.report.formats import (
    DASH,
    PARAMETERS,
    RIGHT,
    Format,
    decimals,
    format_number,
    pluralize,
)
from heed.report.results import Results
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
    baseline: list[TrainingTime] | None  # the baseline's
    search: str  # of its hyperparameters; empty without one
    longer: TrainingTime | None  # of its longer training

    @property
    def mean(self) -> float:
        """The core-minutes of a training, a mean over seeds."""
        return self.total / len(self.times)

    @property
    def total(self) -> float:
        """The core-minutes of all trainings."""
        return sum(each.core_minutes for each in self.times)

    @property
    def ratio(self) -> float | None:
        """The core time of a training over the baseline's; None where it has none."""
        minutes = [each.core_minutes for each in self.baseline or []]
        return self.mean / statistics.fmean(minutes) if sum(minutes) else None


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
        return TimeUnit("core-seconds", 60)
    return TimeUnit("core-minutes", 1) if minutes < 60 else TimeUnit("core-hours", 1 / 60)


def chapter(results: Results) -> list[Block]:
    """Return the section: what attention costs, a figure and a table of all models.

    Raises HeedError: the time of a training is missing or broken.
    """
    costs = [cost for each in results.experiments for cost in _read_costs(results, each)]
    if not costs:
        return []
    sentences = tuple(filter(None, (_sentence(each, costs) for each in results.experiments)))
    told = [Items(sentences)] if sentences else []
    longer = [*filter(None, (cost.longer for cost in costs))]
    table, minutes = _table(results, costs), sum(cost.total for cost in costs)
    minutes += sum(each.core_minutes for each in longer)
    unit = time_unit(minutes)
    total = pluralize(
        "The study’s {count} training took {time}.",
        "The study’s {count} trainings took {time}.",
        sum(len(cost.times) for cost in costs) + len(longer),
        time=f"{format_number(unit.of(minutes), 1)} {unit.name}",
    )
    blocks = (
        Paragraph((total,)),
        Group((*told, cost_figure(results, costs)), "beside"),
        Disclosure(table.title, (table,), "others", media=(PAGE,)),
    )
    return [Section("cost", "What it costs", blocks)]


def _read_costs(results: Results, experiment: Experiment) -> Iterator[Cost]:
    result = experiment.result
    times = {name: results.training_times(model.model) for name, model in result.models.items()}
    baseline = times.get(BASELINE)
    for variant, model in result.models.items():
        text = ""
        if search := results.read_search(experiment, model.model):
            trials = pluralize("{count} trial", "{count} trials", len(search.trials))
            text = f"{trials}, {search.epochs:g} epochs"
        score, parameters = result.score_of(variant), model.parameters
        longer = results.longer_time(model.model)
        yield Cost(experiment, variant, score, parameters, times[variant], baseline, text, longer)


def _sentence(experiment: Experiment, costs: list[Cost]) -> Texts:
    """Describe the cost of attention and its gain; empty without attention and a baseline."""
    gain = experiment.gain
    if gain is None:
        return ()
    ratio = next(
        cost.ratio for cost in costs if (cost.experiment, cost.variant) == (experiment, gain.first)
    )
    if ratio is None:
        return ()
    sentence = (
        f"{gain.first} costs {format_number(ratio, 1)} times the baseline’s core time for "
        f"{experiment.measure.difference(gain.mean)}: {gain.verdict}."
    )
    return (*experiment_title(experiment), sentence)


def _table(results: Results, costs: list[Cost]) -> Table:
    """Return the table of all models: core time of a training, and of those with all seeds."""
    unit = time_unit(max(cost.mean for cost in costs))
    search = "Search" if any(each.search for each in costs) else ""
    ratio = "the core time of a training over that of the baseline"
    tuning = "of its hyperparameters, whose time is not in this table, but in provenance.json"
    minutes = describe_core_minutes(time for cost in costs for time in cost.times)
    columns = (
        *join_columns("experiment"),
        Column("", "Experiment", value=lambda e: title_cell(e.experiment), merge=True, width=38),
        Column("variant", "Model", value="variant"),
        Column("metric", "", value="experiment.measure.metric"),
        Column("value", "", decimals(4), "score"),
        Column("", "Test score", RIGHT, lambda e: e.experiment.measure.format(e.score)),
        Column("parameters", "Parameters", PARAMETERS, "parameters"),
        Column("core_minutes", "", decimals(4), "mean"),
        Column("core_minutes_of_all_seeds", "", decimals(4), "total"),
        Column("core_minutes_of_longer_training", "", decimals(4), "longer.core_minutes"),
        Column(
            "", "A training", decimals(1), lambda e: unit.of(e.mean), unit=unit.name,
            meaning=minutes,
        ),
        Column("", "All seeds", decimals(1), lambda e: unit.of(e.total), unit=unit.name),
        Column(
            "", "Twice the epochs" if any(each.longer for each in costs) else "", decimals(1),
            lambda e: unit.of(e.longer.core_minutes) if e.longer else None, unit=unit.name,
        ),
        Column(
            "ratio", "Compared with the baseline", decimals(2), "ratio", unit="×",
            meaning=ratio,
        ),
        Column("search", search, SEARCH, "search", meaning=tuning),
    )  # fmt: skip
    return Table(
        "cost",
        "Core time of every model",
        columns,
        make_rows(columns, costs),
        sources=(*results.comparison_sources, results.times_source),
        style="scores",
    )


def describe_core_minutes(times: Iterable[TrainingTime]) -> str:
    """Say whether the core-minutes of these trainings are of CPUs, of GPUs, or of both."""
    of = {False: "the CPU time of a training", True: "the time that a training on a GPU took"}
    return "; ".join(
        f"{of[on_gpu]}, a mean over seeds. It is another one in every run and on every machine"
        for on_gpu in sorted({each.on_gpu for each in times})
    )


PANELS = 3  # side by side
PANEL_WIDTH, PANEL_HEIGHT = 2.25, 2.0  # inches
MAX_TICKS = 5
TITLE_LINE = 23  # characters of a panel's title, which has two lines at most


def cost_figure(results: Results, costs: list[Cost]) -> Figure:
    """Return the figure of test scores against core time: a panel for each experiment."""
    experiments = results.experiments
    columns = min(PANELS, len(experiments))
    rows = -(-len(experiments) // columns)
    caption = described("cost")
    width, look = PANEL_WIDTH * columns, looks(results)
    panels = [
        _panel(look, each, [cost for cost in costs if cost.experiment is each])
        for each in experiments
    ]
    return Figure(
        "cost",
        "What a model reaches, and what its training costs",
        caption,
        (*results.comparison_sources, results.times_source),
        [panels[start : start + columns] for start in range(0, len(panels), columns)],
        (width, 0.2 + PANEL_HEIGHT * rows),
        alt_text=caption,
        wide=width > shapes.WIDTH,
    )


def _panel(look: dict[str, shapes.Look], experiment: Experiment, costs: list[Cost]) -> Panel:
    result, scaled = experiment.result, experiment.measure.scaled
    unit = time_unit(max(cost.mean for cost in costs))
    rows = []
    for cost in costs:
        x, y, shown = unit.of(cost.mean), scaled(cost.score), look[cost.variant]
        rows.append(shapes.point(x, y, shown, 28) | {"end": cost.variant})
    times = [unit.of(cost.mean) for cost in costs]
    logarithmic = min(times) > 0
    domain = (min(times) / 1.25, max(times) * 1.25) if logarithmic else shapes.extent(rows, "x")
    if best := max(result.learned_reference_models, key=result.score_of, default=None):
        y = scaled(result.score_of(best))
        line = shapes.rule((domain[1], y), (domain[0], y), shapes.SOFT, dash=shapes.DASHED)
        rows.append(line | {"end": best})
    heights = shapes.extent(rows)
    title = textwrap.fill(" ".join(visible(experiment.title).split()), TITLE_LINE, max_lines=2)
    name = f"{unit.name} of a training"
    return Panel(
        rows,
        Axis(
            name, domain, _ticks(*domain) if logarithmic else None, "log" * logarithmic or "linear"
        ),
        Axis(experiment.measure.name, heights, count=5),
        title,
    )


def _ticks(low: float, high: float) -> dict[float, str]:
    """Return the ticks of a logarithmic scale: 1, 2 and 5 times powers of ten, or more evenly."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    places: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        places = [each for p in powers for step in steps if low <= (each := step * 10.0**p) <= high]
        if len(places) <= MAX_TICKS:
            break
    if len(places) < 2:
        places = [each for each in shapes.ticks(low, high, MAX_TICKS - 2) if low <= each <= high]
    return {place: f"{place:g}" for place in places}

"""Errors by class: the change in each class's recall from the baseline to attention."""

import dataclasses
import statistics

import matplotlib.figure
from matplotlib.axes import Axes

from heed.report.blocks import Figure
from heed.report.class_tables import ClassTable
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import INK, SERIES, SOFT, WIDTH, legend, short_name
from heed.report.formats import format_number, format_points
from heed.report.language import say
from heed.report.results import Results

MAX_CLASSES = 12


@dataclasses.dataclass(frozen=True)
class ClassChange:
    """The change in a class's recall in percentage points: of each seed, and the talk's."""

    name: str
    support: float
    values: tuple[float, ...]
    talk: float | None

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation over seeds; None with one seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


def class_changes(baseline: ClassTable, attention: ClassTable) -> list[ClassChange]:
    """Return the change of each class, paired by seed: the largest gain first."""
    without = {row.name: row for row in baseline.rows if row.kind == "class"}
    changes = []
    for row in attention.rows:
        if row.kind != "class":
            continue
        cell, other = row.cells["recall"], without[row.name].cells["recall"]
        values = tuple(100 * (a - b) for a, b in zip(cell.values, other.values, strict=True))
        published = cell.published and other.published
        talk = 100 * (float(cell.published) - float(other.published)) if published else None
        changes.append(ClassChange(row.name, row.cells["support"].mean, values, talk))
    return sorted(changes, key=lambda each: (-each.mean, each.name))


def class_gain(results: Results, experiment: Experiment) -> list[Figure]:
    """Return the change in recall by class; nothing where one of both models is missing.

    At most 12 classes: those that change most.
    """
    if len(experiment.pair) < 2:
        return []
    changes = class_changes(*experiment.pair)
    largest = sorted(changes, key=lambda each: -abs(each.mean))[:MAX_CLASSES]
    drawn = [each for each in changes if each in largest]
    title = say("Change in recall by class")
    caption = say(
        "Recall with attention minus recall of the baseline, paired by seed, the largest first: "
        "what share of a class’s documents more, or fewer, are found. Dot: the mean; line: one "
        "standard deviation over seeds to either side; strokes: the seeds. With few test documents "
        "a class varies much by chance."
    )
    if len(drawn) < len(changes):
        caption += " " + say(
            "The {drawn} of {classes} classes that change most; all of them: "
            "tables/{key}_class-gain.csv.",
            drawn=len(drawn),
            classes=len(changes),
            key=experiment.key,
        )
    models = results.models(experiment)
    folders = [results.evaluation_folder(models[table.key]) for table in experiment.pair]
    figure = Figure(
        f"{experiment.key}_class-gain",
        title,
        caption,
        results.sources.add(*(folder / "classes.csv" for folder in folders)),
        lambda figure: _draw(figure, drawn),
        (WIDTH, 1.0 + 0.2 * len(drawn)),
        alt_text=drawing.alt_text(experiment, caption),
        mark=experiment.mark,
    )
    return [figure]


def _draw(figure: matplotlib.figure.Figure, changes: list[ClassChange]) -> None:
    axes = figure.subplots()
    for row, change in enumerate(changes):
        _draw_change(axes, row, change)
    axes.axvline(0, color=INK, lw=1)
    axes.set_yticks(range(len(changes)), [short_name(each.name) for each in changes])
    axes.grid(axis="y", visible=False)
    axes.set_ylim(len(changes) - 0.3, -0.7)
    axes.set_xlabel(say("recall, percentage points"))
    legend(figure, axes, 3)


def _draw_change(axes: Axes, row: int, change: ClassChange) -> None:
    """Draw the change of a class; the first row has the legend's labels."""
    mean, deviation, first = change.mean, change.deviation, not row
    if deviation is not None:
        axes.plot([mean - deviation, mean + deviation], [row, row], color=SERIES[0], lw=2.2)
    seeds = say("each seed") if first else None
    axes.plot(change.values, [row] * len(change.values), "|", color=SOFT, markersize=6, label=seeds)
    label = say("mean ± standard deviation") if first else None
    axes.plot([mean], [row], "o", color=SERIES[0], label=label)
    spread = "" if deviation is None else f" ± {format_number(deviation, 1)}"
    axes.annotate(
        f"{format_points(mean, 1)}{spread}",
        (1.01, row),
        xycoords=axes.get_yaxis_transform(),
        va="center",
        fontsize=7,
        color=SOFT,
    )
    if change.talk is not None:
        label = say("the talk") if first else None
        axes.plot([change.talk], [row], "D", color=SERIES[1], markerfacecolor="none", label=label)

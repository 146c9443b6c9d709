"""Errors by class: the change in each class's recall from the baseline to attention."""

import dataclasses
import statistics
from collections.abc import Mapping, Sequence

import matplotlib.figure
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import (
    GROUND,
    INK,
    SERIES,
    SOFT,
    WIDTH,
    Style,
    label_ends,
    legend,
    short_name,
)
from heed.report.figures.variants import (
    MAX_VARIANTS,
    Look,
    Tables,
    describe_choice,
    draw_panels,
    looks,
    make_figure,
    panel_size,
    read_tables,
)
from heed.report.formats import format_number, format_points
from heed.report.language import say
from heed.report.results import Results
from heed.tasks.classification.class_tables import ClassTable, tables_of

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
    pair = tables_of(results, experiment)[0]
    if len(pair) < 2:
        return []
    changes = class_changes(*pair)
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
    folders = [results.evaluation_folder(models[table.key]) for table in pair]
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


def calibration(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "calibration"
) -> Figure:
    """Return the share of right predictions by their probability, over all seeds.

    With more than four variants each has a panel of its own.
    """
    tables = read_tables(results, experiment, "calibration", variants)
    look, with_panels = looks(results), len(variants) > MAX_VARIANTS

    def draw(figure: matplotlib.figure.Figure) -> None:
        if with_panels:
            _draw_calibrations(figure, tables, look)
        else:
            _draw_calibrated_together(figure, tables, look)

    return make_figure(
        results,
        experiment,
        key,
        "calibration",
        say("Calibration"),
        say(
            "On the dotted line the probability is the share of right predictions; below it, a "
            "model is overconfident. After its name: the expected calibration error. Ten bins of "
            "probability, all seeds together; the larger a mark, the more documents."
        )
        + describe_choice(results, experiment, variants),
        panel_size(len(variants), 1.3, 0.5) if with_panels else (WIDTH, 3.1),
        draw,
        variants,
    )


def _draw_calibrated_together(
    figure: matplotlib.figure.Figure, tables: Tables, look: Mapping[str, Look]
) -> None:
    axes, ends = figure.subplots(), []
    for variant, table in tables.items():
        probability, right = _draw_calibration(axes, table, look[variant])
        ends.append(look[variant].end(_with_error(variant, table), probability, right))
    axes.set_xlabel(say("probability of the predicted class"))
    axes.set_ylabel(say("share that is right"))
    label_ends(axes, ends, 2.3)


def _draw_calibrations(
    figure: matplotlib.figure.Figure, tables: Tables, look: Mapping[str, Look]
) -> None:
    def draw(axes: Axes, variant: str) -> None:
        _draw_calibration(axes, tables[variant], look[variant])
        error = f"{100 * expected_calibration_error(tables[variant]):.1f}%"
        axes.text(0.04, 0.9, error, transform=axes.transAxes, fontsize=7.5, color=INK)
        axes.set_xticks((0, 0.5, 1))
        axes.set_yticks((0, 0.5, 1))

    for axes in draw_panels(figure, [*tables], draw):
        axes.set_ylabel(say("right"))
    figure.supxlabel(say("probability of the predicted class"), fontsize=9, color=SOFT)


def _with_error(variant: str, table: pd.DataFrame) -> str:
    return f"{short_name(variant, 13)} {100 * expected_calibration_error(table):.1f}%"


def _draw_calibration(
    axes: Axes, table: pd.DataFrame, look: Look
) -> tuple[list[float], list[float]]:
    """Draw the line of a model and the diagonal; return the points of the line."""
    bins = _sum_bins(table)
    probability, right = bins["sum"] / bins["documents"], bins["right"] / bins["documents"]
    axes.axline((0, 0), slope=1, color=SOFT, lw=1, linestyle=(0, (1, 2)))
    axes.plot(probability, right, color=look.colour, lw=1.2, linestyle=look.dash)
    areas = 70 * bins["documents"] / bins["documents"].max() + 4
    style: Style = {"marker": look.marker, "linewidths": 0.6, "edgecolors": GROUND}
    axes.scatter(probability, right, areas, c=look.colour, **style)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_aspect("equal")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1, 0))
    return probability.tolist(), right.tolist()


def _sum_bins(table: pd.DataFrame) -> pd.DataFrame:
    """Return documents, right predictions and the sum of probabilities of each bin."""
    table = table.assign(sum=table["probability"] * table["documents"])
    return table.groupby("low")[["documents", "right", "sum"]].sum()


def expected_calibration_error(table: pd.DataFrame) -> float:
    """Return the expected calibration error of Guo et al. 2017, weighted by documents."""
    bins = _sum_bins(table)
    return float((bins["right"] - bins["sum"]).abs().sum() / bins["documents"].sum())

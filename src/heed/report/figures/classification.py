"""Figures of a classification: gain by class and calibration."""

from collections.abc import Mapping, Sequence

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from heed.report.blocks import Figure
from heed.report.class_tables import ClassTable
from heed.report.experiments import Experiment
from heed.report.figures.drawing import (
    GROUND,
    INK,
    MAX_HEIGHT,
    SERIES,
    SOFT,
    WIDTH,
    Style,
    legend,
    short_name,
)
from heed.report.figures.labels import label_ends
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
from heed.report.language import say
from heed.report.results import Results

ROW = 0.17  # inches of a class
ClassGain = tuple[str, list[float], float | None]  # a class, the gain of each seed, the talk's gain


def class_gain(results: Results, experiment: Experiment) -> list[Figure]:
    """Return F1 with attention minus F1 without, by class; nothing where one model is missing."""
    if len(experiment.pair) < 2:
        return []
    gains = _class_gains(*experiment.pair)

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for row, gain in enumerate(gains):
            _draw_gain(axes, row, gain)
        axes.axvline(0, color=INK, lw=1)
        size = min(8.0, 8 * (MAX_HEIGHT - 1) / (ROW * len(gains)))
        names = [short_name(name) for name, _, _ in gains]
        axes.set_yticks(range(len(gains)), names, fontsize=size)
        axes.grid(axis="y", visible=False)
        axes.set_ylim(-0.7, len(gains) - 0.3)
        axes.set_xlabel(say("F1, percentage points"))
        legend(figure, axes, 3)

    figure = make_figure(
        results,
        experiment,
        "class-gain",
        "classes",
        say("Gain by class"),
        say(
            "F1 with attention minus F1 without, paired by seed. Dot: the mean; strokes: the "
            "seeds. With few test documents a class varies much by chance."
        ),
        (WIDTH, min(1.0 + ROW * len(gains), MAX_HEIGHT)),
        draw,
        [table.key for table in experiment.pair],
    )
    return [figure]


def _class_gains(baseline: ClassTable, attention: ClassTable) -> list[ClassGain]:
    """Return each class's gain of F1 in percentage points, the smallest first."""
    without, with_attention = (
        {row.name: row.cells["f1"] for row in table.rows if row.kind == "class"}
        for table in (baseline, attention)
    )
    gains = []
    for name, cell in with_attention.items():
        other = without[name]
        values = [100 * (a - b) for a, b in zip(cell.values, other.values, strict=True)]
        published = cell.published and other.published
        talk = 100 * (float(cell.published) - float(other.published)) if published else None
        gains.append((name, values, talk))
    return sorted(gains, key=lambda gain: (float(np.mean(gain[1])), gain[0]))


def _draw_gain(axes: Axes, row: int, gain: ClassGain) -> None:
    """Draw the gain of a class; the first row has the legend's labels."""
    _, values, talk = gain
    mean, gain_colour, talk_colour = float(np.mean(values)), SERIES[0], SERIES[1]
    first = not row
    axes.plot([0, mean], [row, row], color=gain_colour, lw=1)
    seeds = say("each seed") if first else None
    axes.plot(values, [row] * len(values), "|", color=SOFT, markersize=5, label=seeds)
    axes.plot([mean], [row], "o", color=gain_colour, label=say("mean") if first else None)
    if talk is not None:
        label = say("the talk") if first else None
        axes.plot([talk], [row], "D", color=talk_colour, markerfacecolor="none", label=label)


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

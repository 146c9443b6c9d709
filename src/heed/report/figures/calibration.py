"""Calibration: the share of right predictions against their probability."""

from collections.abc import Mapping, Sequence

import matplotlib.figure
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import (
    GROUND,
    INK,
    SOFT,
    WIDTH,
    Style,
    label_ends,
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
from heed.report.language import say
from heed.report.results import Results


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

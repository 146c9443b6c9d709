"""How the variants of a study look in its figures, and which of them a figure draws."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence

import pandas as pd

from heed.evaluation.results import BASELINE
from heed.report.blocks import EVERYWHERE, PAGE, Figure, Mark, Panel
from heed.report.experiments import Experiment
from heed.report.figures import shapes
from heed.report.figures.captions import described
from heed.report.measures import Measure
from heed.report.results import Results, read_table
from heed.task import task_module
from heed.task.interface import lower_is_better

MAX_VARIANTS = 4  # in a figure
# Margins of equivalence that a scale of scores has at least, so that the same looks the same.
LEAST = 10
PANELS = 5  # side by side at most, in a figure of all variants
PANEL_NAME = 14  # characters of a panel's title
# Numbers of colours by role, so that baseline, attention, a control and another variant, which
# stand in one figure, never share one.
ATTENTION, WITHOUT, OF_CONTROLS, OF_OTHERS = 0, 1, (2, 4, 5), (3, 6, 7)
Tables = dict[str, pd.DataFrame]


def looks(results: Results) -> dict[str, shapes.Look]:
    """Return the look of each variant of the study: the same in all of its experiments.

    Where a colour of a role is repeated, its marker is not: 27 variants differ.
    """
    experiments = results.comparison.experiments.values()
    first = next(itertools.chain(*(each.attention for each in experiments)), "")
    found = {
        first: shapes.Look(shapes.SERIES[ATTENTION], shapes.MARKERS[0], shapes.SOLID),
        BASELINE: shapes.Look(shapes.SERIES[WITHOUT], shapes.MARKERS[1], shapes.DASHED),
    }
    controls = (name for each in experiments for name in each.models if name in each.controls)
    others = itertools.chain(*(each.models for each in experiments))
    roles = ((controls, OF_CONTROLS, 2, shapes.DASH_DOTTED), (others, OF_OTHERS, 3, shapes.DOTTED))
    for names, colours, start, dash in roles:
        new, count = (
            [*dict.fromkeys(name for name in names if name not in found)],
            len(shapes.MARKERS),
        )
        for number, name in enumerate(new):
            marker = shapes.MARKERS[(start + 2 * number + number // count) % count]
            found[name] = shapes.Look(shapes.SERIES[colours[number % len(colours)]], marker, dash)
    return found


def drawn_variants(results: Results, experiment: Experiment) -> list[str]:
    """Return the variants that a figure draws, the baseline first: all, or at most four.

    These are the baseline, the first of the study's question, the best control and the best of the
    others, by the validation split; the next best take the place of a role that is missing.
    """
    result = results.comparison.experiments[experiment.key]
    names = ordered_variants(results, experiment)
    if len(names) <= MAX_VARIANTS:
        return names
    first = [name for name in (BASELINE, *result.attention[:1]) if name in names]
    rest = sorted(names, key=lambda name: -_validated(results, experiment, name))
    controls = [name for name in rest if name in result.controls]
    others = [name for name in rest if name not in (*first, *controls)]
    chosen = [*dict.fromkeys([*first, *controls[:1], *others[:1], *rest])][:MAX_VARIANTS]
    return [name for name in names if name in chosen]


def ordered_variants(results: Results, experiment: Experiment) -> list[str]:
    """Return the models in the order of the figures: baseline, those of the question, others."""
    result = results.comparison.experiments[experiment.key]
    order = [BASELINE, *result.attention, *result.controls, *result.models]
    return [name for name in dict.fromkeys(order) if name in result.models]


def _validated(results: Results, experiment: Experiment, variant: str) -> float:
    history = read_tables(results, experiment, "history", [variant])[variant]
    column = f"validation_{validation_measure(experiment).metric}"
    return float(history.groupby("seed")[column].max().mean())


def validation_measure(experiment: Experiment) -> Measure:
    """Return the figure that the task validates after each epoch."""
    task = experiment.measure.task
    return Measure(task, task_module(task, "recipe").VALIDATION_METRICS[0])


def describe_choice(results: Results, experiment: Experiment, drawn: Sequence[str]) -> str:
    """Return by which rule variants were chosen, to follow a caption; empty where all are drawn."""
    others = [name for name in ordered_variants(results, experiment) if name not in drawn]
    if not others:
        return ""
    return " " + described(
        "choice",
        metric=validation_measure(experiment).name,
        names=", ".join(others),
    )


def read_tables(
    results: Results, experiment: Experiment, name: str, variants: Iterable[str]
) -> Tables:
    """Return a table of `heed score` by variant."""
    models = results.models(experiment)
    return {
        variant: read_table(results.evaluation_folder(models[variant]) / f"{name}.csv")
        for variant in variants
    }


def make_figure(
    results: Results,
    experiment: Experiment,
    key: str,
    table: str,
    title: str,
    caption: str,
    size: tuple[float, float],
    panels: Sequence[Sequence[Panel]],
    variants: Iterable[str],
) -> Figure:
    """Return a figure of a table of these variants; without a table, of the comparison.

    A figure with all variants, whose key ends in `-all`, is on the page alone.
    """
    models = results.models(experiment)
    folders = [results.evaluation_folder(models[each]) for each in variants]
    sources = (
        results.sources.add(*(folder / f"{table}.csv" for folder in folders))
        if table
        else results.comparison_sources
    )
    return Figure(
        f"{experiment.key}_{key}",
        title,
        caption,
        sources,
        panels,
        size,
        alt_text=shapes.alt_text(experiment, caption),
        wide=size[0] > shapes.WIDTH,
        media=(PAGE,) if key.endswith("-all") else EVERYWHERE,
    )


def least_extent(
    results: Results, metric: str, rows: Iterable[Mark], key: str = "y", scale: float = 1
) -> tuple[float, float]:
    """Return the range of scores, whose best is `scale`: no difference looks larger than it is.

    It has at least LEAST times the study's margin of equivalence.
    """
    least = LEAST * scale * results.comparison.significance.equivalence_margin / 100
    limits = 0.0, math.inf if lower_is_better(metric) else scale
    return shapes.extent(rows, key, least=least, limits=limits)


def panel_size(count: int, height: float, frame: float) -> tuple[float, float]:
    """Return the size of a figure with so many panels of this height, in inches."""
    return shapes.WIDE, min(frame + height * -(-count // panel_columns(count)), shapes.MAX_HEIGHT)


def panel_columns(count: int) -> int:
    """Return how many of so many panels stand side by side: rows are about equally long."""
    rows = -(-count // PANELS)
    return -(-count // rows)


def in_rows(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Return panels in rows, all on the same scales: only the outer ones have labels of axes."""
    columns, last = panel_columns(len(panels)), len(panels) - panel_columns(len(panels))
    shown = [
        dataclasses.replace(
            panel,
            x=dataclasses.replace(panel.x, labels=n >= last, title=panel.x.title * (n >= last)),
            y=dataclasses.replace(
                panel.y, labels=n % columns == 0, title=panel.y.title * (n % columns == 0)
            ),
        )
        for n, panel in enumerate(panels)
    ]
    return [shown[start : start + columns] for start in range(0, len(shown), columns)]

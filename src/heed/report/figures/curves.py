"""Curves: loss and the validated figure by epoch; accuracy, or BLEU, by the length of texts."""

from collections.abc import Sequence

import matplotlib.figure
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import (
    HEIGHT,
    INK,
    LINE_HEIGHT,
    MAX_HEIGHT,
    SOFT,
    WIDE,
    WIDTH,
    LineEnd,
    Style,
    label_ends,
    short_name,
    spread_apart,
)
from heed.report.figures.variants import (
    DASHED,
    MAX_VARIANTS,
    PANEL_NAME,
    Look,
    Tables,
    describe_choice,
    looks,
    make_figure,
    panel_columns,
    read_tables,
    validation_measure,
)
from heed.report.formats import format_count
from heed.report.language import say, say_runs
from heed.report.measures import Measure, degenerate_seeds
from heed.report.results import Results

PANEL, FRAME = 1.0, 0.9  # inches: the height of a panel, and of all that is around the panels
AXES_HEIGHT = 0.7 * PANEL
TRAIN, VALIDATION = "train_loss", "validation_loss"


def curves(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "curves"
) -> Figure:
    """Return loss (above) and the validated figure (below) by epoch, in a panel for each variant.

    A degenerate run is no part of the band, and is drawn alone, unless every run is degenerate.
    """
    measure, seeds = validation_measure(experiment), results.comparison.seeds
    tables, result = read_tables(results, experiment, "history", variants), experiment.result
    degenerate = {
        name: [*degenerate_seeds(result.models[name], result, seeds)] for name in variants
    }
    alone = {name: runs for name, runs in degenerate.items() if 0 < len(runs) < len(seeds)}
    caption = say(
        "Above: the loss, dashed on the training split, solid on the validation split. Below: "
        "{metric} on the validation split. Line: the mean over seeds; band: from the lowest seed "
        "to "
        "the highest. Where a seed has ended its training, it is that of the others. All models "
        "on the same scales.",
        metric=measure.name,
    )
    caption += _describe_degenerate(degenerate, alone)
    rows = 2 * -(-len(variants) // panel_columns(len(variants)))
    size = (WIDTH if len(variants) <= MAX_VARIANTS else WIDE, min(FRAME + PANEL * rows, MAX_HEIGHT))
    return make_figure(
        results,
        experiment,
        key,
        "history",
        say("Training and validation by epoch"),
        caption + describe_choice(results, experiment, variants),
        size,
        lambda figure: _draw(figure, tables, looks(results), alone, measure),
        variants,
    )


def _describe_degenerate(degenerate: dict[str, list[int]], alone: dict[str, list[int]]) -> str:
    """Return sentences on degenerate runs: those drawn `alone`, and models that have no other."""
    text = ""
    if alone:
        runs = "; ".join(say_runs(name, seeds) for name, seeds in alone.items())
        text += " " + say("Thin, and no part of a band: degenerate runs ({runs}).", runs=runs)
    if names := [name for name, runs in degenerate.items() if runs and name not in alone]:
        text += " " + say("Every run is degenerate of: {names}.", names=", ".join(names))
    return text


def _draw(
    figure: matplotlib.figure.Figure,
    tables: Tables,
    look: dict[str, Look],
    alone: dict[str, list[int]],
    measure: Measure,
) -> None:
    columns = panel_columns(len(tables))
    rows = -(-len(tables) // columns)
    grid = figure.subplots(2 * rows, columns, squeeze=False, sharex=True)
    metric, scale = f"validation_{measure.metric}", measure.scaled(1.0)
    quantities = (
        (grid[0::2], say("loss"), 1.0, {TRAIN: DASHED, VALIDATION: "solid"}),
        (grid[1::2], measure.name, scale, {metric: "solid"}),
    )
    for block, name, factor, drawn in quantities:
        panels = dict(zip(tables, block.flat, strict=False))
        for variant, axes in panels.items():
            if axes is not block[0, 0]:
                axes.sharey(block[0, 0])
            for column, dash in drawn.items():
                runs = factor * tables[variant].pivot(index="epoch", columns="seed", values=column)
                _draw_runs(axes, runs, alone.get(variant, []), look[variant], dash)
            axes.tick_params(labelleft=axes in block[:, 0])
        for axes in block[:, 0]:
            axes.set_ylabel(short_name(name))
        for number, axes in enumerate(block.flat):
            axes.set_visible(number < len(tables))
            if len(tables) - columns <= number < len(block[:-1].flat):  # above an empty place
                axes.tick_params(labelbottom=True)
    for axes, variant in zip(grid[0::2].flat, tables, strict=False):
        axes.set_title(short_name(variant, PANEL_NAME), fontsize=8)
    for variant, seeds in alone.items():
        values = tables[variant].pivot(index="epoch", columns="seed", values=metric)
        _name_runs(panels[variant], scale * values[seeds])
    grid[0][0].xaxis.set_major_locator(MaxNLocator(3, integer=True, min_n_ticks=1))
    grid[0][0].set_xlim(0.5, max(int(table["epoch"].max()) for table in tables.values()) + 0.5)
    figure.supxlabel(say("epoch"), fontsize=9, color=SOFT)
    variant = [*tables][columns - 1]  # the uppermost at the right names its lines
    means = tables[variant].groupby("epoch")[[TRAIN, VALIDATION]].mean()
    ends = [
        LineEnd(float(means.index[-1]), float(means[key].iloc[-1]), text, look[variant].colour)
        for key, text in ((TRAIN, say("train")), (VALIDATION, say("validate")))
    ]
    label_ends(grid[0][-1], ends, AXES_HEIGHT)


def _draw_runs(axes: Axes, runs: pd.DataFrame, alone: list[int], look: Look, dash: object) -> None:
    others = runs.drop(columns=alone)
    style: Style = {"color": look.colour, "linestyle": dash}
    solid = dash == "solid"
    marker: Style = {"marker": look.marker, "markevery": [-1]} if solid else {}
    low, high = others.min(axis=1), others.max(axis=1)
    axes.fill_between(others.index, low, high, color=look.colour, alpha=0.2, lw=0)
    axes.plot(others.index, others.mean(axis=1), lw=1.4 if solid else 1, **style, **marker)
    for seed in alone:
        run = runs[seed].dropna()
        axes.plot(run.index, run, lw=0.6, marker=".", markevery=[-1], **style)


def _name_runs(axes: Axes, runs: pd.DataFrame) -> None:
    low, high = axes.get_ylim()
    ends = [runs[seed].dropna().tail(1) for seed in runs]
    heights = [(float(end.iloc[0]) - low) / (high - low) for end in ends]
    places = spread_apart(heights, LINE_HEIGHT / AXES_HEIGHT)
    for seed, end, height in zip(runs, ends, places, strict=True):
        axes.annotate(
            say("seed {seed}", seed=seed), (end.index[0], low + height * (high - low)), (-4, 0),
            "data", "offset points", ha="right", va="center", fontsize=6.5, color=INK, gid="label",
        )  # fmt: skip


GROUP_AXES = 1.9  # inches: the height of the axes
LABEL_CHARACTERS = 30  # of the labels of all groups, side by side on paper


def by_length(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "lengths"
) -> Figure:
    """Return accuracy, or BLEU, by the length of the text: its mean and its range over seeds."""
    tables = read_tables(results, experiment, "lengths", variants)
    groups = {variant: by_group(table) for variant, table in tables.items()}
    look = looks(results)
    translated = experiment.measure.is_of_sentences
    caption = say(
        "The test sentences in groups of about equal size, from the shortest to the longest; "
        "below each mean length, how many they are. Line: the mean over seeds; band: from the "
        "worst seed to the best. A model without attention has to keep the whole source in "
        "one vector, whatever its length."
        if translated
        else "The corpus in eight groups of about equal numbers of documents, from its shortest to "
        "its longest texts; below each mean length, the test documents of a seed. Line: the mean "
        "over seeds; band: from the worst seed to the best. A model that reads its last state "
        "alone may lose what stands far from the end of a long text."
    )
    title = say(
        "BLEU against the length of the source"
        if translated
        else "Accuracy against the length of the text"
    )
    return make_figure(
        results,
        experiment,
        key,
        "lengths",
        title,
        caption + describe_choice(results, experiment, variants),
        (WIDTH, HEIGHT),
        lambda figure: _draw_lengths(figure, groups, look, translated),
        variants,
    )


def by_group(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean, lowest and highest figure of the seeds in each group of lengths.

    They are `mean, min, max, length, count` by `longest`, the length of the group's longest text.
    BLEU is between 0 and 100, accuracy between 0 and 1; `length` is in tokens or words. The table,
    lengths.csv of `heed score`, has a row for each seed and group.
    """
    values = 100 * table["bleu"] if "bleu" in table else table["right"] / table["documents"]
    counted = "sentences" if "bleu" in table else "documents"
    groups = table.assign(value=values).groupby("longest")
    others = groups[["mean_length", counted]].mean().set_axis(["length", "count"], axis=1)
    return groups["value"].agg(["mean", "min", "max"]).join(others)


def _draw_lengths(
    figure: matplotlib.figure.Figure, groups: Tables, look: dict[str, Look], translated: bool
) -> None:
    axes, ends = figure.subplots(), []
    for variant, each in groups.items():
        x, colour = range(len(each)), look[variant].colour
        axes.fill_between(x, each["min"], each["max"], color=colour, alpha=0.15, lw=0)
        axes.plot(x, each["mean"], **look[variant].style)
        ends.append(look[variant].end(variant, x, each["mean"]))
    if translated:
        axes.set_ylim(bottom=0)
    _name_groups(axes, next(iter(groups.values())), translated)
    axes.set_ylabel("BLEU" if translated else say("accuracy"))
    label_ends(axes, ends, GROUP_AXES)


def _name_groups(axes: Axes, groups: pd.DataFrame, translated: bool) -> None:
    """Label each group with its mean length and the number of its documents or sentences.

    Long numbers stand on two lines in turn: side by side they would touch.
    """
    counts = [f"({format_count(round(count))})" for count in groups["count"]]
    are_long = len(counts) * max(map(len, counts)) > LABEL_CHARACTERS
    texts = [
        f"{length:.0f}\n" + "\n" * (are_long and place % 2) + count
        for place, (length, count) in enumerate(zip(groups["length"], counts, strict=True))
    ]
    axes.set_xticks(range(len(groups)), texts, fontsize=7)
    label = say(
        "words of the source, mean of each group (sentences)"
        if translated
        else "tokens of the text, mean of each group (test documents)"
    )
    axes.set_xlabel(label)

"""Curves: loss and the validated figure by epoch; accuracy, or BLEU, by the length of texts."""

import dataclasses
from collections.abc import Sequence

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import (
    HEIGHT,
    INK,
    LINE,
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
    draw_panels,
    looks,
    make_figure,
    panel_columns,
    panel_size,
    read_tables,
    validation_measure,
)
from heed.report.formats import format_count
from heed.report.language import say, say_count
from heed.report.measures import Measure, degenerate_seeds
from heed.report.results import Results

PANEL, FRAME = 1.0, 0.9  # inches: the height of a panel, and of all that is around the panels
TRAIN, VALIDATION = "train_loss", "validation_loss"


@dataclasses.dataclass(frozen=True)
class Curves:
    """The runs of a variant: validations by seed and epoch, and the seeds of degenerate runs.

    Where every run is degenerate, none of them is drawn apart from the others.
    """

    history: pd.DataFrame
    degenerate: list[int]
    all_degenerate: bool
    look: Look


def curves(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "curves"
) -> Figure:
    """Return loss (above) and the validated figure (below) by epoch, in a panel for each variant.

    A degenerate run is no part of the band, and is drawn alone.
    """
    measure = validation_measure(experiment)
    tables = read_tables(results, experiment, "history", variants)
    drawn = _read_curves(results, experiment, tables)
    rows = 2 * -(-len(variants) // panel_columns(len(variants)))
    size = (WIDTH if len(variants) <= MAX_VARIANTS else WIDE, min(FRAME + PANEL * rows, MAX_HEIGHT))
    return make_figure(
        results,
        experiment,
        key,
        "history",
        say("Training and validation by epoch"),
        _describe(measure, drawn) + describe_choice(results, experiment, variants),
        size,
        lambda figure: _draw(figure, drawn, measure),
        variants,
    )


def _read_curves(results: Results, experiment: Experiment, tables: Tables) -> dict[str, Curves]:
    result, seeds = experiment.result, results.comparison.seeds
    look, drawn = looks(results), {}
    for variant, table in tables.items():
        degenerate = list(degenerate_seeds(result.models[variant], result, seeds))
        kept = len(degenerate) < len(seeds)
        drawn[variant] = Curves(table, degenerate if kept else [], not kept, look[variant])
    return drawn


def _describe(measure: Measure, drawn: dict[str, Curves]) -> str:
    """Describe the lines and bands, and name the degenerate runs."""
    text = say(
        "Above: the loss, dashed on the training split, solid on the validation split. Below: "
        "{metric} on the validation split. Line: the mean over seeds; band: from the lowest seed "
        "to "
        "the highest. Where a seed has ended its training, it is that of the others. All models "
        "on the same scales.",
        metric=measure.name,
    )
    degenerate = [
        say_count(
            "{name} with seed {seeds}",
            "{name} with seeds {seeds}",
            len(each.degenerate),
            name=name,
            seeds=", ".join(map(str, each.degenerate)),
        )
        for name, each in drawn.items()
        if each.degenerate
    ]
    if degenerate:
        runs = "; ".join(degenerate)
        text += " " + say("Thin, and no part of a band: degenerate runs ({runs}).", runs=runs)
    if names := [name for name, each in drawn.items() if each.all_degenerate]:
        text += " " + say("Every run is degenerate of: {names}.", names=", ".join(names))
    return text


def _draw(figure: matplotlib.figure.Figure, drawn: dict[str, Curves], measure: Measure) -> None:
    columns = panel_columns(len(drawn))
    rows = -(-len(drawn) // columns)
    grid = figure.subplots(2 * rows, columns, squeeze=False, sharex=True)
    losses, figures = grid[0::2], grid[1::2]
    for (variant, each), loss, axes in zip(drawn.items(), losses.flat, figures.flat, strict=False):
        _draw_runs(loss, each, TRAIN, dashed=True)
        _draw_runs(loss, each, VALIDATION)
        _draw_runs(axes, each, f"validation_{measure.metric}", measure.scaled(1.0))
        loss.set_title(short_name(variant, PANEL_NAME), fontsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(3, integer=True, min_n_ticks=1))
    last = max(int(each.history["epoch"].max()) for each in drawn.values())
    grid[0][0].set_xlim(0.5, last + 0.5)
    for block, name in ((losses, say("loss")), (figures, measure.name)):
        _share_scale(block[:], len(drawn))
        for row in block:
            row[0].set_ylabel(short_name(name))
    for each, axes in zip(drawn.values(), figures.flat, strict=False):
        _name_degenerate(axes, each, f"validation_{measure.metric}", measure.scaled(1.0))
    _hide_empty(losses, len(drawn))
    _hide_empty(figures, len(drawn))
    figure.supxlabel(say("epoch"), fontsize=9, color=SOFT)
    _label_parts(losses[0][-1], [*drawn.values()][columns - 1])


def _hide_empty(block: np.ndarray, count: int) -> None:
    for axes in block.flat[count:]:
        axes.set_visible(False)
    columns = block.shape[1]
    if count % columns and len(block) > 1:  # what stands above an empty place has the epochs
        for axes in block.flat[count - columns : (len(block) - 1) * columns]:
            axes.tick_params(labelbottom=True)


def _share_scale(block: np.ndarray, count: int) -> None:
    """Give all panels of a quantity the same scale; print it at the left alone."""
    drawn = list(block.flat[:count])
    low = min(axes.get_ylim()[0] for axes in drawn)
    high = max(axes.get_ylim()[1] for axes in drawn)
    for number, axes in enumerate(drawn):
        axes.set_ylim(low, high)
        axes.tick_params(labelleft=not number % block.shape[1])


def _draw_runs(
    axes: Axes, each: Curves, column: str, scale: float = 1.0, dashed: bool = False
) -> None:
    """Draw the band and the mean of the runs that did not collapse, and the others alone."""
    values = scale * each.history.pivot(index="epoch", columns="seed", values=column)
    kept = values.drop(columns=each.degenerate, errors="ignore")
    style: Style = {"color": each.look.colour, "linestyle": DASHED if dashed else "solid"}
    if kept.shape[1]:
        low, high = kept.min(axis=1), kept.max(axis=1)
        axes.fill_between(kept.index, low, high, color=each.look.colour, alpha=0.2, lw=0)
        marker: Style = {} if dashed else {"marker": each.look.marker, "markevery": [-1]}
        axes.plot(kept.index, kept.mean(axis=1), lw=1 if dashed else 1.4, **style, **marker)
    for seed in each.degenerate:
        run = values[seed].dropna()
        axes.plot(run.index, run, lw=0.6, marker=".", markevery=[-1], **style)


def _name_degenerate(axes: Axes, each: Curves, column: str, scale: float) -> None:
    """Print the seed of each degenerate run at its end, none of them over another."""
    ends = [
        each.history[each.history["seed"] == seed].dropna(subset=column).iloc[-1]
        for seed in each.degenerate
    ]
    low, high = axes.get_ylim()
    heights = [(scale * end[column] - low) / (high - low) for end in ends]
    places = spread_apart(heights, LINE_HEIGHT / (PANEL * 0.7))
    for seed, end, height in zip(each.degenerate, ends, places, strict=True):
        axes.annotate(
            say("seed {seed}", seed=seed), (end["epoch"], low + height * (high - low)), (-4, 0),
            "data", "offset points", ha="right", va="center", fontsize=6.5, color=INK, gid="label",
        )  # fmt: skip


def _label_parts(axes: Axes, each: Curves) -> None:
    """Say at the ends of the lines of a panel which is that of training, which of validation."""
    means = each.history.groupby("epoch")[[TRAIN, VALIDATION]].mean()
    ends = [
        LineEnd(float(means.index[-1]), float(means[column].iloc[-1]), text, each.look.colour)
        for column, text in ((TRAIN, say("train")), (VALIDATION, say("validate")))
    ]
    label_ends(axes, ends, PANEL * 0.7)


GROUP_AXES = 1.9  # inches: the height of the axes
LABEL_CHARACTERS = 30  # of the labels of all groups, side by side on paper
GROUP_PANEL, GROUP_FRAME = 1.15, 0.75


def by_length(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "lengths"
) -> Figure:
    """Return accuracy, or BLEU, by the length of the text: its mean and its range over seeds.

    With more than four variants each has a panel of its own.
    """
    tables = read_tables(results, experiment, "lengths", variants)
    groups = {variant: by_group(table) for variant, table in tables.items()}
    look, with_panels = looks(results), len(variants) > MAX_VARIANTS
    translated = experiment.measure.is_of_sentences
    draw = _draw_panels if with_panels else _draw_together
    return make_figure(
        results,
        experiment,
        key,
        "lengths",
        say("BLEU against the length of the source")
        if translated
        else say("Accuracy against the length of the text"),
        _describe_lengths(translated) + describe_choice(results, experiment, variants),
        panel_size(len(variants), GROUP_PANEL, GROUP_FRAME) if with_panels else (WIDTH, HEIGHT),
        lambda figure: draw(figure, groups, look, translated),
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


def _describe_lengths(translated: bool) -> str:
    if translated:
        return say(
            "The test sentences in groups of about equal size, from the shortest to the longest; "
            "below each mean length, how many they are. Line: the mean over seeds; band: from the "
            "worst seed to the best. A model without attention has to keep the whole source in "
            "one vector, whatever its length."
        )
    return say(
        "The corpus in eight groups of about equal numbers of documents, from its shortest to "
        "its longest texts; below each mean length, the test documents of a seed. Line: the mean "
        "over seeds; band: from the worst seed to the best. A model that reads its last state "
        "alone may lose what stands far from the end of a long text."
    )


def _draw_line(axes: Axes, groups: pd.DataFrame, look: Look) -> None:
    x = range(len(groups))
    axes.fill_between(x, groups["min"], groups["max"], color=look.colour, alpha=0.15, lw=0)
    axes.plot(x, groups["mean"], **look.style)


def _draw_together(
    figure: matplotlib.figure.Figure, groups: Tables, look: dict[str, Look], translated: bool
) -> None:
    axes = figure.subplots()
    for variant, each in groups.items():
        _draw_line(axes, each, look[variant])
    if translated:
        axes.set_ylim(bottom=0)
    _name_groups(axes, next(iter(groups.values())), translated)
    axes.set_ylabel("BLEU" if translated else say("accuracy"))
    ends = [look[key].end(key, range(len(each)), each["mean"]) for key, each in groups.items()]
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


def _draw_panels(
    figure: matplotlib.figure.Figure, groups: Tables, look: dict[str, Look], translated: bool
) -> None:
    """Draw a panel for each variant, before the means of all others."""

    def draw(axes: Axes, variant: str) -> None:
        for each in groups.values():
            axes.plot(range(len(each)), each["mean"], color=LINE, lw=0.7)
        _draw_line(axes, groups[variant], look[variant])
        lengths = groups[variant]["length"].tolist()
        ends = sorted({0, len(lengths) - 1})
        axes.set_xticks(ends, [f"{lengths[end]:.0f}" for end in ends])

    for axes in draw_panels(figure, [*groups], draw):
        axes.set_ylabel("BLEU" if translated else say("accuracy"))
    label = say(
        "words of the source, mean of each group"
        if translated
        else "tokens of the text, mean of each group"
    )
    figure.supxlabel(label, fontsize=9, color=SOFT)

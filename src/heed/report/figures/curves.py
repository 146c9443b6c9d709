"""Learning curves: loss and the validated figure by epoch, as bands over seeds."""

import dataclasses
from collections.abc import Iterator, Sequence

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.evaluation.results import ModelResult
from heed.report.blocks import Figure
from heed.report.cautions import collapsed_seeds
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
from heed.report.figures.translation import AXES, draw_groups
from heed.report.figures.variants import (
    DASHED,
    MAX_VARIANTS,
    PANEL_NAME,
    Look,
    Tables,
    describe_choice,
    looks,
    make_figure,
    ordered_variants,
    panel_columns,
    read_tables,
    validation_measure,
)
from heed.report.language import say, say_count
from heed.report.measures import Measure
from heed.report.results import Results

PANEL, FRAME = 1.0, 0.9  # inches: the height of a panel, and of all that is around the panels
TRAIN, VALIDATION = "train_loss", "validation_loss"


@dataclasses.dataclass(frozen=True)
class Curves:
    """The runs of a variant: validations by seed and epoch, and the seeds that collapsed.

    Where every run collapsed, none of them is drawn apart from the others.
    """

    history: pd.DataFrame
    collapsed: list[int]
    all_collapsed: bool
    look: Look


def curves(
    results: Results, experiment: Experiment, variants: Sequence[str], key: str = "curves"
) -> Figure:
    """Return loss (above) and the validated figure (below) by epoch, in a panel for each variant.

    A run that collapsed is no part of the band, and is drawn alone.
    """
    measure = validation_measure(experiment)
    tables = read_tables(results, experiment, "history", variants)
    drawn = _read_curves(results, experiment, tables)
    rows = 2 * -(-len(variants) // panel_columns(len(variants)))
    size = (
        WIDTH if len(variants) <= MAX_VARIANTS else WIDE,
        min(FRAME + PANEL * rows, MAX_HEIGHT),
    )
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
    result, seeds = results.comparison.experiments[experiment.key], results.comparison.seeds
    look, drawn = looks(results), {}
    for variant, table in tables.items():
        collapsed = list(collapsed_seeds(result.models[variant], result, seeds))
        kept = len(collapsed) < len(seeds)
        drawn[variant] = Curves(table, collapsed if kept else [], not kept, look[variant])
    return drawn


def _describe(measure: Measure, drawn: dict[str, Curves]) -> str:
    """Return what is drawn, and which runs collapsed."""
    text = say(
        "Above: the loss, dashed on the training part, solid on the validation part. Below: "
        "{figure} on the validation part. Line: the mean over seeds; band: from the lowest seed to "
        "the highest. Where a seed has ended its training, it is that of the others. All models "
        "on the same scales.",
        figure=measure.name,
    )
    collapsed = [
        say_count(
            "{name} with seed {seeds}",
            "{name} with seeds {seeds}",
            len(each.collapsed),
            name=name,
            seeds=", ".join(map(str, each.collapsed)),
        )
        for name, each in drawn.items()
        if each.collapsed
    ]
    if collapsed:
        runs = "; ".join(collapsed)
        text += " " + say("Thin, and no part of a band: runs that collapsed ({runs}).", runs=runs)
    if names := [name for name, each in drawn.items() if each.all_collapsed]:
        text += " " + say("Every run collapsed of: {names}.", names=", ".join(names))
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
        _name_collapsed(axes, each, f"validation_{measure.metric}", measure.scaled(1.0))
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
    kept = values.drop(columns=each.collapsed, errors="ignore")
    style: Style = {"color": each.look.colour, "linestyle": DASHED if dashed else "solid"}
    if kept.shape[1]:
        low, high = kept.min(axis=1), kept.max(axis=1)
        axes.fill_between(kept.index, low, high, color=each.look.colour, alpha=0.2, lw=0)
        marker: Style = {} if dashed else {"marker": each.look.marker, "markevery": [-1]}
        axes.plot(kept.index, kept.mean(axis=1), lw=1 if dashed else 1.4, **style, **marker)
    for seed in each.collapsed:
        run = values[seed].dropna()
        axes.plot(run.index, run, lw=0.6, marker=".", markevery=[-1], **style)


def _name_collapsed(axes: Axes, each: Curves, column: str, scale: float) -> None:
    """Print the seed of each run that collapsed at its end, none of them over another."""
    ends = [
        each.history[each.history["seed"] == seed].dropna(subset=column).iloc[-1]
        for seed in each.collapsed
    ]
    low, high = axes.get_ylim()
    heights = [(scale * end[column] - low) / (high - low) for end in ends]
    places = spread_apart(heights, LINE_HEIGHT / (PANEL * 0.7))
    for seed, end, height in zip(each.collapsed, ends, places, strict=True):
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


ALL = 1_000_000  # in place of the hyperparameters by which models of one group differ
Groups = list[list[str]]  # variants that differ in one hyperparameter, the least first


def by_share(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by the share of the training pairs; nothing where all models read all."""
    order = ordered_variants(results, experiment)
    groups = _groups(results, experiment, "training_share", "epochs")
    groups = sorted(groups, key=lambda group: order.index(group[-1]))[:MAX_VARIANTS]
    models = results.comparison.experiments[experiment.key].models
    variants = [name for group in groups for name in group]
    if not groups:
        return []
    look = looks(results)

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        ends = [
            _draw_shares(axes, [models[name] for name in group], group[-1], look[group[-1]])
            for group in groups
        ]
        shares = sorted({models[name].hyperparameters.training_share for name in variants})
        axes.set_xscale("log")
        axes.set_xticks(shares, [f"{100 * share:g}%" for share in shares])
        axes.minorticks_off()
        _finish(axes, say("share of the training pairs"), ends)

    title = say("BLEU against the number of training pairs")
    caption = say(
        "Models that differ in how many training pairs they read, and so in their steps (their "
        "numbers of epochs may differ too), on the same test part. Points: each seed; line: their "
        "mean."
    )
    size = WIDTH, HEIGHT
    return [make_figure(results, experiment, "shares", "", title, caption, size, draw, variants)]


def by_cap(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by source length of models that read no long pairs; nothing without such."""
    groups = _groups(results, experiment, "max_source_tokens", "max_target_tokens")
    if not groups:
        return []
    drawn = {name for group in groups for name in group}
    variants = [name for name in ordered_variants(results, experiment) if name in drawn]
    variants, look = variants[:MAX_VARIANTS], looks(results)
    tables = read_tables(results, experiment, "lengths", variants)
    models = results.comparison.experiments[experiment.key].models
    capped = [name for group in groups for name in group[:-1]]
    caps = sorted({models[name].hyperparameters.max_source_tokens for name in capped})

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes, ends = figure.subplots(), []
        for variant, table in tables.items():
            values = table.assign(value=100 * table["bleu"], x=table["mean_length"])
            ends.append(draw_groups(axes, variant, values, look[variant]))
        for cap in caps:
            axes.axvline(cap, linestyle=(0, (3, 1.5)), lw=1, color=SOFT)
        _finish(axes, say("words of the source, mean of each group"), ends)

    title = say("Trained on short sources alone")
    caption = say(
        "BLEU against the length of the source, with a cap on the length of training pairs and "
        "without. Upright: the cap, {cap} words.",
        cap=", ".join(map(str, caps)),
    )
    size = WIDTH, HEIGHT
    return [
        make_figure(results, experiment, "caps", "lengths", title, caption, size, draw, variants)
    ]


def _finish(axes: Axes, label: str, ends: list[LineEnd]) -> None:
    """Label the axes of a figure of BLEU, which begins at 0, and the ends of its lines."""
    axes.set_xlabel(label)
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=0)
    label_ends(axes, ends, AXES)


def _groups(results: Results, experiment: Experiment, name: str, *others: str) -> Groups:
    """Return the variants that differ in the hyperparameter `name`, two or more a group.

    They may also differ in `others`, and in nothing else.
    """
    models = results.comparison.experiments[experiment.key].models
    groups: dict[object, list[str]] = {}
    for variant, model in models.items():
        h = model.hyperparameters
        if h.decoder != "concatenate" and not (h.attends and h.score == "location"):
            # of those two the cap is a size of the network
            key = dataclasses.replace(h, **dict.fromkeys((name, *others), ALL))
            groups.setdefault(key, []).append(variant)
    return [
        sorted(group, key=lambda variant: getattr(models[variant].hyperparameters, name))
        for group in groups.values()
        if len({getattr(models[variant].hyperparameters, name) for variant in group}) > 1
    ]


def _draw_shares(axes: Axes, models: list[ModelResult], label: str, look: Look) -> LineEnd:
    """Draw the BLEU of models by their share of the pairs: each seed, and a line of the means."""
    points = list(_points(models))
    axes.plot(
        *zip(*points, strict=True),
        linestyle="none",
        marker=look.marker,
        markersize=3,
        alpha=0.6,
        markerfacecolor="none",
        markeredgewidth=0.8,
        color=look.colour,
    )
    shares = [model.hyperparameters.training_share for model in models]
    means = [100 * model.summary["bleu"].mean for model in models]
    axes.plot(shares, means, label=short_name(label), **look.style)
    return look.end(label, shares, means)


def _points(models: list[ModelResult]) -> Iterator[tuple[float, float]]:
    for model in models:
        for value in model.summary["bleu"].values:
            yield model.hyperparameters.training_share, 100 * value

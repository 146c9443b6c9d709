"""Figures of a classification: curves, lengths, calibration, confusion matrix."""

import math
from collections.abc import Iterable, Mapping

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Path_
from matplotlib.ticker import MaxNLocator, NullFormatter, PercentFormatter
from matplotlib.transforms import Affine2D

from heed.evaluation.families import BASELINE
from heed.report.blocks import Figure
from heed.report.class_tables import ClassTable
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import (
    GROUND,
    INK,
    LINE,
    REVERSED,
    SERIES,
    SOFT,
    WIDTH,
    Draw,
    Style,
    colour,
    legend,
    marker,
    short_name,
)
from heed.report.language import say
from heed.report.measures import Measure
from heed.report.results import Results, read_table
from heed.tasks import task_module

LARGE = 12  # a confusion matrix with more classes is wider, in smaller print
Tables = dict[str, pd.DataFrame]


def curves(results: Results, experiment: Experiment) -> Figure:
    """Return loss and a figure by epoch: a line for each seed, a row of axes for each model.

    The figure is the first that the task validates.
    """
    metric = task_module(experiment.measure.task, "recipe").FIGURES[0]
    name = Measure(experiment.measure.task, metric).name
    tables = _tables(results, experiment, "history")
    seeds = sorted({seed for table in tables.values() for seed in table["seed"]})

    def draw(figure: matplotlib.figure.Figure) -> None:
        grid = figure.subplots(len(tables), 2, squeeze=False, sharex=True, sharey="col")
        for row, (variant, table) in zip(grid, tables.items(), strict=True):
            for index, seed in enumerate(seeds):
                label = say("seed {seed}", seed=seed)
                _draw_curve(row, table[table["seed"] == seed], f"validation_{metric}", index, label)
            row[0].set_title(say("{name}: loss", name=short_name(variant)))
            row[1].set_title(
                say(
                    "{name}: accuracy" if metric == "accuracy" else "{name}: {figure}",
                    name=short_name(variant),
                    figure=name,
                )
            )
        for axes in grid[-1]:
            axes.set_xlabel(say("epoch"))
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        legend(figure, grid[0][1], len(seeds))

    return _figure(
        results,
        experiment,
        "curves",
        "history",
        say("Training and validation by epoch"),
        _describe_curves(metric, name),
        (WIDTH, 0.5 + 1.35 * len(tables)),
        draw,
    )


def _describe_curves(metric: str, name: str) -> str:
    """Return what is drawn of loss and the figure `metric`, with this name."""
    if metric == "accuracy":
        return say(
            "One line for each seed. Loss: dashed on the training part, solid on the validation "
            "part. Accuracy: on the validation part. All models on the same scales."
        )
    return say(
        "One line for each seed. Loss: dashed on the training part, solid on the validation "
        "part. {figure}: on the validation part. All models on the same scales.",
        figure=name[:1].upper() + name[1:],
    )


def _draw_curve(
    row: Iterable[Axes], history: pd.DataFrame, column: str, series: int, label: str
) -> None:
    """Draw one seed's loss and the figure in `column` on a row of axes."""
    loss, figure = row
    style: Style = {
        "color": colour(series),
        "marker": marker(series),
        "markersize": 2.5,
        "markevery": [-1],
    }
    loss.plot(history["epoch"], history["train_loss"], linestyle=(0, (3, 1.5)), lw=1, **style)
    loss.plot(history["epoch"], history["validation_loss"], **style)
    figure.plot(history["epoch"], history[column], label=label, **style)


def by_length(results: Results, experiment: Experiment) -> Figure:
    """Return accuracy against the length of the text."""
    tables = _tables(results, experiment, "lengths")
    series = _series(tables)

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for variant, table in tables.items():
            number = series[variant]
            groups = table.assign(accuracy=table["right"] / table["documents"]).groupby("longest")
            length, accuracy = groups["mean_length"].mean(), groups["accuracy"]
            # Shifted, so that the strokes of two models are side by side.
            x = length * (1 + 0.012 * (number - (len(tables) - 1) / 2))
            axes.vlines(x, accuracy.min(), accuracy.max(), color=colour(number), lw=0.9, alpha=0.7)
            style: Style = {"color": colour(number), "marker": marker(number)}
            axes.plot(x, accuracy.mean(), label=short_name(variant), **style)
        axes.set_xscale("log")
        lengths = next(iter(tables.values())).groupby("longest")["mean_length"].mean()
        ticks = _spaced_ticks(sorted(lengths))
        axes.set_xticks(ticks, [f"{tick:.0f}" for tick in ticks])
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.minorticks_off()
        axes.set_xlabel(say("tokens of the text, mean of each group"))
        axes.set_ylabel(say("accuracy"))
        legend(figure, axes, 3)

    return _figure(
        results,
        experiment,
        "lengths",
        "lengths",
        say("Accuracy against the length of the text"),
        say(
            "The corpus in eight groups of about equal numbers of documents, from its shortest to "
            "its longest texts. Mean over seeds; the vertical stroke goes from the worst seed to "
            "the best."
        ),
        (WIDTH, 2.9),
        draw,
    )


def calibration(results: Results, experiment: Experiment) -> Figure:
    """Return the share of right predictions by their probability, over all seeds."""
    tables = _tables(results, experiment, "calibration")
    series = _series(tables)

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=SOFT, lw=1, linestyle=(0, (1, 2)))
        for variant, table in tables.items():
            _draw_calibration(axes, variant, table, series[variant])
        axes.set_xlabel(say("probability of the predicted class"))
        axes.set_ylabel(say("share that is right"))
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1.02)
        axes.set_aspect("equal")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(PercentFormatter(1, 0))
        legend(figure, axes, 2)

    return _figure(
        results,
        experiment,
        "calibration",
        "calibration",
        say("Calibration"),
        say(
            "On the dotted line the probability is the share of right predictions; below it, a "
            "model is overconfident. After its name: the expected calibration error. Ten bins of "
            "probability, all seeds together; the larger a mark, the more documents."
        ),
        (WIDTH, 3.1),
        draw,
    )


def _draw_calibration(axes: Axes, variant: str, table: pd.DataFrame, series: int) -> None:
    bins, error = _sum_bins(table), expected_calibration_error(table)
    probability, right = bins["sum"] / bins["documents"], bins["right"] / bins["documents"]
    label = f"{short_name(variant)}: {100 * error:.1f}%"
    axes.plot(probability, right, color=colour(series), lw=1.2, label=label)
    areas = 70 * bins["documents"] / bins["documents"].max() + 4
    style: Style = {"marker": marker(series), "linewidths": 0.6, "edgecolors": GROUND}
    axes.scatter(probability, right, areas, c=colour(series), **style)


def _sum_bins(table: pd.DataFrame) -> pd.DataFrame:
    """Return documents, right predictions and the sum of probabilities of each bin."""
    table = table.assign(sum=table["probability"] * table["documents"])
    return table.groupby("low")[["documents", "right", "sum"]].sum()


def expected_calibration_error(table: pd.DataFrame) -> float:
    """Return the expected calibration error of Guo et al. 2017, weighted by documents."""
    bins = _sum_bins(table)
    return float((bins["right"] - bins["sum"]).abs().sum() / bins["documents"].sum())


def confusion(results: Results, experiment: Experiment, table: ClassTable) -> Figure:
    """Return the confusion matrix of a model over all seeds, as shares of each true class (row)."""
    model = results.models(experiment)[table.key]
    path = results.evaluation_folder(model) / "confusion.csv"
    counts = read_table(path).groupby(["label", "predicted"])["documents"].sum()
    names = [row.name for row in table.rows if row.kind == "class"]
    matrix = counts.unstack(fill_value=0).reindex(index=names, columns=names, fill_value=0)
    values = matrix.to_numpy(float)
    shares = values / np.maximum(values.sum(axis=1, keepdims=True), 1)
    large = len(names) > LARGE
    size = 0.215 * len(names) + 1.9 if large else min(WIDTH, 0.5 * len(names) + 2.0)
    title, caption = (
        say("Confusion matrix"),
        say("Percent of the documents of each true class (row), all seeds together."),
    )
    return Figure(
        f"{model}_confusion",
        title,
        caption,
        results.sources.add(path),
        lambda figure: _draw_confusion(figure, np.rint(100 * shares).astype(int), names),
        (size, size - 0.3),
        subject=table.title,
        alt_text=drawing.alt_text(experiment, f"{title}. {caption}"),
        mark=experiment.mark,
        wide=large,
    )


def _draw_confusion(
    figure: matplotlib.figure.Figure, percents: np.ndarray, names: list[str]
) -> None:
    axes, large = figure.subplots(), len(names) > LARGE
    for percent in np.unique(percents[percents > 0]):  # one path a shade keeps the file small
        squares = [
            Path_.unit_rectangle().transformed(Affine2D().translate(column - 0.5, row - 0.5))
            for row, column in np.argwhere(percents == percent)
        ]
        path, alpha = Path_.make_compound_path(*squares), max(percent / 100, 0.04)
        axes.add_patch(PathPatch(path, facecolor=SERIES[0], alpha=alpha, lw=0, clip_on=False))
    style: Style = {"ha": "center", "va": "center", "fontsize": 6 if large else 8}
    for row, column in np.argwhere(percents > 0):
        ink = REVERSED if percents[row, column] > 55 else INK
        axes.text(column, row, f"{percents[row, column]}", color=ink, **style)
    labels = [short_name(name) for name in names]
    rotation = 90 if large or max(map(len, labels)) > 9 else 0
    axes.set_xticks(range(len(names)), labels, rotation=rotation)
    axes.set_yticks(range(len(names)), labels)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.tick_params(length=0, labelsize=7)
    for border in np.arange(0.5, len(names) - 1):
        axes.axhline(border, color=LINE, lw=0.4)
        axes.axvline(border, color=LINE, lw=0.4)
    axes.set_xlabel(say("predicted"))
    axes.set_ylabel(say("true class"))


def _spaced_ticks(lengths: list[float]) -> list[float]:
    """Return the ticks of a logarithmic axis: no two closer than a twelfth of it."""
    gap = (math.log(lengths[-1]) - math.log(lengths[0])) / 12
    ticks = lengths[:1]
    for length in lengths[1:]:
        if math.log(length) - math.log(ticks[-1]) >= gap:
            ticks.append(length)
    return ticks


def _series(variants: Mapping[str, object]) -> dict[str, int]:
    """Return the series of each variant: attention and baseline look the same in every figure."""
    others = (variant for variant in variants if variant not in ("attention", BASELINE))
    return {"attention": 0, BASELINE: 1} | {name: index for index, name in enumerate(others, 2)}


def _tables(results: Results, experiment: Experiment, name: str) -> Tables:
    """Return a table of `heed evaluate` by variant."""
    models = results.models(experiment).items()
    return {
        variant: read_table(results.evaluation_folder(model) / f"{name}.csv")
        for variant, model in models
    }


def _figure(
    results: Results,
    experiment: Experiment,
    key: str,
    table: str,
    title: str,
    caption: str,
    size: tuple[float, float],
    draw: Draw,
    variants: Iterable[str] = (),
) -> Figure:
    """Return a figure of a table of these variants; without variants, of all."""
    models = results.models(experiment)
    folders = [results.evaluation_folder(models[each]) for each in variants or models]
    sources = results.sources.add(*(folder / f"{table}.csv" for folder in folders))
    text = drawing.alt_text(experiment, f"{title}. {caption}")
    name = f"{experiment.key}_{key}"
    return Figure(name, title, caption, sources, draw, size, alt_text=text, mark=experiment.mark)

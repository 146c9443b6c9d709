"""Figures of what models learn from a part of the training pairs: fewer, or short ones alone."""

import dataclasses
from collections.abc import Iterator

import matplotlib.figure
from matplotlib.axes import Axes

from heed.evaluation.results import ModelResult
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import WIDTH, colour, legend, marker, short_name
from heed.report.figures.translation import (
    draw_groups,
    make_figure,
    ordered_variants,
    read_tables,
    series_of,
)
from heed.report.language import say
from heed.report.results import Results

ALL = 1_000_000  # in place of the hyperparameters by which models of one group differ
Groups = list[list[str]]  # variants that differ in one hyperparameter alone, the least first


def by_share(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by the share of the training pairs; nothing where all models read all."""
    groups = _groups(results, experiment, "training_share")
    models = results.comparison.experiments[experiment.key].models
    variants = [name for group in groups for name in group]
    if not groups:
        return []
    series = _series(results, experiment, [group[-1] for group in groups])

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for group in groups:
            _draw_shares(axes, [models[name] for name in group], group[-1], series[group[-1]])
        shares = sorted({models[name].hyperparameters.training_share for name in variants})
        axes.set_xscale("log")
        axes.set_xticks(shares, [f"{100 * share:g}%" for share in shares])
        axes.minorticks_off()
        _finish(figure, axes, say("share of the training pairs"))

    title = say("BLEU against the number of training pairs")
    caption = say(
        "Models that differ only in how many training pairs they read, on the same test part. "
        "Points: each seed; line: their mean."
    )
    size = WIDTH, 2.7
    return [make_figure(results, experiment, "shares", "", title, caption, size, draw, variants)]


def by_cap(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by source length of models that read no long pairs; nothing without such."""
    groups = _groups(results, experiment, "max_source_tokens", "max_target_tokens")
    if not groups:
        return []
    series = _series(results, experiment, [name for group in groups for name in group])
    variants = list(series)
    tables = read_tables(results, experiment, "lengths", variants)
    models = results.comparison.experiments[experiment.key].models
    capped = [name for group in groups for name in group[:-1]]
    caps = sorted({models[name].hyperparameters.max_source_tokens for name in capped})

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for variant, table in tables.items():
            values = table.assign(value=100 * table["bleu"], x=table["mean_length"])
            draw_groups(axes, variant, values, series[variant])
        for cap in caps:
            axes.axvline(cap, linestyle=(0, (3, 1.5)), lw=1, color="0.5")
        _finish(figure, axes, say("words of the source, mean of each group"))

    title = say("Trained on short sources alone")
    caption = say(
        "BLEU against the length of the source, with a cap on the length of training pairs and "
        "without. Dashed: the cap, {cap} words.",
        cap=", ".join(map(str, caps)),
    )
    size = WIDTH, 2.7
    return [
        make_figure(results, experiment, "caps", "lengths", title, caption, size, draw, variants)
    ]


def _series(results: Results, experiment: Experiment, variants: list[str]) -> dict[str, int]:
    """Return the series of each of these models: of baseline and attention as in other figures."""
    ordered = [name for name in ordered_variants(results, experiment) if name in variants]
    numbers = series_of(ordered)
    return {name: numbers[name] for name in ordered}


def _finish(figure: matplotlib.figure.Figure, axes: Axes, label: str) -> None:
    """Label the axes of a figure of BLEU, which begins at 0, and put the legend above them."""
    axes.set_xlabel(label)
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=0)
    legend(figure, axes, 3)


def _groups(results: Results, experiment: Experiment, name: str, *others: str) -> Groups:
    """Return the variants that differ in the hyperparameter `name` alone, two or more a group.

    They may also differ in `others`.
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


def _draw_shares(axes: Axes, models: list[ModelResult], label: str, series: int) -> None:
    """Draw the BLEU of models by their share of the pairs: each seed, and a line of the means."""
    points = list(_points(models))
    axes.plot(
        *zip(*points, strict=True),
        linestyle="none",
        marker=marker(series),
        markersize=3,
        alpha=0.6,
        markerfacecolor="none",
        markeredgewidth=0.8,
        color=colour(series),
    )
    shares = [model.hyperparameters.training_share for model in models]
    means = [100 * model.summary["bleu"].mean for model in models]
    axes.plot(shares, means, label=short_name(label), color=colour(series), marker=marker(series))


def _points(models: list[ModelResult]) -> Iterator[tuple[float, float]]:
    for model in models:
        for value in model.summary["bleu"].values:
            yield model.hyperparameters.training_share, 100 * value

"""Figures of what models learn from a part of the training pairs: fewer, or short ones alone."""

import dataclasses
from collections.abc import Iterator

import matplotlib.figure
from matplotlib.axes import Axes

from heed.evaluation.results import ModelResult
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures.drawing import HEIGHT, SOFT, WIDTH, short_name
from heed.report.figures.labels import LineEnd, label_ends
from heed.report.figures.translation import AXES, draw_groups
from heed.report.figures.variants import (
    MAX_VARIANTS,
    Look,
    looks,
    make_figure,
    ordered_variants,
    read_tables,
)
from heed.report.language import say
from heed.report.results import Results

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

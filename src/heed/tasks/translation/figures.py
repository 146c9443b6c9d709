"""The figures of a translation: links by distance, BLEU by what was read, gradients, states."""

import dataclasses
import textwrap
from collections.abc import Callable, Mapping, Sequence

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from heed.report.blocks import Figure
from heed.report.browser import read_prediction_table
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.variants import (
    MAX_VARIANTS,
    Look,
    describe_choice,
    looks,
    make_figure,
    ordered_variants,
    read_tables,
)
from heed.report.language import say
from heed.report.results import Results
from heed.tasks.translation.metrics import TRUNCATION
from heed.tasks.translation.sentences import predicted_path

AXES = 2.0  # inches: the height of the axes of a figure
GRADIENT_AXES = 1.9  # inches: of the gradients
ALL = 1_000_000  # in place of the hyperparameters by which models of one group differ
TITLE_LINE = 14  # characters of a panel's title


def by_distance(results: Results, experiment: Experiment, drawn: Sequence[str]) -> list[Figure]:
    """Return the share of gold links that attention finds, by how far they reach."""
    models = results.comparison.experiments[experiment.key].models
    variants = [name for name in drawn if models[name].hyperparameters.learns_weights]
    folders = [results.evaluation_folder(models[name].model) for name in variants]
    if not folders or not all((folder / "distances.csv").exists() for folder in folders):
        return []
    tables = read_tables(results, experiment, "distances", variants)
    furthest = sorted({int(each) for table in tables.values() for each in table["furthest"]})
    starts = [0, *(each + 1 for each in furthest[:-1])]
    ranges = [
        str(last) if first == last else f"{first}–{last}"
        for first, last in zip(starts, furthest, strict=True)
    ]
    lines = {}
    for variant, table in tables.items():
        places, found = table["furthest"].map(furthest.index), table["found"] / table["links"]
        lines[variant] = table.assign(group=places, x=places, value=100 * found)
    caption = say(
        "The share of the sure gold links that a model's attention finds, by how far the "
        "translation moves a word. Points: each seed; line: their mean."
    ) + describe_choice(results, experiment, drawn)
    labels = say("words between the positions of a linked pair"), say("links found, %")

    def finish(axes: Axes) -> None:
        axes.set_xticks(range(len(furthest)), ranges)

    title, sources = say("Alignment by distance"), ("distances", "distances")
    return [_line_figure(results, experiment, sources, title, caption, labels, lines, finish)]


def by_share(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by the share of the training pairs; nothing where all models read all."""
    order = ordered_variants(results, experiment)
    groups = _groups(results, experiment, "training_share", "epochs")
    groups = sorted(groups, key=lambda group: order.index(group[-1]))[:MAX_VARIANTS]
    if not groups:
        return []
    models = results.comparison.experiments[experiment.key].models
    lines = {}
    for group in groups:
        rows = [
            (models[name].hyperparameters.training_share, 100 * value)
            for name in group
            for value in models[name].summary["bleu"].values
        ]
        table = pd.DataFrame(rows, columns=["x", "value"])
        lines[group[-1]] = table.assign(group=table["x"])
    shares = sorted({share for table in lines.values() for share in table["x"]})
    caption = say(
        "Models that differ in how many training pairs they read, and so in their steps (their "
        "numbers of epochs may differ too), on the same test split. Points: each seed; line: their "
        "mean."
    )
    labels = say("share of the training pairs"), "BLEU"

    def finish(axes: Axes) -> None:
        axes.set_xscale("log")
        axes.set_xticks(shares, [f"{100 * share:g}%" for share in shares])
        axes.minorticks_off()

    title, sources = say("BLEU against the number of training pairs"), ("shares", "")
    return [_line_figure(results, experiment, sources, title, caption, labels, lines, finish)]


def by_cap(results: Results, experiment: Experiment) -> list[Figure]:
    """Return BLEU by source length of models that read no long pairs; nothing without such."""
    groups = _groups(results, experiment, "max_source_tokens", "max_target_tokens")
    if not groups:
        return []
    compared = {name for group in groups for name in group}
    variants = [name for name in ordered_variants(results, experiment) if name in compared]
    tables = read_tables(results, experiment, "lengths", variants[:MAX_VARIANTS])
    names = {"longest": "group", "mean_length": "x"}
    lines = {
        variant: table.rename(columns=names).assign(value=100 * table["bleu"])
        for variant, table in tables.items()
    }
    models = results.comparison.experiments[experiment.key].models
    capped = [name for group in groups for name in group[:-1]]
    caps = sorted({models[name].hyperparameters.max_source_tokens for name in capped})
    caption = say(
        "BLEU against the length of the source, with a cap on the length of training pairs and "
        "without. Upright: the cap, {cap} words.",
        cap=", ".join(map(str, caps)),
    )
    labels = say("words of the source, mean of each group"), "BLEU"

    def finish(axes: Axes) -> None:
        for cap in caps:
            axes.axvline(cap, linestyle=(0, (3, 1.5)), lw=1, color=drawing.SOFT)

    title, sources = say("Trained on short sources alone"), ("caps", "lengths")
    return [_line_figure(results, experiment, sources, title, caption, labels, lines, finish)]


def _line_figure(
    results: Results,
    experiment: Experiment,
    sources: tuple[str, str],
    title: str,
    caption: str,
    labels: tuple[str, str],
    lines: Mapping[str, pd.DataFrame],
    finish: Callable[[Axes], None],
) -> Figure:
    """Return a figure of `x` and `value` by variant; lines go through the means of each `group`."""
    look = looks(results)

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes, ends = figure.subplots(), []
        for variant, table in lines.items():
            style = look[variant].style
            hollow = style | {"linestyle": "none", "markerfacecolor": "none"}
            axes.plot(
                table["x"], table["value"], markersize=3, alpha=0.6, markeredgewidth=0.8, **hollow
            )
            means = table.groupby("group")[["x", "value"]].mean()
            axes.plot(means["x"], means["value"], label=drawing.short_name(variant), **style)
            ends.append(look[variant].end(variant, means["x"], means["value"]))
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        axes.set_ylim(bottom=0)
        finish(axes)
        drawing.label_ends(axes, ends, AXES)

    size = drawing.WIDTH, drawing.HEIGHT
    return make_figure(results, experiment, *sources, title, caption, size, draw, lines)


def _groups(results: Results, experiment: Experiment, name: str, other: str) -> list[list[str]]:
    """Return groups of variants that differ in `name`, the least first, or in `other`, alone."""
    models = results.comparison.experiments[experiment.key].models
    groups: dict[object, list[str]] = {}
    for variant, model in models.items():
        h = model.hyperparameters
        if h.decoder != "concatenate" and not (h.attends and h.score == "location"):
            # of those two the cap is a size of the network
            key = dataclasses.replace(h, **{name: ALL, other: ALL})
            groups.setdefault(key, []).append(variant)

    def value(variant: str) -> float:
        return float(getattr(models[variant].hyperparameters, name))

    differing = [group for group in groups.values() if len({*map(value, group)}) > 1]
    return [sorted(group, key=value) for group in differing]


def first_word(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the gradient at the first word by the source's length: whole, and truncated."""
    models, look = results.models(experiment), looks(results)
    paths = [predicted_path(results, models[variant], "gradients") for variant in variants]
    paths += [results.evaluation_folder(models[variant]) / "lengths.csv" for variant in variants]
    tables, count = {}, 0
    for variant, lengths in read_tables(results, experiment, "lengths", variants).items():
        gradients = read_prediction_table(predicted_path(results, models[variant], "gradients"))
        tables[variant] = gradients_by_length(gradients, np.unique(lengths["longest"]))
        count = max(count, gradients["id"].nunique())
    title = say("Gradient at the first word of the source")
    caption = say(
        "The norm of the gradient of the reference’s log probability with respect to what the "
        "encoder reads at the first word, divided by its mean over all words of the sentence. Of a "
        "recurrent encoder, the part that goes through its forward direction, where the first word "
        "is the furthest from the translation. Right: backpropagation through time is truncated; a "
        "transformer has none. Means over groups of {count} test sentences by length, first seed.",
        count=count,
    )

    arguments = "gradients", "", title, caption, (drawing.WIDTH, drawing.HEIGHT)
    figure = make_figure(
        results, experiment, *arguments, lambda figure: _draw_gradients(figure, tables, look), ()
    )
    return dataclasses.replace(figure, sources=results.sources.add(*paths))


def _draw_gradients(
    figure: matplotlib.figure.Figure, tables: Mapping[str, pd.DataFrame], look: Mapping[str, Look]
) -> None:
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = say("through all steps"), say("truncated to {steps} steps", steps=TRUNCATION)
    drawn: list[list[drawing.LineEnd]] = []
    for number, (axes, title) in enumerate(zip(panels, titles, strict=True)):
        ends = []
        for variant, table in tables.items():
            part = table[(table["truncation"] > 0) == bool(number)]
            # a model without recurrence has no forward direction
            x, y = part["mean_length"], part["forward_relative"].fillna(part["relative"])
            axes.plot(x, y, label=drawing.short_name(variant), **look[variant].style)
            ends += [look[variant].end(variant, x, y)] if len(y) else []
        axes.set_title(textwrap.fill(title, TITLE_LINE))  # no wider than the panel on paper
        axes.set_xlabel(say("words of the source"))
        drawn.append(ends)
    panels[0].set_ylabel(say("gradient, mean word = 1"))
    panels[0].set_ylim(bottom=0)
    named = {end.text for end in drawn[1]}
    drawing.label_ends(panels[0], [end for end in drawn[0] if end.text not in named], GRADIENT_AXES)
    drawing.label_ends(panels[1], drawn[1], GRADIENT_AXES)


def gradients_by_length(table: pd.DataFrame, edges: np.ndarray) -> pd.DataFrame:
    """Return the mean gradient at the first position, relative to the sentence's, by length."""
    first = table[table["position"] == 0]
    longest = np.asarray(edges)[np.searchsorted(edges, first["source_words"].to_numpy())]
    groups = first.assign(longest=longest).groupby(["truncation", "longest"], sort=True)
    return groups.agg(
        sentences=("id", "size"),
        mean_length=("source_words", "mean"),
        relative=("relative", "mean"),
        forward_relative=("forward_relative", "mean"),
    ).reset_index()

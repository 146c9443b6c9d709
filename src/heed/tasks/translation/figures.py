"""Metrics of a translation: links by distance, operations, BLEU by what was read, states."""

import dataclasses
import functools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from heed.evaluation.results import BASELINE
from heed.hyperparameters import CorpusSizes
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import (
    HEIGHT,
    SOFT,
    WIDTH,
    Draw,
    LineEnd,
    colour,
    label_ends,
    legend,
    marker,
    short_name,
)
from heed.report.figures.variants import (
    MAX_VARIANTS,
    Look,
    describe_choice,
    looks,
    make_figure,
    ordered_variants,
    read_tables,
)
from heed.report.formats import format_number
from heed.report.language import say, say_count
from heed.report.results import Results
from heed.speed import multiply_adds
from heed.tasks.translation.metrics import TRUNCATION
from heed.tasks.translation.recipe import Hyperparameters
from heed.tasks.translation.sentences import predicted_path, read_predicted

SIZE = WIDTH, HEIGHT
AXES = 2.0  # inches: the height of the axes of a figure
GRADIENT_AXES = 1.9  # inches: of the gradients
ALL = 1_000_000  # in place of the hyperparameters by which models of one group differ
TITLE_LINE = 14  # characters of a panel's title
GROUPS = 3  # of sentences, by their length, in the planes of states
LENGTHS = np.unique(np.geomspace(5, 200, 40).round())  # tokens of a sentence, of the operations
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def by_distance(results: Results, experiment: Experiment, drawn: Sequence[str]) -> list[Figure]:
    """Return the share of gold links that attention finds, by how far they reach.

    Nothing where the corpus has no gold links, or none of the models that are drawn has attention.
    """
    look = looks(results)
    models = results.comparison.experiments[experiment.key].models
    variants = [name for name in drawn if models[name].hyperparameters.learns_weights]
    folders = [results.evaluation_folder(models[name].model) for name in variants]
    if not folders or not all((folder / "distances.csv").exists() for folder in folders):
        return []
    tables = read_tables(results, experiment, "distances", variants)
    furthest = sorted({int(each) for table in tables.values() for each in table["furthest"]})

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes, ends = figure.subplots(), []
        for variant, table in tables.items():
            places = table["furthest"].map(furthest.index)
            values = 100 * table["found"] / table["links"]
            groups = table.assign(value=values, x=places, longest=places)
            ends.append(_draw_groups(axes, variant, groups, look[variant]))
        axes.set_xticks(range(len(furthest)), _ranges(furthest))
        axes.set_xlabel(say("words between the positions of a linked pair"))
        axes.set_ylabel(say("links found, %"))
        axes.set_ylim(0, 105)
        label_ends(axes, ends, AXES)

    title = say("Alignment by distance")
    caption = say(
        "The share of the sure gold links that a model's attention finds, by how far the "
        "translation moves a word. Points: each seed; line: their mean."
    ) + describe_choice(results, experiment, drawn)
    key = "distances"
    return [make_figure(results, experiment, key, key, title, caption, SIZE, draw, variants)]


def operations(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the multiply-adds of a pair of sentences by its length."""
    models, look = results.comparison.experiments[experiment.key].models, looks(results)

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        ends = [
            _draw_operations(axes, variant, models[variant].hyperparameters, look[variant])
            for variant in variants
        ]
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = [5, 10, 20, 50, 100, 200]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.yaxis.set_major_formatter(
            FuncFormatter(lambda y, _: "10" + str(round(np.log10(y))).translate(SUPERSCRIPTS))
        )
        axes.minorticks_off()
        axes.set_xlabel(say("tokens of source and target, each"))
        axes.set_ylabel(say("multiply-adds"))
        label_ends(axes, ends, AXES)

    title = say("Operations against the length of the source")
    caption = say(
        "Multiply-adds of one pair of sentences, computed from the hyperparameters with full "
        "vocabularies, and not measured. Thin: the part of attention alone, which grows with "
        "the square of the length; all other parts grow with the length, or are constant."
    ) + describe_choice(results, experiment, variants)
    return make_figure(results, experiment, "operations", "", title, caption, SIZE, draw, variants)


def _draw_operations(axes: Axes, variant: str, h: Hyperparameters, look: Look) -> LineEnd:
    """Draw a model's multiply-adds by length, and the part of attention: the quadratic one."""
    vocabularies = CorpusSizes((h.source_vocabulary, h.target_vocabulary))
    once, linear, quadratic = multiply_adds("translation", h, vocabularies)
    values = once + linear * LENGTHS + quadratic * LENGTHS**2
    axes.plot(LENGTHS, values, label=short_name(variant), markevery=8, **look.style)
    if quadratic:
        axes.plot(LENGTHS, quadratic * LENGTHS**2, lw=0.8, color=look.colour, linestyle=look.dash)
    return look.end(variant, LENGTHS, values)


def _draw_groups(axes: Axes, variant: str, table: pd.DataFrame, look: Look) -> LineEnd:
    """Draw `x` and `value` of each row, one a seed, and a line through the means of each `longest`.

    Returns the end of the line, for its label.
    """
    hollow = look.style | {"linestyle": "none", "markerfacecolor": "none", "markeredgewidth": 0.8}
    axes.plot(table["x"], table["value"], markersize=3, alpha=0.6, **hollow)
    means = table.groupby("longest")[["x", "value"]].mean()
    axes.plot(means["x"], means["value"], label=short_name(variant), **look.style)
    return look.end(variant, means["x"], means["value"])


def _ranges(furthest: list[int]) -> list[str]:
    """Return the distances of each group: 0, 1, 2–4."""
    starts = [0, *(each + 1 for each in furthest[:-1])]
    return [
        str(last) if first == last else f"{first}–{last}"
        for first, last in zip(starts, furthest, strict=True)
    ]


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
        axes, ends = figure.subplots(), []
        for group in groups:
            rows = [
                (number, models[name].hyperparameters.training_share, 100 * value)
                for number, name in enumerate(group)
                for value in models[name].summary["bleu"].values
            ]
            table = pd.DataFrame(rows, columns=["longest", "x", "value"])
            ends.append(_draw_groups(axes, group[-1], table, look[group[-1]]))
        shares = sorted({models[name].hyperparameters.training_share for name in variants})
        axes.set_xscale("log")
        axes.set_xticks(shares, [f"{100 * share:g}%" for share in shares])
        axes.minorticks_off()
        _finish(axes, say("share of the training pairs"), ends)

    title = say("BLEU against the number of training pairs")
    caption = say(
        "Models that differ in how many training pairs they read, and so in their steps (their "
        "numbers of epochs may differ too), on the same test split. Points: each seed; line: their "
        "mean."
    )
    return [make_figure(results, experiment, "shares", "", title, caption, SIZE, draw, variants)]


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
            ends.append(_draw_groups(axes, variant, values, look[variant]))
        for cap in caps:
            axes.axvline(cap, linestyle=(0, (3, 1.5)), lw=1, color=SOFT)
        _finish(axes, say("words of the source, mean of each group"), ends)

    title = say("Trained on short sources alone")
    caption = say(
        "BLEU against the length of the source, with a cap on the length of training pairs and "
        "without. Upright: the cap, {cap} words.",
        cap=", ".join(map(str, caps)),
    )
    key = "caps"
    return [make_figure(results, experiment, key, "lengths", title, caption, SIZE, draw, variants)]


def _finish(axes: Axes, label: str, ends: list[LineEnd]) -> None:
    """Label the axes of a figure of BLEU, which begins at 0, and the ends of its lines."""
    axes.set_xlabel(label)
    axes.set_ylabel("BLEU")
    axes.set_ylim(bottom=0)
    label_ends(axes, ends, AXES)


def _groups(results: Results, experiment: Experiment, name: str, *others: str) -> list[list[str]]:
    """Return the variants that differ in the hyperparameter `name`, the least first.

    A group has two or more. They may also differ in `others`, and in nothing else.
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


def sentence_states(results: Results, experiment: Experiment) -> list[Figure]:
    """Return the states of baseline and first attention variant, side by side in planes.

    Nothing where there is neither; where the states of a model have one dimension or are all
    the same; or where all sentences have the same length.
    """
    models, result = results.models(experiment), results.comparison.experiments[experiment.key]
    variants = [name for name in (BASELINE, *result.attention[:1]) if name in models]
    paths = [predicted_path(results, models[name], "states") for name in variants]
    tables = {name: read_predicted(results, models[name], "states") for name in variants}
    states = {name: np.stack(list(table["state"])).astype(float) for name, table in tables.items()}
    # each must have more than one dimension, and vary
    if not states or not all(len(x.T) > 1 and np.ptp(x, axis=0).any() for x in states.values()):
        return []
    groups = _length_groups(next(iter(tables.values())))
    if len(groups) < 2:
        return []

    def draw(figure: matplotlib.figure.Figure) -> None:
        row = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, (variant, table) in zip(row, tables.items(), strict=True):
            _draw_plane(axes, states[variant], table["source_words"], groups)
            axes.set_title(short_name(variant))
        legend(figure, row[0], GROUPS)

    title = say("States of sentences, projected to a plane")
    caption = say(
        "A mark is a test sentence: the state that the decoder starts from (of a transformer, the "
        "mean of the encoder’s states), on the two directions in which the states of the model "
        "vary most. In such planes sentences of like meaning may lie together; here the marks "
        "show the length of the source alone. {count} sentences, chosen by their length, first "
        "seed. What lies apart in a plane is apart in the states. What lies together need not be "
        "alike: the axes say how much of the variance they show. Each plane has axes of its own.",
        count=len(next(iter(tables.values()))),
    )
    return [_predicted_figure(results, experiment, "states", title, caption, paths, 2.9, draw)]


def _predicted_figure(
    results: Results,
    experiment: Experiment,
    key: str,
    title: str,
    caption: str,
    paths: list[Path],
    height: float,
    draw: Draw,
) -> Figure:
    """Return a figure of tables of `heed score`."""
    name, sources = f"{experiment.key}_{key}", results.sources.add(*paths)
    alt_text = drawing.alt_text(experiment, caption)
    size, mark = (WIDTH, height), experiment.mark
    return Figure(name, title, caption, sources, draw, size, alt_text=alt_text, mark=mark)


def project(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return states (sentences, size) on their first two principal components, (sentences, 2).

    And the shares of the variance, (2,). As scikit-learn's PCA does, whose import takes longer than
    the figure: the largest weight of a component is positive.
    """
    centred = states - states.mean(axis=0)
    _, singular, components = np.linalg.svd(centred, full_matrices=False)
    components = components[:2]
    largest = np.abs(components).argmax(axis=1)
    components *= np.sign(components[[0, 1], largest])[:, np.newaxis]
    return centred @ components.T, singular[:2] ** 2 / (singular**2).sum()


def _length_groups(table: pd.DataFrame) -> list[tuple[int, int]]:
    """Return the shortest and the longest sentence of each group; groups have about equal size."""
    words = np.sort(table["source_words"].to_numpy())
    edges = np.unique([part[-1] for part in np.array_split(words, GROUPS) if len(part)])
    parts = np.split(words, np.searchsorted(words, edges, side="right")[:-1])
    return [(int(part[0]), int(part[-1])) for part in parts]


def _draw_plane(
    axes: Axes, states: np.ndarray, words: pd.Series, groups: list[tuple[int, int]]
) -> None:
    """Draw the states on their first two principal components, by group."""
    points, shares = project(states)
    for series, (shortest, longest) in enumerate(groups):
        part = points[words.between(shortest, longest)]
        axes.plot(
            *part.T,
            linestyle="none",
            marker=marker(series),
            markersize=3.5,
            alpha=0.7,
            color=colour(series),
            label=_label(shortest, longest),
        )
    first, second = (format_number(100 * share, 0) for share in shares)
    axes.set_xlabel(say("first direction, {share}%", share=first))
    axes.set_ylabel(say("second direction, {share}%", share=second))
    axes.set_aspect("equal", adjustable="datalim")
    axes.tick_params(labelleft=False, labelbottom=False, length=0)


def _label(shortest: int, longest: int) -> str:
    if shortest == longest:
        return say_count("{count} word", "{count} words", shortest)
    return say("{length} words", length=f"{shortest}–{longest}")


def first_word(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the gradient at the first word by the source's length: whole, and truncated.

    Of a recurrent encoder it is that of the forward direction.
    """
    models = results.models(experiment)
    paths = [predicted_path(results, models[variant], "gradients") for variant in variants]
    lengths = [results.evaluation_folder(models[variant]) / "lengths.csv" for variant in variants]
    gradients = {name: read_predicted(results, models[name], "gradients") for name in variants}
    edges = {
        name: np.unique(table["longest"].to_numpy())  # the longest source of each group
        for name, table in read_tables(results, experiment, "lengths", variants).items()
    }
    tables = {name: gradients_by_length(gradients[name], edges[name]) for name in variants}
    title = say("Gradient at the first word of the source")
    caption = say(
        "The norm of the gradient of the reference’s log probability with respect to what the "
        "encoder reads at the first word, divided by its mean over all words of the sentence. Of a "
        "recurrent encoder, the part that goes through its forward direction, where the first word "
        "is the furthest from the translation. Right: backpropagation through time is truncated; a "
        "transformer has none. Means over groups of {count} test sentences by length, first seed.",
        count=max(table["id"].nunique() for table in gradients.values()),
    )
    draw = functools.partial(_draw_gradients, tables=tables, look=looks(results))
    paths, key = [*paths, *lengths], "gradients"
    return _predicted_figure(results, experiment, key, title, caption, paths, HEIGHT, draw)


def _draw_gradients(
    figure: matplotlib.figure.Figure, tables: Mapping[str, pd.DataFrame], look: Mapping[str, Look]
) -> None:
    whole, truncated = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = say("through all steps"), say("truncated to {steps} steps", steps=TRUNCATION)
    ends: list[list[LineEnd]] = [[], []]
    for variant, table in tables.items():
        # a model without recurrence has no forward direction
        values = table["forward_relative"].fillna(table["relative"])
        for number, axes in enumerate((whole, truncated)):
            part = (table["truncation"] > 0) == bool(number)
            x, y = table["mean_length"][part], values[part]
            axes.plot(x, y, label=short_name(variant), **look[variant].style)
            ends[number] += [look[variant].end(variant, x, y)] if len(y) else []
    for axes, title in zip((whole, truncated), titles, strict=True):
        axes.set_title(textwrap.fill(title, TITLE_LINE))  # no wider than the panel on paper
        axes.set_xlabel(say("words of the source"))
    whole.set_ylabel(say("gradient, mean word = 1"))
    whole.set_ylim(bottom=0)
    named = {end.text for end in ends[1]}
    label_ends(whole, [end for end in ends[0] if end.text not in named], GRADIENT_AXES)
    label_ends(truncated, ends[1], GRADIENT_AXES)


def gradients_by_length(table: pd.DataFrame, edges: np.ndarray) -> pd.DataFrame:
    """Return how much gradient reaches the first position, by the length of the source.

    `truncation, longest, sentences, mean_length, relative, forward_relative`: the last two are
    means over the sentences of a group, of their first position's. 1 is as much as reaches the mean
    position of the sentence.

    `edges` are the largest length of each group, ascending; no sentence is longer than the last.
    """
    first = table[table["position"] == 0]
    longest = np.asarray(edges)[np.searchsorted(edges, first["source_words"].to_numpy())]
    groups = first.assign(longest=longest).groupby(["truncation", "longest"], sort=True)
    return groups.agg(
        sentences=("id", "size"),
        mean_length=("source_words", "mean"),
        relative=("relative", "mean"),
        forward_relative=("forward_relative", "mean"),
    ).reset_index()

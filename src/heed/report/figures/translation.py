"""Figures of a translation: BLEU by length, curves, alignments, links by distance, operations."""

import itertools
from collections.abc import Iterable

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path as Path_
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.transforms import Affine2D

from heed.evaluation.families import BASELINE
from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import (
    SERIES,
    WIDTH,
    Draw,
    Style,
    colour,
    legend,
    marker,
    short_name,
)
from heed.report.language import say
from heed.report.results import Results, read_table
from heed.report.sentences import Sentence, sentence_sources
from heed.tasks.translation.cost import multiply_adds, of_pair
from heed.tasks.translation.recipe import Hyperparameters

MAX_SERIES = 5  # in a figure
SHADES = 20  # steps of a weight's shade
CELL, LETTER = 0.17, 0.062  # inches: a pair of words in a heat map, a letter of a label
LENGTHS = np.unique(np.geomspace(5, 200, 40).round())  # tokens of a sentence, of the operations
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
Tables = dict[str, pd.DataFrame]


def ordered_variants(results: Results, experiment: Experiment) -> list[str]:
    """Return the models in the order of the figures: baseline, those of the question, others."""
    result = results.comparison.experiments[experiment.key]
    order = [BASELINE, *result.attention, *result.models]
    return [name for name in dict.fromkeys(order) if name in result.models]


def compared_variants(results: Results, experiment: Experiment) -> list[str]:
    """Return the models of the figures that compare all: the first five at most."""
    return ordered_variants(results, experiment)[:MAX_SERIES]


def compared_series(results: Results, experiment: Experiment) -> dict[str, int]:
    """Return the series of each of these models: the same in every figure."""
    variants = compared_variants(results, experiment)
    series = series_of(variants)
    return {variant: series[variant] for variant in variants}


def by_length(results: Results, experiment: Experiment) -> Figure:
    """Return BLEU against the length of the source: the bottleneck of one vector."""
    variants = compared_variants(results, experiment)
    tables = read_tables(results, experiment, "lengths", variants)

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for variant, table in tables.items():
            values = table.assign(value=100 * table["bleu"], x=table["mean_length"])
            draw_groups(axes, variant, values, series_of(variants)[variant])
        axes.set_xlabel(say("words of the source, mean of each group"))
        axes.set_ylabel("BLEU")
        axes.set_ylim(bottom=0)
        legend(figure, axes, 3)

    return make_figure(
        results,
        experiment,
        "lengths",
        "lengths",
        say("BLEU against the length of the source"),
        say(
            "The test sentences in groups of about equal size, from the shortest to the longest. "
            "Points: each seed; line: their mean. A model without attention has to keep the whole "
            "source in one vector, whatever its length."
        )
        + left_out(results, experiment, variants),
        (WIDTH, 2.9),
        draw,
        variants,
    )


def curves(results: Results, experiment: Experiment) -> Figure:
    """Return loss and BLEU by epoch: a line for each seed, a row of axes for each model."""
    variants = compared_variants(results, experiment)
    tables = read_tables(results, experiment, "history", variants)
    seeds = sorted({seed for table in tables.values() for seed in table["seed"]})

    def draw(figure: matplotlib.figure.Figure) -> None:
        grid = figure.subplots(len(tables), 2, squeeze=False, sharex=True, sharey="col")
        for row, (variant, table) in zip(grid, tables.items(), strict=True):
            for index, seed in enumerate(seeds):
                _draw_curve(row, table[table["seed"] == seed], index, say("seed {seed}", seed=seed))
            row[0].set_title(say("{name}: loss", name=short_name(variant)))
            row[1].set_title(f"{short_name(variant)}: BLEU")
        for axes in grid[-1]:
            axes.set_xlabel(say("epoch"))
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        legend(figure, grid[0][1], len(seeds))

    return make_figure(
        results,
        experiment,
        "curves",
        "history",
        say("Training and validation by epoch"),
        say(
            "One line for each seed. Loss of a token: dashed on the training part, solid on the "
            "validation part. BLEU: on the validation part, translated greedily. All models on the "
            "same scales."
        )
        + left_out(results, experiment, variants),
        (WIDTH, 0.5 + 1.35 * len(tables)),
        draw,
        variants,
    )


def _draw_curve(row: Iterable[Axes], history: pd.DataFrame, series: int, label: str) -> None:
    """Draw one seed's loss and BLEU on a row of axes."""
    loss, bleu = row
    style: Style = {"color": colour(series), "marker": marker(series), "markersize": 2.5}
    last: Style = {"markevery": [-1]}
    dashed: Style = {"linestyle": (0, (3, 1.5)), "lw": 1}
    loss.plot(history["epoch"], history["train_loss"], **dashed, **style, **last)
    loss.plot(history["epoch"], history["validation_loss"], **style, **last)
    bleu.plot(history["epoch"], 100 * history["validation_bleu"], label=label, **style, **last)


def by_distance(results: Results, experiment: Experiment) -> list[Figure]:
    """Return the share of gold links that attention finds, by how far they reach.

    Nothing where the corpus has no gold links, or no model has attention.
    """
    compared = compared_variants(results, experiment)
    series = series_of(compared)
    variants = [name for name in compared if _attends(results, experiment, name)]
    models = results.models(experiment)
    folders = [results.evaluation_folder(models[name]) for name in variants]
    if not folders or not all((folder / "distances.csv").exists() for folder in folders):
        return []
    tables = read_tables(results, experiment, "distances", variants)
    furthest = sorted({int(each) for table in tables.values() for each in table["furthest"]})

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for variant, table in tables.items():
            places = table["furthest"].map(furthest.index)
            values = table.assign(value=100 * table["found"] / table["links"], x=places)
            draw_groups(axes, variant, values.assign(longest=places), series[variant])
        axes.set_xticks(range(len(furthest)), _ranges(furthest))
        axes.set_xlabel(say("words between the positions of a linked pair"))
        axes.set_ylabel(say("links found, %"))
        axes.set_ylim(0, 105)
        legend(figure, axes, 3)

    figure = make_figure(
        results,
        experiment,
        "distances",
        "distances",
        say("Alignment by distance"),
        say(
            "The share of the sure gold links that a model's attention finds, by how far the "
            "translation moves a word. Points: each seed; line: their mean."
        ),
        (WIDTH, 2.7),
        draw,
        variants,
    )
    return [figure]


def operations(results: Results, experiment: Experiment) -> Figure:
    """Return the multiply-adds of a pair of sentences by its length, as cost.py computes them."""
    variants = compared_variants(results, experiment)
    models, series = results.comparison.experiments[experiment.key].models, series_of(variants)

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes = figure.subplots()
        for variant in variants:
            _draw_operations(axes, variant, models[variant].hyperparameters, series[variant])
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = [5, 10, 20, 50, 100, 200]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.yaxis.set_major_formatter(FuncFormatter(_power_of_ten))
        axes.minorticks_off()
        axes.set_xlabel(say("tokens of source and target, each"))
        axes.set_ylabel(say("multiply-adds"))
        legend(figure, axes, 3)

    return make_figure(
        results,
        experiment,
        "operations",
        "",
        say("Operations against the length of the source"),
        say(
            "Multiply-adds of one pair of sentences, computed from the hyperparameters with full "
            "vocabularies, and not measured. Dashed: the part of attention alone, which grows with "
            "the square of the length; all other parts grow with the length."
        ),
        (WIDTH, 2.9),
        draw,
        variants,
    )


def _draw_operations(axes: Axes, variant: str, h: Hyperparameters, series: int) -> None:
    """Draw a model's multiply-adds by length, and the part of attention: the quadratic one."""
    quadratic = of_pair(h)
    values = [multiply_adds(h, float(length)) for length in LENGTHS]
    style: Style = {"color": colour(series)}
    label: Style = {"label": short_name(variant), "marker": marker(series), "markevery": 8}
    axes.plot(LENGTHS, values, **label, **style)
    if quadratic:
        axes.plot(LENGTHS, quadratic * LENGTHS**2, linestyle=(0, (3, 1.5)), lw=1, **style)


def _power_of_ten(value: float, _: int | None = None) -> str:
    """Return a tick of a logarithmic axis, such as 10⁷."""
    return "10" + str(round(np.log10(value))).translate(SUPERSCRIPTS)


def alignments(
    results: Results, experiment: Experiment, sentences: list[Sentence]
) -> tuple[Figure, ...]:
    """Return a heat map of each sentence: the weights of two models side by side, with gold links.

    The models are the first of the study's question that has weights, and the next that has any.
    """
    result = results.comparison.experiments[experiment.key]
    order = dict.fromkeys([*result.attention, *result.models])
    names = [name for name in order if any(name in each.weights for each in sentences)][:2]
    if not names:
        return ()
    return tuple(
        _alignment(results, experiment, sentence, names, number)
        for number, sentence in enumerate(sentences, 1)
    )


def _alignment(
    results: Results, experiment: Experiment, sentence: Sentence, names: list[str], number: int
) -> Figure:
    title = say("Attention in sentence {number}", number=number)
    caption = say(
        "{source} words of the source, {reference} of the reference.",
        source=len(sentence.source_words),
        reference=len(sentence.reference_words),
    )
    rows, columns = len(sentence.reference_words), len(sentence.source_words)
    labels, heads = (
        LETTER * max(map(len, map(short_name, words)), default=0)
        for words in (sentence.reference_words, sentence.source_words)
    )
    width = len(names) * (columns * CELL + 0.25) + labels + 0.2
    text = say(
        "Source: {source} Reference: {reference}",
        source=sentence.source,
        reference=sentence.reference,
    )
    return Figure(
        f"{experiment.key}_alignment-{number}",
        title,
        caption,
        sentence_sources(results, experiment, "weights"),
        lambda figure: _draw_alignment(figure, sentence, names),
        (max(width, WIDTH), rows * CELL + heads + 0.6),
        subject=" / ".join(names),
        alt_text=drawing.alt_text(experiment, f"{title}. {caption} {text}"),
        mark=experiment.mark,
        wide=width > WIDTH,
    )


def _draw_alignment(figure: matplotlib.figure.Figure, sentence: Sentence, names: list[str]) -> None:
    grid = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    rows, columns = len(sentence.reference_words), len(sentence.source_words)
    for axes, name in zip(grid, names, strict=True):
        if name in sentence.weights:
            _draw_weights(axes, sentence.weights[name])
        _outline_gold(axes, sentence)
        axes.set_xlabel(short_name(name))
        axes.set_xticks(range(columns), map(short_name, sentence.source_words), rotation=90)
        axes.set_yticks(range(rows), map(short_name, sentence.reference_words))
        axes.xaxis.tick_top()
        axes.set_xlim(-0.5, columns - 0.5)
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_aspect("equal")
        axes.grid(visible=False)
        axes.tick_params(length=0, labelsize=7)


def _draw_weights(axes: Axes, weights: np.ndarray) -> None:
    """Draw a square for each weight; one path for each shade keeps the file small."""
    shades = np.rint(SHADES * weights).astype(int)
    for shade in np.unique(shades[shades > 0]):
        squares = [
            Path_.unit_rectangle().transformed(Affine2D().translate(column - 0.5, row - 0.5))
            for row, column in np.argwhere(shades == shade)
        ]
        path = Path_.make_compound_path(*squares)
        axes.add_patch(PathPatch(path, facecolor=SERIES[0], alpha=min(shade / SHADES, 1), lw=0))


def _outline_gold(axes: Axes, sentence: Sentence) -> None:
    sure, possible = sentence.gold or (set(), set())
    for link in sorted(sure | possible):
        i, j = link
        style: Style = {"fill": False, "edgecolor": SERIES[1], "lw": 1.1}
        style["linestyle"] = "solid" if link in sure else (0, (1.5, 1))
        axes.add_patch(Rectangle((i - 0.42, j - 0.42), 0.84, 0.84, **style))


def draw_groups(axes: Axes, variant: str, table: pd.DataFrame, series: int) -> None:
    """Draw the `value` of each group at its `x`: a point for each seed, a line for their mean."""
    style: Style = {"color": colour(series), "marker": marker(series)}
    axes.plot(
        table["x"], table["value"], linestyle="none", markersize=3, alpha=0.6, **_hollow(style)
    )
    groups = table.groupby("longest")
    x, mean = groups["x"].mean(), groups["value"].mean()
    axes.plot(x, mean, label=short_name(variant), **style)


def _hollow(style: Style) -> Style:
    return style | {"markerfacecolor": "none", "markeredgewidth": 0.8}


def _ranges(furthest: list[int]) -> list[str]:
    """Return the distances of each group: 0, 1, 2–4."""
    starts = [0, *(each + 1 for each in furthest[:-1])]
    return [
        str(last) if first == last else f"{first}–{last}"
        for first, last in zip(starts, furthest, strict=True)
    ]


def _attends(results: Results, experiment: Experiment, variant: str) -> bool:
    models = results.comparison.experiments[experiment.key].models
    return bool(models[variant].hyperparameters.attends)


def left_out(results: Results, experiment: Experiment, variants: list[str]) -> str:
    """Return which models a figure or a table leaves out; empty where it has all."""
    others = [name for name in results.models(experiment) if name not in variants]
    if not others:
        return ""
    return " " + say("Not shown: {names}.", names=", ".join(others))


def series_of(variants: list[str]) -> dict[str, int]:
    """Return the series of each variant: the baseline is the second in every figure."""
    others = [name for name in variants if name != BASELINE]
    numbers = itertools.chain([0], itertools.count(2))
    return {BASELINE: 1} | dict(zip(others, numbers, strict=False))


def read_tables(results: Results, experiment: Experiment, name: str, variants: list[str]) -> Tables:
    """Return a table of `heed evaluate` by variant."""
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
    draw: Draw,
    variants: list[str],
) -> Figure:
    """Return a figure of a table of these variants; without a table, of the comparison."""
    models = results.models(experiment)
    folders = [results.evaluation_folder(models[each]) for each in variants]
    sources = (
        results.sources.add(*(folder / f"{table}.csv" for folder in folders))
        if table
        else results.comparison_sources
    )
    text = drawing.alt_text(experiment, f"{title}. {caption}")
    name = f"{experiment.key}_{key}"
    return Figure(name, title, caption, sources, draw, size, alt_text=text, mark=experiment.mark)

"""Figures of a translation: alignments, links by distance, operations."""

import dataclasses
from collections.abc import Sequence

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path as Path_
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import Affine2D

from heed.report.blocks import Figure
from heed.report.experiments import Experiment
from heed.report.figures import drawing
from heed.report.figures.drawing import (
    HEIGHT,
    MAX_HEIGHT,
    SERIES,
    WIDE,
    WIDTH,
    LineEnd,
    Style,
    label_ends,
    short_name,
)
from heed.report.figures.variants import Look, describe_choice, looks, make_figure, read_tables
from heed.report.language import say
from heed.report.results import Results
from heed.report.sentences import Sentence, sentence_sources
from heed.tasks.translation.cost import multiply_adds, of_pair
from heed.tasks.translation.recipe import Hyperparameters

AXES = 2.0  # inches: the height of the axes of a figure
SHADES = 20  # steps of a weight's shade
CELL, LETTER = 0.17, 0.062  # inches: a pair of words in a heat map, a letter of a label
LENGTHS = np.unique(np.geomspace(5, 200, 40).round())  # tokens of a sentence, of the operations
SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def by_distance(results: Results, experiment: Experiment, drawn: Sequence[str]) -> list[Figure]:
    """Return the share of gold links that attention finds, by how far they reach.

    Nothing where the corpus has no gold links, or none of the models that are drawn has attention.
    """
    look = looks(results)
    variants = [name for name in drawn if _attends(results, experiment, name)]
    models = results.models(experiment)
    folders = [results.evaluation_folder(models[name]) for name in variants]
    if not folders or not all((folder / "distances.csv").exists() for folder in folders):
        return []
    tables = read_tables(results, experiment, "distances", variants)
    furthest = sorted({int(each) for table in tables.values() for each in table["furthest"]})

    def draw(figure: matplotlib.figure.Figure) -> None:
        axes, ends = figure.subplots(), []
        for variant, table in tables.items():
            places = table["furthest"].map(furthest.index)
            values = table.assign(value=100 * table["found"] / table["links"], x=places)
            ends.append(draw_groups(axes, variant, values.assign(longest=places), look[variant]))
        axes.set_xticks(range(len(furthest)), _ranges(furthest))
        axes.set_xlabel(say("words between the positions of a linked pair"))
        axes.set_ylabel(say("links found, %"))
        axes.set_ylim(0, 105)
        label_ends(axes, ends, AXES)

    figure = make_figure(
        results,
        experiment,
        "distances",
        "distances",
        say("Alignment by distance"),
        say(
            "The share of the sure gold links that a model's attention finds, by how far the "
            "translation moves a word. Points: each seed; line: their mean."
        )
        + describe_choice(results, experiment, drawn),
        (WIDTH, HEIGHT),
        draw,
        variants,
    )
    return [figure]


def operations(results: Results, experiment: Experiment, variants: Sequence[str]) -> Figure:
    """Return the multiply-adds of a pair of sentences by its length, as cost.py computes them."""
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
        axes.yaxis.set_major_formatter(FuncFormatter(_power_of_ten))
        axes.minorticks_off()
        axes.set_xlabel(say("tokens of source and target, each"))
        axes.set_ylabel(say("multiply-adds"))
        label_ends(axes, ends, AXES)

    return make_figure(
        results,
        experiment,
        "operations",
        "",
        say("Operations against the length of the source"),
        say(
            "Multiply-adds of one pair of sentences, computed from the hyperparameters with full "
            "vocabularies, and not measured. Thin: the part of attention alone, which grows with "
            "the square of the length; all other parts grow with the length, or are constant."
        )
        + describe_choice(results, experiment, variants),
        (WIDTH, HEIGHT),
        draw,
        variants,
    )


def _draw_operations(axes: Axes, variant: str, h: Hyperparameters, look: Look) -> LineEnd:
    """Draw a model's multiply-adds by length, and the part of attention: the quadratic one."""
    quadratic = of_pair(h)
    values = [multiply_adds(h, float(length)) for length in LENGTHS]
    axes.plot(LENGTHS, values, label=short_name(variant), markevery=8, **look.style)
    if quadratic:
        axes.plot(LENGTHS, quadratic * LENGTHS**2, lw=0.8, color=look.colour, linestyle=look.dash)
    return look.end(variant, LENGTHS, values)


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
    layout = _layout(sentence, len(names))
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
        lambda figure: _draw_alignment(figure, sentence, names, layout),
        layout.size,
        subject=" / ".join(names),
        alt_text=drawing.alt_text(experiment, f"{caption} {text}"),
        mark=experiment.mark,
        wide=layout.size[0] > WIDTH,
    )


@dataclasses.dataclass(frozen=True)
class Layout:
    """The size of a figure, how many heat maps stand side by side, and the inches of a cell."""

    size: tuple[float, float]
    columns: int
    cell: float


def _layout(sentence: Sentence, count: int) -> Layout:
    """Return the layout of so many heat maps: side by side or stacked, with the larger cells."""
    rows, columns = len(sentence.reference_words), len(sentence.source_words)
    labels, heads = (
        LETTER * max(map(len, map(short_name, words)), default=0)
        for words in (sentence.reference_words, sentence.source_words)
    )
    layouts = []
    for across in {count, 1}:
        down = count // across
        width = (WIDE - labels - 0.2 - 0.25 * across) / (across * columns)
        height = ((MAX_HEIGHT - 0.2) / down - heads - 0.4) / rows
        cell = min(CELL, width, height)
        size = (
            max(across * (columns * cell + 0.25) + labels + 0.2, WIDTH),
            down * (rows * cell + heads + 0.4) + 0.2,
        )
        layouts.append(Layout(size, across, cell))
    return max(layouts, key=lambda each: (each.cell, each.columns))


def _draw_alignment(
    figure: matplotlib.figure.Figure, sentence: Sentence, names: list[str], layout: Layout
) -> None:
    shape = len(names) // layout.columns, layout.columns
    grid = figure.subplots(*shape, squeeze=False, sharey=True).flat
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
        axes.tick_params(length=0, labelsize=max(4, min(7, 44 * layout.cell)))


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


def draw_groups(axes: Axes, variant: str, table: pd.DataFrame, look: Look) -> LineEnd:
    """Draw the `value` of each group at its `x`: a point for each seed, a line for their mean.

    Returns the end of the line, for its label.
    """
    style = look.style
    points = _hollow(style | {"linestyle": "none"})
    axes.plot(table["x"], table["value"], markersize=3, alpha=0.6, **points)
    groups = table.groupby("longest")
    x, mean = groups["x"].mean(), groups["value"].mean()
    axes.plot(x, mean, label=short_name(variant), **style)
    return look.end(variant, x, mean)


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
    return bool(models[variant].hyperparameters.learns_weights)

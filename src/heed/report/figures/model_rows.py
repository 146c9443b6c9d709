"""The figures of lecture 002's tests of weights: a row for each explained model.

A mark is the mean over seeds. The criticism in the captions is by others; docs/explanation.md has
their arguments.
"""

import dataclasses
import textwrap
from collections.abc import Iterable, Mapping, Sequence

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from heed.explanation.adversarial_attention import AdversarialTest
from heed.explanation.test import Axis, Series, WeightsTest
from heed.report.blocks import Figure, Source
from heed.report.explanations import (
    AdversarialAttention,
    Explanation,
    Size,
    range_of,
    say_text,
    size,
)
from heed.report.figures.drawing import (
    GROUND,
    INK,
    MAX_HEIGHT,
    SOFT,
    WIDE,
    WIDTH,
    Style,
    colour,
    legend,
    marker,
    short_name,
)
from heed.report.formats import format_count
from heed.report.language import say, say_count
from heed.report.published import PaperScore, PaperSentence
from heed.report.results import Results

# inches: a row at least, a series in it, the title of an experiment, a row of the legend, the rest
ROW, MARK, HEADING, LEGEND, FRAME = 0.3, 0.06, 0.2, 0.16, 0.85
MAX_SERIES = 4  # in a row: with more, each series has a panel, so many side by side
COLUMNS, DENSE_ROW, TITLE, TITLE_LINE = 6, 0.17, 0.45, 13  # panels, inches, inches, characters
MAX_HEADING = 44  # characters
HEADING_STYLE: Style = {
    "va": "center", "fontsize": 8, "fontweight": "bold", "color": INK, "zorder": 3,
    "in_layout": False,  # it may be wider than its panel
    "bbox": {"facecolor": GROUND, "edgecolor": "none", "pad": 1},  # no line goes through it
}  # fmt: skip
SPREAD = 0.62  # of a row's height, over which its series are spread


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of a figure: the values of each series, one for each seed."""

    name: str
    heading: str  # printed above the first row that has it
    values: Mapping[str, list[float]]
    paper: str = ""  # that prints it: its marks are hollow; empty for a model of the study


@dataclasses.dataclass(frozen=True)
class Panel:
    """Rows on one axis; `limit` is a dotted line; `title` stands above it."""

    lines: list[Line]
    label: str
    ends: tuple[float, float] | None = None
    limit: float | None = None
    title: str = ""


def figure_of_test(results: Results, test: WeightsTest) -> list[Figure]:
    """Return the figure of a test, nothing where no model has it.

    All panels have the same rows and series.
    """
    panels = [
        Panel(_test_lines(results, test, axis), say(axis.label), axis.ends, axis.limit)
        for axis in test.axes
    ]
    lines = [line for line in panels[0].lines if any(line.values.values())]
    if not lines:
        return []
    claim, caption = say(test.claim), say(test.caption)
    if any(line.paper for line in panels[0].lines):
        hollow = say("Hollow: what Jain & Wallace 2019 print of the same corpus.")
        caption = f"{caption} {hollow} {cut_text(results, test.name)}"
    keys = {(line.name, line.heading) for line in lines}
    kept = [
        dataclasses.replace(
            panel, lines=[each for each in panel.lines if (each.name, each.heading) in keys]
        )
        for panel in panels
    ]
    if len(_series(kept[0].lines)) > MAX_SERIES:
        kept = _panel_for_each_series(kept)
    dense = bool(kept[0].title)
    sources, sizes = _measured(results, test)
    caption, drawn = f"{caption} {sizes}", {line.paper for line in lines}
    for sentence in sentences(results, test.name):
        caption += "" if sentence.paper in drawn else f" {quote(sentence)}"
    return [
        Figure(
            f"explanation_{test.name.replace('_', '-')}",
            say(test.title),
            caption,
            sources,
            lambda figure: _draw(figure, kept),
            (WIDE if dense else WIDTH, _height(kept)),
            alt_text=f"{claim} {caption}",
            mark=common_mark(results),
            claim=claim,
            wide=dense,
            in_rows=True,
        )
    ]


def _measured(results: Results, test: WeightsTest) -> tuple[tuple[Source, ...], str]:
    """Return the sources of a test, and the text on its seeds and documents."""
    measures = (*test.printed,) or tuple(axis.measure for axis in test.axes)
    if not test.rows:
        tests = [(test.name, measure) for measure in measures]
        return (results.explanation_source,), sizes_text(results, tests)
    adversarial_attention = [each for _, each in trained(results)]
    sources = results.sources.add(*(each.folder / "summary.csv" for each in adversarial_attention))
    return sources, size_text(
        size(each.summary, test.rows, measures) for each in adversarial_attention
    )


def trained(results: Results) -> list[tuple[Explanation, AdversarialAttention]]:
    """Return the trained adversarial models, each with its model."""
    return [
        (each, adversarial_model)
        for each in results.explanations
        for adversarial_model in each.adversarial_attention
    ]


def _series(lines: Iterable[Line]) -> list[str]:
    """Return the names of the series of these rows."""
    return list(dict.fromkeys(name for line in lines for name in line.values))


def _panel_for_each_series(panels: Sequence[Panel]) -> list[Panel]:
    """Return a panel for each series, whose series are the panels that there were."""
    first, several = panels[0], len(panels) > 1
    lines = [*zip(*(panel.lines for panel in panels), strict=True)]

    def values(of_panels: tuple[Line, ...], name: str) -> dict[str, list[float]]:
        pairs = zip(panels, of_panels, strict=True)
        return {each.label if several else "": line.values.get(name, []) for each, line in pairs}

    return [
        Panel(
            [dataclasses.replace(each[0], values=values(each, name)) for each in lines],
            "" if several else first.label,
            first.ends,
            first.limit,
            title=name,
        )
        for name in _series(first.lines)
    ]


def _across(panels: int) -> int:
    """Return how many of the panels with a series each stand side by side, in rows alike."""
    rows = -(-panels // COLUMNS)
    return -(-panels // rows)


def _height(panels: Sequence[Panel]) -> float:
    """Return the inches of a figure with these panels."""
    lines = panels[0].lines
    series = _series(lines)
    headings = len({line.heading for line in lines} - {""})
    if panels[0].title:
        grid_rows = -(-len(panels) // _across(len(panels)))
        height = TITLE + DENSE_ROW * len(lines) + HEADING * headings
        return min(FRAME + LEGEND + grid_rows * height, MAX_HEIGHT)
    legend_rows = -(-len(series) // legend_columns(series))
    row = max(ROW, MARK * len(series))
    height = FRAME + LEGEND * legend_rows + row * (len(lines) + headings * HEADING / ROW)
    return min(height, MAX_HEIGHT)


def heading(results: Results, explanation: Explanation) -> str:
    """Return the title of the model's experiment where there are several, with its own mark."""
    if len({each.experiment.key for each in results.explanations}) == 1:
        return ""
    experiment = explanation.experiment
    mark = "" if common_mark(results) else experiment.mark
    return experiment.title + (f" ({mark})" if mark else "")


def common_mark(results: Results) -> str:
    """Return the mark that all explained models have, or nothing."""
    marks = {each.experiment.mark for each in results.explanations}
    return marks.pop() if len(marks) == 1 else ""


def sizes_text(results: Results, tests: Iterable[tuple[str, str]]) -> str:
    """Return how many seeds and documents the means of tests (test, measure) are of.

    Of the seeds of translators, the number of steps is counted.
    """
    documents: list[Size] = []
    steps: list[Size] = []
    for each in results.explanations:
        for test, measure in tests:
            counted = steps if each.counts_steps(test) else documents
            counted.append(each.size(test, (measure,)))
    texts = [size_text(documents)] if any(seeds for seeds, *_ in documents) else []
    if known := [each for each in steps if each[0]]:
        text = say_count(
            "Of translators: {count} seed, {steps} steps for each.",
            "Of translators: {count} seeds, {steps} steps for each.",
            max(seeds for seeds, *_ in known),
            steps=_counts(known),
        )
        texts.append(text)
    return " ".join(texts)


def size_text(sizes: Iterable[Size]) -> str:
    """Return how many seeds and documents the means are of, from those of each model."""
    known = [each for each in sizes if each[0]]
    return say_count(
        "{count} seed, {documents} documents for each.",
        "{count} seeds, {documents} documents for each.",
        max((seeds for seeds, *_ in known), default=0),
        documents=_counts(known),
    )


def _counts(sizes: Iterable[Size]) -> str:
    """Return the fewest and the most documents."""
    return range_of([count for _, *ends in sizes for count in ends] or [0], format_count)


def printed(results: Results, explanation: Explanation, test: str) -> list[PaperScore]:
    """Return the scores that papers print of a test on the corpus of an experiment, if complete."""
    statistics = explanation.experiment.result.corpus.statistics
    return [
        each
        for each in results.papers.scores
        if each.test == test and each.corpus == statistics.kind and not statistics.reduced
    ]


def cut_text(results: Results, test: str) -> str:
    """Return how much of a text those models read that stand beside papers' figures of a test."""
    read, lengths = [], []
    for each in results.explanations:
        if not printed(results, each, test):
            continue
        result = each.experiment.result
        read.append(result.models[each.variant].hyperparameters.max_tokens)
        lengths.append(round(result.corpus.statistics.tokens / result.corpus.statistics.documents))
    return say(
        "Ours read at most {tokens} tokens of a text; the mean length is {length}.",
        tokens=range_of(read, format_count),
        length=range_of(lengths, format_count),
    )


def sentences(results: Results, test: str) -> list[PaperSentence]:
    """Return the sentences of papers on a test."""
    return [each for each in results.papers.sentences if each.test == test]


def quote(sentence: PaperSentence) -> str:
    """Return a sentence with its paper."""
    return f"“{sentence.sentence}” ({sentence.paper})."


def _draw(figure: matplotlib.figure.Figure, panels: Sequence[Panel]) -> None:
    series, dense = _series(panels[0].lines), bool(panels[0].title)
    columns = _across(len(panels)) if dense else len(panels)
    rows = -(-len(panels) // columns)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True, sharex=dense)
    for number, (axes, panel) in enumerate(zip(grid.flat, panels, strict=False)):
        axes.set_zorder(0 if number % columns else 1)  # its headings may be wider than itself
        _draw_panel(axes, panel, series, with_headings=not number % columns)
        axes.xaxis.set_major_locator(MaxNLocator(5 if len(panels) == 1 else 3))
        if dense:
            axes.set_title(textwrap.fill(panel.title, TITLE_LINE), fontsize=8)
            axes.set_xlabel("")
            axes.tick_params(labelsize=7, labelbottom=number + columns >= len(panels))
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    if dense:
        figure.supxlabel(panels[0].label, fontsize=9, color=SOFT)
    if series != [""]:
        legend(figure, grid[0][0], legend_columns(series))


def legend_columns(series: list[str]) -> int:
    """Return the columns of the legend."""
    longest = max(map(len, series), default=0)
    return 3 if longest <= 16 else 2 if longest <= 28 else 1


def _draw_panel(axes: Axes, panel: Panel, series: list[str], with_headings: bool) -> None:
    """Draw the rows from the top, each after the title of its experiment where it is new."""
    y, last, names = 0.0, "", []
    across = axes.get_yaxis_transform()
    step = SPREAD / max(1, len(series))
    for line in panel.lines:
        if line.heading != last:
            if with_headings:
                axes.text(
                    0.01,
                    y,
                    short_name(line.heading, MAX_HEADING),
                    transform=across,
                    **HEADING_STYLE,
                )
            y, last = y + HEADING / ROW, line.heading
        for number, name in enumerate(series):
            shift = step * (number - (len(series) - 1) / 2)
            _draw_values(axes, y + shift + 0.1, line, name, number)
        names.append((y + 0.1, short_name(line.name)))
        y += 1
    if panel.limit is not None:
        axes.axvline(panel.limit, color=INK, lw=1, linestyle=(0, (1, 2)))
    axes.set_yticks([y for y, _ in names], [name for _, name in names])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(y - 0.4, -0.4)
    axes.grid(axis="y", visible=False)
    if panel.ends:
        axes.set_xlim(*panel.ends)
    axes.set_xlabel(panel.label)


def _draw_values(axes: Axes, y: float, line: Line, name: str, number: int) -> None:
    """Draw a stroke for each seed and a mark for their mean."""
    values = line.values.get(name, [])
    label = None if name in axes.get_legend_handles_labels()[1] else name
    if len(values) > 1:
        axes.plot(values, [y] * len(values), "|", color=SOFT, markersize=4)
    if values or label:
        style: Style = {"color": colour(number), "linestyle": "none", "label": label}
        filled: Style = {"markerfacecolor": "none" if line.paper else colour(number)}
        mean = [float(np.mean(values))] if values else []
        axes.plot(mean, [y][: len(mean)], marker(number), **style, **(filled if values else {}))


def _test_lines(results: Results, test: WeightsTest, axis: Axis) -> list[Line]:
    """Return the rows of a test on one axis."""

    def said(series: Series) -> dict[str, list[float]]:
        return {say_text(name): values for name, values in series.items()}

    if isinstance(test, AdversarialTest):
        return [
            Line(
                adversarial_model.name,
                heading(results, each),
                said(test.drawn_trained(each, adversarial_model, axis.measure)),
            )
            for each, adversarial_model in trained(results)
        ]
    lines = []
    for key in dict.fromkeys(each.experiment.key for each in results.explanations):
        explained = [each for each in results.explanations if each.experiment.key == key]
        for each in explained:
            for name, series in test.drawn_rows(each, axis.measure).items():
                title = f"{each.variant}: {name}" if name else each.variant
                lines.append(Line(title, heading(results, each), said(series)))
        lines += _printed_lines(results, explained[0], test)
    return lines


def _printed_lines(results: Results, explanation: Explanation, test: WeightsTest) -> list[Line]:
    """Return the rows with what papers print of a test on the corpus of an experiment."""
    names = {measure: say(name) for measure, name in test.printed.items()}
    values: dict[str, dict[str, list[float]]] = {}
    for each in printed(results, explanation, test.name) if names else ():
        values.setdefault(each.model, {name: [] for name in names.values()})
        values[each.model][names[each.measure]].append(each.mean)
    of_experiment, paper = heading(results, explanation), "Jain & Wallace 2019"
    return [Line(f"2019: {model}", of_experiment, known, paper) for model, known in values.items()]

"""The figures of lecture 002's tests of weights: a row for each explained model.

A mark is the mean over seeds. The criticism in the captions is by others; docs/explanation.md has
their arguments.
"""

import dataclasses
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
MAX_HEADING = 44  # characters
HEADING_STYLE: Style = {
    "va": "center", "fontsize": 8, "fontweight": "bold", "color": INK, "zorder": 3,
    "in_layout": False,  # it may be wider than its panel
    "bbox": {"facecolor": GROUND, "edgecolor": "none", "pad": 1},  # no line goes through it
}  # fmt: skip
SPREAD = 0.62  # of a row's height, over which its series are spread
JAIN_WALLACE = "Jain & Wallace 2019"


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of a figure: the values of each series, one for each seed."""

    name: str
    heading: str  # printed above the first row that has it
    values: Mapping[str, list[float]]
    paper: str = ""  # that prints it: its marks are hollow; empty for a model of the study


@dataclasses.dataclass(frozen=True)
class Panel:
    """The rows of a test on one of its axes."""

    lines: list[Line]
    axis: Axis


def figure_of_test(results: Results, test: WeightsTest) -> list[Figure]:
    """Return the figure of a test, with a panel for each axis; nothing where no model has it."""
    panels = [Panel(_test_lines(results, test, axis), axis) for axis in test.axes]
    papers = {line.paper for line in panels[0].lines}
    known = {(each.name, each.heading) for each in panels[0].lines if any(each.values.values())}
    if not known:
        return []
    panels = [
        Panel([line for line in panel.lines if (line.name, line.heading) in known], panel.axis)
        for panel in panels
    ]
    claim, caption = say(test.claim), say(test.caption)
    if any(papers):
        hollow = say("Hollow: what Jain & Wallace 2019 print of the same corpus.")
        caption = f"{caption} {hollow} {cut_text(results, test.name)}"
    sources, sizes = _measured(results, test)
    caption, drawn = f"{caption} {sizes}", {line.paper for line in panels[0].lines}
    for sentence in sentences(results, test.name):
        caption += "" if sentence.paper in drawn else f" {quote(sentence)}"
    lines = panels[0].lines
    series = list(dict.fromkeys(name for line in lines for name in line.values))
    headings = len({line.heading for line in lines} - {""})
    columns = legend_columns(series)
    row = max(ROW, MARK * len(series))
    height = FRAME + LEGEND * -(-len(series) // columns)
    height += row * (len(lines) + headings * HEADING / ROW)
    return [
        Figure(
            f"explanation_{test.name.replace('_', '-')}",
            say(test.title),
            caption,
            sources,
            lambda figure: _draw(figure, panels, series),
            (WIDTH, min(height, MAX_HEIGHT)),
            alt_text=f"{claim} {caption}",
            mark=common_mark(results),
            claim=claim,
            in_rows=True,
        )
    ]


def _measured(results: Results, test: WeightsTest) -> tuple[tuple[Source, ...], str]:
    measures = (*test.printed,) or tuple(axis.measure for axis in test.axes)
    if not test.rows:
        tests = [(test.name, measure) for measure in measures]
        return (results.explanation_source,), sizes_text(results, tests)
    models = [each for _, each in trained(results)]
    sources = results.sources.add(*(each.folder / "summary.csv" for each in models))
    return sources, size_text(size(each.summary, test.rows, measures) for each in models)


def trained(results: Results) -> list[tuple[Explanation, AdversarialAttention]]:
    """Return the trained adversarial models, each with its model."""
    return [
        (each, adversarial_model)
        for each in results.explanations
        for adversarial_model in each.adversarial_attention
    ]


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
    drawn = [each for each in results.explanations if printed(results, each, test)]
    read = [each.experiment.result.models[each.variant].hyperparameters for each in drawn]
    statistics = [each.experiment.result.corpus.statistics for each in drawn]
    lengths = [round(each.tokens / each.documents) for each in statistics]
    return say(
        "Ours read at most {tokens} tokens of a text; the mean length is {length}.",
        tokens=range_of([h.max_tokens for h in read], format_count),
        length=range_of(lengths, format_count),
    )


def sentences(results: Results, test: str) -> list[PaperSentence]:
    """Return the sentences of papers on a test."""
    return [each for each in results.papers.sentences if each.test == test]


def quote(sentence: PaperSentence) -> str:
    """Return a sentence with its paper."""
    return f"“{sentence.sentence}” ({sentence.paper})."


def legend_columns(series: Sequence[str]) -> int:
    """Return the columns of the legend."""
    longest = max(map(len, series), default=0)
    return 3 if longest <= 16 else 2 if longest <= 28 else 1


def _draw(figure: matplotlib.figure.Figure, panels: Sequence[Panel], series: list[str]) -> None:
    (row,) = figure.subplots(1, len(panels), squeeze=False, sharey=True)
    for axes, panel in zip(row, panels, strict=True):
        axes.set_zorder(axes is row[0])  # its headings may be wider than itself
        _draw_panel(axes, panel, series, with_headings=axes is row[0])
        axes.xaxis.set_major_locator(MaxNLocator(5 if len(panels) == 1 else 3))
    if series != [""]:
        legend(figure, row[0], legend_columns(series))


def _draw_panel(axes: Axes, panel: Panel, series: list[str], with_headings: bool) -> None:
    y, last, names = 0.0, "", []
    step = SPREAD / max(1, len(series))
    for line in panel.lines:
        if line.heading != last:
            if with_headings:
                text, across = short_name(line.heading, MAX_HEADING), axes.get_yaxis_transform()
                axes.text(0.01, y, text, transform=across, **HEADING_STYLE)
            y, last = y + HEADING / ROW, line.heading
        for number, name in enumerate(series):
            shift = step * (number - (len(series) - 1) / 2)
            _draw_values(axes, y + shift + 0.1, line, name, number)
        names.append((y + 0.1, short_name(line.name)))
        y += 1
    if panel.axis.limit is not None:
        axes.axvline(panel.axis.limit, color=INK, lw=1, linestyle=(0, (1, 2)))
    axes.set_yticks([y for y, _ in names], [name for _, name in names])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(y - 0.4, -0.4)
    axes.grid(axis="y", visible=False)
    if panel.axis.ends:
        axes.set_xlim(*panel.axis.ends)
    axes.set_xlabel(say(panel.axis.label))


def _draw_values(axes: Axes, y: float, line: Line, name: str, number: int) -> None:
    values = line.values.get(name, [])
    label = None if name in axes.get_legend_handles_labels()[1] else name
    if len(values) > 1:
        axes.plot(values, [y] * len(values), "|", color=SOFT, markersize=4)
    if values or label:
        style: Style = {"color": colour(number), "linestyle": "none", "label": label}
        if values and line.paper:
            style["markerfacecolor"] = "none"
        mean = [float(np.mean(values))] if values else []
        axes.plot(mean, [y][: len(mean)], marker(number), **style)


def _test_lines(results: Results, test: WeightsTest, axis: Axis) -> list[Line]:

    def said(series: Series) -> dict[str, list[float]]:
        return {say_text(name): values for name, values in series.items()}

    if isinstance(test, AdversarialTest):
        return [
            Line(model.name, heading(results, each), said(drawn))
            for each, model in trained(results)
            for drawn in [test.drawn_trained(each, model, axis.measure)]
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
    names = {measure: say(name) for measure, name in test.printed.items()}
    values: dict[str, dict[str, list[float]]] = {}
    for each in printed(results, explanation, test.name) if names else ():
        values.setdefault(each.model, {name: [] for name in names.values()})
        values[each.model][names[each.measure]].append(each.mean)
    title = heading(results, explanation)
    return [Line(f"2019: {model}", title, known, JAIN_WALLACE) for model, known in values.items()]

"""What the weights explain: the criteria by model, then a figure for each test of lecture 002."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from heed.explanation.registry import CRITERIA, TESTS
from heed.explanation.test import Column as MeanColumn
from heed.explanation.test import WeightsTest
from heed.report.blocks import (
    PAGE,
    Block,
    Cell,
    Column,
    Disclosure,
    Figure,
    Group,
    Items,
    Paragraph,
    Section,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import EXPLANATION, join_columns, on_page
from heed.report.experiments import WeightsGain, weights_gain
from heed.report.explanations import Explanation, say_text
from heed.report.figures import model_rows
from heed.report.figures.heatmaps import document_rankings
from heed.report.figures.lecture_002 import recency, scaling
from heed.report.formats import POINTS, Format, decimals, format_interval, format_number
from heed.report.language import say
from heed.report.measures import lacks_layer, layer_note
from heed.report.results import Results

OUTCOME = Format(lambda value: say(value), str, "left")
FIGURE = decimals(3)
OUTCOME_WIDTH = 18  # millimetres on paper, in which a reason breaks into lines
NO_WEIGHTS = WeightsGain(None, "", None, None)
Line = tuple[Explanation, WeightsGain]  # a row of the tables: a model, its gain over equal weights


def chapter(results: Results) -> list[Block]:
    """Return the section; nothing in a study that explains no model."""
    if not results.explanations:
        return []
    lines = [
        (each, weights_gain(each.experiment, each.variant) if each.has_weights else NO_WEIGHTS)
        for each in results.explanations
    ]
    figures = (
        *_of_tests(results),
        *on_page((*recency(results), *document_rankings(results), scaling())),
    )
    title, means = say("What the weights explain"), say("The means of the tests")
    parts: dict[str, tuple[Block, ...]] = {
        say("When a model’s weights pass each criterion"): (Items(tuple(_rules())),),
        say("The figures of the tests ({count})", count=len(figures)): (Group(figures, "plots"),),
        means: (_means(results, lines), *_all_means(results)),
    }
    disclosures = (
        Disclosure(summary, blocks, "others", heading=False) for summary, blocks in parts.items()
    )
    return [Section(EXPLANATION, title, (_take_home(results, lines), *disclosures))]


def _of_tests(results: Results) -> Iterator[Figure]:
    """Yield a figure for each test that an explained model has; paper has those of criteria."""
    for test in TESTS:
        if test.axes:
            drawn = model_rows.figure_of_test(results, test)
            yield from drawn if test.criterion else on_page(drawn)


def _take_home(results: Results, lines: list[Line]) -> Table:
    columns = (
        *join_columns(lambda line: line[0].experiment),
        *_experiment_columns(results),
        Column("variant", say("Model"), value=lambda line: line[0].variant),
        *(
            column
            for name, test in CRITERIA.items()
            for column in _outcome_columns(name, say(test.criterion))
        ),
        Column("control", "", value=lambda line: line[1].control),
        Column("", say("Gain over equal weights"), POINTS, _gain, short=say("Gain")),
        Column("gain_pp", "", POINTS, lambda line: line[1].gain),
    )
    return Table(
        "explanation_criteria",
        say("Do the weights explain the predictions?"),
        columns,
        make_rows(columns, lines),
        caption=say(
            "Four criteria, fixed in heed’s code before the study. Below each outcome: the score "
            "that decided, or why it is undefined."
        ),
        notes=((_uniform_note(results),),),
        sources=(results.explanation_source, *results.comparison_sources),
        mark=model_rows.common_mark(results),
        style="first",
    )


def _experiment_columns(results: Results) -> tuple[Column, ...]:
    """Return the column of experiments, where there are several, with marks that differ."""
    if len({each.experiment.key for each in results.explanations}) == 1:
        return ()
    common = model_rows.common_mark(results)

    def value(line: Line) -> Cell:
        experiment = line[0].experiment
        return Cell(experiment.title, mark="" if experiment.mark == common else experiment.mark)

    return (Column("", say("Experiment"), value=value, merge=True, width=26),)


def _gain(line: Line) -> Cell:
    """Return the gain with the control's name and, where it was tested, the interval."""
    gain = line[1]
    if gain.gain is None:
        return Cell(None)
    interval = f": {format_interval(gain.interval)}" if gain.interval else ""
    return Cell(gain.gain, f"{gain.control}{interval}")


def _outcome_columns(test: str, name: str) -> tuple[Column, Column]:
    """Return the column of a criterion, and that of its figure in the CSV file."""

    def value(line: Line) -> Cell:
        judged = line[0].outcomes[test]
        note = say(judged.reason) if judged.reason else ""
        if judged.value is not None:
            note = format_number(judged.value, 2)
        return Cell(judged.outcome, note, strong=not judged.reason)

    return (
        Column(test, name, OUTCOME, value, width=OUTCOME_WIDTH),
        Column(f"{test}_value", "", decimals(4), lambda line: line[0].outcomes[test].value),
    )


def _uniform_note(results: Results) -> str:
    sentences = [model_rows.quote(each) for each in model_rows.sentences(results, "uniform")]
    explained = [each for each in results.explanations if each.has_weights]
    if any(lacks_layer(each.experiment.result, each.variant) for each in explained):
        sentences.insert(0, layer_note())
    text = say(
        "Gain: over the same experiment’s model with equal weights, in points of the "
        "metric by which models are compared. Without a gain there is nothing for weights to "
        "explain."
    )
    return " ".join([text, *sentences]) if sentences else f"{text} "


def _rules() -> list[Texts]:
    """Return the criteria, as their tests declare them."""
    return [
        (Span(say(test.criterion), "strong"), f": {say_text(test.rule)}")
        for test in CRITERIA.values()
    ]


def _means(results: Results, lines: list[Line]) -> Table:
    """Return the mean of each test, over documents and seeds, with its standard deviation over
    seeds.
    """
    means = [(test, column) for test in TESTS for column in test.columns]
    columns = (
        *_experiment_columns(results),
        Column("variant", say("Model"), value=lambda line: line[0].variant),
        *(Column("", say(each.title), FIGURE, _mean_value(test, each)) for test, each in means),
    )
    caption = say(
        "Of the ranking by attention; compr. and suff.: its comprehensiveness and sufficiency. "
        "Small second line: the standard deviation over seeds."
    )
    sizes = model_rows.sizes_text(results, [(test.name, each.measure) for test, each in means])
    return Table(
        "explanation_means",
        say("The means of the tests"),
        columns,
        make_rows(columns, lines),
        caption=f"{caption} {sizes}",
        sources=(results.explanation_source,),
        mark=model_rows.common_mark(results),
        style="scores",
        files=("tex",),
        media=(PAGE,),
    )


def _mean_value(test: WeightsTest, column: MeanColumn) -> Callable[[Line], Cell]:
    def value(line: Line) -> Cell:
        values = test.mean_values(line[0], column)
        if not values:
            return Cell(None)
        note = f"± {format_number(float(np.std(values, ddof=1)), 3)}" if len(values) > 1 else ""
        return Cell(float(np.mean(values)), note)

    return value


def _all_means(results: Results) -> tuple[Table, Paragraph]:
    """Return the file of every mean by seed, ranking and class, and a link to it."""
    keys = ("test", "measure", "ranking", "class", "seed", "documents")
    rows = [
        (each, row)
        for each in results.explanations
        for row in each.summary.dropna(subset="mean").to_dict("records")
    ]
    columns = (
        *join_columns(lambda row: row[0].experiment),
        Column("variant", "", value=lambda row: row[0].variant),
        *(Column(key, "", value=_plain_of(key)) for key in keys),
        Column("mean", "", decimals(6), lambda row: row[1]["mean"]),
    )
    key = "explanation_all-means"
    title = say("every mean, by seed, ranking and class (CSV)")
    table = Table(key, title, columns, make_rows(columns, rows), files=("csv",), media=())
    link = Span(title, link=f"tables/{key}.csv")
    return table, Paragraph((say("All tests:"), " ", link), "small", media=(PAGE,))


def _plain_of(key: str) -> Callable[[tuple[Explanation, dict[str, Any]]], str]:
    def plain(row: tuple[Explanation, dict[str, Any]]) -> str:
        value = row[1].get(key)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        return str(int(value)) if isinstance(value, float) else str(value)

    return plain

"""What the weights explain: the criteria by model, the means of the tests, and what they show."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from heed.explanation.registry import CRITERIA, TESTS
from heed.explanation.test import Column as MeanColumn
from heed.explanation.test import WeightsTest
from heed.hyperparameters.pretrained import PRETRAINED
from heed.report.blocks import (
    PAGE,
    Block,
    Cell,
    Column,
    Disclosure,
    Group,
    Items,
    Section,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import EXPLANATION, csv_file, join_columns, on_page, title_cell
from heed.report.explanations import Explanation, range_of
from heed.report.figures.heatmaps import document_rankings
from heed.report.figures.lecture_002 import common_mark, papers_text, recency
from heed.report.figures.scaling import scaling
from heed.report.formats import (
    POINTS,
    TEXT,
    Format,
    decimals,
    format_count,
    format_interval,
    format_number,
    pluralize,
)
from heed.report.measures import LAYER_NOTE, lacks_layer
from heed.report.results import Results

OUTCOME = Format(lambda value: value, str, "left")
FIGURE = decimals(3)
OUTCOME_WIDTH = 18  # millimetres on paper, in which a reason breaks into lines


def chapter(results: Results) -> list[Block]:
    """Return the section; nothing in a study that explains no model."""
    if not results.explanations:
        return []
    figures = on_page((*document_rankings(results), *recency(results), scaling()))
    title, means = "What the weights explain", "The means of the tests"
    parts: dict[str, tuple[Block, ...]] = {
        "When a model’s weights pass each criterion": (Items(tuple(_rules())),),
        means: (
            _means(results),
            Items(tuple(_claims(results))),
            *_of_trained(results),
            _all_means(results),
        ),
    }
    disclosures = (Disclosure(summary, blocks, "others") for summary, blocks in parts.items())
    shown = _take_home(results), Group(figures, "plots")
    return [Section(EXPLANATION, title, (*shown, *disclosures))]


def _take_home(results: Results) -> Table:
    columns = (
        *join_columns("experiment"),
        *_experiment_columns(results),
        Column("variant", "Model", value="variant"),
        *(
            column
            for name, test in CRITERIA.items()
            for column in _outcome_columns(name, test.criterion)
        ),
        Column("control", "", value="gain.control"),
        Column("", "Gain over equal weights", POINTS, _gain, short="Gain"),
        Column("gain_pp", "", POINTS, "gain.gain"),
    )
    return Table(
        "explanation_criteria",
        "Do the weights explain the predictions?",
        columns,
        make_rows(columns, results.explanations),
        caption=(
            "Four criteria, fixed in heed’s code before the study. Below each outcome: the score "
            "that decided, or why it is undefined."
        ),
        notes=((_uniform_note(results),),),
        sources=(results.explanation_source, *results.comparison_sources),
        mark=common_mark(results),
        style="first",
    )


def _experiment_columns(results: Results) -> tuple[Column, ...]:
    """Return the column of experiments, where there are several, with marks that differ."""
    if len({each.experiment.key for each in results.explanations}) == 1:
        return ()
    return (
        Column("", "Experiment", value=lambda e: title_cell(e.experiment), merge=True, width=26),
    )


def _gain(explanation: Explanation) -> Cell:
    """Return the gain with the control's name and, where it was tested, the interval."""
    gain = explanation.gain
    if gain.gain is None:
        return Cell(None)
    interval = f": {format_interval(gain.interval)}" if gain.interval else ""
    return Cell(gain.gain, f"{gain.control}{interval}")


def _outcome_columns(test: str, name: str) -> tuple[Column, Column]:
    """Return the column of a criterion, and of its score in the CSV file."""

    def value(explanation: Explanation) -> Cell:
        judged = explanation.outcomes[test]
        note = judged.reason or ""
        if judged.value is not None:
            note = format_number(judged.value, 2)
        return Cell(judged.outcome, note, strong=not judged.reason)

    return (
        Column(test, name, OUTCOME, value, width=OUTCOME_WIDTH),
        Column(f"{test}_value", "", decimals(4), lambda each: each.outcomes[test].value),
    )


def _uniform_note(results: Results) -> str:
    texts = [
        "Gain: over the same experiment’s model with equal weights, in points of the metric by "
        "which models are compared. Without a gain there is nothing for weights to explain."
    ]
    own = [each for each in results.explanations if not each.is_of_encoder]
    if any(lacks_layer(each.experiment.result, each.variant) for each in own if each.has_weights):
        texts.append(LAYER_NOTE)
    if len(own) < len(results.explanations):
        texts.append(
            f"{PRETRAINED}: the encoder’s own attention, the mean over heads, in its last "
            "layer, over all layers, or multiplied over them (rollout, Abnar & Zuidema "
            "2020). A word has what the states that make up the text’s vector read of its "
            "pieces. The weights are shuffled in the last layer or in all, and the encoder "
            "computes on from there."
        )
    return " ".join([*texts, papers_text(results, results.explanations, "uniform")])


def _rules() -> list[Texts]:
    """Return the criteria, as their tests declare them."""
    return [
        (Span(test.criterion, "strong"), ": ", test.rule.format(**test.limits))
        for test in CRITERIA.values()
    ]


def _claims(results: Results) -> list[Texts]:
    """Return what each test can show and what it cannot, and what papers print of it."""
    claims: list[Texts] = []
    for test in TESTS:
        if test.title:
            papers = papers_text(results, results.explanations, test.name)
            claims.append((Span(test.title, "strong"), ": ", test.claim, " ", papers))
    return claims


def _means(results: Results) -> Table:
    """Return the mean of each test, over documents and seeds, with its standard deviation over
    seeds.
    """
    means = [(test, column) for test in TESTS for column in test.columns]
    columns = (
        *_experiment_columns(results),
        Column("variant", "Model", value="variant"),
        *(Column("", each.title, FIGURE, _mean_value(test, each)) for test, each in means),
    )
    caption = (
        "Of the ranking by attention; compr. and suff.: its comprehensiveness and sufficiency. "
        "Small second line: the standard deviation over seeds."
    )
    counted = pd.concat(
        test.rows(each.summary, column)
        for each in results.explanations
        for test, column in means
        if test.table != "seeds"
    )
    sizes = pluralize(
        "{count} seed, {documents} documents for each.",
        "{count} seeds, {documents} documents for each.",
        counted["seed"].nunique(),
        documents=range_of(counted["documents"].astype(int).tolist() or [0], format_count),
    )
    return Table(
        "explanation_means",
        "The means of the tests",
        columns,
        make_rows(columns, results.explanations),
        caption=f"{caption} {sizes}",
        sources=(results.explanation_source,),
        mark=common_mark(results),
        style="scores",
        files=("tex",),
        media=(PAGE,),
    )


def _mean_value(test: WeightsTest, column: MeanColumn) -> Callable[[Explanation], Cell]:
    return lambda each: _mean_of_seeds(test.means(each.summary, column))


def _mean_of_seeds(values: list[float]) -> Cell:
    if not values:
        return Cell(None)
    note = f"± {format_number(float(np.std(values, ddof=1)), 3)}" if len(values) > 1 else ""
    return Cell(float(np.mean(values)), note)


def _of_trained(results: Results) -> list[Block]:
    """Return the means of models and networks that were trained with other weights."""
    records = [
        (model.name, " ".join(filter(None, map(str, key))), rows["mean"].tolist())
        for each in results.explanations
        for model in each.adversarial_attention
        for key, rows in model.summary.dropna(subset="mean")
        .fillna({"weights": ""})
        .groupby(["test", "measure", "weights"], sort=False)
    ]
    if not records:
        return []
    folders = {each.folder: each for x in results.explanations for each in x.adversarial_attention}
    columns = (
        Column("model", "Model", value=lambda record: record[0], merge=True),
        Column("metric", "Metric", TEXT, lambda record: record[1]),
        Column("mean", "Mean", FIGURE, lambda record: _mean_of_seeds(record[2])),
    )
    table = Table(
        "explanation_trained",
        "Trained adversarial models",
        columns,
        make_rows(columns, records),
        sources=results.sources.add(*(folder / "summary.csv" for folder in folders)),
        mark=common_mark(results),
        style="scores",
        files=("tex",),
        media=(PAGE,),
    )
    return [table]


def _all_means(results: Results) -> Group:
    """Return the file of every mean by seed, ranking and class, and a link to it."""
    keys = ("test", "measure", "ranking", "class", "seed", "documents")
    rows = [
        (each, row)
        for each in results.explanations
        for row in each.summary.dropna(subset="mean")
        .astype({"seed": int, "documents": int})
        .fillna("")
        .to_dict("records")
    ]
    columns = (
        *join_columns(lambda row: row[0].experiment),
        Column("variant", "", value=lambda row: row[0].variant),
        *(Column(key, "", value=_text_of(key)) for key in keys),
        Column("mean", "", decimals(6), lambda row: row[1]["mean"]),
    )
    title = "every mean, by seed, ranking and class (CSV)"
    return csv_file("explanation_all-means", title, "All tests:", columns, rows)


def _text_of(key: str) -> Callable[[tuple[Explanation, dict[str, object]]], str]:
    return lambda row: str(row[1][key])

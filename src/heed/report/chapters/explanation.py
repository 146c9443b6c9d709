"""What the weights explain: the criteria by model, then a figure for each test of lecture 002."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from heed.explanation import criteria
from heed.explanation.criteria import Outcome
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
from heed.report.cautions import equal_weights_control, lacks_layer, layer_note
from heed.report.chapters.shared import EXPLANATION, join_columns, on_page
from heed.report.explanations import Explanation
from heed.report.figures import document_rankings, explanation, model_rows, recency, scaling
from heed.report.formats import (
    POINTS,
    Format,
    decimals,
    format_interval,
    format_number,
)
from heed.report.language import say
from heed.report.results import Results

OUTCOME = Format(lambda value: say(value), str, "left")
FIGURE = decimals(3)
OUTCOME_WIDTH = 18  # millimetres on paper, in which a reason breaks into lines
# The figures of the criteria.
ON_PAPER = {f"explanation_{test}" for test in ("permutation", "seeds", "adversaries", "evidence")}
# The columns of the table of means: key → test, measure, ranking.
MEANS = {
    "tau_gradient": ("correlation", "tau_gradient", ""),
    "tau_leave_one_out": ("correlation", "tau_leave_one_out", ""),
    "tau_ceiling": ("correlation", "tau_ceiling", ""),
    "permutation_change": ("permutation", "permutation_change", ""),
    "mean_divergence": ("adversarial_weights", "mean_divergence", ""),
    "removed_share": ("erasure", "removed_share", "attention"),
    "seed_divergence": ("seeds", "divergence", ""),
    "comprehensiveness": ("input_removal", "comprehensiveness", "attention"),
    "sufficiency": ("input_removal", "sufficiency", "attention"),
    "auc": ("evidence", "auc", "attention"),
    "conicity": ("conicity", "conicity", ""),
}


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the tables: a model, and its gain over equal weights where there is a control."""

    explanation: Explanation
    control: str
    gain: float | None
    interval: tuple[float, float] | None


def chapter(results: Results) -> list[Block]:
    """Return the section; nothing in a study that explains no model."""
    if not results.explanations:
        return []
    lines = [_line(results, each) for each in results.explanations]
    figures: tuple[Figure, ...] = (
        *_of_tests(results),
        *on_page(
            (
                *recency.recency(results),
                *document_rankings.document_rankings(results),
                scaling.scaling(),
            )
        ),
    )
    return [
        Section(
            EXPLANATION,
            say("What the weights explain"),
            (
                _take_home(results, lines),
                Disclosure(
                    say("When a model’s weights pass each criterion"),
                    (Items(tuple(_rules())),),
                    "others",
                    heading=False,
                ),
                Disclosure(
                    say("The figures of the tests ({count})", count=len(figures)),
                    (Group(figures, "plots"),),
                    "others",
                    heading=False,
                ),
                Disclosure(
                    say("The means of the tests"),
                    (_means(results, lines), *_all_means(results)),
                    "others",
                    heading=False,
                ),
            ),
        )
    ]


def _of_tests(results: Results) -> Iterator[Figure]:
    """Yield a figure for each test; paper has those of the criteria."""
    for each in explanation.figures(results):
        yield from (each,) if each.key in ON_PAPER else on_page([each])


def _line(results: Results, explanation: Explanation) -> Line:
    """Return the row of a model, with its gain over the same model with equal weights (T5)."""
    result = results.comparison.experiments[explanation.experiment.key]
    variant = explanation.variant
    control = equal_weights_control(result, variant)
    if not control or not explanation.has_weights:
        return Line(explanation, "", None, None)
    gain = 100 * (result.figure_of(variant) - result.figure_of(control))
    tested = next(
        (
            each
            for each in explanation.experiment.comparisons
            if (each.first, each.second) == (variant, control)
        ),
        None,
    )
    return Line(explanation, control, gain, tested.ends if tested else None)


def _take_home(results: Results, lines: list[Line]) -> Table:
    names = {
        "permutation": say("Shuffled"),
        "seeds": say("Seeds"),
        "adversaries": say("Adversaries"),
        "evidence": say("Evidence"),
    }
    outcomes = [column for test, name in names.items() for column in _outcome_columns(test, name)]
    columns = (
        *join_columns(lambda line: line.explanation.experiment),
        *_experiment_columns(results),
        Column("variant", say("Model"), value=lambda line: line.explanation.variant),
        *outcomes,
        Column("control", "", value=lambda line: line.control),
        Column("", say("Gain over equal weights"), POINTS, _gain, short=say("Gain")),
        Column("gain_pp", "", POINTS, lambda line: line.gain),
    )
    return Table(
        "explanation_criteria",
        say("Do the weights explain the predictions?"),
        columns,
        make_rows(columns, lines),
        caption=say(
            "Four criteria, fixed in heed’s code before the study. Below each outcome: the figure "
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
        experiment = line.explanation.experiment
        return Cell(experiment.title, mark="" if experiment.mark == common else experiment.mark)

    return (Column("", say("Experiment"), value=value, merge=True, width=26),)


def _gain(line: Line) -> Cell:
    """Return the gain with the control's name and, where it was tested, the interval."""
    if line.gain is None:
        return Cell(None)
    interval = f": {format_interval(line.interval)}" if line.interval else ""
    return Cell(line.gain, f"{line.control}{interval}")


def _outcome_columns(test: str, name: str) -> tuple[Column, Column]:
    """Return the column of a criterion, and that of its figure in the CSV file."""

    def outcome(line: Line) -> Outcome:
        return line.explanation.outcomes[test]

    def value(line: Line) -> Cell:
        judged = outcome(line)
        note = say(judged.reason) if judged.reason else ""
        if judged.value is not None:
            note = format_number(judged.value, 2)
        return Cell(judged.outcome, note, strong=not judged.reason)

    return (
        Column(test, name, OUTCOME, value, width=OUTCOME_WIDTH),
        Column(f"{test}_value", "", decimals(4), lambda line: outcome(line).value),
    )


def _uniform_note(results: Results) -> str:
    sentences = [model_rows.quote(each) for each in model_rows.sentences(results, "uniform")]
    experiments = results.comparison.experiments
    if any(
        lacks_layer(experiments[each.experiment.key], each.variant)
        for each in results.explanations
        if each.has_weights
    ):
        sentences.insert(0, layer_note())
    return (
        say(
            "Gain: over the same experiment’s model with equal weights, in points of the figure by "
            "which models are compared. Without a gain there is nothing for weights to explain."
        )
        + " "
        + " ".join(sentences)
    )


def _rules() -> list[Texts]:
    """Return the criteria, as heed/explanation/criteria.py declares them."""
    rules = {
        say("Shuffled"): say(
            "pass if in every seed shuffling a document’s weights changes the prediction by "
            "{limit} or more (total variation distance, the median of 100 shuffles, mean over "
            "documents).",
            limit=f"{criteria.MIN_CHANGE:g}",
        ),
        say("Seeds"): say(
            "pass if the weights of two seeds differ by less than {limit} on average "
            "(Jensen-Shannon divergence; half of the largest possible).",
            limit=format_number(criteria.MAX_DIVERGENCE, 3),
        ),
        say("Adversaries"): say(
            "fail if a model trained to have other weights keeps its accuracy within {loss} p.p. "
            "and its predictions within {change}, while its weights differ from the model’s by "
            "more than those of two seeds do; pass if some keep both, and none of them with such "
            "weights. One whose weights differ by less than {least} does not count.",
            loss=f"{100 * criteria.MAX_LOSS:g}",
            change=f"{criteria.MAX_PREDICTION_CHANGE:g}",
            least=f"{criteria.MIN_DIVERGENCE:g}",
        ),
        say("Evidence"): say(
            "pass if in every class and seed the weights find planted evidence with an area under "
            "the ROC curve of {limit} or more. Other evidence is printed, and not judged: what "
            "people marked, or a passage.",
            limit=f"{criteria.MIN_AUC:g}",
        ),
    }
    return [(Span(name, "strong"), f": {rule}") for name, rule in rules.items()]


def _means(results: Results, lines: list[Line]) -> Table:
    """Return the mean of each test, over documents and seeds, with its deviation over seeds."""
    names = {
        "tau_gradient": say("tau gradient"),
        "tau_leave_one_out": say("tau leave-one-out"),
        "tau_ceiling": say("tau ceiling"),
        "permutation_change": say("Shuffled"),
        "mean_divergence": say("Other weights"),
        "removed_share": say("Share removed"),
        "seed_divergence": say("Seeds"),
        "comprehensiveness": say("Compr."),
        "sufficiency": say("Suff."),
        "auc": say("AUC"),
        "conicity": say("Conicity"),
    }
    columns = (
        *_experiment_columns(results),
        Column("variant", say("Model"), value=lambda line: line.explanation.variant),
        *(Column("", name, FIGURE, _mean_value(*MEANS[key])) for key, name in names.items()),
    )
    return Table(
        "explanation_means",
        say("The means of the tests"),
        columns,
        make_rows(columns, lines),
        caption=say(
            "Of the ranking by attention; compr. and suff.: its comprehensiveness and sufficiency. "
            "Small second line: the standard deviation over seeds."
        )
        + " "
        + model_rows.sizes_text(results, [(test, measure) for test, measure, _ in MEANS.values()]),
        sources=(results.explanation_source,),
        mark=model_rows.common_mark(results),
        style="scores",
        files=("tex",),
        media=(PAGE,),
    )


def _mean_value(test: str, measure: str, ranking: str) -> Callable[[Line], Cell]:
    def value(line: Line) -> Cell:
        if test == "seeds":  # the figure that is judged, of pairs of seeds
            return Cell(criteria.seed_divergence(line.explanation.summary))
        values = line.explanation.means(test, measure, ranking)
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
        *(Column(key, "", value=_cell_value(key)) for key in keys),
        Column("mean", "", decimals(6), lambda row: row[1]["mean"]),
    )
    key = "explanation_all-means"
    title = say("every mean, by seed, ranking and class (CSV)")
    table = Table(key, title, columns, make_rows(columns, rows), files=("csv",), media=())
    link = Span(title, link=f"tables/{key}.csv")
    return table, Paragraph((say("All tests:"), " ", link), "small", media=(PAGE,))


def _cell_value(key: str) -> Callable[[Any], str]:
    def value(row: tuple[Explanation, dict[str, Any]]) -> str:
        cell = row[1].get(key)
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            return ""
        return str(int(cell)) if isinstance(cell, float) else str(cell)

    return value

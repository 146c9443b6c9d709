"""The beginning of an experiment: verdict, corpus, degenerate runs, the talk's gain, its scores.

And the section of the study on the talk's gains.
"""

import dataclasses
from collections.abc import Callable, Iterator

from heed.evaluation.results import BASELINE, BETTER, WORSE, ModelResult, ReferenceResult
from heed.report.answer import TestedDifference
from heed.report.blocks import (
    PAGE,
    PAPER,
    Block,
    Cell,
    Column,
    Items,
    Paragraph,
    Section,
    Span,
    Table,
    Texts,
    Value,
    get_value,
    make_rows,
)
from heed.report.chapters.shared import (
    DEGENERATE,
    experiment_table,
    glossary_address,
    interval_column,
    join_columns,
    tested_columns,
    verdict_cell,
)
from heed.report.experiments import Degradation, Experiment
from heed.report.formats import (
    COUNT,
    PARAMETERS,
    POINTS,
    PROBABILITY,
    TEXT,
    VERDICT,
    decimals,
    format_number,
    format_points,
)
from heed.report.measures import Measure, degenerate_sentence
from heed.report.published import RESULTS, SHOWN_BELOW
from heed.report.results import Results
from heed.task import task_module


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table of scores: its gain over the baseline, and attention's over it."""

    name: str
    result: ModelResult | ReferenceResult
    gain: TestedDifference | None
    compared_model: TestedDifference | None


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the first paragraphs of the experiment: its verdict, its corpus, the talk's gain."""
    compared = experiment.attention_comparison
    alone = len(results.experiments) == 1  # the first screen has its sentence, just above
    verdict: Texts = () if alone else (Span(experiment.answer.sentence, "verdict"),)
    for each in compared.of_question if compared else ():
        verdict = (*verdict, " ", f"{each.first} over {each.second}: {each.size}.")
    blocks: list[Block] = [Paragraph(verdict)] if verdict else []
    blocks.append(Paragraph((experiment.corpus,), "small"))
    if sentence := degenerate_sentence(
        experiment.result, results.comparison.seeds_of(experiment.key)
    ):
        warning = f"{sentence[0].upper()}{sentence[1:]}."
        meaning = Span("What a degenerate run is", link=glossary_address(DEGENERATE))
        blocks.append(Paragraph((f"{warning} ", meaning, "."), "note", media=(PAGE,)))
        blocks.append(Paragraph((warning,), "note", media=(PAPER,)))
    line = experiment.line
    if line.reproduction:
        talk = f"The talk’s gain: {line.reproduction}."
        blocks.append(Paragraph((talk,), "" if line.comparable else "small"))
    if experiment.degradations:
        blocks.append(Items(tuple(_change(experiment, each) for each in experiment.degradations)))
    return blocks


def _change(experiment: Experiment, degradation: Degradation) -> Texts:
    change = (
        f"Change when hyperparameters are degraded (from {experiment.degraded_from}), "
        f"{degradation.variant}:"
    )
    unit, std = experiment.measure.unit, degradation.change.std_pp
    mean = Span(f"{format_points(degradation.change.mean_pp)} {unit}", "strong")
    after = "" if std is None else f" ± {format_number(std, 2)}"
    if degradation.talk is not None:
        after += f"; the talk: {format_points(degradation.talk)} {unit}"
    return (f"{change} ", mean, after)


def talks_gains(results: Results) -> list[Block]:
    """Return the section with the talk's gains, tested over its documents, beside ours.

    Nothing in a study without an experiment of the talk.
    """
    tested = [each for each in results.experiments if each.line.talk_test]
    if not tested:
        return []
    published = (each for each in results.sources.all() if each.path.endswith(RESULTS))
    columns = _talk_columns(results)
    note = (
        "z and p: the test of two proportions, from the talk’s accuracies and its number of test "
        f"documents; a gain is shown where p is below {SHOWN_BELOW:g}. Both models have read the "
        "same documents, but which of them each classified correctly is not published: taken as "
        "independent, models with errors in common have too small a z. Whether another seed or "
        "another split would have given the gain is not published either, nor of what the talk’s "
        "standard deviations are: none of this is in z."
    )
    table = Table(
        "talk",
        "The talk’s gains by its documents alone, and ours",
        columns,
        make_rows(columns, tested),
        notes=((note,),),
        sources=(*published, *results.comparison_sources),
        style="scores",
    )
    return [Section("talk", "Are the talk’s gains shown by its own numbers?", (table,))]


def _talk_columns(results: Results) -> tuple[Column, ...]:
    def score(index: int) -> Callable[[Experiment], str]:
        return lambda each: each.line.talk[index] if each.line.talk else ""

    def shown(each: Experiment) -> str:
        return "yes" if each.line.talk_test and each.line.talk_test.shown else "no"

    gain, unit = "The talk’s gain", "p.p."
    return (
        *join_columns(""),
        Column("", "Experiment", value=lambda each: Cell(each.title, mark=each.mark)),
        Column("talk_baseline", "", value=score(0)),
        Column("talk_attention", "", value=score(1)),
        Column("talk_documents", "Its test documents", COUNT, "line.talk_test.documents"),
        Column("talk_gain_pp", gain, POINTS, "line.talk_gain", unit=unit),
        Column("talk_z", "z", decimals(2), "line.talk_test.z"),
        Column("talk_p", "p", PROBABILITY, "line.talk_test.p"),
        Column("talk_shown", "Shown by them alone", TEXT, shown),
        Column("gain_pp", "Our gain", POINTS, "gain.mean", unit=unit),
        interval_column(results, "gain"),
    )


def _lines(experiment: Experiment, attention: str) -> list[Line]:
    result, tested = experiment.result, {(e.first, e.second): e for e in experiment.comparisons}
    return [
        Line(
            name,
            each,
            tested.get((name, f"{name}-{BASELINE}"), tested.get((name, BASELINE))),
            tested.get((attention, name)) if name != BASELINE else None,
        )
        for name, each in (result.models | result.reference_models).items()
    ]


def scores(results: Results, experiment: Experiment) -> list[Block]:
    """Return the table with a row for each model and reference model."""
    measure, attention = experiment.measure, next(iter(experiment.result.attention), "")
    metric = measure.metric
    recipe = task_module(measure.task, "recipe")
    others = [  # further validated figures, of which the last is in the table
        each for each in recipe.VALIDATION_METRICS if each in recipe.METRICS and each != metric
    ]
    std = "± p.p." if measure.in_percentage_points else f"± {measure.unit}"
    columns = (
        Column("variant", "Model", value=_model),
        Column(metric, measure.name, decimals(4), _mean(metric)),
        Column(f"{metric}_std_pp", std, decimals(2, 3), lambda e: e.result.summary[metric].std_pp),
        *_difference_columns(results, experiment, attention),
        *(
            Column(each, Measure(measure.task, each).name, decimals(4), _mean(each))
            for each in others[-1:]
        ),
        Column(
            "parameters",
            "Parameters",
            PARAMETERS,
            lambda e: getattr(e.result, "parameters", None),
        ),
    )
    return [
        experiment_table(
            results,
            experiment,
            "_scores",
            "Scores on test",
            columns,
            _lines(experiment, attention),
            notes=tuple(_notes(experiment)),
            location=f"experiments.{experiment.key}",
            style="scores",
        )
    ]


def _notes(experiment: Experiment) -> Iterator[Texts]:
    """Yield a note on a pretrained encoder, whose parameters stand in the table."""
    for name, each in experiment.result.reference_models.items():
        if encoder := each.encoder:
            use = "then on the training split" if encoder.tuned else "used as it is"
            yield (
                f"{name}: the encoder {encoder.name} ({encoder.kind}), trained on other text and "
                f"{use}, reads the first {encoder.max_tokens} pieces of a document; its licence: "
                f"{encoder.licence or 'not known'}.",
            )


def _model(line: Line) -> Cell:
    return Cell(line.name, link=glossary_address(line.name))


def _mean(metric: str) -> Callable[[Line], float | None]:
    """Return a function from a row to the mean of a metric over runs; None where it has none."""
    return lambda line: line.result.summary[metric].mean if metric in line.result.summary else None


def _difference_columns(
    results: Results, experiment: Experiment, attention: str
) -> tuple[Column, ...]:
    unit, over = experiment.measure.unit, "Over the baseline"
    heading, difference = f"{attention} over it", "attention_minus_this_pp"
    columns = (
        Column("gain_pp", over, POINTS, strong_difference("gain"), unit=unit),
        *tested_columns(results, "gain"),
        Column("verdict", "Verdict", VERDICT, verdict_cell("gain")),
        Column(difference, heading, POINTS, strong_difference("compared_model"), unit=unit),
        Column("attention_over_this", "Verdict", VERDICT, verdict_cell("compared_model")),
    )
    return columns if attention else columns[:-2]


def strong_difference(get_difference: Value) -> Callable[[Line], Cell]:
    """Return a function from a row to a difference, bold where it is better or worse."""
    get = get_value(get_difference)

    def value(line: Line) -> Cell:
        each = get(line)
        return Cell(each and each.mean, strong=bool(each and each.verdict in (BETTER, WORSE)))

    return value

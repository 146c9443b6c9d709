"""The beginning of an experiment: verdict, corpus, collapsed runs, the talk's gain, its scores."""

import dataclasses
from collections.abc import Callable

from heed.evaluation.results import BASELINE, BETTER, WORSE, ModelResult, OpponentResult
from heed.report.answer import TestedDifference, verdict_text
from heed.report.blocks import (
    PAGE,
    PAPER,
    Block,
    Cell,
    Column,
    Items,
    Paragraph,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.cautions import collapse_sentence
from heed.report.chapters.shared import (
    COLLAPSED,
    GetDifference,
    corrected_p_column,
    difference_value,
    glossary_address,
    interval_columns,
    join_columns,
    p_column,
)
from heed.report.experiments import Degradation, Experiment
from heed.report.formats import (
    INTERVAL,
    POINTS,
    Format,
    decimals,
    format_count,
    format_number,
    format_points,
)
from heed.report.language import say
from heed.report.measures import Measure
from heed.report.results import Results
from heed.task import task_module

PARAMETERS = Format(
    lambda value: "–" if value is None else format_count(value),
    lambda value: "" if value is None else str(value),
    "right",
)
VERDICT = Format(
    lambda value: "–" if value is None else verdict_text(value), lambda value: value or "", "left"
)


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table of scores: a model or an opponent, with its differences.

    `gain` is over the baseline, `rival` is the study's first attention variant minus this one.
    """

    name: str
    result: ModelResult | OpponentResult
    gain: TestedDifference | None
    rival: TestedDifference | None

    @property
    def parameters(self) -> int | None:
        """The number of parameters of a model; None of an opponent."""
        return self.result.parameters if isinstance(self.result, ModelResult) else None


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the first paragraphs of the experiment."""
    blocks: list[Block] = [
        Paragraph(_verdict_line(experiment)),
        Paragraph((experiment.corpus,), "small"),
        *_collapsed(results, experiment),
    ]
    line = experiment.line
    if line.reproduction:
        verdict = say("The talk’s gain: {verdict}.", verdict=line.reproduction)
        blocks.append(Paragraph((verdict,), "" if line.comparable else "small"))
    if experiment.degradations:
        blocks.append(Items(tuple(_change(experiment, each) for each in experiment.degradations)))
    return blocks


def _verdict_line(experiment: Experiment) -> Texts:
    """Return the verdict, and the gain that it is of; the answer's section has the reasons."""
    verdict = Span(
        f"{experiment.answer.verdict[:1].upper()}{experiment.answer.verdict[1:]}.", "verdict"
    )
    if not experiment.gain:
        return (verdict,)
    names = {"variant": experiment.gain.first, "size": experiment.gain.size}
    return (verdict, " ", say("Gain of {variant} over the baseline: {size}.", **names))


def _collapsed(results: Results, experiment: Experiment) -> list[Block]:
    """Return the warning that names collapsed runs and models below the majority class."""
    result = results.comparison.experiments[experiment.key]
    sentence = collapse_sentence(result, results.comparison.seeds)
    if not sentence:
        return []
    text = f"{sentence[0].upper()}{sentence[1:]}."
    meaning = Span(say("What a collapsed run is"), link=glossary_address(COLLAPSED))
    return [
        Paragraph((f"{text} ", meaning, "."), "note", media=(PAGE,)),
        Paragraph((text,), "note", media=(PAPER,)),
    ]


def _change(experiment: Experiment, degradation: Degradation) -> Texts:
    change = say(
        "Change when hyperparameters are degraded (from {experiment}), {variant}:",
        experiment=experiment.degraded_from,
        variant=degradation.variant,
    )
    unit, deviation = experiment.measure.unit, degradation.change.std_pp
    texts: list[str | Span] = [
        f"{change} ",
        Span(f"{format_points(degradation.change.mean_pp)} {unit}", "strong"),
    ]
    if deviation is not None:
        texts.append(f" ± {format_number(deviation, 2)}")
    if degradation.talk is not None:
        texts.append(
            "; " + say("the talk: {value}", value=f"{format_points(degradation.talk)} {unit}")
        )
    return tuple(texts)


def scores(results: Results, experiment: Experiment) -> list[Block]:
    """Return the table with a row for each model and opponent."""
    result = results.comparison.experiments[experiment.key]
    attention = next(iter(result.attention), "")
    tested = {(each.first, each.second): each for each in experiment.comparisons}
    lines = [
        Line(name, each, tested.get((name, BASELINE)), tested.get((attention, name)))
        for name, each in (result.models | result.opponents).items()
    ]
    columns = (
        *_score_columns(experiment),
        *_difference_columns(results, experiment, attention),
        *_other_columns(experiment),
    )
    return [
        Table(
            f"{experiment.key}_scores",
            say("Scores on test"),
            columns,
            make_rows(columns, lines),
            sources=results.comparison_sources,
            location=f"experiments.{experiment.key}",
            mark=experiment.mark,
            style="scores",
        )
    ]


def _score_columns(experiment: Experiment) -> tuple[Column, ...]:
    """Return the columns of the model and of the figure by which the experiment compares."""
    metric = experiment.measure.metric
    return (
        *join_columns(lambda _: experiment),
        Column(
            "variant",
            say("Model"),
            value=lambda line: Cell(line.name, link=glossary_address(line.name)),
        ),
        Column(metric, experiment.measure.name, decimals(4), _mean(metric)),
        Column(
            f"{metric}_std_pp",
            say("± p.p.")
            if experiment.measure.in_percentage_points
            else f"± {experiment.measure.unit}",
            decimals(2, 3),
            lambda line: line.result.summary[metric].std_pp,
        ),
    )


def _other_columns(experiment: Experiment) -> tuple[Column, ...]:
    """Return the columns of another validated figure, if any, and of the number of parameters."""
    task, metric = experiment.measure.task, experiment.measure.metric
    recipe = task_module(task, "recipe")
    others = [each for each in recipe.FIGURES if each in recipe.METRICS and each != metric]
    return (
        *(Column(each, Measure(task, each).name, decimals(4), _mean(each)) for each in others[-1:]),
        Column("parameters", say("Parameters"), PARAMETERS, lambda line: line.parameters),
    )


def _mean(figure: str) -> Callable[[Line], float | None]:
    """Return a function from a row to the mean of a figure over runs; None where it has none."""
    return lambda line: line.result.summary[figure].mean if figure in line.result.summary else None


def _difference_columns(
    results: Results, experiment: Experiment, attention: str
) -> tuple[Column, ...]:
    """Return the columns of the difference over the baseline, and of attention over each model."""

    def gain(line: Line) -> TestedDifference | None:
        return line.gain

    covers = say("{covers} interval", covers=results.coverage)
    return (
        Column(
            "gain_pp", say("Over the baseline"), POINTS, _strong(gain), unit=experiment.measure.unit
        ),
        Column("", covers, INTERVAL, difference_value(gain, lambda each: each.ends)),
        *interval_columns(gain, "gain_low_pp", "gain_high_pp"),
        p_column(gain),
        corrected_p_column(gain),
        Column("verdict", say("Verdict"), VERDICT, difference_value(gain, _verdict)),
        *(_rival_columns(experiment, attention) if attention else ()),
    )


def _rival_columns(experiment: Experiment, attention: str) -> tuple[Column, ...]:
    """Return the columns of the study's first attention variant over each other model."""

    def rival(line: Line) -> TestedDifference | None:
        return line.rival if line.name != BASELINE else None

    heading, value = say("{variant} over it", variant=attention), _strong(rival)
    verdict = difference_value(rival, _verdict)
    return (
        Column("attention_minus_this_pp", heading, POINTS, value, unit=experiment.measure.unit),
        Column("attention_over_this", say("Verdict"), VERDICT, verdict),
    )


def _strong(get_difference: GetDifference) -> Callable[[Line], Cell]:
    """Return a function from a row to a difference, bold where it is better or worse."""

    def value(line: Line) -> Cell:
        each = get_difference(line)
        return Cell(each and each.mean, strong=bool(each and each.verdict in (BETTER, WORSE)))

    return value


def _verdict(difference: TestedDifference) -> str:
    return difference.verdict

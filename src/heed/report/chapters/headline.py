"""The first sentences of a report, with scores, and the matrix of verdicts."""

import dataclasses
from collections.abc import Callable, Iterator

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.report.answer import TestedDifference, describe_model
from heed.report.blocks import Cell, Column, Phrase, Source, Span, Table, make_rows
from heed.report.chapters.shared import (
    TUNED_ALIKE,
    colon,
    glossary_link,
    join_columns,
    value_of,
)
from heed.report.experiments import NOT_COMPARABLE, NOT_REPRODUCED, REPRODUCED, Experiment
from heed.report.formats import DASH, POINTS, TEXT, format_points
from heed.report.language import say
from heed.report.measures import describe_reference_models

COARSE_PP = 3.0  # a study that is likely to miss differences of this size says so


def headline(experiments: list[Experiment]) -> list[str]:
    """Return what a report says first: a sentence of each experiment, and what they may miss."""
    several = len(experiments) > 1
    lines = [
        f"{each.title}{colon(each)} {each.answer.sentence}" if several else each.answer.sentence
        for each in experiments
    ]
    return [*lines, *_power(experiments)]


def _power(experiments: list[Experiment]) -> Iterator[str]:
    """Yield the sentence on differences that the primary comparisons are likely to miss."""
    coarse = {
        each.title: each.measure.limit(found, 1)
        for each in experiments
        if each.attention_comparison
        and (found := each.attention_comparison.primary.result.detectable_pp)
        and found > COARSE_PP
    }
    if coarse:
        sizes = ", ".join(
            f"{size} ({title})" if len(experiments) > 1 else size for title, size in coarse.items()
        )
        yield say(
            "Differences below these are likely to be missed: {sizes} (80% power).", sizes=sizes
        )


def judged_variants(experiments: list[Experiment]) -> list[str]:
    """Return the variants that are judged, each once: one in each experiment."""
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    return list(dict.fromkeys(each.variant for each in compared))


TITLE_WIDTH, WIDTH, ALL_WIDTHS = 36, 42, 126  # millimetres on paper; all verdicts
# A verdict is told by its word, its sign and its colour, which is that of its style.
SIGNS = {
    BETTER: "▲",
    WORSE: "▼",
    SAME: "=",
    UNDECIDED: "?",
    NOT_CONVERGED: "…",
    REPRODUCED: "=",
    NOT_REPRODUCED: "≠",
    NOT_COMPARABLE: "–",
}


GetDifference = Callable[[Experiment], TestedDifference | None]


def verdict_matrix(experiments: list[Experiment], sources: tuple[Source, ...] = ()) -> Table:
    """Return the matrix, the primary comparison first.

    It has no column for what no experiment is compared with.
    """
    units = {each.measure.long_unit for each in experiments if each.attention_comparison}
    unit = units.pop() if len(units) == 1 else ""
    # where experiments differ in the unit, the cells have it
    details = say(", with differences in {unit}", unit=unit) if unit else ""
    verdicts = [
        column
        for compared_model in _compared_models(experiments)
        for column in _columns(*compared_model, bool(unit))
    ]
    if any(each.line.reproduction for each in experiments):
        verdicts += [
            Column("", say("The talk’s gain"), TEXT, _talk),
            Column("talk_verdict", "", value="line.reproduction.verdict"),
            Column("talk_gain_pp", "", POINTS, "line.talk_gain"),
        ]
    printed = sum(bool(each.heading) for each in verdicts)  # none where nothing is compared
    width = min(ALL_WIDTHS // max(printed, 1), WIDTH)
    columns = (
        *join_columns(lambda each: each),
        Column("variant", "", value="attention_comparison.variant"),
        Column("", say("Experiment"), value=_title(experiments), width=TITLE_WIDTH),
        *(dataclasses.replace(each, width=width if each.heading else 0) for each in verdicts),
    )
    return Table(
        "verdicts",
        say("Verdicts on attention{details}", details=details),
        columns,
        make_rows(columns, experiments),
        sources=sources,
        location="experiments",
        style="verdicts",
    )


def _compared_models(experiments: list[Experiment]) -> list[tuple[str, str, str, GetDifference]]:
    """Return what attention is compared with in some experiment, as `_columns` takes it."""

    def found(kind: str) -> GetDifference:
        return lambda each: getattr(each.attention_comparison, kind, None)

    reference_model = found("strongest_reference_model")
    names = {each.second for one in experiments if (each := reference_model(one))}
    references = describe_reference_models(each.measure.task for each in experiments)
    only = references.get(names.pop()) if len(names) == 1 else None
    headings = say("Against the best reference model"), say("Best reference model")
    if only and only.against:
        headings = only.against, only.short
    primary = say("The question: against its control"), say("Against its control")
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    once = all(each.baseline in (None, each.primary) for each in compared)
    compared_models: list[tuple[str, str, str, GetDifference]] = [
        ("control", *primary, found("primary")),
        (
            "baseline",
            "" if once else say("Against the baseline"),
            say("Baseline"),
            found("baseline"),
        ),
        ("reference_model", *headings, reference_model),
    ]
    return [each for each in compared_models if any(map(each[3], experiments))]


def _columns(
    key: str, heading: str, short: str, get: GetDifference, has_unit: bool
) -> tuple[Column, ...]:
    """Return the column for people, and those of the CSV file: model, verdict and difference.

    `key` begins the names of these columns; `has_unit`: whether the table's title has the unit.
    """

    def cell(experiment: Experiment) -> Phrase | str:
        difference = get(experiment)
        if difference is None:
            return DASH
        value = difference.mean
        number = format_points(value) if has_unit else difference.measure.difference(value)
        verdict = verdict_span(difference.verdict, short_verdict(difference.verdict))
        words = describe_model(difference.second, experiment.result)
        name = (", ", glossary_link(difference.second, words))
        remark = (", ", glossary_link(TUNED_ALIKE, difference.remark)) if difference.remark else ()
        return Phrase((verdict, f" {number}", *name, *remark))

    return (
        Column("", heading, TEXT, cell, short=short),
        Column(key, "", value=value_of(get, "second")),
        Column(f"{key}_verdict", "", value=value_of(get, "verdict")),
        Column(f"{key}_pp", "", POINTS, value_of(get, "mean")),
    )


def _talk(each: Experiment) -> Phrase | str:
    verdict = each.line.reproduction.verdict if each.line.reproduction else ""
    if not verdict:
        return DASH
    return Phrase((verdict_span(verdict, say(verdict)), f" {format_points(each.line.talk_gain)}"))


def verdict_span(verdict: str, word: str) -> Span:
    """Return a verdict with its sign, in its style."""
    style = {BETTER: "better", WORSE: "worse", NOT_CONVERGED: "void", UNDECIDED: "open"}
    return Span(f"{SIGNS[verdict]}\u00a0{word}", f"outcome {style.get(verdict, 'level')}")


def short_verdict(verdict: str) -> str:
    """Return a verdict in the report's language, as short as a cell of the matrix."""
    return say("the same") if verdict == SAME else say(verdict)


def _title(experiments: list[Experiment]) -> Callable[[Experiment], Cell]:
    """Return a function to the title of an experiment.

    The variant that is judged stands there where not all have the same.
    """
    names_variant = len(judged_variants(experiments)) > 1

    def title(each: Experiment) -> Cell:
        compared = each.attention_comparison
        return Cell(
            each.title,
            note=compared.variant if compared and names_variant else "",
            mark=each.printed_mark,
            link=f"#experiment-{each.key}",
        )

    return title

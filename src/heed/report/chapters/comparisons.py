"""Comparisons: each difference of accuracy with its interval, its tests and its effect sizes."""

from typing import Any

from heed.evaluation.results import BETTER, WORSE
from heed.report.answer import TestedDifference, verdict_text
from heed.report.blocks import (
    PAGE,
    Block,
    Cell,
    Column,
    Disclosure,
    Phrase,
    Span,
    Table,
    make_rows,
)
from heed.report.chapters.shared import glossary_address, interval_columns, join_columns
from heed.report.experiments import Experiment
from heed.report.formats import (
    COUNT,
    INTERVAL,
    POINTS,
    PROBABILITY,
    TEXT,
    Format,
    decimals,
    format_points,
)
from heed.report.language import say, say_count
from heed.report.results import Results

VERDICT = Format(verdict_text, str, "left")
HEDGES_G = Format(format_points, decimals(2, 3).plain)


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the table of comparisons, which the page opens on demand."""
    comparisons, columns = experiment.comparisons, _columns(results, experiment)
    table = Table(
        f"{experiment.key}_comparisons",
        _title(experiment),
        columns,
        make_rows(columns, comparisons),
        notes=((_reading_note(results, comparisons),),) if comparisons else (),
        sources=results.comparison_sources,
        location=f"experiments.{experiment.key}.comparisons",
        mark=experiment.mark,
        style="worth",
    )
    if not comparisons:
        return [Disclosure("", (table,), media=())]
    summary = say("Comparisons and tests: {count} differences", count=len(comparisons))
    # Paper has each model's difference over the baseline and attention's over it elsewhere.
    return [Disclosure(summary, (table,), "worth", media=(PAGE,))]


def _title(experiment: Experiment) -> str:
    measure = experiment.measure
    if measure.is_accuracy:
        return say("Differences of accuracy in percentage points")
    return say("Differences of {figure} in {unit}", figure=measure.name, unit=measure.long_unit)


def _columns(results: Results, experiment: Experiment) -> tuple[Column, ...]:
    covers = say("{covers} interval", covers=results.coverage)
    return (
        *join_columns(lambda _: experiment),
        Column("", say("Compared"), TEXT, _compared),
        Column("first", "", value=lambda each: each.first),
        Column("second", "", value=lambda each: each.second),
        Column("family", "", value=lambda each: each.result.family),
        Column("difference_pp", say("Difference"), POINTS, _difference, short=say("Differ.")),
        Column("", covers, INTERVAL, lambda each: each.ends),
        *interval_columns(lambda each: each, "low_pp", "high_pp"),
        Column("p", "p", PROBABILITY, lambda each: each.result.p),
        Column(
            "p_holm",
            say("Corrected p"),
            PROBABILITY,
            lambda each: each.result.p_holm,
            short=say("corr. p"),
        ),
        Column(
            "equivalence_p_holm",
            say("Equivalence p"),
            PROBABILITY,
            lambda each: each.result.equivalence_p_holm,
            meaning=say(
                "corrected p of the tests that the difference lies within {margin}",
                margin=experiment.measure.margin(results.comparison.significance.margin_pp),
            ),
            paper=False,
        ),
        Column("verdict", say("Verdict"), VERDICT, lambda each: each.verdict),
        *_effects(experiment),
        *_other_tests(experiment),
    )


def _effects(experiment: Experiment) -> tuple[Column, ...]:
    """Return the columns of effect sizes, and of what the test could detect."""
    counts_right = experiment.measure.in_percentage_points and not experiment.measure.in_hundreds
    return (
        *((_odds_ratio(),) if counts_right else ()),  # a translation is not right or wrong
        Column(
            "g",
            "g",
            HEDGES_G,
            lambda each: each.result.effect.g,
            meaning=say("difference over its deviation over seeds"),
        ),
        Column("seeds_won", "", decimals(3), lambda each: each.result.effect.seeds_won),
        Column(
            "seeds_needed",
            say("Seeds needed"),
            COUNT,
            lambda each: each.result.seeds_needed,
            meaning=say(
                "to detect this difference with 80% power (–: more than 1,000, or it cannot be "
                "computed)"
            ),
        ),
        Column(
            "detectable_pp",
            say("Minimum detectable difference"),
            decimals(2),
            lambda each: each.result.detectable_pp,
            meaning=say("the smallest that these seeds detect with 80% power"),
            short=say("min. detect."),
        ),
    )


def _odds_ratio() -> Column:
    return Column(
        "odds_ratio",
        say("Odds ratio"),
        decimals(2, 3),
        lambda each: each.result.effect.odds_ratio,
        meaning=say("documents that only the first has right over those that only the second has"),
    )


def _other_tests(experiment: Experiment) -> tuple[Column, ...]:
    """Return the columns of tests that decide nothing."""
    return (
        Column(
            "", "Bootstrap", INTERVAL, lambda each: each.result.others.bootstrap_pp, paper=False
        ),
        Column(
            "bootstrap_low_pp",
            "",
            POINTS,
            lambda each: (each.result.others.bootstrap_pp or (None, None))[0],
        ),
        Column(
            "bootstrap_high_pp",
            "",
            POINTS,
            lambda each: (each.result.others.bootstrap_pp or (None, None))[1],
        ),
        _other(
            "documents_p",
            say("p, sentences" if experiment.measure.is_of_sentences else "p, documents"),
            paper=False,
        ),
        _other("seeds_t_p", say("p, seeds (t)"), paper=False),
        _other("seeds_sign_p", say("p, seeds (signs)"), paper=False),
        _other("seeds_sign_smallest_p", ""),
    )


def _other(key: str, heading: str, **options: Any) -> Column:
    """Return the column of p of another test."""
    return Column(
        key, heading, PROBABILITY, lambda each: getattr(each.result.others, key), **options
    )


def _compared(each: TestedDifference) -> Phrase:
    """Return the two models, each with a link to its explanation."""
    first, second = (Span(name, link=glossary_address(name)) for name in (each.first, each.second))
    return Phrase((first, " − ", second))


def _difference(each: TestedDifference) -> Cell:
    return Cell(each.mean, strong=each.verdict in (BETTER, WORSE))


def _reading_note(results: Results, comparisons: list[TestedDifference]) -> str:
    """Return how to read the table."""
    text = say(
        "The corrected p values and the convergence of both models decide; bold: better or "
        "worse. Bootstrap and the last columns are checks that leave out a source of variance or, "
        "with few seeds, are too "
        "narrow; they decide nothing."
    )
    return f"{text} " + say_count(
        "With {count} seed the signs alone cannot give a p below {smallest}.",
        "With {count} seeds the signs alone cannot give a p below {smallest}.",
        len(results.comparison.seeds),
        smallest=comparisons[0].result.others.seeds_sign_smallest_p or 1,
    )

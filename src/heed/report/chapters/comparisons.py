"""Comparisons: each difference of accuracy with its interval and its tests."""

from heed.report.blocks import PAGE, Block, Column, Disclosure, Phrase
from heed.report.chapters.experiment import strong_difference
from heed.report.chapters.shared import (
    corrected_p_column,
    experiment_table,
    glossary_link,
    interval_column,
    interval_columns,
    verdict_cell,
)
from heed.report.experiments import Experiment
from heed.report.formats import COUNT, POINTS, PROBABILITY, TEXT, VERDICT, decimals
from heed.report.measures import Measure
from heed.report.results import Results


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the table of comparisons, which the page opens on demand."""
    comparisons, measure = experiment.comparisons, experiment.measure
    primary = [
        f"Primary: the study's question, {each.first} over {each.second}, tested by itself."
        for each in comparisons
        if each.result.family == "primary"
    ]
    others = (
        "Secondary: intervals and p values allow for the number of these comparisons in this "
        "experiment, that of reference models apart. Check: against the trivial reference model, "
        "each by itself. Bold: better or worse."
    )
    note = " ".join([*primary, others])
    table = experiment_table(
        results,
        experiment,
        "_comparisons",
        "Differences of accuracy in percentage points"
        if measure.is_accuracy
        else f"Differences of {measure.name} in {measure.long_unit}",
        _columns(results, measure),
        comparisons,
        notes=((note,),) if comparisons else (),
        location=f"experiments.{experiment.key}.comparisons",
        style="worth",
    )
    if not comparisons:
        return [Disclosure("", (table,), media=())]
    summary = f"Comparisons and tests: {len(comparisons)} differences"
    # Paper has each model's difference over the baseline and attention's over it elsewhere.
    return [Disclosure(summary, (table,), "worth", media=(PAGE,))]


QUESTIONS = {"primary": "primary", "trivial": "check"}  # by family; of all others: secondary


def _columns(results: Results, measure: Measure) -> tuple[Column, ...]:
    margin = measure.limit(results.comparison.significance.equivalence_margin)
    within = (
        f"the least margin within which the difference is shown to lie; below {margin} the two "
        "are practically the same"
    )
    needed = (
        "to detect this difference with 80% power (–: more than 1,000, or it cannot be computed)"
    )
    detectable = "the smallest that these seeds detect with 80% power"
    return (
        Column(
            "", "Compared", TEXT,
            lambda e: Phrase((glossary_link(e.first), " − ", glossary_link(e.second))),
        ),
        Column("first", "", value="first"),
        Column("second", "", value="second"),
        Column("", "Question", TEXT, lambda e: QUESTIONS.get(e.result.family, "secondary")),
        Column("family", "", value="result.family"),
        Column("tests", "", value="result.tests"),
        Column("difference_pp", "Difference", POINTS, strong_difference(""), short="Differ."),
        interval_column(results, ""),
        *interval_columns("", "low_pp", "high_pp"),
        Column("p", "p", PROBABILITY, "result.p"),
        corrected_p_column(""),
        Column(
            "equal_within_pp", "Equal within", decimals(2), "result.equal_within_pp",
            meaning=within,
        ),
        Column("verdict", "Verdict", VERDICT, verdict_cell("")),
        Column("tuned_alike", "", value=lambda each: str(each.result.tuned_alike).lower()),
        Column("seeds_needed", "Seeds needed", COUNT, "result.seeds_needed", meaning=needed),
        Column(
            "detectable_pp", "Minimum detectable difference", decimals(2),
            "result.detectable_pp", meaning=detectable, short="min. detect.",
        ),
    )  # fmt: skip

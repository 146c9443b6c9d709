"""A verdict in words: one sentence, how it was tested, and a row for each pair of models."""

import dataclasses
import math
from collections.abc import Iterator

from heed.evaluation.comparison import bound_of
from heed.evaluation.results import BETTER, SAME, UNDECIDED, WORSE, Interval
from heed.evaluation.significance import ALPHA, POWER
from heed.report.differences import ESTIMATE, VERDICT_WORDS, reading_of
from heed.report.formats import (
    DASH,
    format_coverage,
    format_interval,
    format_points,
    join_and,
)
from heed.verdict.pairs import Pair, Verdict

COLUMNS = ("model", "against", "difference", "interval", "verdict", "to decide")


BETTER_IS = ("higher is better", "lower is better")
MOST_DRAWN = 30  # pairs in a figure: of more, those of the best model


@dataclasses.dataclass(frozen=True)
class Section:
    """What is printed, or stands in a page, of one verdict or of one answer over corpora."""

    title: str
    sentences: list[str]  # the first is the answer
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    design: str  # what stands below the table
    intervals: list[dict[str, str]]  # the rows of `heed.report.forest_plot.interval_plot`


def section(verdict: Verdict) -> Section:
    """Return a verdict in words and rows, those with the best model first."""
    return Section(
        ", ".join(filter(None, (verdict.dataset, verdict.metric))),
        [sentence(verdict), f"Scores ({BETTER_IS[verdict.lower_is_better]}): {scores(verdict)}."],
        COLUMNS,
        rows(verdict),
        " ".join(design(verdict)),
        intervals(verdict),
    )


def rows(verdict: Verdict) -> list[tuple[str, ...]]:
    """Return the pairs as a person reads them, with a text for each of COLUMNS."""
    return [
        (
            pair.first, pair.second, *numbers(pair, verdict), verdict_of(pair, verdict),
            to_decide(pair, verdict),
        )
        for pair in verdict.pairs
    ]  # fmt: skip


def numbers(pair: Pair, verdict: Verdict) -> tuple[str, str]:
    """Return difference and interval, of scores in a unit of their own with three digits."""
    mean, ends = pair.result.mean_pp, pair.result.interval_pp
    if verdict.in_points or not ends:
        return format_points(mean), format_interval(ends)
    first, *both = (f"{value:+.3g}".replace("-", "−") for value in (mean, *ends))
    return first, " to ".join(both)


def intervals(verdict: Verdict) -> list[dict[str, str]]:
    """Return the pairs that have an interval, for the figure: all, or those of the best model."""
    tested = [(pair, ends) for pair in verdict.pairs if (ends := pair.result.interval_pp)]
    if len(tested) > MOST_DRAWN:
        best = next(iter(verdict.scores))
        tested = [(pair, ends) for pair, ends in tested if best in (pair.first, pair.second)]
    return [
        interval_row(
            f"{pair.first} against {pair.second}", pair.result.mean_pp, ends,
            verdict=pair.result.verdict, margin=f"{verdict.margin or 0:g}",
        )
        for pair, ends in tested
    ]  # fmt: skip


def interval_row(title: str, mean: float, ends: Interval, **values: str) -> dict[str, str]:
    """Return a row of the figure."""
    said = f"{format_points(mean)} ({format_interval(ends)})"
    numbers = zip(("difference_pp", "low_pp", "high_pp"), (mean, *ends), strict=True)
    return {"title": title, "models": said, **{key: f"{n:.6g}" for key, n in numbers}, **values}


def verdict_of(pair: Pair, verdict: Verdict) -> str:
    """Return the verdict on a pair in words."""
    margin = verdict.margin or 0
    within = "a point" if verdict.in_points and margin == 1 else f"{margin:g}{points(verdict)}"
    reason = "one seed and one item have no interval"
    reading = reading_of(pair.result, pair.items_needed)
    return VERDICT_WORDS[reading].format(within=within, reason=reason, bound=bound(pair, verdict))


def bound(pair: Pair, verdict: Verdict) -> str:
    """Return within what the difference of a pair is shown to lie."""
    ends = pair.result.interval_pp or (0.0, 0.0)
    digits = math.floor(math.log10(max(map(abs, ends)) or 1.0))
    step = 0.1 if verdict.in_points else 10.0 ** (digits - 2)
    return f"{bound_of(ends, step):.4g}{points(verdict)}"


def points(verdict: Verdict) -> str:
    """Return the unit of differences, to stand after a number."""
    return " points" if verdict.in_points else ""


def to_decide(pair: Pair, verdict: Verdict) -> str:
    """Return what would decide an open pair if the difference is the one seen; else a dash."""
    if reading_of(pair.result, pair.items_needed) != UNDECIDED:
        return DASH
    seeds = pair.result.seeds_needed
    if seeds and verdict.looks:
        seeds = verdict.looks.at_least(seeds)
    needed = (
        (seeds, verdict.seeds, "seeds"),
        (pair.items_needed, verdict.items, "items"),
    )
    ways = [f"{count:,} {what}" for count, has, what in needed if count and count > has]
    return " or ".join(ways) or DASH


def sentence(verdict: Verdict) -> str:
    """Return the result in one sentence."""
    return (_against_control if verdict.control else _of_all)(verdict)


def _of_all(verdict: Verdict) -> str:
    best, *others = verdict.scores
    worse = [pair.second for pair in verdict.pairs if pair.first == best and pair.is_shown]
    if not worse:
        return f"Nothing separates {best} from {join_and(others)}."
    if worse == others:
        return _of_best(verdict, best, others)
    said = f"{join_and(worse)} are" if worse[1:] else f"only {worse[0]} is"
    ties = [name for name in others if name not in worse]
    return (
        f"{best} is the best by its score, but nothing separates it from {join_and(ties)}: {said} "
        f"shown to be worse than {best}."
    )


def _of_best(verdict: Verdict, best: str, others: list[str]) -> str:
    pair = next(pair for pair in verdict.pairs if {pair.first, pair.second} == {best, others[0]})
    form = ".1f" if verdict.in_points else ".3g"
    low, high = pair.result.interval_pp or (0.0, 0.0)
    than = f"all others, and than the next, {others[0]}," if others[1:] else others[0]
    return (
        f"{best} is better than {than} by {abs(pair.result.mean_pp):{form}}{points(verdict)} "
        f"({format_coverage(ALPHA)} interval {low:{form}} to {high:{form}})."
    )


AGAINST = {BETTER: "better", WORSE: "worse", SAME: "the same within the margin"}


def _against_control(verdict: Verdict) -> str:
    by_verdict: dict[str, list[str]] = {kind: [] for kind in (*AGAINST, UNDECIDED)}
    estimates = []
    for pair in verdict.pairs:
        if reading_of(pair.result, pair.items_needed) == ESTIMATE:
            estimates.append(f"{pair.first} is within {bound(pair, verdict)}")
        else:
            by_verdict[pair.result.verdict].append(pair.first)
    said = [
        f"{join_and(names)} {'are' if names[1:] else 'is'} {AGAINST[kind]}"
        for kind in AGAINST
        if (names := by_verdict[kind])
    ]
    if rest := by_verdict[UNDECIDED]:
        said.append(f"of {join_and(rest)} nothing is decided")
    return f"Against {verdict.control}, {'; '.join([*said, *estimates])}."


def design(verdict: Verdict) -> Iterator[str]:
    """Yield what the intervals allow for, and what they cannot say."""
    seeds, items, pairs = verdict.seeds, f"{verdict.items:,} items", len(verdict.pairs)
    if verdict.folds:
        yield f"Tested over {verdict.folds} folds of {items} each."
    elif seeds == 1:
        yield (
            f"Each model was trained once: this is a verdict on these trained models, tested over "
            f"{items}. It says nothing about another training of theirs."
        )
    elif verdict.items == 1:
        yield (
            f"Tested over {seeds} seeds alone: without the score of each item nothing is known "
            "about other items."
        )
    else:
        yield f"Tested over {seeds} seeds and {items}."
    if verdict.once:
        yield (
            f"{join_and([*verdict.once])} {'have' if verdict.once[1:] else 'has'} one seed: the "
            "intervals do not allow for another training there."
        )
    if pairs > 1:
        yield f"The {format_coverage(ALPHA)} intervals of all {pairs} pairs hold together."
    if verdict.looks:
        yield str(verdict.looks)
    if any(row[-1] != DASH for row in rows(verdict)):
        yield (
            "To decide: as many would find a difference of the size that was seen, with a "
            f"probability of {POWER:.0%}."
        )


def scores(verdict: Verdict) -> str:
    """Return the score of each model, the best first."""
    form = ".1f" if verdict.in_points else ".6g"
    said = (f"{name} {value:{form}}" for name, value in verdict.scores.items())
    return ", ".join(said).replace(" -", " −")

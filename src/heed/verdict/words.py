"""A verdict in words: one sentence, how it was tested, and a row for each pair of models."""

import dataclasses
from collections.abc import Iterator, Sequence

from heed.evaluation.results import BETTER, SAME, UNDECIDED, WORSE
from heed.evaluation.significance import ALPHA, MAX_SEEDS, POWER
from heed.report.differences import SLIGHTLY_BETTER, SLIGHTLY_WORSE, UNTESTED, VERDICT_WORDS
from heed.report.formats import DASH, format_coverage, format_interval, format_number, format_points
from heed.verdict.pairs import Pair, Verdict

COLUMNS = ("model", "against", "difference", "interval", "verdict", "to decide")


@dataclasses.dataclass(frozen=True)
class Row:
    """A pair of models as a person reads it, a field for each of COLUMNS."""

    model: str
    against: str
    difference: str
    interval: str
    verdict: str
    to_decide: str  # more seeds or items, of an open pair


def rows(verdict: Verdict) -> list[Row]:
    """Return the pairs, those with the best model first."""
    return [
        Row(
            pair.first, pair.second, format_points(pair.result.mean_pp),
            format_interval(pair.result.interval_pp), verdict_of(pair, verdict),
            to_decide(pair, verdict),
        )
        for pair in verdict.pairs
    ]  # fmt: skip


def reading(pair: Pair) -> str:
    """Return the key of VERDICT_WORDS that the interval of a pair bears out."""
    result = pair.result
    if result.interval_pp is None:
        return UNTESTED
    low, high = result.interval_pp
    if result.verdict != SAME:
        return result.verdict
    return SLIGHTLY_BETTER if low > 0 else SLIGHTLY_WORSE if high < 0 else SAME


def verdict_of(pair: Pair, verdict: Verdict) -> str:
    """Return the verdict on a pair in words."""
    margin = verdict.margin or 0
    within = "a point" if verdict.in_points and margin == 1 else f"{margin:g}{points(verdict)}"
    reason = "one seed and one item have no interval"
    return VERDICT_WORDS[reading(pair)].format(within=within, reason=reason)


def points(verdict: Verdict) -> str:
    """Return the unit of differences, to stand after a number."""
    return " points" if verdict.in_points else ""


def to_decide(pair: Pair, verdict: Verdict) -> str:
    """Return what would decide an open pair if the difference is the one seen; else a dash."""
    if pair.result.verdict != UNDECIDED or pair.result.interval_pp is None:
        return DASH
    needed = (
        (pair.result.seeds_needed, verdict.seeds, "seeds"),
        (pair.items_needed, verdict.items, "items"),
    )
    ways = [f"{count:,} {what}" for count, has, what in needed if count and count > has]
    return " or ".join(ways) or (f"more than {MAX_SEEDS} seeds" if verdict.seeds > 1 else DASH)


def sentence(verdict: Verdict) -> str:
    """Return what came out, in one sentence."""
    return (_against_control if verdict.control else _of_all)(verdict)


def _of_all(verdict: Verdict) -> str:
    names = [*verdict.scores]
    best, *others = names
    ties = next(group for group in verdict.groups if group[0] == best)
    if len(ties) == len(names):
        return f"Nothing separates {join(names)}."
    worse = [name for name in others if name not in ties]
    if len(ties) == 1:
        pair = next(each for each in verdict.pairs if {each.first, each.second} == {*names[:2]})
        low, high = pair.result.interval_pp or (0.0, 0.0)
        than = f"all others, and than the next, {names[1]}," if others[1:] else names[1]
        return (
            f"{best} is better than {than} by {abs(pair.result.mean_pp):.1f}{points(verdict)} "
            f"({format_coverage(ALPHA)} interval {low:.1f} to {high:.1f})."
        )
    return f"{best} is the best by its score, but nothing separates {join(ties)}: " + (
        f"only {join(worse)} is shown to be worse than {best}."
        if len(worse) == 1
        else f"{join(worse)} are shown to be worse than {best}."
    )


def _against_control(verdict: Verdict) -> str:
    by_reading = {
        word: [pair.first for pair in verdict.pairs if pair.result.verdict == kind]
        for kind, word in (
            (BETTER, "better"),
            (WORSE, "worse"),
            (SAME, "the same within the margin"),
        )
    }
    said = [
        f"{join(names)} {'is' if len(names) == 1 else 'are'} {word}"
        for word, names in by_reading.items()
        if names
    ]
    known = {name for names in by_reading.values() for name in names}
    rest = [pair.first for pair in verdict.pairs if pair.first not in known]
    said += [f"of {join(rest)} nothing is decided"] if rest else []
    return f"Against {verdict.control}, {'; '.join(said)}."


def join(names: Sequence[str]) -> str:
    """Return names as a list within a sentence."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


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
    if pairs > 1:
        yield f"The {format_coverage(ALPHA)} intervals of all {pairs} pairs hold together."
    if any(row.to_decide != DASH for row in rows(verdict)):
        yield (
            f"To decide: what finds a difference of the size that was seen with {POWER:.0%} "
            "probability."
        )


def scores(verdict: Verdict) -> str:
    """Return the score of each model, the best first."""
    digits = 1 if verdict.in_points else 4
    return ", ".join(
        f"{name} {format_number(value, digits)}" for name, value in verdict.scores.items()
    )

"""The answer over all experiments of a study in one line, from the verdicts alone."""

from collections import Counter

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.report.answer import Standing, TestedDifference
from heed.report.experiments import Experiment
from heed.report.language import say, say_count
from heed.report.measures import reference_models

NO_COMPARISON = "no comparison"  # where an experiment has no baseline, or no attention
# The order in which verdicts over the baseline are named: a loss first.
ORDER = (WORSE, BETTER, SAME, UNDECIDED, NOT_CONVERGED, NO_COMPARISON)


def headline(experiments: list[Experiment], seeds: int) -> str:
    """Return the answer of a study: against the baseline, the controls and the opponents.

    Args:
        experiments: all of the study.
        seeds: how many the study has.

    """
    standings = [each.standing for each in experiments if each.standing]
    count = len(experiments)
    sentences = [
        say("One seed decides nothing.") if seeds == 1 else "",
        say(
            "{experiments}: {answer}.", experiments=_number(experiments), answer=_over(experiments)
        ),
        _over_controls(standings, count),
        _over_opponents(standings, count),
    ]
    return " ".join(filter(None, sentences))


def judged_variants(experiments: list[Experiment]) -> list[str]:
    """Return the variants that are judged, each once: one in each experiment."""
    return list(dict.fromkeys(each.standing.variant for each in experiments if each.standing))


def _number(experiments: list[Experiment]) -> str:
    """Return how many corpora there are, or experiments where some share a corpus."""
    count = len(experiments)
    words = (
        say("Two"), say("Three"), say("Four"), say("Five"), say("Six"), say("Seven"), say("Eight"),
        say("Nine"), say("Ten"), say("Eleven"), say("Twelve"),
    )  # fmt: skip
    number = words[count - 2] if 2 <= count <= 12 else str(count)
    if len({each.corpus_name for each in experiments}) < count:
        return say_count("One experiment", "{number} experiments", count, number=number)
    return say_count("One corpus", "{number} corpora", count, number=number)


def _over(experiments: list[Experiment]) -> str:
    """Return how often attention beats the baseline, loses to it, or neither."""
    counts = Counter(
        each.standing.baseline.verdict if each.standing else NO_COMPARISON for each in experiments
    )
    variants = judged_variants(experiments)
    standings = [each.standing for each in experiments if each.standing]
    last = bool(standings) and all(each.is_last_state for each in standings)
    names = {
        "name": variants[0] if len(variants) == 1 else say("attention"),
        "baseline": say("the last-state baseline") if last else say("the baseline"),
    }
    first, *further = [
        (verdict, _where(counts[verdict], experiments)) for verdict in ORDER if counts[verdict]
    ]
    return ", ".join([_first(*first, names), *(_further(*each) for each in further)])


def _where(count: int, experiments: list[Experiment]) -> str:
    """Return on how many experiments something holds; empty where there is one."""
    total = len(experiments)
    if total == 1:
        return ""
    return _on_all(total) if count == total else say(" on {count}", count=count)


def _on_all(total: int) -> str:
    return say(" on both") if total == 2 else say(" on all {count}", count=total)


def _first(verdict: str, where: str, names: dict[str, str]) -> str:
    """Return the first part of the answer, which names what is compared."""
    values = {"where": where, **names}
    return {
        WORSE: say("{name} loses to {baseline}{where}", **values),
        BETTER: say("{name} beats {baseline}{where}", **values),
        SAME: say("{name} and {baseline} are practically the same{where}", **values),
        UNDECIDED: say("{name} against {baseline} is undecided{where}", **values),
        NOT_CONVERGED: say("{name} against {baseline} has not converged{where}", **values),
        NO_COMPARISON: say("{name} is compared with no baseline{where}", **values),
    }[verdict]


def _further(verdict: str, where: str) -> str:
    """Return a further part of the answer."""
    return {
        BETTER: say("beats it{where}", where=where),
        SAME: say("is practically the same{where}", where=where),
        UNDECIDED: say("undecided{where}", where=where),
        NOT_CONVERGED: say("not converged{where}", where=where),
        NO_COMPARISON: say("no comparison{where}", where=where),
    }[verdict]


def _over_controls(standings: list[Standing], experiments: int) -> str:
    """Return whether attention beats the controls, which gain without it; bad news first."""
    hardest = [each.hardest_control for each in standings if each.hardest_control]
    if not hardest:
        if any(each.baseline.verdict == BETTER and not each.is_control for each in standings):
            no_control = say("no control was trained, so the gain need not be attention's")
            return _sentence([no_control])
        return ""
    lost, won = _count(hardest, WORSE), _count(hardest, BETTER)
    parts = []
    if lost:
        where = _of(lost, len(hardest), experiments)
        parts.append(say("a control beats it{where}", where=where))
    if won:
        where = _of(won, len(hardest), experiments)
        parts.append(say("shown better than every control{where}", where=where))
    elif any(each.verdict == BETTER for standing in standings for each in standing.controls):
        parts.append(say("not shown better than every control"))
    elif lost < len(hardest):
        parts.append(
            say("never shown better than a control")
            if experiments > 1
            else say("not shown better than a control")
        )
    return _sentence(parts)


def _over_opponents(standings: list[Standing], experiments: int) -> str:
    """Return whether a reference model from outside beats attention."""
    hardest = [each.hardest_opponent for each in standings if each.hardest_opponent]
    if not hardest:
        return ""
    lost, won = _count(hardest, WORSE), _count(hardest, BETTER)
    names = {each.second for each in hardest}
    references = reference_models(each.measure.task for each in hardest)
    only = references[names.pop()].in_sentence if len(names) == 1 else ""
    opponent = only or (say("the best opponent") if won and not lost else say("an opponent"))
    if lost:
        where = _of(lost, len(hardest), experiments)
        return _sentence([say("{opponent} beats it{where}", opponent=opponent, where=where)])
    if won:
        where = _of(won, len(hardest), experiments)
        return _sentence([say("it beats {opponent}{where}", opponent=opponent, where=where)])
    return _sentence(
        [
            say("never shown better than {opponent}", opponent=opponent)
            if experiments > 1
            else say("not shown better than {opponent}", opponent=opponent)
        ]
    )


def _count(differences: list[TestedDifference], verdict: str) -> int:
    return sum(each.verdict == verdict for each in differences)


def _of(count: int, compared: int, experiments: int) -> str:
    """Return on how many of the experiments with such a comparison something holds."""
    if experiments == 1:
        return ""
    if count < compared == experiments:
        return say(" on {count} of {total}", count=count, total=compared)
    if count < compared:
        return say(" on {count} of the {total} compared", count=count, total=compared)
    return _on_all(count) if compared == experiments else say(" wherever they are compared")


def _sentence(parts: list[str]) -> str:
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."

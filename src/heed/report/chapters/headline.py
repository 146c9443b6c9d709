"""The first screen: the answer over all experiments in one line, and the matrix of their verdicts."""

import dataclasses
from collections import Counter
from collections.abc import Callable

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.report.answer import Standing, TestedDifference, verdict_text
from heed.report.blocks import Cell, Column, Phrase, Source, Span, Table, Texts, make_rows
from heed.report.chapters.shared import difference_value, glossary_link, join_columns
from heed.report.experiments import NOT_COMPARABLE, NOT_REPRODUCED, REPRODUCED, Experiment
from heed.report.formats import DASH, POINTS, TEXT, format_points
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


KEY = "verdicts"
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


@dataclasses.dataclass(frozen=True)
class Rival:
    """A column of the matrix: what attention is compared with.

    `key` begins the names of its columns in the CSV file. `has_names`: whether the cells name the
    model, since it is not the same in all experiments.
    """

    key: str
    heading: str
    short: str
    get: Callable[[Experiment], TestedDifference | None]
    has_names: bool = False


def verdict_matrix(experiments: list[Experiment], sources: tuple[Source, ...] = ()) -> Table:
    """Return the matrix; it has no column for what no experiment is compared with."""
    units = {each.measure.long_unit for each in experiments if each.standing}
    unit = units.pop() if len(units) == 1 else ""
    marks = {each.mark for each in experiments}
    verdicts = (
        *(column for rival in _rivals(experiments) for column in _columns(rival, bool(unit))),
        *_talk_columns(experiments),
    )
    printed = sum(bool(each.heading) for each in verdicts)  # none where nothing is compared
    width = min(ALL_WIDTHS // max(printed, 1), WIDTH)
    columns = (
        *join_columns(lambda each: each),
        Column("variant", "", value=_variant),
        Column("", say("Experiment"), value=_title(experiments), width=TITLE_WIDTH),
        *(dataclasses.replace(each, width=width if each.heading else 0) for each in verdicts),
    )
    return Table(
        KEY,
        _heading(experiments, unit),
        columns,
        make_rows(columns, experiments),
        sources=sources,
        location="experiments",
        mark=marks.pop() if len(marks) == 1 else "",
        style="verdicts",
    )


def _heading(experiments: list[Experiment], unit: str) -> str:
    """Return the matrix's title: what is judged where a study has several variants, and the unit.

    The unit is empty where experiments differ in it: then the cells have it.
    """
    variants = judged_variants(experiments)
    gains = [gain for each in experiments if each.standing for gain in each.standing.other_gains]
    others = list(dict.fromkeys(gain.first for gain in gains))
    details = ""
    if len(variants) == 1 and others:
        details = say(
            ", here the variant {name} (the report also judges {others})",
            name=variants[0],
            others=", ".join(others),
        )
    if unit:
        details += say(", with differences in {unit}", unit=unit)
    return say("Verdicts on attention{details}", details=details)


def _rivals(experiments: list[Experiment]) -> list[Rival]:
    """Return the columns of models that some experiment has."""
    opponents = {
        each.standing.hardest_opponent.second
        for each in experiments
        if each.standing and each.standing.hardest_opponent
    }
    references = reference_models(each.measure.task for each in experiments)
    only = references.get(opponents.pop()) if len(opponents) == 1 else None
    heading, short = say("Against the best opponent"), say("Best opponent")
    if only and only.against:
        heading, short = only.against, only.short
    rivals = [
        Rival("baseline", say("Against the baseline"), say("Baseline"), _baseline),
        Rival(
            "control", say("Against the hardest control"), say("Hardest control"), _control, True
        ),
        Rival("opponent", heading, short, _opponent, short == say("Best opponent")),
    ]
    return [each for each in rivals if any(map(each.get, experiments))]


def _baseline(each: Experiment) -> TestedDifference | None:
    return each.gain


def _control(each: Experiment) -> TestedDifference | None:
    return each.standing.hardest_control if each.standing else None


def _opponent(each: Experiment) -> TestedDifference | None:
    return each.standing.hardest_opponent if each.standing else None


def _columns(rival: Rival, has_unit: bool) -> tuple[Column, ...]:
    """Return the column for people, and those of the CSV file: model, verdict and difference."""

    def cell(experiment: Experiment) -> Phrase | str:
        difference = rival.get(experiment)
        if difference is None:
            return DASH
        value = difference.mean
        number = format_points(value) if has_unit else difference.measure.difference(value)
        name: Texts = (" (", glossary_link(difference.second), ")") if rival.has_names else ()
        verdict = verdict_span(difference.verdict, short_verdict(difference.verdict))
        return Phrase((verdict, f" {number}", *name))

    def value(get: Callable[[TestedDifference], object]) -> Callable[[Experiment], object]:
        get_value = difference_value(rival.get, get)
        return lambda experiment: get_value(experiment) or ""

    return (
        Column("", rival.heading, TEXT, cell, short=rival.short),
        Column(rival.key, "", value=value(lambda each: each.second)),
        Column(f"{rival.key}_verdict", "", value=value(lambda each: each.verdict)),
        Column(f"{rival.key}_pp", "", POINTS, difference_value(rival.get, lambda each: each.mean)),
    )


def _talk_columns(experiments: list[Experiment]) -> tuple[Column, ...]:
    """Return the columns of the talk's gain; none where no experiment has one."""
    if not any(each.line.reproduction for each in experiments):
        return ()
    return (
        Column("", say("The talk’s gain"), TEXT, _talk),
        Column("talk_verdict", "", value=_reproduction),
        Column("talk_gain_pp", "", POINTS, lambda each: each.line.talk_gain),
    )


def _talk(each: Experiment) -> Phrase | str:
    verdict = _reproduction(each)
    if not verdict:
        return DASH
    words = {
        REPRODUCED: say("reproduced"),
        NOT_REPRODUCED: say("not reproduced"),
        NOT_COMPARABLE: say("not comparable"),
        UNDECIDED: say("undecided"),
    }
    return Phrase((verdict_span(verdict, words[verdict]), f" {format_points(each.line.talk_gain)}"))


def _reproduction(each: Experiment) -> str:
    return each.line.reproduction.verdict if each.line.reproduction else ""


def verdict_span(verdict: str, word: str) -> Span:
    """Return a verdict with its sign, in its style."""
    style = {BETTER: "better", WORSE: "worse", NOT_CONVERGED: "void", UNDECIDED: "open"}
    return Span(f"{SIGNS[verdict]}\u00a0{word}", f"outcome {style.get(verdict, 'level')}")


def short_verdict(verdict: str) -> str:
    """Return a verdict in the report's language, as short as a cell of the matrix."""
    return say("the same") if verdict == SAME else verdict_text(verdict)


def _variant(each: Experiment) -> str:
    return each.standing.variant if each.standing else ""


def _title(experiments: list[Experiment]) -> Callable[[Experiment], Cell]:
    """Return a function to the title of an experiment.

    The mark stands there where not all have the same, and so does the variant that is judged.
    """
    names_variant = len(judged_variants(experiments)) > 1
    has_mark = len({each.mark for each in experiments}) > 1

    def title(each: Experiment) -> Cell:
        return Cell(
            each.title,
            note=_variant(each) if names_variant else "",
            mark=each.mark if has_mark else "",
            link=f"#experiment-{each.key}",
        )

    return title

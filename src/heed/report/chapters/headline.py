"""The first screen: the answer over all experiments in one line, and the matrix of verdicts."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence

from heed.evaluation.results import BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE
from heed.report.answer import (
    AttentionComparison,
    TestedDifference,
    name_model,
    verdict_text,
)
from heed.report.blocks import Cell, Column, Phrase, Source, Span, Table, make_rows
from heed.report.chapters.shared import (
    TUNED_ALIKE,
    difference_value,
    glossary_link,
    join_columns,
)
from heed.report.experiments import NOT_COMPARABLE, NOT_REPRODUCED, REPRODUCED, Experiment
from heed.report.formats import DASH, POINTS, TEXT, format_points
from heed.report.language import say, say_count
from heed.report.measures import describe_reference_models

NO_COMPARISON = "no comparison"  # where an experiment has no baseline, or no attention
# The order in which verdicts over the baseline are named: a loss first.
ORDER = (WORSE, BETTER, SAME, UNDECIDED, NOT_CONVERGED, NO_COMPARISON)


def headline(experiments: list[Experiment], seeds: int) -> str:
    """Return the answer of a study: what to use, then attention against the baseline, the
    controls and the reference models, from the verdicts alone; `seeds` is how many the study has.
    """
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    count = len(experiments)
    over = say(
        "{experiments}: {answer}.", experiments=_number(experiments), answer=_over(count, compared)
    )
    sentences = [
        _advice(experiments),
        say("One seed decides nothing.") if seeds == 1 else "",
        over,
        *(f"{text[0].upper()}{text[1:]}." for text in _over_others(compared, count) if text),
    ]
    return " ".join(filter(None, sentences))


def _advice(experiments: list[Experiment]) -> str:
    """Return which model to use: of one experiment its own sentence, of several how often which."""
    advised = [each for each in experiments if each.answer.recommended]
    if not advised or len(experiments) == 1:
        return "".join(each.answer.advice for each in advised)
    kinds = [
        name_model(each.answer.recommended, each.result)
        if each.answer.recommended in each.result.reference_models
        else say("a network")
        for each in advised
    ]
    counts, total = Counter(kinds), len(experiments)
    if counts[kinds[0]] == total:
        return say("Use {model}{where}.", model=kinds[0], where=_on(total, total))
    parts = [say("{model} on {count}", model=each, count=n) for each, n in counts.most_common()]
    return say("Use {models} of {total}.", models=", ".join(parts), total=total)


def judged_variants(experiments: list[Experiment]) -> list[str]:
    """Return the variants that are judged, each once: one in each experiment."""
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    return list(dict.fromkeys(each.variant for each in compared))


def _number(experiments: list[Experiment]) -> str:
    count = len(experiments)
    words = (
        say("Two"), say("Three"), say("Four"), say("Five"), say("Six"), say("Seven"), say("Eight"),
        say("Nine"), say("Ten"), say("Eleven"), say("Twelve"),
    )  # fmt: skip
    number = words[count - 2] if 2 <= count <= 12 else str(count)
    if len({each.corpus_name for each in experiments}) < count:
        return say_count("One experiment", "{number} experiments", count, number=number)
    return say_count("One corpus", "{number} corpora", count, number=number)


def _over(total: int, compared: list[AttentionComparison]) -> str:
    variants = {each.variant for each in compared}
    counts = Counter(each.baseline.verdict for each in compared)
    counts[NO_COMPARISON] = total - len(compared)
    last = bool(compared) and all(each.is_last_state for each in compared)
    name = variants.pop() if len(variants) == 1 else say("attention")
    baseline = say("the last-state baseline") if last else say("the baseline")
    texts: list[str] = []
    for verdict in (verdict for verdict in ORDER if counts[verdict]):
        where = _on(counts[verdict], total) if total > 1 else ""
        values = {"name": name, "baseline": baseline, "where": where}
        texts.append((_further if texts else _first)(verdict, values))
    return ", ".join(texts)


def _on(count: int, total: int) -> str:
    if count < total:
        return say(" on {count}", count=count)
    return say(" on both") if total == 2 else say(" on all {count}", count=total)


def _first(verdict: str, values: dict[str, str]) -> str:
    return say(
        {
            WORSE: "{name} loses to {baseline}{where}",
            BETTER: "{name} beats {baseline}{where}",
            SAME: "{name} and {baseline} are practically the same{where}",
            UNDECIDED: "{name} against {baseline} is undecided{where}",
            NOT_CONVERGED: "{name} against {baseline} has not converged{where}",
            NO_COMPARISON: "{name} is compared with no baseline{where}",
        }[verdict],
        **values,
    )


def _further(verdict: str, values: dict[str, str]) -> str:
    return say(
        {
            BETTER: "beats it{where}",
            SAME: "is practically the same{where}",
            UNDECIDED: "undecided{where}",
            NOT_CONVERGED: "not converged{where}",
            NO_COMPARISON: "no comparison{where}",
        }[verdict],
        **values,
    )


def _over_others(compared: list[AttentionComparison], experiments: int) -> tuple[str, str]:
    """Return whether attention beats the controls, which gain without it; and reference models."""
    controls = [each.strongest_control for each in compared if each.strongest_control]
    found = [each.strongest_reference_model for each in compared]
    reference_models = [each for each in found if each]
    return (
        _over_controls(compared, controls, experiments),
        _over_reference_models(reference_models, experiments) if reference_models else "",
    )


def _over_controls(
    compared: list[AttentionComparison], strongest: list[TestedDifference], experiments: int
) -> str:
    if not strongest:
        gains = [each for each in compared if each.baseline.verdict == BETTER]
        if all(each.is_control for each in gains):
            return ""
        return say("no control was trained, so the gain need not be attention's")
    verdicts = [each.verdict for each in strongest]
    lost, won = (_where(verdicts, verdict, experiments) for verdict in (WORSE, BETTER))
    beats_any = any(each.verdict == BETTER for one in compared for each in one.controls)
    parts = [say("a control beats it{where}", where=lost)] if WORSE in verdicts else []
    if BETTER in verdicts:
        parts.append(say("shown better than every control{where}", where=won))
    elif beats_any:
        parts.append(say("not shown better than every control"))
    elif set(verdicts) != {WORSE}:
        parts.append(
            say(
                "never shown better than a control"
                if experiments > 1
                else "not shown better than a control"
            )
        )
    return "; ".join(parts)


def _over_reference_models(strongest: list[TestedDifference], experiments: int) -> str:
    verdicts = [each.verdict for each in strongest]
    lost, won = WORSE in verdicts, BETTER in verdicts
    names = {each.second for each in strongest}
    references = describe_reference_models(each.measure.task for each in strongest)
    only = references[names.pop()].in_sentence if len(names) == 1 else ""
    any_of_them = say("the best reference model" if won and not lost else "a reference model")
    if experiments == 1 and not won and not lost and strongest[0].mean < 0:
        values = {"reference_model": only or any_of_them, "size": strongest[0].size}
        return say("{reference_model} is ahead of it, {size}, which may be chance", **values)
    return say(
        "{reference_model} beats it{where}"
        if lost
        else "it beats {reference_model}{where}"
        if won
        else "never shown better than {reference_model}"
        if experiments > 1
        else "not shown better than {reference_model}",
        reference_model=only or any_of_them,
        where=_where(verdicts, WORSE if lost else BETTER, experiments),
    )


def _where(verdicts: Sequence[object], verdict: object, experiments: int) -> str:
    count, total = verdicts.count(verdict), len(verdicts)
    if experiments == 1:
        return ""
    if count == total:
        return _on(count, total) if total == experiments else say(" wherever they are compared")
    return say(
        " on {count} of {total}" if total == experiments else " on {count} of the {total} compared",
        count=count,
        total=total,
    )


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
    """Return the matrix; it has no column for what no experiment is compared with."""
    units = {each.measure.long_unit for each in experiments if each.attention_comparison}
    unit = units.pop() if len(units) == 1 else ""
    # where experiments differ in the unit, the cells have it
    details = say(", with differences in {unit}", unit=unit) if unit else ""
    marks = {each.mark for each in experiments}
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
        mark=marks.pop() if len(marks) == 1 else "",
        style="verdicts",
    )


def _compared_models(
    experiments: list[Experiment],
) -> list[tuple[str, str, str, GetDifference, bool]]:
    """Return what attention is compared with in some experiment, as `_columns` takes it."""

    def strongest(kind: str) -> GetDifference:
        return lambda each: getattr(each.attention_comparison, f"strongest_{kind}", None)

    reference_model = strongest("reference_model")
    names = {found.second for each in experiments if (found := reference_model(each))}
    references = describe_reference_models(each.measure.task for each in experiments)
    only = references.get(names.pop()) if len(names) == 1 else None
    headings = say("Against the best reference model"), say("Best reference model")
    if only and only.against:
        headings = only.against, only.short
    control = say("Against the strongest control"), say("Strongest control")
    compared_models: list[tuple[str, str, str, GetDifference, bool]] = [
        ("baseline", say("Against the baseline"), say("Baseline"), lambda each: each.gain, False),
        ("control", *control, strongest("control"), True),
        ("reference_model", *headings, reference_model, not (only and only.against)),
    ]
    return [each for each in compared_models if any(map(each[3], experiments))]


def _columns(
    key: str, heading: str, short: str, get: GetDifference, has_names: bool, has_unit: bool
) -> tuple[Column, ...]:
    """Return the column for people, and those of the CSV file: model, verdict and difference.

    `key` begins the names of these columns. `has_names`: whether the cells name the model, since it
    is not the same in all experiments; `has_unit`: whether the table's title has the unit.
    """

    def cell(experiment: Experiment) -> Phrase | str:
        difference = get(experiment)
        if difference is None:
            return DASH
        value = difference.mean
        number = format_points(value) if has_unit else difference.measure.difference(value)
        verdict = verdict_span(difference.verdict, short_verdict(difference.verdict))
        name = (" (", glossary_link(difference.second), ")") if has_names else ()
        remark = (" ", glossary_link(TUNED_ALIKE, difference.remark)) if difference.remark else ()
        return Phrase((verdict, f" {number}", *name, *remark))

    return (
        Column("", heading, TEXT, cell, short=short),
        Column(key, "", value=difference_value(get, "second")),
        Column(f"{key}_verdict", "", value=difference_value(get, "verdict")),
        Column(f"{key}_pp", "", POINTS, difference_value(get, "mean")),
    )


def _talk(each: Experiment) -> Phrase | str:
    verdict = each.line.reproduction.verdict if each.line.reproduction else ""
    if not verdict:
        return DASH
    word = say(
        {
            REPRODUCED: "reproduced",
            NOT_REPRODUCED: "not reproduced",
            NOT_COMPARABLE: "not comparable",
            UNDECIDED: "undecided",
        }[verdict]
    )
    return Phrase((verdict_span(verdict, word), f" {format_points(each.line.talk_gain)}"))


def verdict_span(verdict: str, word: str) -> Span:
    """Return a verdict with its sign, in its style."""
    style = {BETTER: "better", WORSE: "worse", NOT_CONVERGED: "void", UNDECIDED: "open"}
    return Span(f"{SIGNS[verdict]}\u00a0{word}", f"outcome {style.get(verdict, 'level')}")


def short_verdict(verdict: str) -> str:
    """Return a verdict in the report's language, as short as a cell of the matrix."""
    return say("the same") if verdict == SAME else verdict_text(verdict)


def _title(experiments: list[Experiment]) -> Callable[[Experiment], Cell]:
    """Return a function to the title of an experiment.

    The mark stands there where not all have the same, and so does the variant that is judged.
    """
    names_variant = len(judged_variants(experiments)) > 1
    has_mark = len({each.mark for each in experiments}) > 1

    def title(each: Experiment) -> Cell:
        compared = each.attention_comparison
        return Cell(
            each.title,
            note=compared.variant if compared and names_variant else "",
            mark=each.mark if has_mark else "",
            link=f"#experiment-{each.key}",
        )

    return title

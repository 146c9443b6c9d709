"""The answer: a verdict an experiment, the chart of gains, and the first table."""

from typing import Any

from heed.report.blocks import Block, Cell, Column, Items, Section, Span, Table, Texts, rows_of
from heed.report.chapters.shared import corrected_p, joining, of_comparison, pp, tested
from heed.report.experiments import Experiment
from heed.report.figures.gains import gain_chart
from heed.report.formats import INTERVAL, POINTS, PROBABILITY, TEXT, decimals, number, points
from heed.report.language import say
from heed.report.results import Results

ACCURACY = decimals(4)


def chapter(results: Results) -> list[Block]:
    """Return the section with the answers."""
    blocks = (
        Items(tuple(_answer(each) for each in results.experiments)),
        *gain_chart(results, generated(results.experiments)),
        _summary(results),
    )
    return [Section("answer", say("Does attention help?"), blocks)]


def generated(experiments: list[Experiment]) -> str:
    """Return what is said of generated text: nothing where all text is real."""
    count = sum(experiment.generated for experiment in experiments)
    if not count:
        return ""
    if count == len(experiments):
        return say("GENERATED TEXT, NOT A RESULT.")
    return say("SOME OF THE TEXT IS GENERATED; IT IS MARKED.")


def _answer(each: Experiment) -> Texts:
    mark = (" ", Span(each.mark, "mark")) if each.mark else ()
    verdict = Span(f"{each.answer.verdict}.", "verdict")
    return (
        Span(each.title, link=f"#experiment-{each.key}"),
        *mark,
        ": ",
        verdict,
        f" {each.answer.sentence}",
    )


def _summary(results: Results) -> Table:
    """Return the first table: accuracies of everything compared, the gain, and the talk's."""
    experiments = results.experiments
    columns = (*_columns(results), *_talk_columns(experiments))
    small = (say("Test accuracy, mean over {seeds} seeds.", seeds=len(results.comparison.seeds)),)
    if len(results.comparison.seeds) == 1:
        small = (say("Test accuracy, mean over 1 seed."),)
    return Table(
        "summary",
        say("Test accuracy and gain of every experiment"),
        columns,
        rows_of(columns, experiments),
        notes=((" ".join((*small, *_method(results))) + " ", _signature(results)),),
        sources=results.compared,
        where="experiments",
        style="first",
    )


def _columns(results: Results) -> tuple[Column, ...]:
    names = dict.fromkeys(name for each in results.experiments for name in _others(each))
    return (
        *joining(lambda each: each),
        Column("title", say("Experiment"), value=_title, width=28),
        Column("baseline", say("Baseline"), ACCURACY, lambda each: each.line.baseline),
        Column("attention", say("Attention"), ACCURACY, lambda each: each.line.attention),
        Column("", say("Gain"), POINTS, _gain, unit=pp()),
        Column("gain_pp", "", POINTS, _of_gain("mean_pp")),
        Column("gain_std_pp", "", decimals(2), _of_gain("std_pp")),
        Column(
            "",
            say("{covers} interval", covers=results.covers),
            INTERVAL,
            of_comparison(_tested, lambda each: each.ends),
        ),
        *tested(_tested, "gain_low_pp", "gain_high_pp")[:2],
        Column("p", "", PROBABILITY, of_comparison(_tested, lambda each: each.p)),
        corrected_p(_tested),
        Column("", say("Controls; other variants"), TEXT, _variants, below=True),
        *(Column(name, "", ACCURACY, _other(name)) for name in names),
        Column(
            "linear",
            say("Linear"),
            ACCURACY,
            lambda each: each.line.linear,
            meaning=say(
                "an opponent, which is a reference model from outside: TF-IDF with a linear "
                "support vector machine"
            ),
        ),
        Column(
            "majority",
            say("Majority"),
            ACCURACY,
            lambda each: each.line.majority,
            meaning=say("the opponent that always answers the most frequent class"),
        ),
    )


def _talk_columns(experiments: list[Experiment]) -> tuple[Column, ...]:
    """Return the talk's columns: people see them where an experiment has a figure of the talk."""
    published = any(each.line.reproduction for each in experiments)
    return (
        Column("", say("The talk") if published else "", TEXT, _talk, width=24),
        Column("published_baseline", "", value=lambda each: (each.line.talk or ("", ""))[0]),
        Column("published_attention", "", value=lambda each: (each.line.talk or ("", ""))[1]),
        Column("published_gain_pp", "", POINTS, lambda each: each.line.talk_gain),
        Column(
            "",
            say("Reproduction") if published else "",
            TEXT,
            lambda each: each.line.reproduction or "–",
            below=True,
        ),
        Column("published_verdict", "", value=lambda each: each.line.reproduction),
        Column("baseline_loss_pp", "", POINTS, lambda each: _degradation(each, "baseline")),
        Column("attention_loss_pp", "", POINTS, lambda each: _degradation(each, "attention")),
        Column("verdict", "", value=lambda each: each.answer.verdict),
    )


def _title(each: Experiment) -> Cell:
    return Cell(each.title, mark=each.mark, link=f"#experiment-{each.key}")


def _tested(each: Experiment) -> Any:
    return each.gain


def _gain(each: Experiment) -> Cell:
    return Cell(each.gain.mean if each.gain else None, strong=True)


def _of_gain(key: str) -> Any:
    return lambda each: getattr(each.line.gain, key) if each.line.gain else None


def _others(each: Experiment) -> dict[str, float]:
    return each.line.controls | each.line.variants


def _other(variant: str) -> Any:
    return lambda each: _others(each).get(variant)


def _variants(each: Experiment) -> str:
    """Return the accuracies of controls and other variants as people read them."""
    controls, variants = (
        ", ".join(f"{name}\u00a0{number(value)}" for name, value in values.items())
        for values in (each.line.controls, each.line.variants)
    )
    return "; ".join([controls or "–", *filter(None, [variants])])


def _talk(each: Experiment) -> str:
    if not each.line.talk:
        return "–"
    baseline, attention = each.line.talk
    return f"{baseline}\u00a0→\u00a0{attention} ({points(each.line.talk_gain)})"


def _degradation(each: Experiment, variant: str) -> float | None:
    return next(
        (change.ours.mean_pp for change in each.degradations if change.variant == variant), None
    )


def _method(results: Results) -> list[str]:
    """Return how the first table's numbers are made, and what they do not say."""
    comparison = results.comparison
    method = [
        say(
            "Gain: attention minus baseline in percentage points, paired by seed and document. "
            "Interval and p allow for variation over seeds and test documents."
        )
    ]
    if len(comparison.seeds) == 1:
        method.append(say("One seed has neither."))
    method.append(
        say(
            "The interval is of each experiment alone; p is corrected by Holm for the number of "
            "experiments, {count}, and decides.",
            count=comparison.significance.families["gain"].tests,
        )
    )
    if any(result.corpus.folds for result in comparison.experiments.values()):
        method.append(say("With folds both allow for training parts that overlap."))
    method.append(
        say(
            "Neither allows for other training texts, other hyperparameters or other corpora. "
            "Method:"
        )
    )
    return method


def _signature(results: Results) -> Span:
    return Span(results.comparison.significance.signature, "code")

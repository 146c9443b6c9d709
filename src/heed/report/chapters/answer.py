"""The answer: a verdict for each experiment, the chart of gains, and the first table."""

from collections.abc import Callable

from heed.report.answer import TestedDifference
from heed.report.blocks import Block, Cell, Column, Items, Section, Span, Table, Texts, make_rows
from heed.report.chapters.shared import (
    corrected_p_column,
    difference_value,
    interval_columns,
    join_columns,
    p_column,
    percentage_points,
)
from heed.report.experiments import Experiment
from heed.report.figures.gains import gain_chart
from heed.report.formats import (
    INTERVAL,
    POINTS,
    TEXT,
    decimals,
    format_number,
    format_points,
)
from heed.report.language import say, say_count
from heed.report.results import Results

ACCURACY = decimals(4)


def chapter(results: Results) -> list[Block]:
    """Return the section with the answers."""
    blocks = (
        Items(tuple(_answer(each) for each in results.experiments)),
        *gain_chart(results, generated_warning(results.experiments)),
        _summary_table(results),
    )
    return [Section("answer", say("Does attention help?"), blocks)]


def generated_warning(experiments: list[Experiment]) -> str:
    """Return the warning that text is generated; empty where all text is real."""
    count = sum(experiment.generated for experiment in experiments)
    if not count:
        return ""
    if count == len(experiments):
        return say("GENERATED TEXT, NOT A RESULT.")
    return say("SOME OF THE TEXT IS GENERATED; IT IS MARKED.")


def _answer(experiment: Experiment) -> Texts:
    mark = (" ", Span(experiment.mark, "mark")) if experiment.mark else ()
    verdict = Span(f"{experiment.answer.verdict}.", "verdict")
    return (
        Span(experiment.title, link=f"#experiment-{experiment.key}"),
        *mark,
        ": ",
        verdict,
        f" {experiment.answer.sentence}",
    )


def _summary_table(results: Results) -> Table:
    """Return the first table: the accuracies of all models and opponents, and the gains."""
    experiments = results.experiments
    columns = (*_columns(results), *_talk_columns(experiments))
    accuracy = say_count(
        "Test accuracy, mean over {count} seed.",
        "Test accuracy, mean over {count} seeds.",
        len(results.comparison.seeds),
    )
    return Table(
        "summary",
        say("Test accuracy and gain of every experiment"),
        columns,
        make_rows(columns, experiments),
        notes=((" ".join((accuracy, *_method(results))) + " ", _signature(results)),),
        sources=results.comparison_sources,
        location="experiments",
        style="first",
    )


def _columns(results: Results) -> tuple[Column, ...]:
    names = dict.fromkeys(name for each in results.experiments for name in _variants(each))
    return (
        *join_columns(lambda each: each),
        Column("title", say("Experiment"), value=_title, width=28),
        Column("baseline", say("Baseline"), ACCURACY, lambda each: each.line.baseline),
        Column("attention", say("Attention"), ACCURACY, lambda each: each.line.attention),
        Column("", say("Gain"), POINTS, _gain, unit=percentage_points()),
        Column("gain_pp", "", POINTS, _gain_value("mean_pp")),
        Column("gain_std_pp", "", decimals(2), _gain_value("std_pp")),
        Column(
            "",
            say("{covers} interval", covers=results.coverage),
            INTERVAL,
            difference_value(_tested_gain, lambda each: each.ends),
        ),
        *interval_columns(_tested_gain, "gain_low_pp", "gain_high_pp"),
        p_column(_tested_gain),
        corrected_p_column(_tested_gain),
        Column("", say("Controls; other variants"), TEXT, _format_variants, below=True),
        *(Column(name, "", ACCURACY, _variant_accuracy(name)) for name in names),
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
            meaning=say("the opponent that always predicts the most frequent class"),
        ),
    )


def _talk_columns(experiments: list[Experiment]) -> tuple[Column, ...]:
    """Return the talk's columns; without any figure of the talk they are in the CSV file only."""
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
        Column("baseline_change_pp", "", POINTS, lambda each: _degradation(each, "baseline")),
        Column("attention_change_pp", "", POINTS, lambda each: _degradation(each, "attention")),
        Column("verdict", "", value=lambda each: each.answer.verdict),
    )


def _title(each: Experiment) -> Cell:
    return Cell(each.title, mark=each.mark, link=f"#experiment-{each.key}")


def _tested_gain(experiment: Experiment) -> TestedDifference | None:
    return experiment.gain


def _gain(each: Experiment) -> Cell:
    return Cell(each.gain.mean if each.gain else None, strong=True)


def _gain_value(key: str) -> Callable[[Experiment], float | None]:
    """Return a function from an experiment to this attribute of its gain."""
    return lambda each: getattr(each.line.gain, key) if each.line.gain else None


def _variants(each: Experiment) -> dict[str, float]:
    """Return the accuracies of controls and other variants."""
    return each.line.controls | each.line.variants


def _variant_accuracy(variant: str) -> Callable[[Experiment], float | None]:
    """Return a function from an experiment to the accuracy of this variant."""
    return lambda each: _variants(each).get(variant)


def _format_variants(each: Experiment) -> str:
    """Return the accuracies of controls and other variants for people."""
    controls, variants = (
        ", ".join(f"{name}\u00a0{format_number(value)}" for name, value in values.items())
        for values in (each.line.controls, each.line.variants)
    )
    return "; ".join([controls or "–", *filter(None, [variants])])


def _talk(each: Experiment) -> str:
    if not each.line.talk:
        return "–"
    baseline, attention = each.line.talk
    return f"{baseline}\u00a0→\u00a0{attention} ({format_points(each.line.talk_gain)})"


def _degradation(experiment: Experiment, variant: str) -> float | None:
    changes = {each.variant: each.change.mean_pp for each in experiment.degradations}
    return changes.get(variant)


def _method(results: Results) -> list[str]:
    """Return sentences on how the numbers of the first table are made, and on their limits."""
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
            "The interval is of each experiment alone. The corrected p decides: by Holm, for the "
            "{count} comparisons of the study's question, which are those of every attention "
            "variant ({variants}) and every control with the baseline, in all experiments. A "
            "difference within ±{margin} p.p. is practically the same; a training that still "
            "improved by more than {limit} p.p. over its last two validations had not converged.",
            count=comparison.significance.families["question"].tests,
            variants=", ".join(results.params.study.attention),
            margin=f"{comparison.significance.margin_pp:g}",
            limit=f"{comparison.significance.convergence_pp:g}",
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

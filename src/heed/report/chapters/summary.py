"""The answer: a sentence and a matrix of verdicts, the chart of gains, and the first table."""

from collections.abc import Callable

from heed.report.answer import TestedDifference
from heed.report.blocks import (
    PAGE,
    Block,
    Cell,
    Column,
    Disclosure,
    Group,
    Items,
    Paragraph,
    Section,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.headline import headline, judged_variants, verdict_matrix
from heed.report.chapters.shared import (
    corrected_p_column,
    difference_value,
    interval_columns,
    join_columns,
    link_terms,
    p_column,
)
from heed.report.experiments import Experiment, Line
from heed.report.figures.gains import gain_charts
from heed.report.formats import (
    DASH,
    INTERVAL,
    POINTS,
    TEXT,
    Format,
    decimals,
    format_points,
)
from heed.report.language import say, say_count
from heed.report.measures import Measure, reference_models
from heed.report.results import Results
from heed.task.interface import lower_is_better

ACCURACY = decimals(4)
FIRST = "summary"  # the key of the first table
TITLE_WIDTH = 42  # millimetres on paper


def chapter(results: Results) -> list[Block]:
    """Return the section with the answers."""
    experiments = results.experiments
    glance = (
        verdict_matrix(experiments, results.comparison_sources),
        *gain_charts(results, generated_warning(experiments)),
    )
    blocks = (
        Paragraph(_headline(results), style="headline"),
        Group(glance, style="glance"),
        _sentences(results),
        _figures(results),
    )
    return [Section("answer", say("Does attention help?"), blocks)]


def _headline(results: Results) -> Texts:
    """Return the answer over all experiments; its terms lead to the glossary."""
    terms = {
        say("baseline"): "baseline",
        say("control"): "control",
        say("linear model"): "opponent",
        say("opponent"): "opponent",
        say("undecided"): "undecided",
        say("not converged"): "not-converged",
        say("practically the same"): "same",
    }
    return link_terms(headline(results.experiments, len(results.comparison.seeds)), terms)


def _sentences(results: Results) -> Disclosure:
    """Return the reasons of all verdicts, which the page opens on demand."""
    variants = ", ".join(judged_variants(results.experiments)) or DASH
    paragraphs = [
        Paragraph(
            (
                say(
                    "The variant judged is {variants}: of those that answer the study's question "
                    "({all}), the first that an experiment has. Of several controls or opponents "
                    "the matrix has the one that it beats least.",
                    variants=variants,
                    all=", ".join(results.params.study.attention),
                ),
            ),
            style="small",
        )
    ]
    answers = [
        block
        for each in results.experiments
        for block in (
            Paragraph(_verdict(each)),
            Items(tuple((sentence,) for sentence in each.answer.sentences)),
        )
    ]
    summary = say("Why: each verdict in sentences, with its interval and p")
    return Disclosure(summary, (*paragraphs, *answers), style="answers-in-full", media=(PAGE,))


def generated_warning(experiments: list[Experiment]) -> str:
    """Return the warning that text is generated; empty where all text is real."""
    count = sum(experiment.generated for experiment in experiments)
    if not count:
        return ""
    if count == len(experiments):
        return say("GENERATED TEXT, NOT A RESULT.")
    return say("SOME OF THE TEXT IS GENERATED; IT IS MARKED.")


def _verdict(experiment: Experiment) -> Texts:
    mark = (" ", Span(experiment.mark, "mark")) if experiment.mark else ()
    verdict = Span(f"{experiment.answer.verdict}.", "verdict")
    title = Span(experiment.title, link=f"#experiment-{experiment.key}")
    return (title, *mark, ": ", verdict)


def _figures(results: Results) -> Disclosure:
    """Return the figures of all experiments, which the page opens on demand."""
    tables = _summary_tables(results)
    titles = ", ".join(dict.fromkeys(table.title for table in tables))
    return Disclosure(titles, tuple(tables), style="others", heading=False)


def _summary_tables(results: Results) -> list[Table]:
    """Return a table for each figure by which experiments compare: of all models, with gains."""
    groups: dict[Measure, list[Experiment]] = {}
    for each in results.experiments:
        groups.setdefault(each.measure, []).append(each)
    tables: dict[str, Table] = {}
    for measure, experiments in groups.items():
        key = f"{FIRST}_{measure.task}" if tables else FIRST
        key = f"{key}_{measure.metric}" if key in tables else key
        tables[key] = _summary_table(results, experiments, key)
    return [*tables.values()]


def _summary_table(results: Results, experiments: list[Experiment], key: str) -> Table:
    columns = (*_columns(results, experiments), *_talk_columns(experiments))
    title, figure = _titles(experiments, len(results.comparison.seeds))
    return Table(
        key,
        title,
        columns,
        make_rows(columns, experiments),
        notes=(_note(results, experiments, figure, is_first=key == FIRST),),
        sources=results.comparison_sources,
        location="experiments",
        style="first",
    )


def _titles(experiments: list[Experiment], seeds: int) -> tuple[str, str]:
    """Return the title of a first table, and the sentence that says what its figures are."""
    if experiments[0].measure.is_accuracy:
        return say("Test accuracy and gain of every experiment"), say_count(
            "Test accuracy, mean over {count} seed.",
            "Test accuracy, mean over {count} seeds.",
            seeds,
        )
    names = experiments[0].measure.name
    title = say("{figure} on test, and gain, of every experiment", figure=names)
    if not experiments[0].measure.in_hundreds:
        return title, say_count(
            "{figure} on test, mean over {count} seed.",
            "{figure} on test, mean over {count} seeds.",
            seeds,
            figure=names,
        )
    return title, say_count(
        "{figure} on test, between 0 and 100, mean over {count} seed.",
        "{figure} on test, between 0 and 100, mean over {count} seeds.",
        seeds,
        figure=names,
    )


def _columns(results: Results, experiments: list[Experiment]) -> tuple[Column, ...]:
    names = dict.fromkeys(name for each in experiments for name in _variants(each))
    measure = experiments[0].measure
    accuracy = decimals(2) if measure.in_hundreds else ACCURACY
    return (
        *join_columns(lambda each: each),
        Column("title", say("Experiment"), value=_title, width=TITLE_WIDTH),
        Column("baseline", say("Baseline"), accuracy, _scaled(lambda line: line.baseline)),
        Column("attention", say("Attention"), accuracy, _scaled(lambda line: line.attention)),
        Column("", say("Gain"), POINTS, _gain, unit=measure.unit),
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
        *(Column(name, "", accuracy, _scaled(_variant_figure(name))) for name in names),
        *_opponent_columns(experiments, accuracy),
    )


def _opponent_columns(experiments: list[Experiment], figure: Format) -> tuple[Column, ...]:
    """Return a column for each opponent, which is a reference model from outside."""
    models = reference_models([experiments[0].measure.task])
    return tuple(
        Column(name, model.heading, figure, _scaled(_opponent_figure(name)), meaning=model.meaning)
        for name, model in models.items()
        if model.heading
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
        Column("published_verdict", "", value=lambda each: each.line.reproduction or ""),
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


def _scaled(get: Callable[[Line], float | None]) -> Callable[[Experiment], float | None]:
    """Return a function from an experiment to a figure of its line as it is printed."""

    def scaled(each: Experiment) -> float | None:
        value = get(each.line)
        return None if value is None else each.measure.scaled(value)

    return scaled


def _variant_figure(variant: str) -> Callable[[Line], float | None]:
    """Return a function from a line to the figure of this variant."""
    return lambda line: (line.controls | line.variants).get(variant)


def _opponent_figure(opponent: str) -> Callable[[Line], float | None]:
    """Return a function from a line to the figure of this opponent."""
    return lambda line: line.opponents.get(opponent)


def _format_variants(each: Experiment) -> str:
    """Return the accuracies of controls and other variants for people."""
    controls, variants = (
        ", ".join(f"{name}\u00a0{each.measure.figure(value)}" for name, value in values.items())
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


def _note(results: Results, experiments: list[Experiment], figure: str, is_first: bool) -> Texts:
    """Return the note below a table: its figure, its gain, and what the first one explains."""
    texts = [figure, _gain_text(experiments[0].measure)]
    if is_first:
        return (" ".join([*texts, *_method(results, experiments)]) + " ", _signature(results))
    return (" ".join([*texts, _as_in_first(results, experiments[0].measure)]),)


def _gain_text(measure: Measure) -> str:
    """Return what the gain is, and what its interval and p allow for."""
    if measure.is_of_sentences:
        return say(
            "Gain: attention minus baseline in {unit}, paired by seed and sentence. Interval "
            "and p allow for variation over seeds and test sentences.",
            unit=measure.long_unit,
        )
    if lower_is_better(measure.metric):
        return say(
            "Gain: baseline minus attention in {unit}, since less is better, paired by seed and "
            "document. Interval and p allow for variation over seeds and test documents.",
            unit=measure.long_unit,
        )
    return say(
        "Gain: attention minus baseline in percentage points, paired by seed and "
        "document. Interval and p allow for variation over seeds and test documents."
    )


def _as_in_first(results: Results, measure: Measure) -> str:
    """Return that all else is as below the first table, with the limits of this unit."""
    method = results.comparison.significance
    return say(
        "All else is as below the first table; a difference within {margin} is practically the "
        "same, and a training had not converged that still improved by more than {limit}.",
        margin=measure.margin(method.margin_pp),
        limit=measure.of_validation.limit(method.convergence_pp),
    )


def _method(results: Results, experiments: list[Experiment]) -> list[str]:
    """Return sentences on how the tests of the first table are made, and on their limits."""
    comparison, measure = results.comparison, experiments[0].measure
    method: list[str] = []
    if len(comparison.seeds) == 1:
        method.append(say("One seed has neither."))
    method.append(
        say(
            "The interval is of each experiment alone. The corrected p decides: by Holm, for the "
            "{count} comparisons of the study's question, which are those of every attention "
            "variant ({variants}) and every control with the baseline, in all experiments. A "
            "difference within {margin} is practically the same; a training that still improved "
            "by more than {limit} over its last two validations had not converged.",
            count=comparison.significance.families["question"].tests,
            variants=", ".join(results.params.study.attention),
            margin=measure.margin(comparison.significance.margin_pp),
            limit=measure.of_validation.limit(comparison.significance.convergence_pp),
        )
    )
    if any(comparison.experiments[each.key].corpus.folds for each in experiments):
        method.append(say("With folds both allow for training parts that overlap."))
    method.append(
        say(
            "Neither interval nor p allows for other training texts, other hyperparameters or "
            "other corpora. Method:"
        )
    )
    return method


def _signature(results: Results) -> Span:
    return Span(results.comparison.significance.signature, "code")

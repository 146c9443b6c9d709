"""The answer: a sentence and a matrix of verdicts, the chart of gains, and the first table."""

from collections.abc import Callable, Iterator

from heed.evaluation.results import BASELINE, Gain
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
    difference_value,
    experiment_title,
    join_columns,
    link_terms,
    tested_columns,
)
from heed.report.experiments import Experiment
from heed.report.figures.gains import gain_charts
from heed.report.formats import DASH, POINTS, TEXT, decimals, format_points
from heed.report.language import say, say_count
from heed.report.measures import Measure, describe_reference_models
from heed.report.results import Results
from heed.task.interface import lower_is_better

FIRST = "summary"  # the key of the first table
TITLE_WIDTH = 42  # millimetres on paper


def chapter(results: Results) -> list[Block]:
    """Return the section with the answers; the terms of the first lead to the glossary."""
    experiments = results.experiments
    terms = {
        say("baseline"): "baseline",
        say("control"): "control",
        say("linear model"): "reference_model",
        say("reference model"): "reference_model",
        say("undecided"): "undecided",
        say("not converged"): "not-converged",
        say("practically the same"): "same",
    }
    answer = link_terms(headline(experiments, len(results.comparison.seeds)), terms)
    glance = (
        verdict_matrix(experiments, results.comparison_sources),
        *gain_charts(results, generated_warning(experiments)),
    )
    tables = _summary_tables(results)
    titles = ", ".join(dict.fromkeys(table.title for table in tables))
    blocks = (
        Paragraph(answer, style="headline"),
        Group(glance, style="glance"),
        _sentences(results),
        Disclosure(titles, tuple(tables), style="others", heading=False),
    )
    return [Section("answer", say("Does attention help?"), blocks)]


def _sentences(results: Results) -> Disclosure:
    judged = say(
        "The variant judged is {variants}: of those that answer the study's question "
        "({all}), the first that an experiment has. Of several controls or reference models "
        "the matrix has the one that it beats least.",
        variants=", ".join(judged_variants(results.experiments)) or DASH,
        all=", ".join(results.params.study.attention),
    )
    blocks: list[Block] = [Paragraph((judged,), style="small")]
    for each in results.experiments:
        verdict = Span(f"{each.answer.verdict}.", "verdict")
        blocks.append(Paragraph((*experiment_title(each), verdict)))
        advice = [each.answer.advice] if len(results.experiments) > 1 else []  # else the headline
        sentences = filter(None, [*advice, *each.answer.sentences])
        blocks.append(Items(tuple((sentence,) for sentence in sentences)))
    summary = say("Why: each verdict in sentences, with its interval and p")
    return Disclosure(summary, tuple(blocks), style="answers-in-full", media=(PAGE,))


def generated_warning(experiments: list[Experiment]) -> str:
    """Return the warning that text is generated; empty where all text is real."""
    generated = [each.generated for each in experiments]
    if not any(generated):
        return ""
    return say(
        "GENERATED TEXT, NOT A RESULT."
        if all(generated)
        else "SOME OF THE TEXT IS GENERATED; IT IS MARKED."
    )


def _summary_tables(results: Results) -> list[Table]:
    """Return a table for each figure by which experiments compare: of all models, with gains."""
    groups: dict[Measure, list[Experiment]] = {}
    for each in results.experiments:
        groups.setdefault(each.measure, []).append(each)
    tables: dict[str, Table] = {}
    for measure, experiments in groups.items():
        key = f"{FIRST}_{measure.task}" if tables else FIRST
        key = f"{key}_{measure.metric}" if key in tables else key
        columns = (*_columns(results, experiments), *_talk_columns(experiments))
        name = measure.name[0].upper() + measure.name[1:]
        title = say("{metric} on test, and gain, of every experiment", metric=name)
        metric = say_count(
            "{metric} on test, mean over {count} seed.",
            "{metric} on test, mean over {count} seeds.",
            len(results.comparison.seeds),
            metric=name,
        )
        tables[key] = Table(
            key,
            title,
            columns,
            make_rows(columns, experiments),
            notes=(_note(results, experiments, metric, is_first=key == FIRST),),
            sources=results.comparison_sources,
            location="experiments",
            style="first",
        )
    return [*tables.values()]


def _columns(results: Results, experiments: list[Experiment]) -> tuple[Column, ...]:
    """Return the columns of the study's figures; a reference model is a reference from outside."""
    names = dict.fromkeys(name for each in experiments for name in _other_variants(each))
    measure = experiments[0].measure
    metric = decimals(2 if measure.in_hundreds else 4)
    references = describe_reference_models([measure.task]).items()

    def score_of(name: str) -> Callable[[Experiment], float | None]:
        def value(each: Experiment) -> float | None:
            known = name in each.result.models or name in each.result.reference_models
            return each.measure.scaled(each.result.score_of(name)) if known else None

        return value

    def first(each: Experiment) -> str:
        return next(iter(each.result.attention), "")

    def gain(each: Experiment) -> Gain | None:
        return each.result.models[first(each)].gain if first(each) else None

    return (
        *join_columns(lambda each: each),
        Column("title", say("Experiment"), value=_title, width=TITLE_WIDTH),
        Column("baseline", say("Baseline"), metric, score_of(BASELINE)),
        Column("attention", say("Attention"), metric, lambda each: score_of(first(each))(each)),
        Column(
            "", say("Gain"), POINTS, lambda e: Cell(e.gain and e.gain.mean, strong=True),
            unit=measure.unit,
        ),
        Column("gain_pp", "", POINTS, difference_value(gain, "mean_pp")),
        Column("gain_std_pp", "", decimals(2), difference_value(gain, "std_pp")),
        *tested_columns(results, "gain"),
        Column("", say("Controls; other variants"), TEXT, _format_variants, below=True),
        *(Column(name, "", metric, score_of(name)) for name in names),
        *(
            Column(name, model.heading, metric, score_of(name), meaning=model.meaning)
            for name, model in references
            if model.heading and any(name in each.result.reference_models for each in experiments)
        ),
    )  # fmt: skip


def _talk_columns(experiments: list[Experiment]) -> tuple[Column, ...]:
    """Return the talk's columns; without any figure of the talk they are in the CSV file only."""
    published = any(each.line.reproduction for each in experiments)
    talk, reproduction = (say("The talk"), say("Reproduction")) if published else ("", "")

    def change(variant: str) -> Callable[[Experiment], float | None]:
        return lambda each: next(
            (e.change.mean_pp for e in each.degradations if e.variant == variant), None
        )

    return (
        Column("", talk, TEXT, _talk, width=24),
        Column("published_baseline", "", value=lambda each: (each.line.talk or ("", ""))[0]),
        Column("published_attention", "", value=lambda each: (each.line.talk or ("", ""))[1]),
        Column("published_gain_pp", "", POINTS, "line.talk_gain"),
        Column("", reproduction, TEXT, "line.reproduction", below=True),
        Column("published_verdict", "", TEXT, "line.reproduction"),
        Column("baseline_change_pp", "", POINTS, change("baseline")),
        Column("attention_change_pp", "", POINTS, change("attention")),
        Column("verdict", "", value="answer.verdict"),
    )


def _title(each: Experiment) -> Cell:
    return Cell(each.title, mark=each.mark, link=f"#experiment-{each.key}")


def _other_variants(each: Experiment) -> list[str]:
    """Return the variants beside baseline and attention: the controls, then all others."""
    known, controls = (BASELINE, *each.result.attention[:1]), each.result.controls
    others = [name for name in each.result.models if name not in known]
    return sorted(others, key=lambda name: name not in controls)


def _format_variants(each: Experiment) -> str:

    def listed(are_controls: bool) -> str:
        return ", ".join(
            f"{name}\u00a0{each.measure.format(each.result.score_of(name))}"
            for name in _other_variants(each)
            if (name in each.result.controls) == are_controls
        )

    return "; ".join([listed(True) or DASH, *filter(None, [listed(False)])])


def _talk(each: Experiment) -> str:
    if not each.line.talk:
        return DASH
    baseline, attention = each.line.talk
    return f"{baseline}\u00a0→\u00a0{attention} ({format_points(each.line.talk_gain)})"


def _note(results: Results, experiments: list[Experiment], metric: str, is_first: bool) -> Texts:
    """Return the note below a table: its figure, its gain, and what the first one explains."""
    measure, method = experiments[0].measure, results.comparison.significance
    gain = say(
        "Gain: attention minus baseline in {unit}, paired by sentence. Interval "
        "and p allow for variation over seeds and test sentences."
        if measure.is_of_sentences
        else "Gain: baseline minus attention in {unit}, since less is better, paired by "
        "document. Interval and p allow for variation over seeds and test documents."
        if lower_is_better(measure.metric)
        else "Gain: attention minus baseline in percentage points, paired by "
        "document. Interval and p allow for variation over seeds and test documents.",
        unit=measure.long_unit,
    )
    if is_first:
        text = " ".join([metric, gain, *_method(results, measure)])
        return (f"{text} ", Span(method.signature, "code"))
    as_in_first = say(
        "All else is as below the first table; a difference within {margin} is practically the "
        "same, and a model has not converged whose validation score twice the epochs raise by more "
        "than {limit}.",
        margin=measure.margin(method.equivalence_margin),
        limit=measure.of_validation.convergence_margin(method.convergence_pp),
    )
    return (" ".join([metric, gain, as_in_first]),)


def _method(results: Results, measure: Measure) -> Iterator[str]:
    comparison, method = results.comparison, results.comparison.significance
    if len(comparison.seeds) == 1:
        yield say("One seed has neither.")
    if primary := "; ".join(_primary_questions(results)):
        yield say(
            "An experiment has at most one primary question, tested at {level} by itself: "
            "{primary}. All other comparisons, except checks against a trivial reference model, "
            "are secondary: their intervals and p values allow for their number in the experiment.",
            level=f"{method.alpha:g}",
            primary=primary,
        )
    yield say(
        "A difference is better or worse where its interval excludes 0 and neither of these holds: "
        "one that is shown to lie within {margin} is practically the same; a model whose "
        "validation score twice the epochs raise by more than {limit} has not converged, though "
        "another may be worse than it.",
        margin=measure.margin(method.equivalence_margin),
        limit=measure.of_validation.convergence_margin(method.convergence_pp),
    )
    if not any(m.longer_training for e in results.experiments for m in e.result.models.values()):
        yield say("Whether models have converged was not tried.")
    if any(each.result.corpus.folds for each in results.experiments):
        yield say("With folds both allow for training splits that overlap.")
    yield say(
        "Neither interval nor p allows for other training texts, other hyperparameters or "
        "other corpora. Method:"
    )


def _primary_questions(results: Results) -> Iterator[str]:
    """Yield the primary comparison of each experiment, with the difference that it finds."""
    for experiment in results.experiments:
        for each in experiment.comparisons:
            if each.result.family != "primary":
                continue
            pair = f"{each.first} − {each.second}"
            if len(results.experiments) > 1:
                pair = f"{experiment.title}: {pair}"
            if each.result.detectable_pp:
                size = each.measure.difference(each.result.detectable_pp, 1)
                pair = say("{pair} (finds {size} with 80% power)", pair=pair, size=size)
            yield pair

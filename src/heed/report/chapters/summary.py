"""The first screen: sentences, a chart of all models, one text, three lists; then tables."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator

from heed.evaluation.results import BASELINE, BETTER, NOT_CONVERGED, SAME, UNDECIDED, WORSE, Gain
from heed.hyperparameters.pretrained import PRETRAINED
from heed.report.answer import TestedDifference, describe_model, describe_network
from heed.report.blocks import (
    Block,
    Cell,
    Column,
    Disclosure,
    Group,
    Heading,
    Items,
    Paragraph,
    Phrase,
    Section,
    Source,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters import convergence
from heed.report.chapters.shared import (
    TUNED_ALIKE,
    colon,
    experiment_title,
    glossary_link,
    join_columns,
    link_terms,
    tested_columns,
    title_cell,
    value_of,
)
from heed.report.experiments import NOT_COMPARABLE, NOT_REPRODUCED, REPRODUCED, Experiment
from heed.report.figures.dots import dot_charts
from heed.report.formats import DASH, POINTS, TEXT, decimals, format_points, pluralize
from heed.report.measures import (
    Measure,
    degenerate_sentence,
    describe_reference_models,
    equal_weights_control,
    lacks_layer,
    report_of,
)
from heed.report.results import Results
from heed.report.sentences import UNTESTED, WEIGHTS
from heed.task.interface import lower_is_better

FIRST = "summary"  # the key of the first table
TITLE_WIDTH = 42  # millimetres on paper


def chapter(results: Results) -> list[Block]:
    """Return the first screen: sentences, the chart, one text, three lists; then the tables."""
    experiments = results.experiments
    first, *others = headline(experiments)
    style = "headline" if len(experiments) == 1 else "finding"
    lines = [Paragraph(_linked(first, experiments), style)]
    lines += [Paragraph(_linked(line, experiments), "finding") for line in others]
    chart: list[Block] = [*dot_charts(results)]
    example = _example(results)
    # the chart of many experiments is as high as the text and the lists together
    left, right = (chart, example) if len(experiments) > 2 else ([*chart, *example], [])
    glance = (Group(tuple(left)), Group((*right, *lists(results))))
    matrix = verdict_matrix(experiments, results.comparison_sources)
    tables = (matrix, *_summary_tables(results))
    summary = "Verdicts and scores of every experiment in tables"
    blocks = (
        *lines,
        Group(glance, style="glance"),
        Disclosure(summary, tables, style="others"),
    )
    return [Section("answer", "Does attention help?", blocks)]


def _linked(line: str, experiments: list[Experiment]) -> Texts:
    """Return a sentence in which the first use of each model and each term is a link."""
    terms = {
        "undecided": "undecided",
        "not converged": "not-converged",
        "a linear model": "linear",
        "a pretrained model": PRETRAINED,
    }
    terms |= {f"({name})": name for each in experiments for name in each.result.models}
    for each in experiments:
        beginning = f"{each.title}{colon(each)} "
        if line.startswith(beginning):
            return (*experiment_title(each), *link_terms(line.removeprefix(beginning), terms))
    return link_terms(line, terms)


def _example(results: Results) -> list[Block]:
    """Return one text, or one alignment: of the first experiment that the question gains on."""
    compared = {each.key: each.attention_comparison for each in results.experiments}
    order = sorted(
        results.experiments,
        key=lambda each: not ((own := compared[each.key]) and own.primary.verdict == BETTER),
    )
    found = (report_of(each.measure.task).first_example(results, each) for each in order)
    return next((blocks for blocks in found if blocks), [])


def lists(results: Results, first: int = 0) -> Iterator[Block]:
    """Yield what can be said, what cannot, and what would settle it, from the first on."""
    kinds = {
        "What we can say": lambda each: [*each.answer.shown, *_weights(results, each)],
        "What we cannot say": lambda each: [*_not_said(results, each), *each.answer.open],
        "What would settle it": lambda each: [*_settling(results, each)],
    }
    for number, (title, items_of) in [*enumerate(kinds.items())][first:]:
        items = list[tuple[str | Span, ...]]()
        for each in results.experiments:
            texts = items_of(each)
            if len(results.experiments) == 1:
                items += [(f"{text}.",) for text in texts]
            elif texts:
                items.append((*experiment_title(each), f"{'; '.join(texts)}."))
        if number == 1 and all(each.generated for each in results.experiments):
            items.append(("Anything about real text: the scores are of generated text.",))
        if items:
            yield Heading(title)
            yield Items(tuple(items))
    note = (
        f"In brackets: {results.coverage} intervals; those of the secondary comparisons of an "
        "experiment are simultaneous."
    )
    yield Paragraph((note,), "small")


def _weights(results: Results, experiment: Experiment) -> Iterator[str]:
    """Yield what each criterion of an explanation says of the weights of the judged variant."""
    compared = experiment.attention_comparison
    for each in results.explanations:
        is_judged = compared and each.variant == compared.variant and each.has_weights
        if each.experiment.key == experiment.key and is_judged:
            for name, found in each.outcomes.items():
                if found.outcome in WEIGHTS[name]:
                    yield WEIGHTS[name][found.outcome].format(name=each.variant)


def _not_said(results: Results, experiment: Experiment) -> Iterator[str]:
    """Yield what weakens an experiment beside its open comparisons."""
    compared, result = experiment.attention_comparison, experiment.result
    if text := degenerate_sentence(result, result.seeds or results.comparison.seeds):
        yield f"how well a model does when all its runs succeed: {text}"
    control = equal_weights_control(result, compared.variant) if compared else ""
    gain = compared.baseline if compared else None
    if gain and gain.verdict == BETTER and not (control or result.controls):
        yield "whether the gain is one of learned weights: no control was trained"
    if compared and lacks_layer(result, compared.variant):
        yield (
            f"whether a difference from {control} comes from the weights alone: {control} lacks "
            "the whole layer of attention"
        )


def _settling(results: Results, experiment: Experiment) -> Iterator[str]:
    """Yield what would decide the open comparisons of the question, as far as heed can say it."""
    compared = experiment.attention_comparison
    if not compared:
        return
    judged = [*compared.of_question, *compared.compared_models, *compared.further]
    unfinished = [each for each in judged if each.situation == NOT_CONVERGED]
    names = {name for each in unfinished for name in (each.first, each.second)}
    if settings := convergence.settings(results, experiment, names):
        yield f"longer trainings: {', '.join(settings)}"
    for each in compared.of_question:
        yield from _deciding(each)


def _deciding(each: TestedDifference) -> Iterator[str]:
    """Yield what would decide a comparison, and make its two models alike."""
    pair, count = f"{each.first} and {each.second}", each.result.seeds_needed
    if each.situation == UNTESTED:
        yield "more seeds: heed study --seeds 10"
    elif each.situation == UNDECIDED and count:
        yield f"{pair}: about {count} seeds: heed study --seeds {count}"
    elif each.situation == UNDECIDED:
        yield f"{pair}: more test texts, or over 1,000 seeds"
    if each.remark:
        yield f"{pair}: one search for both (docs/search.md)"


def generated_warning(experiments: list[Experiment]) -> str:
    """Return the warning that text is generated; empty where all text is real."""
    generated = [each.generated for each in experiments]
    if not any(generated):
        return ""
    return (
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
        title = f"{name} on test, and gain, of every experiment"
        counts = sorted({len(results.comparison.seeds_of(each.key)) for each in experiments})
        seeds = pluralize("{count} seed", "{count} seeds", counts[-1])
        seeds = f"{counts[0]} to {seeds}" if len(counts) > 1 else seeds
        metric = f"{name} on test, mean over {seeds}."
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
    baselines = _baselines(experiments)

    def score_of(name: str) -> Callable[[Experiment], float | None]:
        def value(each: Experiment) -> float | None:
            known = name in each.result.models or name in each.result.reference_models
            return each.measure.scaled(each.result.score_of(name)) if known else None

        return value

    def first(each: Experiment) -> str:
        return next(iter(each.result.attention), "")

    def title(each: Experiment) -> Cell:
        return title_cell(each, baselines.get(each.key, ""))

    def gain(each: Experiment) -> Gain | None:
        return each.result.models[first(each)].gain if first(each) else None

    return (
        *join_columns(""),
        Column("title", "Experiment", value=title, width=TITLE_WIDTH),
        Column("baseline", "Baseline", metric, score_of(BASELINE)),
        Column("attention", "Attention", metric, lambda each: score_of(first(each))(each)),
        Column(
            "", "Gain", POINTS, lambda e: Cell(e.gain and e.gain.mean, strong=True),
            unit=measure.unit,
        ),
        Column("gain_pp", "", POINTS, value_of(gain, "mean_pp")),
        Column("gain_std_pp", "", decimals(2), value_of(gain, "std_pp")),
        *tested_columns(results, "gain"),
        Column("", "Controls; other variants", TEXT, _format_variants, below=True),
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
    talk, reproduction = ("The talk", "Reproduction") if published else ("", "")

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
        Column("verdict", "", value="attention_comparison.primary.verdict"),
    )


def _baselines(experiments: list[Experiment]) -> dict[str, str]:
    """Return what the baseline of each experiment is, by key; nothing where all are of a kind."""
    kinds = {
        each.key: f"baseline: {describe_network(BASELINE, each.result)}"
        for each in experiments
        if BASELINE in each.result.models
    }
    return kinds if len({*kinds.values()}) > 1 else {}


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
    less = lower_is_better(measure.metric) and not measure.is_of_sentences
    gain = (
        f"Gain: {'baseline minus attention' if less else 'attention minus baseline'} in "
        f"{measure.long_unit}, {'since less is better, ' if less else ''}paired by {measure.item}. "
        f"Interval and p allow for variation over seeds and test {measure.item}s."
    )
    if is_first:
        text = " ".join([metric, gain, *_method(results, measure)])
        return (f"{text} ", Span(method.signature, "code"))
    margin = measure.margin(method.equivalence_margin)
    further = measure.of_validation.convergence_margin(method.convergence_pp)
    as_in_first = (
        f"All else is as below the first table; a difference within {margin} is practically the "
        "same, and a model has not converged whose validation score twice the epochs raise by "
        f"more than {further}."
    )
    return (" ".join([metric, gain, as_in_first]),)


def _method(results: Results, measure: Measure) -> Iterator[str]:
    comparison, method = results.comparison, results.comparison.significance
    if all(len(comparison.seeds_of(name)) == 1 for name in comparison.experiments):
        yield "One seed has neither."
    if primary := "; ".join(_primary_questions(results)):
        yield (
            f"An experiment has at most one primary question, tested at {method.alpha:g} by "
            f"itself: {primary}. The intervals and p values of all others allow for the number of "
            "comparisons in the experiment, with reference models and without them each for "
            "itself, except of checks against a trivial reference model."
        )
    margin = measure.margin(method.equivalence_margin)
    further = measure.of_validation.convergence_margin(method.convergence_pp)
    yield (
        "A difference is better or worse where its interval excludes 0 and neither of these "
        f"holds: one that is shown to lie within {margin} is practically the same; a model whose "
        f"validation score twice the epochs raise by more than {further} has not converged, though "
        "another may be worse than it, or better by more than they do."
    )
    if not any(m.longer_training for e in results.experiments for m in e.result.models.values()):
        yield "Whether models have converged was not tried."
    if any(each.result.corpus.folds for each in results.experiments):
        yield "With folds both allow for training splits that overlap."
    yield (
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
                pair = f"{pair} (finds {size} with 80% power)"
            yield pair


COARSE_PP = 3.0  # a study that is likely to miss differences of this size says so


def headline(experiments: list[Experiment]) -> list[str]:
    """Return what a report says first: a sentence of each experiment, and what they may miss."""
    several = len(experiments) > 1
    lines = [
        f"{each.title}{colon(each)} {each.answer.sentence}" if several else each.answer.sentence
        for each in experiments
    ]
    return [*lines, *_power(experiments)]


def _power(experiments: list[Experiment]) -> Iterator[str]:
    """Yield the sentence on differences that the primary comparisons are likely to miss."""
    coarse = {
        each.title: each.measure.limit(found, 1)
        for each in experiments
        if each.attention_comparison
        and (found := each.attention_comparison.primary.result.detectable_pp)
        and found > COARSE_PP
    }
    if coarse:
        sizes = ", ".join(
            f"{size} ({title})" if len(experiments) > 1 else size for title, size in coarse.items()
        )
        yield f"Differences below these are likely to be missed: {sizes} (80% power)."


def judged_variants(experiments: list[Experiment]) -> list[str]:
    """Return the variants that are judged, each once: one in each experiment."""
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    return list(dict.fromkeys(each.variant for each in compared))


MATRIX_TITLE_WIDTH, WIDTH, ALL_WIDTHS = 36, 42, 126  # millimetres on paper; all verdicts
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
    """Return the matrix, the primary comparison first.

    It has no column for what no experiment is compared with.
    """
    units = {each.measure.long_unit for each in experiments if each.attention_comparison}
    unit = units.pop() if len(units) == 1 else ""
    # where experiments differ in the unit, the cells have it
    details = f", with differences in {unit}" if unit else ""
    kinds = _compared_models(experiments)
    verdicts = [*itertools.chain(*(_verdict_columns(*each, bool(unit)) for each in kinds))]
    if any(each.line.reproduction for each in experiments):
        verdicts += [
            Column("", "The talk’s gain", TEXT, _talk_verdict),
            Column("talk_verdict", "", value="line.reproduction.verdict"),
            Column("talk_gain_pp", "", POINTS, "line.talk_gain"),
        ]
    names_variant = len(judged_variants(experiments)) > 1

    def title(each: Experiment) -> Cell:
        compared = each.attention_comparison
        return title_cell(each, compared.variant if compared and names_variant else "")

    printed = sum(bool(each.heading) for each in verdicts)  # none where nothing is compared
    width = min(ALL_WIDTHS // max(printed, 1), WIDTH)
    columns = (
        *join_columns(""),
        Column("variant", "", value="attention_comparison.variant"),
        Column("", "Experiment", value=title, width=MATRIX_TITLE_WIDTH),
        *(dataclasses.replace(each, width=width) for each in verdicts),
    )
    return Table(
        "verdicts",
        f"Verdicts on attention{details}",
        columns,
        make_rows(columns, experiments),
        sources=sources,
        location="experiments",
        style="verdicts",
    )


def _compared_models(experiments: list[Experiment]) -> list[tuple[str, str, str, GetDifference]]:
    """Return what attention is compared with in some experiment, as `_verdict_columns` takes it."""

    def found(kind: str) -> GetDifference:
        return lambda each: getattr(each.attention_comparison, kind, None)

    primary = "The question: against its control", "Against its control"
    compared = [each.attention_comparison for each in experiments if each.attention_comparison]
    once = all(each.baseline in (None, each.primary) for each in compared)
    best = filter(None, (each.strongest_reference_model for each in compared))
    names = {each.second for each in best}
    tasks = (each.measure.task for each in experiments)
    compared_models: list[tuple[str, str, str, GetDifference]] = [
        ("control", *primary, found("primary")),
        ("baseline", "" if once else "Against the baseline", "Baseline", found("baseline")),
        ("reference_model", *_headings(tasks, names), found("strongest_reference_model")),
    ]
    return [each for each in compared_models if any(map(each[3], experiments))]


def _headings(tasks: Iterable[str], names: set[str]) -> tuple[str, str]:
    """Return the headings over the strongest reference model, by its name where it is one."""
    only = describe_reference_models(tasks).get(names.pop()) if len(names) == 1 else None
    if only and only.against:
        return only.against, only.short
    return "Against the best reference model", "Best reference model"


def _verdict_columns(
    key: str, heading: str, short: str, get: GetDifference, has_unit: bool
) -> tuple[Column, ...]:
    """Return the column for people, and those of the CSV file: model, verdict and difference.

    `key` begins the names of these columns; `has_unit`: whether the table's title has the unit.
    """

    def cell(experiment: Experiment) -> Phrase | str:
        difference = get(experiment)
        if difference is None:
            return DASH
        value = difference.mean
        number = format_points(value) if has_unit else difference.measure.difference(value)
        short = "the same" if difference.verdict == SAME else difference.verdict
        verdict = verdict_span(difference.verdict, short)
        words = describe_model(difference.second, experiment.result)
        name = (", ", glossary_link(difference.second, words))
        remark = (", ", glossary_link(TUNED_ALIKE, difference.remark)) if difference.remark else ()
        return Phrase((verdict, f" {number}", *name, *remark))

    return (
        Column("", heading, TEXT, cell, short=short),
        Column(key, "", value=value_of(get, "second")),
        Column(f"{key}_verdict", "", value=value_of(get, "verdict")),
        Column(f"{key}_pp", "", POINTS, value_of(get, "mean")),
    )


def _talk_verdict(each: Experiment) -> Phrase | str:
    verdict = each.line.reproduction.verdict if each.line.reproduction else ""
    if not verdict:
        return DASH
    return Phrase((verdict_span(verdict, verdict), f" {format_points(each.line.talk_gain)}"))


def verdict_span(verdict: str, word: str) -> Span:
    """Return a verdict with its sign, in its style."""
    style = {BETTER: "better", WORSE: "worse", NOT_CONVERGED: "void", UNDECIDED: "open"}
    return Span(f"{SIGNS[verdict]}\u00a0{word}", f"outcome {style.get(verdict, 'level')}")

"""The figures of a translation: one table of all models, figures, alignments, and examples."""

import dataclasses
import operator
from collections.abc import Callable

import numpy as np

from heed.evaluation.results import BASELINE, ModelResult, OpponentResult, Spread, spread
from heed.paths import MODEL_PREDICTION
from heed.recipe import read_prediction
from heed.report.answer import TestedDifference, verdict_text
from heed.report.blocks import (
    EVERYWHERE,
    PAGE,
    PAPER,
    Block,
    Cell,
    Column,
    Disclosure,
    Figure,
    Group,
    Heading,
    Paragraph,
    Phrase,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters import comparisons, hyperparameters, provenance
from heed.report.chapters import experiment as beginning
from heed.report.chapters.scores import lengths_file
from heed.report.chapters.shared import (
    all_models,
    caution,
    corrected_p_column,
    difference_value,
    interval_columns,
    join_columns,
    on_page,
    p_column,
    values_by_run,
)
from heed.report.experiments import Experiment
from heed.report.figures.curves import curves
from heed.report.figures.lengths import by_length
from heed.report.figures.variants import describe_choice, drawn_variants
from heed.report.formats import (
    COUNT,
    INTERVAL,
    POINTS,
    Format,
    decimals,
    format_count,
    format_number,
)
from heed.report.language import say
from heed.report.measures import ReferenceModel
from heed.report.results import Results, read_table
from heed.report.sources import Source
from heed.report.timing import TrainingTime, describe_core_minutes
from heed.tasks.translation import figures
from heed.tasks.translation.recipe import SCALE, Prediction
from heed.tasks.translation.shown_sentences import (
    Sentence,
    count_wrong,
    mark_wrong,
    read_sentences,
    sentence_sources,
)
from heed.tasks.translation.state_figures import first_word, sentence_states
from heed.tasks.translation.statistics import signatures

SHOWN = 3  # figures: the page opens the others on demand
PERCENT = decimals(2)
PARAMETERS = Format(
    lambda value: "–" if value is None else format_count(value), COUNT.plain, "right"
)
VERDICT = Format(
    lambda value: "–" if value is None else verdict_text(value), lambda value: value or "", "left"
)
# Figures of `heed score` that are no sums of statistics: in summary.csv only.
PAPER_MAPS, PAPER_EXAMPLES = 2, 3  # of the sentences, on paper
SHIFTED, IBM1 = "aer_shifted", "ibm1_agreement"


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table: a model or an opponent, with its figures over seeds or folds."""

    name: str
    figures: dict[str, Spread]
    parameters: int | None  # of a model
    gain: TestedDifference | None  # over the baseline
    times: list[TrainingTime]  # of a model, by seed

    def value(self, figure: str) -> float | None:
        """Return the mean of a figure, between 0 and 100; None where it has none."""
        return 100 * self.figures[figure].mean if figure in self.figures else None

    def deviation(self, figure: str) -> float | None:
        """Return the deviation of a figure over runs, in points."""
        return self.figures[figure].std_pp if figure in self.figures else None


HAS_SCORES = False  # its score functions stand with its own figures
HAS_BROWSER = False


def title() -> str:
    """Return the name of the task, as a heading has it."""
    return say("Translation")


def reference_models() -> dict[str, ReferenceModel]:
    """Return the words on the reference models."""
    return {
        "statistical": ReferenceModel(
            say("Statistical"),
            say(
                "an opponent, which is a reference model from outside: IBM model 1 and a trigram "
                "language model"
            ),
            say("An opponent: IBM model 1 and a trigram language model."),
            say("statistical translation"),
            say("Against statistical translation"),
            say("Statistical translation"),
        ),
        "copy": ReferenceModel(
            say("Copy"),
            say("the opponent that gives the source for its translation"),
            say("An opponent: it gives the source for its translation."),
        ),
    }


def values_text() -> str:
    """Return the sentences on how figures are computed."""
    return say(
        "Figures of translations are means over seeds of figures of the whole test part: BLEU is "
        "not averaged over sentences. The statistical opponent is tuned on the validation part; "
        "without folds the opponents are fitted once and have no deviation."
    )


def untested_weights() -> str:
    """Return why no test of what weights explain is defined; empty where tests are."""
    return ""


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the table of all models, figures, and the sentences that are shown."""
    lines, variants = _lines(results, experiment), drawn_variants(results, experiment)
    drawn: tuple[Figure, ...] = (
        by_length(results, experiment, variants),
        first_word(results, experiment, variants),
        *figures.by_share(results, experiment),
        *on_page(
            (
                *figures.by_distance(results, experiment, variants),
                curves(results, experiment, variants),
                *figures.by_cap(results, experiment),
                *sentence_states(results, experiment),
                figures.operations(results, experiment, variants),
            )
        ),
    )
    return [
        _table(results, experiment, lines),
        *_by_run(results, experiment, lines),
        lengths_file(results, experiment),
        Heading(say("Figures"), experiment.mark, media=(PAGE,)),
        Group(drawn[:SHOWN], "plots"),
        Disclosure(
            say("More figures: {titles}", titles=", ".join(each.title for each in drawn[SHOWN:])),
            (Group(drawn[SHOWN:], "plots"),),
            "others",
            heading=False,
        ),
        *all_models(results, experiment, variants, {"lengths": by_length, "curves": curves}),
        Disclosure(
            say("Sentences chosen by rule"), tuple(_sentences(results, experiment)), "others"
        ),
    ]


def _lines(results: Results, experiment: Experiment) -> list[Line]:
    """Return a line for each model and each opponent."""
    result = results.comparison.experiments[experiment.key]
    gains = {each.first: each for each in experiment.comparisons if each.second == BASELINE}
    models = [
        Line(
            variant,
            model.summary | _evaluated(results, model),
            model.parameters,
            gains.get(variant),
            results.training_times(model.model),
        )
        for variant, model in result.models.items()
    ]
    return models + [_opponent_line(*each) for each in result.opponents.items()]


def _opponent_line(name: str, opponent: OpponentResult) -> Line:
    return Line(name, opponent.summary, None, None, [])


def _evaluated(results: Results, model: ModelResult) -> dict[str, Spread]:
    """Return the figures of a model that only its evaluation has."""
    table = read_table(results.evaluation_folder(model.model) / "summary.csv")
    return {
        name: spread([float(value) for value in table[name]])
        for name in (SHIFTED, IBM1)
        if name in table
    }


def _evaluation_sources(results: Results, experiment: Experiment) -> tuple[Source, ...]:
    models = results.models(experiment).values()
    return results.sources.add(
        *(results.evaluation_folder(each) / "summary.csv" for each in models)
    )


def _table(results: Results, experiment: Experiment, lines: list[Line]) -> Table:
    columns = (
        *join_columns(lambda _: experiment),
        Column("variant", say("Model"), value=lambda line: line.name),
        Column(
            "parameters", say("Parameters"), PARAMETERS, lambda line: line.parameters, paper=False
        ),
        *_figure_column(experiment, "bleu"),
        *_figure_column(experiment, "chrf"),
        *_figure_column(experiment, "rouge_l_recall"),
        *_figure_column(experiment, "rouge_l_precision"),
        *_alignment_columns(lines),
        _unknown_words_column(lines),
        *_gain_columns(results, experiment),
        _core_minutes_column(lines),
    )
    return Table(
        f"{experiment.key}_translation",
        say("Translations of the test part"),
        columns,
        make_rows(columns, lines),
        caption=_caption(results, experiment, lines),
        notes=tuple(_scoring_notes(results, experiment)),
        sources=(
            *results.comparison_sources,
            *_evaluation_sources(results, experiment),
            results.times_source,
        ),
        location=f"experiments.{experiment.key}",
        mark=experiment.mark,
        style="scores",
    )


def _caption(results: Results, experiment: Experiment, lines: list[Line]) -> str:
    """Return what the rows and the figures of the table are."""
    names = ", ".join(results.comparison.experiments[experiment.key].opponents)
    sentences = [say("All figures between 0 and 100.")]
    if names:
        sentences.append(
            say("The opponents, {names}, are reference models from outside.", names=names)
        )
    if not _has_unknown_words(lines):
        sentences.append(say("No source has a word that a model does not know."))
    return " ".join(sentences)


def _has_unknown_words(lines: list[Line]) -> bool:
    return any(line.value("unknown_words") for line in lines)


def _unknown_words_column(lines: list[Line]) -> Column:
    """Return the share of unknown words; page and paper have the column where there are any."""
    return Column(
        "unknown_words",
        say("Unknown words") if _has_unknown_words(lines) else "",
        PERCENT,
        lambda line: line.value("unknown_words"),
        unit="%",
        meaning=say("the share of the words of the source that the model does not know"),
    )


def _figure_column(experiment: Experiment, figure: str) -> tuple[Column, Column]:
    """Return the column of a figure, with its deviation in small, and that of the CSV file."""
    deciding = figure == experiment.measure.metric

    def value(line: Line) -> Cell:
        deviation = line.deviation(figure)
        note = "" if deviation is None else f"± {format_number(deviation, 2)}"
        return Cell(line.value(figure), note, strong=deciding)

    return (
        Column(figure, SCALE.names[figure], PERCENT, value),
        Column(f"{figure}_std_pp", "", decimals(3), lambda line: line.deviation(figure)),
    )


def _alignment_columns(lines: list[Line]) -> tuple[Column, ...]:
    """Return the alignment error and its control; without gold, the agreement with IBM model 1."""
    if any("aer" in line.figures for line in lines):
        return (
            Column(
                "aer",
                say("Alignment error"),
                PERCENT,
                lambda line: line.value("aer"),
                meaning=say(
                    "the error rate of Och & Ney 2003 against the gold links; lower is better, and "
                    "100 is a model that links nothing"
                ),
            ),
            Column(
                SHIFTED,
                say("Shifted by one"),
                PERCENT,
                lambda line: line.value(SHIFTED),
                meaning=say(
                    "a control: the error of the same links, moved by one word of the translation. "
                    "Where it is no higher, the links are off by one, or mean nothing"
                ),
            ),
        )
    if any(IBM1 in line.figures for line in lines):
        return (
            Column(
                IBM1,
                say("Agreement with IBM model 1"),
                PERCENT,
                lambda line: line.value(IBM1),
                meaning=say(
                    "of the links of attention with those of IBM model 1, which may be wrong: the "
                    "corpus has no gold links"
                ),
            ),
        )
    return ()


def _gain_columns(results: Results, experiment: Experiment) -> tuple[Column, ...]:
    def tested(line: Line) -> TestedDifference | None:
        return line.gain

    return (
        Column(
            "gain_pp",
            say("Gain"),
            POINTS,
            difference_value(tested, lambda each: each.mean),
            unit=experiment.measure.unit,
        ),
        Column(
            "",
            say("{covers} interval", covers=results.coverage),
            INTERVAL,
            difference_value(tested, lambda each: each.ends),
        ),
        *interval_columns(tested, "gain_low_pp", "gain_high_pp"),
        p_column(tested),
        corrected_p_column(tested),
        Column(
            "verdict",
            say("Verdict"),
            VERDICT,
            difference_value(tested, lambda each: each.verdict),
        ),
    )


def _core_minutes_column(lines: list[Line]) -> Column:
    """Return the mean time of a model's trainings; its meaning says of which kind of time."""
    return Column(
        "core_minutes",
        say("Core-minutes"),
        decimals(1, 3),
        lambda line: np.mean([each.core_minutes for each in line.times]) if line.times else None,
        paper=False,  # the chapter of costs has it
        meaning=describe_core_minutes(time for line in lines for time in line.times),
    )


def _read_settings(results: Results, model: str) -> Prediction:
    """Return the settings that a model's predictions were made with."""
    path = results.folder / "predict" / model / MODEL_PREDICTION
    settings: Prediction = read_prediction(path, "translation", f"heed score {model}")
    return settings


def _scoring_notes(results: Results, experiment: Experiment) -> list[Texts]:
    """Return how translations were searched for and scored, for each setting and its models."""
    variants: dict[tuple[str, Texts], list[str]] = {}
    for variant, model in results.models(experiment).items():
        variants.setdefault(_scoring_note(results, model), []).append(variant)
    notes: list[Texts] = []
    for (search, scores), names in variants.items():
        who = f"{', '.join(names)}: " if len(variants) > 1 else ""
        notes.append((f"{who}{search} ", *scores))
    first = say("Small second line: the standard deviation over seeds.")
    return [(first,), *notes] if len(results.comparison.seeds) > 1 else notes


def _scoring_note(results: Results, model: str) -> tuple[str, Texts]:
    """Return how a model searches for translations, and how they are scored."""
    settings = _read_settings(results, model)
    search = say(
        "Beam {beam}, length penalty {penalty}.",
        beam=settings.beam,
        penalty=f"{settings.length_penalty:g}",
    )
    counts = read_table(results.evaluation_folder(model) / "summary.csv")["references"]
    is_one = counts.notna().all() and counts.nunique() == 1  # else sentences or folds differ
    count = int(counts[0]) if is_one else None
    if settings.references:
        names = ", ".join(settings.references)
        search += " " + say("Further references: {names}; the best match counts.", names=names)
    bleu, chrf = (Span(text, "code") for text in signatures(settings, count).values())
    return search, (say("Signatures of sacrebleu:"), " ", bleu, ", ", chrf)


def _by_run(results: Results, experiment: Experiment, lines: list[Line]) -> list[Block]:
    """Return each run's values: a table that the page opens on demand, and a file of all."""
    seeds = results.comparison.seeds
    runs = [say("seed {seed}", seed=seed) for seed in seeds]
    shown = ("bleu", "chrf", "rouge_l_recall", "rouge_l_precision", "aer")
    values = [
        (line.name, figure, value)
        for line in lines
        if line.parameters is not None
        for figure, value in line.figures.items()
        if figure in shown
    ]
    columns = (
        Column("", say("Model"), value=operator.itemgetter(0)),
        Column(
            "", say("Figure"), value=lambda each: SCALE.names.get(each[1], say("Alignment error"))
        ),
        Column("", say("Mean"), PERCENT, lambda each: 100 * each[2].mean),
        *(Column("", run, PERCENT, _run_value(index)) for index, run in enumerate(runs)),
    )
    shown_runs = values_by_run(
        results, experiment, "_by-seed", say("Values by seed"), columns, values
    )
    return [*[shown_runs] * (len(seeds) > 1), _seeds_file(experiment, lines, seeds)]


def _run_value(run: int) -> Callable[[tuple[str, str, Spread]], float]:
    return lambda each: 100 * each[2].values[run]


def _seeds_file(experiment: Experiment, lines: list[Line], seeds: list[int]) -> Group:
    """Return the file of every run's values, between 0 and 1, and a link to it."""
    columns = (
        *join_columns(lambda _: experiment),
        *(
            Column(key, "", value=operator.itemgetter(index))
            for index, key in enumerate(("variant", "run", "figure"))
        ),
        Column("value", "", decimals(6), operator.itemgetter(3)),
    )
    values = []
    for line in lines:
        for figure, spread_ in line.figures.items():
            names = _run_names(line, len(spread_.values), seeds)
            values += [
                (line.name, run, figure, value)
                for run, value in zip(names, spread_.values, strict=True)
            ]
    key, title = f"{experiment.key}_seeds", say("every value (CSV)")
    table = Table(key, title, columns, make_rows(columns, values), files=("csv",), media=())
    links: Texts = (
        say("All models of this experiment:"),
        " ",
        Span(title, link=f"tables/{key}.csv"),
    )
    return Group((table, Paragraph(links, "small", media=(PAGE,))))


def _run_names(line: Line, count: int, seeds: list[int]) -> list[str]:
    """Return the names of a line's runs: seeds of a model, folds of an opponent."""
    if line.parameters is not None:
        return [f"seed {seed}" for seed in seeds]
    return [f"fold {fold}" for fold in range(count)] if count > 1 else ["the only one"]


def _sentences(results: Results, experiment: Experiment) -> list[Block]:
    """Return heat maps and examples; a sentence in their place where they are left out.

    Paper goes along with an edition that is published, so it has generated sentences only.
    """
    media = tuple(
        medium
        for medium, printed in (
            (PAGE, results.with_documents or experiment.generated),
            (PAPER, experiment.generated),
        )
        if printed
    )
    blocks = _printed_sentences(results, experiment, media)
    reason = say(
        "The sentences of this corpus are left out of what may be published, since heed did not "
        "generate them. reports/index.html has them, with the attention between their words and "
        "the translations of each model."
    )
    others = tuple(medium for medium in EVERYWHERE if medium not in media)
    return [*blocks, Paragraph((reason,), "small", media=others)] if others else blocks


def _printed_sentences(
    results: Results, experiment: Experiment, media: tuple[str, ...]
) -> list[Block]:
    """Return the rule, the examples and the heat maps, for these media; nothing without any."""
    if not media:
        return []
    sentences = read_sentences(results, experiment)
    rule = say(
        "Of the test sentences, sorted by the length of their source, those in the middle of "
        "{count} groups of equal size: no model had a part in the choice. Translations and weights "
        "are those of the first seed’s run.",
        count=len(sentences),
    )
    maps = figures.alignments(results, experiment, sentences)
    maps = (*maps[:PAPER_MAPS], *on_page(maps[PAPER_MAPS:]))
    key = say(
        "Attention in each sentence: a row is a word of the reference, and the stronger the colour "
        "of a square, the more weight the source word has when it is written. Outlined: gold "
        "links, where the corpus has any, dashed where they are only possible."
    )
    return [
        Paragraph((rule, " ", *caution(results, experiment)), media=media),
        *_examples_by_medium(results, experiment, sentences, media),
        *([Paragraph((key,), media=media), Group(maps, "plots", media=media)] if maps else []),
    ]


def _examples_by_medium(
    results: Results, experiment: Experiment, sentences: list[Sentence], media: tuple[str, ...]
) -> list[Table]:
    """Return the examples of the page and the file, and those of paper: the first of them."""
    every = _examples(results, experiment, sentences, media)
    if PAPER not in media:
        return [every]
    few = _examples(results, experiment, sentences[:PAPER_EXAMPLES], (PAPER,))
    page = tuple(medium for medium in media if medium != PAPER)
    return [dataclasses.replace(every, media=page), dataclasses.replace(few, files=())]


def _examples(
    results: Results, experiment: Experiment, sentences: list[Sentence], media: tuple[str, ...]
) -> Table:
    """Return the table of examples: each text of a sentence below the other, wrong words marked.

    The models are those of the figures that compare all.
    """
    variants = drawn_variants(results, experiment)
    columns = (
        *join_columns(lambda _: experiment),
        Column("", say("Sentence"), value=lambda row: f"{row[0]} {row[1]}"),
        Column("sentence", "", COUNT, lambda row: row[0]),
        Column("text_of", "", value=lambda row: row[1]),
        Column("text", say("Text"), value=lambda row: row[2], width=115),
        Column("wrong_words", "", COUNT, lambda row: row[3]),
    )
    return Table(
        f"{experiment.key}_examples",
        say("Examples"),
        columns,
        make_rows(
            columns, [row for each in enumerate(sentences, 1) for row in _example(*each, variants)]
        ),
        caption=say("Underlined: words of a translation that the reference does not have.")
        + describe_choice(results, experiment, variants),
        sources=sentence_sources(results, experiment, "sentences"),
        mark=experiment.mark,
        style="scores",
        media=media,
    )


def _example(
    number: int, sentence: Sentence, variants: list[str]
) -> list[tuple[int, str, Phrase | str, int | None]]:
    """Return the rows of a sentence: source, reference, and what each of these models made of it.

    The translations of all models are in results/predict/MODEL/predictions.parquet.
    """
    rows: list[tuple[int, str, Phrase | str, int | None]] = [
        (number, say("source"), sentence.source, None),
        (number, say("reference"), sentence.reference, None),
    ]
    for variant in variants:
        marked = mark_wrong(sentence.translations[variant], sentence.reference)
        rows.append((number, variant, marked, count_wrong(marked)))
    return rows


CHAPTERS = [
    beginning.chapter,
    chapter,
    provenance.machine_kinds,
    comparisons.chapter,
    hyperparameters.searches_chapter,
]
APPENDICES = [hyperparameters.chapter]

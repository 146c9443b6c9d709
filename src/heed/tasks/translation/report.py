"""The scores of a translation: one table of all models, figures, alignments, and examples."""

import dataclasses
import operator

import numpy as np

from heed.evaluation.results import BASELINE, MeanAndStd, mean_and_std
from heed.paths import MODEL_PREDICTION
from heed.recipe import read_prediction
from heed.report import blocks
from heed.report.answer import TestedDifference
from heed.report.chapters import comparisons, convergence, hyperparameters, provenance, shared
from heed.report.chapters import experiment as beginning
from heed.report.chapters.cost import describe_core_minutes
from heed.report.chapters.scores import lengths_file
from heed.report.experiments import Experiment
from heed.report.figures.curves import by_length, curves
from heed.report.figures.variants import drawn_variants
from heed.report.formats import PARAMETERS, POINTS, VERDICT, decimals, format_number
from heed.report.measures import ReferenceModel
from heed.report.results import Results, read_table
from heed.tasks.translation import figures
from heed.tasks.translation.metrics import signatures
from heed.tasks.translation.recipe import SCALE, Prediction
from heed.tasks.translation.sentences import first_alignment, shown_blocks
from heed.training.machine import TrainingTime

SHOWN = 3  # figures: the page opens the others on demand
PERCENT = decimals(2)
SHOWN_METRICS = ("bleu", "chrf", "rouge_l_recall", "rouge_l_precision")
SHIFTED, IBM1 = "aer_shifted", "ibm1_agreement"  # in summary.csv only: no sums of statistics
HAS_SCORES = False  # its score functions stand with its own figures
HAS_BROWSER = False
REFERENCE_MODELS = {
    "statistical": ReferenceModel(
        "Statistical",
        "a reference model from outside: IBM model 1 and a trigram language model",
        "A reference model: IBM model 1 and a trigram language model.",
        "statistical translation",
        "Against statistical translation",
        "Statistical translation",
    ),
    "copy": ReferenceModel(
        "Copy",
        "the reference model that gives the source for its translation",
        "A reference model: it gives the source for its translation.",
    ),
}
VALUES = (
    "Metrics of translations are means over seeds of metrics of the whole test split: BLEU is not "
    "averaged over sentences. The statistical reference model is tuned on the validation split; "
    "without folds the reference models are fitted once and have no standard deviation."
)


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table: a model or a reference model, with its scores over seeds or folds."""

    name: str
    scores: dict[str, MeanAndStd]
    parameters: int | None = None  # of a model
    gain: TestedDifference | None = None  # over the baseline
    times: list[TrainingTime] = dataclasses.field(default_factory=list)  # of a model, by seed

    def value(self, metric: str) -> float | None:
        """Return the mean of a metric, between 0 and 100; None where it has none."""
        return 100 * self.scores[metric].mean if metric in self.scores else None

    def std(self, metric: str) -> float | None:
        """Return the standard deviation of a metric over runs, in points."""
        return self.scores[metric].std_pp if metric in self.scores else None


def chapter(results: Results, experiment: Experiment) -> list[blocks.Block]:
    """Return the table of all models, figures, and the sentences that are shown."""
    lines, variants = _lines(results, experiment), drawn_variants(results, experiment)
    drawn: tuple[blocks.Figure, ...] = (
        by_length(results, experiment, variants),
        figures.first_word(results, experiment, variants),
        *figures.by_share(results, experiment),
        *shared.on_page(
            (
                *figures.by_distance(results, experiment, variants),
                curves(results, experiment, variants),
                *figures.by_cap(results, experiment),
            )
        ),
    )
    return [
        _table(results, experiment, lines),
        _every_value(experiment, lines, results.comparison.seeds_of(experiment.key)),
        lengths_file(results, experiment),
        blocks.Heading("Figures", media=(blocks.PAGE,)),
        blocks.Group(drawn[:SHOWN], "plots"),
        blocks.Disclosure(
            f"More figures: {', '.join(each.title for each in drawn[SHOWN:])}",
            (blocks.Group(drawn[SHOWN:], "plots"),),
            "others",
        ),
        *shared.all_models(results, experiment, variants, {"lengths": by_length, "curves": curves}),
        *shown_blocks(results, experiment),
    ]


def _lines(results: Results, experiment: Experiment) -> list[Line]:
    result = results.comparison.experiments[experiment.key]
    gains = {  # over the variant's own baseline, where it has one
        each.first: each
        for each in experiment.comparisons
        if each.second in (BASELINE, f"{each.first}-{BASELINE}")
    }
    lines = []
    for variant, model in result.models.items():
        evaluated = read_table(results.evaluation_folder(model.model) / "summary.csv")
        scores = dict(model.summary)
        for name in {SHIFTED, IBM1}.intersection(evaluated):
            scores[name] = mean_and_std(evaluated[name].tolist())
        times = results.training_times(model.model)
        lines.append(Line(variant, scores, model.parameters, gains.get(variant), times))
    return lines + [Line(name, each.summary) for name, each in result.reference_models.items()]


def _table(results: Results, experiment: Experiment, lines: list[Line]) -> blocks.Table:
    folders = map(results.evaluation_folder, results.models(experiment).values())
    files = (folder / "summary.csv" for folder in folders)
    has_unknown_words = any(line.value("unknown_words") for line in lines)
    columns = _columns(results, experiment, lines, has_unknown_words)
    names = ", ".join(results.comparison.experiments[experiment.key].reference_models)
    sentences = ["All scores between 0 and 100."]
    if names:
        sentences.append(f"The reference models, {names}, come from outside the study.")
    if not has_unknown_words:
        sentences.append("No source has a word that a model does not know.")
    return shared.experiment_table(
        results,
        experiment,
        "_translation",
        "Translations of the test split",
        columns,
        lines,
        caption=" ".join(sentences),
        notes=tuple(_scoring_notes(results, experiment)),
        sources=(*results.comparison_sources, *results.sources.add(*files), results.times_source),
        location=f"experiments.{experiment.key}",
        style="scores",
    )


def _columns(
    results: Results, experiment: Experiment, lines: list[Line], has_unknown_words: bool
) -> tuple[blocks.Column, ...]:
    times = [time for line in lines for time in line.times]
    return (
        blocks.Column("variant", "Model", value="name"),
        blocks.Column("parameters", "Parameters", PARAMETERS, "parameters", paper=False),
        *(column for each in SHOWN_METRICS for column in _metric_columns(experiment, each)),
        *_alignment_columns(lines),
        blocks.Column(
            "unknown_words",
            "Unknown words" if has_unknown_words else "",
            PERCENT,
            lambda line: line.value("unknown_words"),
            unit="%",
            meaning="the share of the words of the source that the model does not know",
        ),
        blocks.Column("gain_pp", "Gain", POINTS, "gain.mean", unit=experiment.measure.unit),
        *shared.tested_columns(results, "gain"),
        blocks.Column("verdict", "Verdict", VERDICT, shared.verdict_cell("gain")),
        blocks.Column(
            "core_minutes",
            "Core-minutes",
            decimals(1, 3),
            lambda line: (
                np.mean([time.core_minutes for time in line.times]) if line.times else None
            ),
            paper=False,  # the chapter of costs has it
            meaning=describe_core_minutes(times),
        ),
    )


def _metric_columns(experiment: Experiment, metric: str) -> tuple[blocks.Column, blocks.Column]:
    def value(line: Line) -> blocks.Cell:
        std = line.std(metric)
        note = "" if std is None else f"± {format_number(std, 2)}"
        return blocks.Cell(line.value(metric), note, strong=metric == experiment.measure.metric)

    return (
        blocks.Column(metric, SCALE.names[metric], PERCENT, value),
        blocks.Column(f"{metric}_std_pp", "", decimals(3), lambda line: line.std(metric)),
    )


def _alignment_columns(lines: list[Line]) -> list[blocks.Column]:
    measured = {metric for line in lines for metric in line.scores}

    def column(metric: str, heading: str, meaning: str) -> blocks.Column:
        value = operator.methodcaller("value", metric)
        return blocks.Column(metric, heading, PERCENT, value, meaning=meaning)

    error = (
        "the error rate of Och & Ney 2003 against the gold links; lower is better, and "
        "100 is a model that links nothing"
    )
    control = (
        "a control: the error of the same links, moved by one word of the translation. "
        "Where it is no higher, the links are off by one, or mean nothing"
    )
    agreement = (
        "of the links of attention with those of IBM model 1, which may be wrong: the "
        "corpus has no gold links"
    )
    if "aer" in measured:
        errors = column("aer", "Alignment error", error)
        return [errors, column(SHIFTED, "Shifted by one", control)]
    return [column(IBM1, "Agreement with IBM model 1", agreement)] * (IBM1 in measured)


def _scoring_notes(results: Results, experiment: Experiment) -> list[blocks.Texts]:
    variants: dict[blocks.Texts, list[str]] = {}
    for variant, model in results.models(experiment).items():
        variants.setdefault(_scoring_note(results, model), []).append(variant)
    notes: list[blocks.Texts] = []
    if len(results.comparison.seeds_of(experiment.key)) > 1:
        notes.append(("Small second line: the standard deviation over seeds.",))
    for note, names in variants.items():
        who = (f"{', '.join(names)}: ",) if len(variants) > 1 else ()
        notes.append((*who, *note))
    return notes


def _scoring_note(results: Results, model: str) -> blocks.Texts:
    path = results.prediction_folder(model) / MODEL_PREDICTION
    settings: Prediction = read_prediction(path, "translation", f"heed score {model}")
    beam, penalty = settings.beam, f"{settings.length_penalty:g}"
    texts = [f"Beam {beam}, length penalty {penalty}."]
    counts = read_table(results.evaluation_folder(model) / "summary.csv")["references"]
    is_one = counts.notna().all() and counts.nunique() == 1  # else sentences or folds differ
    if settings.references:
        names = ", ".join(settings.references)
        texts.append(f"Further references: {names}; the best match counts.")
    texts.append("Signatures of sacrebleu:")
    scores = signatures(settings, int(counts[0]) if is_one else None)
    bleu, chrf = (blocks.Span(text, "code") for text in scores.values())
    return " ".join(texts), " ", bleu, ", ", chrf


def _every_value(experiment: Experiment, lines: list[Line], seeds: list[int]) -> blocks.Group:
    values = []
    for line in lines:
        for metric, of_runs in line.scores.items():
            runs = [f"seed {seed}" for seed in seeds]
            if line.parameters is None:  # a reference model's
                count = len(of_runs.values)
                runs = [f"fold {fold}" for fold in range(count)] if count > 1 else ["the only one"]
            for run, value in zip(runs, of_runs.values, strict=True):
                values.append((line.name, run, metric, decimals(6).plain(value)))
    return shared.seeds_file(experiment, ("variant", "run", "metric", "value"), values)


first_example = first_alignment
CHAPTERS = [
    beginning.chapter,
    chapter,
    provenance.machine_kinds,
    comparisons.chapter,
    convergence.chapter,
    hyperparameters.searches_chapter,
]
APPENDICES = [hyperparameters.chapter]

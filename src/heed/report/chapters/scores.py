"""The score functions of the lectures, with the figures of models that use them."""

import dataclasses
import operator

from heed.evaluation.results import BASELINE, MeanAndStd
from heed.report.answer import TestedDifference
from heed.report.blocks import (
    EVERYWHERE,
    PAGE,
    Block,
    Cell,
    Column,
    Disclosure,
    Formula,
    Group,
    Paragraph,
    Section,
    Table,
    make_rows,
)
from heed.report.chapters.shared import csv_file, join_columns, tested_columns
from heed.report.experiments import Experiment
from heed.report.figures.curves import by_group
from heed.report.figures.variants import ordered_variants, read_tables
from heed.report.formats import DASH, POINTS, TEXT, decimals
from heed.report.measures import report_of
from heed.report.results import Results


def lengths_file(results: Results, experiment: Experiment) -> Group:
    """Return the file of every group of lengths, of all models, and a link to it.

    BLEU is between 0 and 100, accuracy between 0 and 1.
    """
    translated = experiment.measure.is_of_sentences
    metric, counted = ("bleu", "sentences") if translated else ("accuracy", "documents")
    one, value = decimals(1), decimals(2) if translated else decimals(4)
    keys = {
        "variant": ("variant", TEXT),
        "longest": ("longest", TEXT),
        "mean_length": ("length", one),
        counted: ("count", one),
        metric: ("mean", value),
        "worst_seed": ("min", value),
        "best_seed": ("max", value),
    }
    columns = (
        *join_columns(lambda _: experiment),
        *(Column(key, "", form, operator.itemgetter(name)) for key, (name, form) in keys.items()),
    )
    variants = ordered_variants(results, experiment)
    records = [
        {"variant": variant, **group}
        for variant, table in read_tables(results, experiment, "lengths", variants).items()
        for group in by_group(table).reset_index().to_dict("records")
    ]
    title, before = "every group of lengths (CSV)", "All models, by the length of the text:"
    return csv_file(f"{experiment.key}_lengths", title, before, columns, records)


COMPARED = 3  # score functions of which a study says something
# name: (equation, the same in LaTeX, lecture, source)
SCORES = {
    "additive": (
        "u · tanh(W₁ q + W₂ k)", r"$u^\top\tanh(W_1 q + W_2 k)$", "001", "Bahdanau et al. 2015",
    ),
    "concat": (
        "v · tanh(W [q; k])", r"$v^\top\tanh(W[q;k])$", "000 (“Additive”)", "Luong et al. 2015",
    ),
    "concat-tanh": ("tanh(W [q; k])", r"$\tanh(W[q;k])$", "004", ""),
    "location": ("(W q)ᵢ", r"$(Wq)_i$", "000", "Luong et al. 2015"),
    "general": ("q W k", r"$q^\top W k$", "000, 001", "Luong et al. 2015"),
    "dot": ("q · k", r"$q^\top k$", "000, 001", "Luong et al. 2015"),
    "scaled-dot": ("q · k / √d", r"$q^\top k/\sqrt{d}$", "000", "Vaswani et al. 2017"),
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Line:
    """A row of the table: a score function, and a model that uses it, where there is one.

    `where` is the place of the score function in the network; `metric` is that by which the
    experiment compares its models, and `gain` the difference from the baseline.
    """

    score: str
    experiment: Experiment | None = None
    variant: str | None = None
    where: str | None = None
    metric: MeanAndStd | None = None
    gain: TestedDifference | None = None


def chapter(results: Results) -> list[Block]:
    """Return the section of the score functions; nothing in a study whose tasks have none."""
    experiments = [each for each in results.experiments if report_of(each.measure.task).HAS_SCORES]
    if not experiments:
        return []
    metric = " and ".join(dict.fromkeys(each.measure.name for each in experiments))
    columns, lines = _columns(results, metric), _lines(experiments)
    table = Table(
        "scores",
        f"Test {metric} of the models with each score function",
        columns,
        make_rows(columns, lines, in_csv=lambda line: line.experiment is not None),
        sources=results.comparison_sources,
        location="experiments",
        style="scores",
    )
    text = (
        f"The scores of a query q and a key k, and the test {metric} of the models of this study "
        "that use them."
    )
    scores = dict.fromkeys(line.score for line in lines if line.experiment)
    summary = f"Score functions of this study: {', '.join(scores) or DASH}"
    blocks = (Paragraph((text,)), Disclosure(summary, (table,)))
    # Paper has what a study compares; the page has the equations of the lectures, too.
    media = EVERYWHERE if len(scores) >= COMPARED else (PAGE,)
    return [Section("scores", "Score functions", blocks, media=media)]


def _columns(results: Results, metric: str) -> tuple[Column, ...]:
    # The lectures' numbers say nothing to the reader of a study that is not of their talk.
    of_talk = any(each.talk for each in results.experiments)

    def source(line: Line) -> str:
        lecture, paper = SCORES[line.score][2:]
        return "; ".join(filter(None, [lecture, paper])) if of_talk else paper or DASH

    return (
        *join_columns("experiment"),
        Column("score", "Score", value="score", merge=True),
        Column(
            "", "Equation", TEXT, lambda line: Formula(*SCORES[line.score][:2]), merge=True
        ),
        Column(
            "source", "Lecture, source" if of_talk else "Source", TEXT, source, width=30,
            merge=True,
        ),
        Column("", "Model", value=_model, width=43),
        Column("variant", "", value="variant"),
        Column("where", "", value="where"),
        Column("metric", "", value="experiment.measure.metric"),
        Column("value", metric, decimals(4), "metric.mean"),
        Column("", "± p.p.", decimals(2), "metric.std_pp", paper=False),
        Column("value_std_pp", "", decimals(3), "metric.std_pp"),
        Column("gain_pp", "Gain", POINTS, "gain.mean", unit="p.p."),
        *tested_columns(results, "gain", paper=False),
    )  # fmt: skip


def _model(line: Line) -> Cell:
    if line.experiment is None:
        return Cell("no model of this study")
    text = f"{line.experiment.title}: {line.variant} ({line.where})"
    return Cell(text, mark=line.experiment.printed_mark)


def _lines(experiments: list[Experiment]) -> list[Line]:
    lines: dict[str, list[Line]] = {name: [] for name in SCORES}
    for experiment in experiments:
        result = experiment.result
        gains = {each.first: each for each in experiment.comparisons if each.second == BASELINE}
        first = (BASELINE, *result.attention[:1])
        for variant in sorted(result.models, key=lambda name: name not in first):
            model = result.models[variant]
            metric = result.compared_score(model)
            for name, where in model.hyperparameters.score_functions.items():
                line = Line(name, experiment, variant, where, metric, gains.get(variant))
                lines[name].append(line)
    return [line for name, models in lines.items() for line in models or [Line(name)]]

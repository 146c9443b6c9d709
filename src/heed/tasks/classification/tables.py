"""The tables of a classification: precision, recall and F1 by class, as in the talk's tables."""

import dataclasses
import operator
import statistics
from collections.abc import Callable
from typing import Any

from heed.evaluation.results import (
    BASELINE,
    ExperimentResult,
    Gain,
    MeanAndStd,
    ReferenceResult,
    Scores,
)
from heed.evaluation.results import ModelResult as Model
from heed.report.blocks import (
    EVERYWHERE,
    PAGE,
    PAPER,
    Block,
    Cell,
    Column,
    Disclosure,
    Group,
    Paragraph,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import join_columns, values_by_run
from heed.report.experiments import Experiment
from heed.report.formats import POINTS, PRINTED, TEXT, decimals, format_number, format_points
from heed.report.language import current_language, say
from heed.report.measures import measure_of, report_of
from heed.report.published import NO_SCORES, Talk, talk_gain
from heed.report.results import Results

HEADINGS = {"precision": "precision", "recall": "recall", "f1": "f1-score", "support": "support"}
CLASS_METRICS = tuple(HEADINGS)
MEASURES = CLASS_METRICS[:3]
PAPER_CLASSES = 10  # of many, in the table of paper
TITLES = {
    "baseline": "Without attention",
    "attention": "With attention",
    "mean": "Control: without attention, mean pooling",
    "parameter-matched": "Control: without attention, as many parameters",
    "uniform": "Control: uniform attention weights",
    "linear": "Reference model: linear model on TF-IDF",
}


@dataclasses.dataclass(frozen=True)
class ClassCell:
    """A figure with its mean and standard deviation over seeds, each seed's value, and the talk's
    score.

    The deviation is in percentage points.
    """

    mean: float
    std: float | None
    values: tuple[float, ...]
    published: str
    digits: int

    @property
    def by_seed(self) -> list[str]:
        """The value of each seed in its format for people."""
        return [format_number(value, self.digits) for value in self.values]

    @property
    def difference(self) -> str:
        """Our figure minus the talk's in percentage points; empty where they are not compared."""
        if not self.published or self.digits != 4:
            return ""
        return format_points(100 * (self.mean - float(self.published)), 1)

    @property
    def printed(self) -> Cell:
        """The mean in its format for people, with the talk's score below it."""
        return Cell(format_number(self.mean, self.digits), self.published, self.difference)


@dataclasses.dataclass(frozen=True)
class ClassRow:
    """A row of a table of the talk: a class or an average."""

    name: str
    kind: str  # class or average
    cells: dict[str, ClassCell]


@dataclasses.dataclass(frozen=True)
class ClassTable:
    """The scores of one model or reference model by class, as in the talk's tables, and their
    notes.
    """

    key: str
    title: str
    rows: list[ClassRow]
    runs: list[str]  # the names of a cell's values: seed 1, seed 2, or fold 0, fold 1
    of_model: bool  # and of no reference model
    unmatched: list[Texts]  # the note on classes that only the talk has, if any
    std: Texts  # the note on the standard deviation over seeds
    gain: list[Texts]  # the note on the gain, if any

    @property
    def has_published(self) -> bool:
        """Whether any cell has a figure of the talk."""
        return any(cell.published for row in self.rows for cell in row.cells.values())


@dataclasses.dataclass(frozen=True)
class Layout:
    """The rows of averages of a task's tables, and the title of the constant model.

    shares: figures of all classes that are one number.
    averages: of precision, recall and F1.
    """

    shares: tuple[str, ...]
    averages: tuple[str, ...]
    majority: str


def tables_of(
    results: Results, experiment: Experiment
) -> tuple[list[ClassTable], list[ClassTable]]:
    """Return the tables of baseline and attention, side by side, and those of all other models.

    The reference models, which have folds but no seeds, are the last.
    """
    result = results.comparison.experiments[experiment.key]
    names = [say("seed {seed}", seed=seed) for seed in results.comparison.seeds]
    folds = [say("fold {fold}", fold=fold) for fold in range(result.corpus.folds)]
    tables = [
        *(
            _table(key, model, result, names, experiment.talk)
            for key, model in result.models.items()
        ),
        *(
            _table(key, reference_model, result, folds, {})
            for key, reference_model in result.reference_models.items()
        ),
    ]
    pair = (BASELINE, *result.attention[:1])
    return (
        [table for table in tables if table.key in pair],
        [table for table in tables if table.key not in pair],
    )


def _table(
    key: str,
    result: Model | ReferenceResult,
    data: ExperimentResult,
    runs: list[str],
    talks: dict[str, Talk],
) -> ClassTable:
    layout: Layout = report_of(data.task).LAYOUT
    talk, summary, classes = talks.get(key, NO_SCORES), result.summary, result.details["classes"]
    model = result if isinstance(result, Model) else None
    by_run = zip(*(classes[name]["support"].values for name in classes), strict=True)
    totals = [sum(values) for values in by_run]
    support = {"support": MeanAndStd(sum(totals) / len(totals), None, totals)}
    rows = [_row(name, "class", classes[name], talk) for name in data.groups["classes"]]
    for share in layout.shares:
        rows.append(
            _row(share.replace("_", " "), "average", {"f1": summary[share]} | support, talk)
        )
    for average in layout.averages:
        scores = {metric: summary[f"{average}_{metric}"] for metric in MEASURES}
        rows.append(_row(f"{average} avg", "average", scores | support, talk))
    ours = {name.casefold() for name in classes}
    others = ", ".join(row["class"] for name, row in talk.classes.items() if name not in ours)
    missing = say("The talk has these classes too: {classes}.", classes=others)
    titles = TITLES | {"majority": layout.majority}
    return ClassTable(
        key,
        say(titles[key]) if key in titles else say("Variant {name}", name=key),
        rows,
        runs if len(runs) > 1 else [],
        model is not None,
        [(missing,)] if others else [],
        _std_note(summary, data, talk, bool(talks), has_seeds=bool(runs and model)),
        [_gain_note(key, model.gain, data, talks)] if model and model.gain else [],
    )


def _row(name: str, kind: str, scores: Scores, talk: Talk) -> ClassRow:
    printed, cells = talk.class_scores(name) if kind == "class" else talk.average_scores(name), {}
    for metric in (metric for metric in CLASS_METRICS if metric in scores):
        value, is_support = scores[metric], metric == "support"
        whole = all(value == round(value) for value in (value.mean, *value.values))
        cells[metric] = ClassCell(
            value.mean,
            None if is_support else value.std_pp,
            tuple(value.values),
            printed.get(metric, ""),
            (0 if whole else 1) if is_support else 4,
        )
    return ClassRow(name, kind, cells)


def _of_metric(data: ExperimentResult) -> str:
    """Return the figure that a note is of, where it is not the accuracy."""
    name = measure_of(data).name
    return "" if name == "accuracy" else f" ({name})"


def _gloss(german: str, of_talk: bool) -> Texts:
    """Return the talk's German words beside the English ones, where its figures stand."""
    return (" ", Span(german, "german")) if of_talk and current_language() == "en" else ()


def _std_note(
    summary: Scores, data: ExperimentResult, talk: Talk, of_talk: bool, has_seeds: bool
) -> Texts:
    std, of_talks = summary[data.metric].std_pp, talk.summary.get("std_percent", "")
    reason = say(
        "one seed has no standard deviation" if has_seeds else "fitted once: it has no seed"
    )
    value = f"– ({reason})"
    if std is not None:
        value = f"{format_number(std, 3)} {say('p.p.')}"
    if of_talks:
        value += "; " + say(
            "the talk, which does not define its own: {value}", value=f"{of_talks}%"
        )
    german = _gloss("Standardabweichung", of_talk)
    return (say("Standard deviation"), *german, f"{_of_metric(data)}: {value}")


def _gain_note(key: str, gain: Gain, data: ExperimentResult, talks: dict[str, Talk]) -> Texts:
    of_talks = talk_gain(talks) if key == "attention" and data.metric == "accuracy" else None
    of_attention, unit = bool(talks) and key == "attention", say("p.p.")
    german = _gloss("Steigerung durch Attention", of_attention)
    translated = of_attention and not german
    title = say("Gain by attention") if translated else say("Gain over the baseline")
    after = "" if gain.std_pp is None else f" ± {format_number(gain.std_pp, 2)}"
    if of_talks is not None:
        after += "; " + say("the talk: {value}", value=f"{format_points(of_talks)} {unit}")
    value = Span(f"{format_points(gain.mean_pp)} {unit}", "strong")
    return (title, *german, f"{_of_metric(data)}: ", value, after)


@dataclasses.dataclass(frozen=True)
class ClassChange:
    """The change in a class's recall in percentage points: of each seed, and the talk's."""

    name: str
    support: float
    values: tuple[float, ...]
    talk: float | None

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return statistics.fmean(self.values)

    @property
    def std(self) -> float | None:
        """The sample standard deviation over seeds; None with one seed."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None


def class_changes(baseline: ClassTable, attention: ClassTable) -> list[ClassChange]:
    """Return the change of each class, paired by seed: the largest gain first."""
    without = {row.name: row.cells["recall"] for row in baseline.rows if row.kind == "class"}
    changes = []
    for row in (row for row in attention.rows if row.kind == "class"):
        cell, other = row.cells["recall"], without[row.name]
        values = tuple(100 * (a - b) for a, b in zip(cell.values, other.values, strict=True))
        published = cell.published and other.published
        talk = 100 * (float(cell.published) - float(other.published)) if published else None
        changes.append(ClassChange(row.name, row.cells["support"].mean, values, talk))
    return sorted(changes, key=lambda each: (-each.mean, each.name))


def _of(metric: str, name: str, missing: Any = "") -> Callable[[ClassRow], Any]:
    """Return a function from a row to an attribute of its cell of a figure, if it has one."""
    return lambda row: getattr(row.cells[metric], name) if metric in row.cells else missing


def class_table(
    results: Results, experiment: Experiment, table: ClassTable, has_pair: bool
) -> Table:
    """Return a model's or a reference model's table; paper has pairs side by side, and no other."""
    columns = (
        *join_columns(lambda _: experiment),
        Column("variant", "", value=lambda _: table.key),
        Column("row", say("Class"), value=lambda row: row.name),
        Column("kind", "", value=lambda row: row.kind),
        *(Column(f, HEADINGS[f], PRINTED, _of(f, "printed", Cell(""))) for f in CLASS_METRICS),
        *(Column(f"{f}_std_pp", "", decimals(3), _of(f, "std", None)) for f in MEASURES),
        *(Column(f"published_{f}", "", value=_of(f, "published")) for f in CLASS_METRICS),
        *(Column(f"{f}_minus_published_pp", "", PRINTED, _of(f, "difference")) for f in MEASURES),
    )
    kind = "models" if table.of_model else "reference_models"
    second = [(_second_line(),)] if table.has_published else []
    return Table(
        f"{experiment.key}--{table.key}",
        table.title,
        columns,
        make_rows(columns, table.rows, lambda row: row.kind),
        notes=(*second, *table.unmatched, table.std, *table.gain),
        sources=results.comparison_sources,
        location=f"experiments.{experiment.key}.{kind}.{table.key}",
        mark=experiment.mark,
        style="figures",
        media=(PAGE,) if has_pair else EVERYWHERE,
    )


def _second_line() -> str:
    return say(
        "Small second line: the talk’s score and, in brackets, ours minus the talk’s in "
        "percentage points."
    )


def pair_tables(results: Results, experiment: Experiment, pair: list[ClassTable]) -> list[Table]:
    """Return baseline and attention side by side, where an experiment has both.

    Paper has them where the talk's scores stand below ours, and of many classes those whose recall
    changes most; the file has all.
    """
    if len(pair) != 2:
        return []
    rows = list(zip(*(table.rows for table in pair), strict=True))
    whole = _side_by_side(results, experiment, pair, rows)
    if not any(table.has_published for table in pair):
        return [dataclasses.replace(whole, media=())]
    changes = sorted(class_changes(*pair), key=lambda each: -abs(each.mean))
    if not has_many_classes(results, experiment):
        return [whole]
    most = {each.name for each in changes[:PAPER_CLASSES]}
    shown = [both for both in rows if both[0].kind == "average" or both[0].name in most]
    caption = say(
        "The {count} classes whose recall changes most, and the averages over all classes. The "
        "file tables/{file} has all {all}.",
        count=PAPER_CLASSES,
        file=f"{experiment.key}_pair.tex",
        all=len(changes),
    )
    few = _side_by_side(results, experiment, pair, shown)
    return [
        dataclasses.replace(whole, media=()),
        dataclasses.replace(few, caption=caption, files=()),
    ]


def _side_by_side(
    results: Results,
    experiment: Experiment,
    pair: list[ClassTable],
    rows: list[tuple[ClassRow, ...]],
) -> Table:
    """Return these rows of both tables, each pair in a row."""

    def column(metric: str, side: int, group: str = "") -> Column:
        value = _of(metric, "printed", Cell(""))
        return Column("", HEADINGS[metric], PRINTED, lambda both: value(both[side]), group=group)

    columns = (
        Column("", " ", TEXT, lambda both: both[0].name, width=0),
        *(column(f, side, table.title) for side, table in enumerate(pair) for f in MEASURES),
        column("support", 0),
    )
    notes: list[Texts] = [(_second_line(),)] if any(table.has_published for table in pair) else []
    for table in pair:
        lead = (Span(f"{table.title}.", "strong"), " ")
        notes += [*table.unmatched, (*lead, *table.std), *table.gain]
    return Table(
        f"{experiment.key}_pair",
        say("Without and with attention"),
        columns,
        make_rows(columns, rows, lambda both: both[0].kind),
        notes=tuple(notes),
        sources=results.comparison_sources,
        mark=experiment.mark,
        files=("tex",),
        media=(PAPER,),
    )


def class_names(results: Results, experiment: Experiment) -> list[str]:
    """Return the classes of a classification."""
    return results.comparison.experiments[experiment.key].groups["classes"]


LARGE = 12  # classes, above which a matrix is a figure of its own


def has_many_classes(results: Results, experiment: Experiment) -> bool:
    """Return whether a matrix of the classes is too large to stand among other figures."""
    return len(class_names(results, experiment)) > LARGE


def by_run(results: Results, experiment: Experiment, table: ClassTable) -> Disclosure:
    """Return the values of each run, for the page; `seeds_file` writes all of them."""

    def metric(each: tuple[ClassRow, str]) -> str:
        is_share = each[0].kind == "average" and each[0].name.endswith("accuracy")
        return "" if is_share else each[1]

    def run_value(run: int) -> Callable[[tuple[ClassRow, str]], str]:
        return lambda each: each[0].cells[each[1]].by_seed[run]

    columns = (
        Column("row", say("Row"), value=lambda each: each[0].name),
        Column("metric", say("Metric"), value=metric),
        Column("mean", say("Mean"), PRINTED, lambda each: each[0].cells[each[1]].printed.value),
        Column("std_pp", say("± p.p."), decimals(2), lambda each: each[0].cells[each[1]].std),
        *(Column(run, run, PRINTED, run_value(index)) for index, run in enumerate(table.runs)),
    )
    values = [(row, metric) for row in table.rows for metric in MEASURES if metric in row.cells]
    summary = say("{name}: values by {run}", name=table.key, run=table.runs[0].split()[0])
    return values_by_run(results, experiment, f"--{table.key}_seeds", summary, columns, values)


def seeds_file(experiment: Experiment, tables: list[ClassTable], has_pair: bool) -> Group:
    """Return the file of every run's values, and links to the files that are on no page."""
    names = ("variant", "run", "row", "kind", "metric", "value")
    columns = (
        *join_columns(lambda _: experiment),
        *(Column(name, "", value=operator.itemgetter(i)) for i, name in enumerate(names)),
    )
    values = [
        (table.key, run, row.name, row.kind, metric, value)
        for table in tables
        for row in table.rows
        for metric, cell in row.cells.items()
        for run, value in zip(table.runs or ["the only one"], cell.by_seed, strict=True)
    ]
    key, title = f"{experiment.key}_seeds", say("every value (CSV)")
    table = Table(key, title, columns, make_rows(columns, values), files=("csv",), media=())
    link = Span(title, link=f"tables/{key}.csv")
    links: Texts = (say("All models of this experiment:"), " ", link)
    if has_pair:
        side = say("both tables side by side (LaTeX)")
        links = (*links, ", ", Span(side, link=f"tables/{experiment.key}_pair.tex"))
    return Group((table, Paragraph(links, "small", media=(PAGE,))))


def changes_file(results: Results, experiment: Experiment, pair: list[ClassTable]) -> list[Block]:
    """Return the file of the change in each class's recall, with the value of each seed."""
    if len(pair) < 2:
        return []
    columns = (
        *join_columns(lambda _: experiment),
        Column("class", "", value=lambda each: each.name),
        Column("support", "", decimals(1), lambda each: each.support),
        Column("recall_change_pp", "", POINTS, lambda each: each.mean),
        Column("std_pp", "", decimals(3), lambda each: each.std),
        Column("by_seed_pp", "", value=lambda each: " ".join(f"{v:+.2f}" for v in each.values)),
        Column("published_change_pp", "", POINTS, lambda each: each.talk),
    )
    rows, title = make_rows(columns, class_changes(*pair)), say("Change in recall by class")
    key, sources = f"{experiment.key}_class-gain", results.comparison_sources
    return [Table(key, title, columns, rows, sources=sources, files=("csv",), media=())]

"""The tables of a classification: precision, recall and F1 by class, as in the talk's tables."""

import dataclasses
import math
from typing import NamedTuple

from heed.evaluation.results import (
    BASELINE,
    ExperimentResult,
    Gain,
    MeanAndStd,
    ModelResult,
    ReferenceResult,
    Scores,
    mean_and_std,
    paired_gain,
)
from heed.report.blocks import (
    EVERYWHERE,
    PAGE,
    Block,
    Cell,
    Column,
    Group,
    Paragraph,
    Span,
    Table,
    Texts,
)
from heed.report.chapters.shared import experiment_table, seeds_file
from heed.report.experiments import Experiment
from heed.report.formats import POINTS, PRINTED, decimals, format_number, format_points
from heed.report.measures import measure_of
from heed.report.published import NO_SCORES, Talk, talk_gain
from heed.report.results import Results
from heed.tasks.classification.metrics import AVERAGES

HEADINGS = {"precision": "precision", "recall": "recall", "f1": "f1-score", "support": "support"}
MEASURES = tuple(HEADINGS)[:3]
NAMED_CLASSES = 10  # at most, of those without a test document
TITLES = {
    "baseline": "Without attention",
    "attention": "With attention",
    "mean": "Control: without attention, mean pooling",
    "parameter-matched": "Control: without attention, as many parameters",
    "uniform": "Control: uniform attention weights",
    "linear": "Reference model: linear model on TF-IDF",
    "majority": "Reference model: majority class",
    "pretrained": "Reference model: linear model on a pretrained encoder",
}
NO_SCORE = MeanAndStd(math.nan, None, [])  # of an accuracy in the columns of precision and recall


@dataclasses.dataclass(frozen=True)
class ClassCell:
    """A score over runs, printed with so many digits, and the talk's."""

    score: MeanAndStd
    published: str
    digits: int = 4

    @property
    def by_run(self) -> list[str]:
        """The value of each run in its format for people."""
        return [format_number(value, self.digits) for value in self.score.values]

    @property
    def difference(self) -> str:
        """Our score minus the talk's in percentage points; empty where they are not compared."""
        if not self.published or self.digits != 4:
            return ""
        return format_points(100 * (self.score.mean - float(self.published)), 1)

    @property
    def printed(self) -> Cell:
        """The mean in its format for people, with the talk's score below it."""
        if not self.score.values:
            return Cell("")
        return Cell(format_number(self.score.mean, self.digits), self.published, self.difference)


@dataclasses.dataclass(frozen=True)
class ClassRow:
    """A row of a table of the talk: a class or an average, which is its kind."""

    name: str
    kind: str
    precision: ClassCell
    recall: ClassCell
    f1: ClassCell
    support: ClassCell


@dataclasses.dataclass(frozen=True)
class ClassTable:
    """The scores of a model or a reference model by class; `runs` is empty of one run."""

    key: str
    title: str
    rows: list[ClassRow]
    runs: list[str]
    of_model: bool  # and of no reference model
    notes: list[Texts]


def tables_of(
    results: Results, experiment: Experiment
) -> tuple[list[ClassTable], list[ClassTable]]:
    """Return the tables of baseline and attention, side by side, and of all other models."""
    data = results.comparison.experiments[experiment.key]
    seeds = [f"seed {seed}" for seed in results.comparison.seeds_of(experiment.key)]
    folds = [f"fold {fold}" for fold in range(data.corpus.folds)]
    tables = [_table(*each, data, seeds, experiment.talk) for each in data.models.items()]
    tables += [_table(*each, data, folds, {}) for each in data.reference_models.items()]
    pair = (BASELINE, *data.attention[:1])
    return (
        [table for table in tables if table.key in pair],
        [table for table in tables if table.key not in pair],
    )


def _table(
    key: str,
    result: ModelResult | ReferenceResult,
    data: ExperimentResult,
    runs: list[str],
    talks: dict[str, Talk],
) -> ClassTable:
    talk, of_model = talks.get(key, NO_SCORES), isinstance(result, ModelResult)
    ours = {name.casefold() for name in result.details["classes"]}
    others = ", ".join(row["class"] for name, row in talk.classes.items() if name not in ours)
    notes: list[Texts] = []
    if others:
        notes.append((f"The talk has these classes too: {others}.",))
    if talk.misprints:
        corrected = ", ".join(talk.misprints)
        notes.append((f"The talk’s support of a class is corrected by the total: {corrected}.",))
    notes.append(_std_note(result, data, talk, has_seeds=bool(runs) and of_model))
    if isinstance(result, ModelResult) and result.gain:
        notes.append(_gain_note(key, result.gain, data, talks))
    title = TITLES.get(key, f"Variant {key}")
    rows = _rows(result, data, talk)
    return ClassTable(key, title, rows, runs if len(runs) > 1 else [], of_model, notes)


def _rows(
    result: ModelResult | ReferenceResult, data: ExperimentResult, talk: Talk
) -> list[ClassRow]:
    classes, summary = result.details["classes"], result.summary
    by_run = zip(*(scores["support"].values for scores in classes.values()), strict=True)
    support = {"support": mean_and_std([sum(values) for values in by_run])}
    names = data.groups["classes"]
    rows = [_row(name, "class", classes[name], talk.class_scores(name)) for name in names]
    averages = {"accuracy": {"f1": summary["accuracy"]}}
    for average in AVERAGES:
        averages[f"{average} avg"] = {each: summary[f"{average}_{each}"] for each in MEASURES}
    return rows + [
        _row(name, "average", scores | support, talk.average_scores(name))
        for name, scores in averages.items()
    ]


def _row(name: str, kind: str, scores: Scores, published: dict[str, str]) -> ClassRow:
    support = scores["support"]
    is_whole = all(value == round(value) for value in (support.mean, *support.values))
    digits = dict.fromkeys(MEASURES, 4) | {"support": 0 if is_whole else 1}
    cells = (
        ClassCell(scores.get(metric, NO_SCORE), published.get(metric, ""), digits[metric])
        for metric in HEADINGS
    )
    return ClassRow(name, kind, *cells)


def _of_metric(data: ExperimentResult) -> str:
    name = measure_of(data).name
    return "" if name == "accuracy" else f" ({name})"


def _std_note(
    result: ModelResult | ReferenceResult, data: ExperimentResult, talk: Talk, has_seeds: bool
) -> Texts:
    std, of_talks = data.compared_score(result).std_pp, talk.summary.get("std_percent", "")
    reason = "one seed has no standard deviation" if has_seeds else "fitted once: it has no seed"
    value = f"– ({reason})" if std is None else f"{format_number(std, 3)} p.p."
    if of_talks:
        value += f"; the talk, which does not define its own: {of_talks}%"
    return (f"Standard deviation{_of_metric(data)}: {value}",)


def _gain_note(key: str, gain: Gain, data: ExperimentResult, talks: dict[str, Talk]) -> Texts:
    of_talks = talk_gain(talks) if key == "attention" and data.metric == "accuracy" else None
    after = "" if gain.std_pp is None else f" ± {format_number(gain.std_pp, 2)}"
    if of_talks is not None:
        after += f"; the talk: {format_points(of_talks)} p.p."
    value = Span(f"{format_points(gain.mean_pp)} p.p.", "strong")
    return (f"Gain over the baseline{_of_metric(data)}: ", value, after)


def untested_classes(data: ExperimentResult) -> list[Block]:
    """Return a sentence on the classes without test documents in any fold, if there are any."""
    fitted = next(iter(data.reference_models.values()))  # once for each test split
    named = []
    for name in data.groups["classes"]:
        counts = fitted.details["classes"][name]["support"].values
        missing, folds = counts.count(0), len(counts)
        in_folds = f"{name} (in {missing} of {folds} folds)"
        named += [name if missing == folds else in_folds] if missing else []
    sentence = (
        "Classes that no test document has: {classes}; a macro average counts such a class only "
        "in a run that predicts it."
    ).format(classes=", ".join([*named[:NAMED_CLASSES], *["…"] * (len(named) > NAMED_CLASSES)]))
    return [Paragraph((sentence,), "small")] if named else []


def class_table(
    results: Results, experiment: Experiment, table: ClassTable, has_pair: bool
) -> Table:
    """Return a model's or a reference model's table; paper has pairs side by side, and no other."""
    columns = (
        Column("variant", "", value=lambda _: table.key),
        Column("row", "Class", value="name"),
        Column("kind", "", value="kind"),
        *(Column(name, HEADINGS[name], PRINTED, f"{name}.printed") for name in HEADINGS),
        *(Column(f"{name}_std_pp", "", decimals(3), f"{name}.score.std_pp") for name in MEASURES),
        *(Column(f"published_{name}", "", value=f"{name}.published") for name in HEADINGS),
        *(
            Column(f"{name}_minus_published_pp", "", PRINTED, f"{name}.difference")
            for name in MEASURES
        ),
    )
    kind = "models" if table.of_model else "reference_models"
    has_published = any(getattr(row, name).published for row in table.rows for name in HEADINGS)
    second_line = (
        "Small second line: the talk’s score and, in brackets, ours minus the talk’s in "
        "percentage points."
    )
    return experiment_table(
        results,
        experiment,
        f"--{table.key}",
        table.title,
        columns,
        table.rows,
        kind=lambda row: row.kind,
        notes=(*[(second_line,)] * has_published, *table.notes),
        location=f"experiments.{experiment.key}.{kind}.{table.key}",
        style="figures",
        media=(PAGE,) if has_pair else EVERYWHERE,
    )


def every_value(experiment: Experiment, tables: list[ClassTable]) -> Group:
    """Return the file of every run's values."""
    values = [
        (table.key, run, row.name, row.kind, metric, value)
        for table in tables
        for row in table.rows
        for metric in HEADINGS
        if (cell := getattr(row, metric)).score.values  # an accuracy has no precision
        for run, value in zip(table.runs or ["the only one"], cell.by_run, strict=True)
    ]
    names = ("variant", "run", "row", "kind", "metric", "value")
    return seeds_file(experiment, names, values)


class ClassChange(NamedTuple):
    """The change in a class's recall, paired by seed, and the talk's in percentage points."""

    name: str
    support: float
    gain: Gain
    talk: float | None


def class_changes(baseline: ClassTable, attention: ClassTable) -> list[ClassChange]:
    """Return the change in recall of each class: the largest gain first."""
    changes = []
    for before, after in zip(baseline.rows, attention.rows, strict=True):
        if after.kind == "class":
            old, new = before.recall, after.recall
            gain = paired_gain(new.score.values, old.score.values)
            published = old.published and new.published
            talk = 100 * (float(new.published) - float(old.published)) if published else None
            changes.append(ClassChange(after.name, after.support.score.mean, gain, talk))
    return sorted(changes, key=lambda each: (-each.gain.mean_pp, each.name))


def changes_file(results: Results, experiment: Experiment, pair: list[ClassTable]) -> list[Block]:
    """Return the file of the change in each class's recall, with the value of each seed."""
    if len(pair) < 2:
        return []
    columns = (
        Column("class", "", value="name"),
        Column("support", "", decimals(1), "support"),
        Column("recall_change_pp", "", POINTS, "gain.mean_pp"),
        Column("std_pp", "", decimals(3), "gain.std_pp"),
        Column(
            "by_seed_pp", "", value=lambda each: " ".join(f"{v:+.2f}" for v in each.gain.values_pp)
        ),
        Column("published_change_pp", "", POINTS, "talk"),
    )
    title, changes = "Change in recall by class", class_changes(*pair)
    what = results, experiment, "_class-gain", title, columns, changes
    return [experiment_table(*what, files=("csv",), media=())]

"""The figures of a classification by class, as in the talk's tables."""

import dataclasses

from heed.evaluation.results import (
    BASELINE,
    ExperimentResult,
    Figures,
    Gain,
    ModelResult,
    OpponentResult,
    Spread,
)
from heed.report.experiments import Experiment
from heed.report.formats import format_number, format_points
from heed.report.language import say
from heed.report.measures import measure_of, report_of
from heed.report.published import NO_FIGURES, Talk, talk_gain
from heed.report.results import Results

Result = ModelResult | OpponentResult
FIGURES = ("precision", "recall", "f1", "support")
TITLES = {
    "baseline": "Without attention",
    "attention": "With attention",
    "mean": "Control: without attention, mean pooling",
    "wide": "Control: without attention, as many parameters",
    "uniform": "Control: uniform attention weights",
    "linear": "Opponent: linear model on TF-IDF",
}


@dataclasses.dataclass(frozen=True)
class ClassCell:
    """A figure with its mean and deviation over seeds, each seed's value, and the talk's figure.

    The deviation is in percentage points.
    """

    mean: float
    deviation: float | None
    values: tuple[float, ...]
    published: str
    digits: int = 4

    @property
    def text(self) -> str:
        """The mean in its format for people."""
        return format_number(self.mean, self.digits)

    @property
    def by_seed(self) -> list[str]:
        """Each seed's value in its format for people."""
        return [format_number(value, self.digits) for value in self.values]

    @property
    def difference(self) -> str:
        """Our figure minus the talk's in percentage points; empty where they are not compared."""
        if not self.published or self.digits != 4:
            return ""
        return format_points(100 * (self.mean - float(self.published)), 1)


@dataclasses.dataclass(frozen=True)
class ClassRow:
    """A row of a table of the talk: a class or an average."""

    name: str
    kind: str  # class or average
    cells: dict[str, ClassCell]


@dataclasses.dataclass(frozen=True)
class ClassTable:
    """The figures of one model or opponent by class, as in the talk's tables, and their notes."""

    key: str
    title: str
    rows: list[ClassRow]
    runs: list[str]  # the names of a cell's values: seed 1, seed 2, or fold 0, fold 1
    deviation: float | None
    no_deviation_reason: str
    talk_deviation: str
    gain: Gain | None
    talk_gain: float | None
    figure: str  # that by which the experiment compares: the deviation and the gain are of it
    of_model: bool  # and of no opponent
    of_talk: bool  # the talk has figures of this experiment
    unmatched: list[str]  # classes that only the talk has

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
    """Return the tables of baseline and attention, side by side, and those of all other models."""
    result = results.comparison.experiments[experiment.key]
    tables = class_tables(result, results.comparison.seeds, experiment.talk)
    pair = (BASELINE, *result.attention[:1])
    return (
        [table for table in tables if table.key in pair],
        [table for table in tables if table.key not in pair],
    )


def class_tables(
    data: ExperimentResult, seeds: list[int], talk: dict[str, Talk]
) -> list[ClassTable]:
    """Return the tables of all models, then of the opponents, which have folds but no seeds.

    Args:
        data: an experiment whose items have classes.
        seeds: of the study.
        talk: the talk's figures by variant.

    """
    names = [say("seed {seed}", seed=seed) for seed in seeds]
    models = [_table(key, result, data, names, talk) for key, result in data.models.items()]
    folds = [say("fold {fold}", fold=fold) for fold in range(data.corpus.folds)]
    return models + [_table(key, result, data, folds, {}) for key, result in data.opponents.items()]


def _table(
    key: str, result: Result, data: ExperimentResult, runs: list[str], talks: dict[str, Talk]
) -> ClassTable:
    layout: Layout = report_of(data.task).LAYOUT
    talk, summary, classes = talks.get(key, NO_FIGURES), result.summary, result.details["classes"]
    model = result if isinstance(result, ModelResult) else None
    totals = [
        sum(values)
        for values in zip(*(classes[name]["support"].values for name in classes), strict=True)
    ]
    support = Spread(sum(totals) / len(totals), None, totals)
    rows = [_row(name, "class", classes[name], talk) for name in data.groups["classes"]]
    for share in layout.shares:
        figures = {"f1": summary[share], "support": support}
        rows.append(_row(share.replace("_", " "), "average", figures, talk))
    for average in layout.averages:
        figures = {figure: summary[f"{average}_{figure}"] for figure in FIGURES[:3]}
        rows.append(_row(f"{average} avg", "average", figures | {"support": support}, talk))
    ours = {name.casefold() for name in classes}
    return ClassTable(
        key=key,
        title=_title(key, layout),
        rows=rows,
        runs=runs if len(runs) > 1 else [],
        deviation=summary[data.metric].std_pp,
        no_deviation_reason=say(
            "one seed has no deviation" if runs and model else "fitted once: it has no seed"
        ),
        talk_deviation=talk.summary.get("std_percent", ""),
        gain=model.gain if model else None,
        talk_gain=talk_gain(talks) if key == "attention" and data.metric == "accuracy" else None,
        figure=measure_of(data).name,
        of_model=model is not None,
        of_talk=bool(talks),
        unmatched=[row["class"] for name, row in talk.classes.items() if name not in ours],
    )


def _title(key: str, layout: Layout) -> str:
    if key == "majority":
        return say(layout.majority)
    return say(TITLES[key]) if key in TITLES else say("Variant {name}", name=key)


def _row(name: str, kind: str, figures: Figures, talk: Talk) -> ClassRow:
    printed, cells = talk.class_figures(name) if kind == "class" else talk.average_figures(name), {}
    for figure in (figure for figure in FIGURES if figure in figures):
        spread = figures[figure]
        whole = 0 if all(value == round(value) for value in (spread.mean, *spread.values)) else 1
        digits = whole if figure == "support" else 4
        deviation = None if figure == "support" else spread.std_pp
        cells[figure] = ClassCell(
            spread.mean, deviation, tuple(spread.values), printed.get(figure, ""), digits
        )
    return ClassRow(name, kind, cells)

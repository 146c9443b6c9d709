"""The experiments of a study for the chapters: their figures, and the talk's figures."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from heed.evaluation.families import BASELINE
from heed.evaluation.results import (
    BETTER,
    WORSE,
    Comparison,
    Corpus,
    ExperimentResult,
    Figures,
    Gain,
    ModelResult,
    OpponentResult,
    Spread,
)
from heed.report.answer import (
    Answer,
    TestedDifference,
    answer,
    paired_change,
    tested_differences,
)
from heed.report.formats import format_count, format_number, format_points
from heed.report.language import say, say_count
from heed.report.published import (
    NO_FIGURES,
    TALK_VARIANTS,
    Talk,
    experiment_figures,
    read_published,
)
from heed.report.settings import Setting, model_settings

if TYPE_CHECKING:
    from heed.study import Experiment as Declared
    from heed.study import Params

Result = ModelResult | OpponentResult
FIGURES = ("precision", "recall", "f1", "support")
TITLES = {
    "baseline": "Without attention",
    "attention": "With attention",
    "mean": "Control: without attention, mean pooling",
    "wide": "Control: without attention, as many parameters",
    "uniform": "Control: uniform attention weights",
    "linear": "Opponent: linear model on TF-IDF",
    "majority": "Opponent: majority class",
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
    settings: list[Setting]  # of a model; an opponent has none
    unmatched: list[str]  # classes that only the talk has

    @property
    def has_published(self) -> bool:
        """Whether any cell has a figure of the talk."""
        return any(cell.published for row in self.rows for cell in row.cells.values())


@dataclasses.dataclass(frozen=True)
class Line:
    """An experiment's row of the first table; accuracies are None without such a model."""

    baseline: float | None
    attention: float | None
    gain: Gain | None
    controls: dict[str, float]  # without a score function, or with equal weights
    variants: dict[str, float]  # with a score function
    linear: float | None
    majority: float | None
    talk: tuple[str, str] | None  # baseline, attention
    talk_gain: float | None
    comparable: bool  # whether the talk's figures can be compared with ours
    # Reproduced, not reproduced, cannot tell or not comparable, and why; empty without a talk's.
    reproduction: str


@dataclasses.dataclass(frozen=True)
class Degradation:
    """The change of a model's accuracy when its hyperparameters are degraded, and the talk's.

    In percentage points.
    """

    variant: str
    change: Gain
    talk: float | None


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One experiment of the report."""

    key: str
    title: str
    mark: str  # generated text, reduced corpus: printed with all of its numbers
    generated: bool
    corpus_name: str
    corpus: str
    answer: Answer
    line: Line
    gain: TestedDifference | None  # attention over the baseline
    comparisons: list[TestedDifference]
    pair: list[ClassTable]  # baseline and attention, side by side
    others: list[ClassTable]
    # title of the experiment whose hyperparameters this one degrades, or nothing
    degraded_from: str
    degradations: list[Degradation]

    @property
    def tables(self) -> list[ClassTable]:
        """All tables of the experiment."""
        return [*self.pair, *self.others]


def read_experiments(params: "Params", comparison: Comparison, folder: Path) -> list[Experiment]:
    """Return the experiments in the order of params.yaml; `folder` has the talk's figures.

    Raises:
        HeedError: params.yaml names an experiment that the talk does not have.

    """
    published = read_published(folder)
    return [
        _experiment(name, params, comparison, published)
        for name in params.experiments
        if name in comparison.experiments
    ]


def _experiment(
    name: str,
    params: "Params",
    comparison: Comparison,
    published: dict[str, dict[str, Talk]],
) -> Experiment:
    declared, result = params.experiments[name], comparison.experiments[name]
    seeds, method = comparison.seeds, comparison.significance
    talk = _talk_figures(name, declared, published)
    original, degraded_from, degradations = declared.suboptimal_of, "", []
    if original in comparison.experiments:
        degraded_from = params.experiments[original].title
        original_talk = _talk_figures(original, params.experiments[original], published)
        degradations = _degradations(result, comparison.experiments[original], talk, original_talk)
    tables, comparisons = _tables(result, seeds, talk), tested_differences(result, method)
    pair = (BASELINE, *result.attention[:1])
    gain = next((each for each in comparisons if (each.second, each.first) == pair), None)
    return Experiment(
        key=name,
        title=declared.title,
        mark=mark(result.corpus),
        generated=is_generated(result.corpus),
        corpus_name=result.corpus.name,
        corpus=_describe_corpus(result.corpus, seeds),
        answer=answer(result, method, seeds),
        line=_line(declared, result, talk, gain),
        gain=gain,
        comparisons=comparisons,
        pair=[table for table in tables if table.key in pair],
        others=[table for table in tables if table.key not in pair],
        degraded_from=degraded_from,
        degradations=degradations,
    )


def mark(corpus: Corpus) -> str:
    """Return the warning that is printed with all numbers of a corpus; empty for most corpora."""
    generated = say("generated text") if is_generated(corpus) else ""
    reduced = say("reduced corpus") if corpus.facts.reduced else ""
    return ", ".join(filter(None, [generated, reduced]))


def is_generated(corpus: Corpus) -> bool:
    """Return whether heed made the text of a corpus."""
    return corpus.facts.generated


def _talk_figures(
    name: str, declared: "Declared", published: dict[str, dict[str, Talk]]
) -> dict[str, Talk]:
    """Return the talk's figures of an experiment by variant; none where params.yaml names none."""
    if not declared.published:
        return {}
    return experiment_figures(
        published, declared.published.experiment, f"experiments.{name}.published.experiment"
    )


def _describe_corpus(corpus: Corpus, seeds: list[int]) -> str:
    parts = {part: format_count(count) for part, count in corpus.facts.parts.items()}
    text = say(
        (
            "Corpus {name}: {documents} documents, {tokens} tokens; {train} to train, "
            "{validation} to validate, {test} to test; "
        ),
        name=corpus.name,
        documents=format_count(corpus.facts.documents),
        tokens=format_count(corpus.facts.tokens),
        **parts,
    )
    if corpus.folds:
        text += say("{folds} folds, seed s tests on fold (s − 1) mod {folds}; ", folds=corpus.folds)
    listed = ", ".join(map(str, seeds))
    text += say_count(
        "{count} seed ({seeds}).", "{count} seeds ({seeds}).", len(seeds), seeds=listed
    )
    text += _describe_near_duplicates(corpus)
    text += (
        say(" Its text is generated: the figures say nothing about real text.")
        if is_generated(corpus)
        else ""
    )
    return text + (say(" REDUCED: a random part of its source.") if corpus.facts.reduced else "")


def _describe_near_duplicates(corpus: Corpus) -> str:
    """Return how many test documents have a near duplicate in train, of all folds together."""
    near, facts = corpus.facts.near_duplicates, corpus.facts
    tested = facts.documents if corpus.folds else facts.parts["test"]
    return say(
        " Test documents with a near duplicate in train: {count} of {tested} ({share})."
        if near.complete
        else (
            " Test documents with a near duplicate in train: at least {count} of {tested} "
            "({share})."
        ),
        count=format_count(near.total),
        tested=format_count(tested),
        share=f"{near.total / tested:.1%}",
    )


def _line(
    declared: "Declared",
    data: ExperimentResult,
    talk: dict[str, Talk],
    gain: TestedDifference | None,
) -> Line:
    accuracy = {name: data.compared_figure(model).mean for name, model in data.models.items()}
    fitted = {
        name: data.compared_figure(opponent).mean for name, opponent in data.opponents.items()
    }
    attention = next(iter(data.attention), "")
    others = {name: value for name, value in accuracy.items() if name not in (BASELINE, attention)}
    printed = tuple(
        talk.get(variant, NO_FIGURES).average_figures("accuracy").get("f1", "")
        for variant in TALK_VARIANTS
    )
    return Line(
        baseline=accuracy.get(BASELINE),
        attention=accuracy.get(attention),
        gain=data.models[attention].gain if attention else None,
        controls={name: value for name, value in others.items() if name in data.controls},
        variants={name: value for name, value in others.items() if name not in data.controls},
        linear=fitted.get("linear"),
        majority=fitted.get("majority"),
        talk=(printed[0], printed[1]) if all(printed) else None,
        talk_gain=_talk_gain(talk),
        comparable=bool(
            declared.published and declared.published.comparable and not mark(data.corpus)
        ),
        reproduction=_reproduction(declared, data.corpus, _talk_gain(talk), gain),
    )


def _reproduction(
    declared: "Declared", corpus: Corpus, talk_gain: float | None, gain: TestedDifference | None
) -> str:
    """Return whether the talk's gain was reproduced.

    The gain on a reduced or generated corpus is never comparable.
    """
    if not declared.published:
        return ""
    if not declared.published.comparable or mark(corpus):
        reasons = "; ".join(filter(None, [declared.published.reason, mark(corpus)]))
        return say("not comparable: {reasons}", reasons=reasons)
    if talk_gain is None or gain is None:
        return say("comparable, but one of the two has no gain")
    if gain.low is None or gain.high is None:
        return say("undecided: {reason}", reason=gain.no_interval)
    if not gain.low <= talk_gain <= gain.high:
        return say("not reproduced: the talk’s gain lies outside our interval")
    if gain.verdict in (BETTER, WORSE):
        return say("reproduced: the talk’s gain lies in our interval")
    return say("undecided: the talk’s gain lies in our interval, but ours may be chance")


def _talk_gain(talk: dict[str, Talk]) -> float | None:
    """Return the talk's gain in percentage points, from the accuracies that it prints."""
    baseline, attention = (
        talk.get(variant, NO_FIGURES).summary.get("accuracy") for variant in TALK_VARIANTS
    )
    return 100 * (float(attention) - float(baseline)) if attention and baseline else None


def _degradations(
    degraded: ExperimentResult,
    original: ExperimentResult,
    degraded_talk: dict[str, Talk],
    original_talk: dict[str, Talk],
) -> list[Degradation]:
    """Return the change of baseline and attention from the original experiment to the degraded."""
    degradations = []
    for variant in TALK_VARIANTS:
        if variant in degraded.models and variant in original.models:
            after, before = (
                talk.get(variant, NO_FIGURES).summary.get("accuracy")
                for talk in (degraded_talk, original_talk)
            )
            talk_change = 100 * (float(after) - float(before)) if after and before else None
            change = paired_change(degraded, original, variant)
            degradations.append(Degradation(variant, change, talk_change))
    return degradations


def _tables(data: ExperimentResult, seeds: list[int], talk: dict[str, Talk]) -> list[ClassTable]:
    """Return the tables of all models, then of the opponents, which have folds but no seeds."""
    names = [say("seed {seed}", seed=seed) for seed in seeds]
    models = [_table(key, result, data, names, talk) for key, result in data.models.items()]
    folds = [say("fold {fold}", fold=fold) for fold in range(data.corpus.folds)]
    return models + [_table(key, result, data, folds, {}) for key, result in data.opponents.items()]


def _table(
    key: str, result: Result, data: ExperimentResult, runs: list[str], talks: dict[str, Talk]
) -> ClassTable:
    talk, summary, classes = talks.get(key, NO_FIGURES), result.summary, result.details["classes"]
    model = result if isinstance(result, ModelResult) else None
    totals = [
        sum(values)
        for values in zip(*(classes[name]["support"].values for name in classes), strict=True)
    ]
    support = Spread(sum(totals) / len(totals), None, totals)
    rows = [_row(name, "class", classes[name], talk) for name in data.groups["classes"]]
    rows.append(_row("accuracy", "average", {"f1": summary["accuracy"], "support": support}, talk))
    for average in ("macro", "weighted"):
        figures = {figure: summary[f"{average}_{figure}"] for figure in FIGURES[:3]}
        rows.append(_row(f"{average} avg", "average", figures | {"support": support}, talk))
    ours = {name.casefold() for name in classes}
    return ClassTable(
        key=key,
        title=say(TITLES[key]) if key in TITLES else say("Variant {name}", name=key),
        rows=rows,
        runs=runs if len(runs) > 1 else [],
        deviation=summary["accuracy"].std_pp,
        no_deviation_reason=say(
            "one seed has no deviation" if runs and model else "fitted once: it has no seed"
        ),
        talk_deviation=talk.summary.get("std_percent", ""),
        gain=model.gain if model else None,
        talk_gain=_talk_gain(talks) if key == "attention" else None,
        settings=model_settings(model, talk) if model else [],
        unmatched=[row["class"] for name, row in talk.classes.items() if name not in ours],
    )


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

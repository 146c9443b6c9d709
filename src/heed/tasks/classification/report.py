"""The figures of a classification: precision, recall and F1 by class, as in the talk's tables."""

import dataclasses
import operator
from typing import Any

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
    Paragraph,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters import comparisons, documents, hyperparameters, provenance
from heed.report.chapters import experiment as beginning
from heed.report.chapters.scores import lengths_file
from heed.report.chapters.shared import all_models, join_columns, on_page, values_by_run
from heed.report.experiments import Experiment
from heed.report.figures.curves import by_length, curves
from heed.report.figures.variants import drawn_variants, ordered_variants
from heed.report.formats import POINTS, PRINTED, TEXT, decimals, format_number, format_points
from heed.report.language import current_language, say
from heed.report.measures import ReferenceModel
from heed.report.results import Results
from heed.tasks.classification import confusion
from heed.tasks.classification.class_tables import FIGURES, ClassRow, ClassTable, Layout, tables_of
from heed.tasks.classification.figures import calibration, class_changes, class_gain

HEADINGS = {"precision": "precision", "recall": "recall", "f1": "f1-score", "support": "support"}
MEASURES = FIGURES[:3]
PAPER_CLASSES = 10  # of many, in the table of paper


HAS_SCORES = True  # its models use the score functions of the lectures
HAS_BROWSER = True  # heed score writes documents with the weights of their words
LAYOUT = Layout(("accuracy",), ("macro", "weighted"), "Opponent: majority class")


def title() -> str:
    """Return the name of the task, as a heading has it."""
    return say("Classification")


def reference_models() -> dict[str, ReferenceModel]:
    """Return the words on the reference models."""
    return {
        "linear": linear_model(),
        "majority": ReferenceModel(
            say("Majority"),
            say("the opponent that always predicts the most frequent class"),
            majority_glossary(),
        ),
    }


def linear_model() -> ReferenceModel:
    """Return the words on the linear model."""
    return ReferenceModel(
        say("Linear"),
        say(
            "an opponent, which is a reference model from outside: TF-IDF with a linear "
            "support vector machine"
        ),
        say(
            "An opponent: TF-IDF with a linear support vector machine, tuned on the validation "
            "part."
        ),
        say("a linear model"),
        say("Against the linear model"),
        say("Linear model"),
    )


def majority_glossary() -> str:
    """Return the entry of the constant model in the glossary."""
    return say("An opponent: it always predicts the most frequent classes or labels.")


def values_text() -> str:
    """Return the sentences on how figures are computed."""
    return say(
        "Values are means over seeds. Standard deviation: sample standard deviation of the "
        "accuracy over seeds, in percentage points. With folds "
        "each seed is tested on another fold, so the deviation includes the differences between "
        "folds. The linear opponent is TF-IDF with a linear support vector machine, tuned on the "
        "validation part; without folds it is fitted once and has no deviation."
    )


def untested_weights() -> str:
    """Return why no test of what weights explain is defined; empty where tests are."""
    return ""


def below_majority(name: str, figure: str, majority: str) -> str:
    """Return the sentence on a model with lower figures than the constant model."""
    return say(
        "{name} ({figure}) is below the majority class ({majority})",
        name=name, figure=figure, majority=majority,
    )  # fmt: skip


def explain_collapse(values: dict[str, str]) -> str:
    """Return when a run has collapsed, in one sentence."""
    return say(
        "A run has collapsed if its {metric} is no higher than that of the majority class on the "
        "same documents, or more than {far} below the median of the model's other runs.",
        **values,
    )


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a row of figures, then on demand the figures by class and all other figures."""
    variants = drawn_variants(results, experiment)
    shown = (
        by_length(results, experiment, variants),
        *class_gain(results, experiment),
        *on_page([calibration(results, experiment, variants)]),
    )
    others = on_page(
        (curves(results, experiment, variants), _errors(results, experiment, variants))
    )
    kinds = {"lengths": by_length, "curves": curves, "calibration": calibration}
    every = all_models(results, experiment, variants, kinds)
    return _blocks(results, experiment, shown, others, every)


def multilabel_chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return the chapter of documents with several classes, without a confusion of classes."""
    variants = drawn_variants(results, experiment)
    shown = (curves(results, experiment, variants), *class_gain(results, experiment))
    every = all_models(results, experiment, variants, {"curves": curves})
    return _blocks(results, experiment, shown, (), every)


def appendix(results: Results, experiment: Experiment) -> list[Block]:
    """Return the confusion matrices of many classes, the values of each run and of each length."""
    matrices: list[Block] = []
    if _has_many_classes(results, experiment):
        variants = ordered_variants(results, experiment)
        drawn = tuple(confusion.matrix(results, experiment, variant) for variant in variants)
        summary = say("Confusion matrices of all models")
        matrices = [Disclosure(summary, (Group(drawn, "plots"),), "figures-all", media=(PAGE,))]
    files = lengths_file(results, experiment)
    return [*matrices, *multilabel_appendix(results, experiment), files]


def multilabel_appendix(results: Results, experiment: Experiment) -> list[Block]:
    """Return the values of each run."""
    tables = [table for both in tables_of(results, experiment) for table in both]
    by_run = [_by_run(results, experiment, table) for table in tables if table.runs]
    return [
        *by_run,
        _seeds_file(results, experiment, tables),
        *_class_gain_file(results, experiment),
    ]


def _has_many_classes(results: Results, experiment: Experiment) -> bool:
    """Return whether a matrix of the classes is too large to stand among other figures."""
    return len(confusion.class_names(results, experiment)) > confusion.LARGE


def _errors(results: Results, experiment: Experiment, variants: list[str]) -> Figure:
    """Return the matrices of all models, or of many classes those with the most errors."""
    if _has_many_classes(results, experiment):
        return confusion.largest_errors(results, experiment, variants)
    return confusion.matrices(results, experiment)


def _blocks(
    results: Results,
    experiment: Experiment,
    shown: tuple[Figure, ...],
    others: tuple[Figure, ...],
    of_all_models: list[Block],
) -> list[Block]:
    pair = tuple(_talk_table(results, experiment, table) for table in _pair(results, experiment))
    titles = ", ".join(dict.fromkeys(figure.title for figure in others))
    summary = say("More figures: {titles}", titles=titles)
    by_class = say("Figures by class: {names}", names=_names(_pair(results, experiment)))
    return [
        Group(shown, "plots"),
        Disclosure(by_class, (Group(pair, "pair"), *_pair_table(results, experiment)), "others"),
        *([Disclosure(summary, (Group(others, "plots"),), "others")] if others else []),
        *of_all_models,
        *_others(results, experiment),
    ]


def _names(tables: list[ClassTable]) -> str:
    return ", ".join(table.key for table in tables)


def _others(results: Results, experiment: Experiment) -> list[Block]:
    others = tables_of(results, experiment)[1]
    if not others:
        return []
    tables = tuple(_talk_table(results, experiment, table) for table in others)
    names = _names(others)
    summary = say(
        "Figures by class of controls, other variants and opponents: {names}", names=names
    )
    return [Disclosure(summary, (Group(tables, "pair"),), "others")]


def _talk_table(results: Results, experiment: Experiment, table: ClassTable) -> Table:
    """Return a model's or an opponent's table."""
    columns = (
        *join_columns(lambda _: experiment),
        Column("variant", "", value=lambda _: table.key),
        Column("row", say("Class"), value=lambda row: row.name),
        Column("kind", "", value=lambda row: row.kind),
        *(Column(figure, HEADINGS[figure], PRINTED, _cell(figure)) for figure in FIGURES),
        *(Column(f"{figure}_std_pp", "", decimals(3), _deviation(figure)) for figure in MEASURES),
        *(Column(f"published_{figure}", "", value=_published(figure)) for figure in FIGURES),
        *(
            Column(f"{figure}_minus_published_pp", "", PRINTED, _change(figure))
            for figure in MEASURES
        ),
    )
    kind = "models" if table.of_model else "opponents"
    has_pair = (
        len(_pair(results, experiment)) == 2
    )  # paper has those two side by side, and no other
    return Table(
        f"{experiment.key}--{table.key}",
        table.title,
        columns,
        make_rows(columns, table.rows, lambda row: row.kind),
        notes=_notes(table),
        sources=results.comparison_sources,
        location=f"experiments.{experiment.key}.{kind}.{table.key}",
        mark=experiment.mark,
        style="figures",
        media=(PAGE,) if has_pair else EVERYWHERE,
    )


def _cell(figure: str) -> Any:
    """Return a function from a row to its figure, with the talk's below it."""

    def value(row: ClassRow) -> Cell:
        cell = row.cells.get(figure)
        return Cell(cell.text, cell.published, cell.difference) if cell else Cell("")

    return value


def _side_cell(side: int, figure: str) -> Any:
    """Return a function from a pair of rows to the cell of one of them."""
    return lambda rows: _cell(figure)(rows[side])


def _run_value(run: int) -> Any:
    """Return a function from a row and the name of a figure to its value in run `run`."""
    return lambda value: value[0].cells[value[1]].by_seed[run]


def _deviation(figure: str) -> Any:
    return lambda row: row.cells[figure].deviation if figure in row.cells else None


def _published(figure: str) -> Any:
    return lambda row: row.cells[figure].published if figure in row.cells else ""


def _change(figure: str) -> Any:
    return lambda row: row.cells[figure].difference if figure in row.cells else ""


def _notes(table: ClassTable, lead: str = "") -> tuple[Texts, ...]:
    """Return the notes below a table: an explanation, the deviation over seeds, and the gain."""
    notes: list[Texts] = []
    if table.has_published and not lead:
        notes.append((_second_line(),))
    if table.unmatched:
        missing = ", ".join(table.unmatched)
        notes.append((say("The talk has these classes too: {classes}.", classes=missing),))
    start = (Span(f"{lead}.", "strong"), " ") if lead else ()
    notes.append((*start, *_deviation_note(table)))
    return tuple(notes + ([_gain_note(table)] if table.gain else []))


def _second_line() -> str:
    return say(
        "Small second line: the talk’s figure and, in brackets, ours minus the talk’s in "
        "percentage points."
    )


def _deviation_note(table: ClassTable) -> Texts:
    none = table.deviation is None
    value = (
        f"– ({table.no_deviation_reason})"
        if none
        else f"{format_number(table.deviation, 3)} {say('p.p.')}"
    )
    german = (" ", Span("Standardabweichung", "german")) if _is_glossed(table) else ()
    talk = (
        "; "
        + say("the talk, which does not define its own: {value}", value=f"{table.talk_deviation}%")
        if table.talk_deviation
        else ""
    )
    return (say("Standard deviation"), *german, f"{_of_figure(table)}: {value}{talk}")


def _of_figure(table: ClassTable) -> str:
    """Return the figure that a note is of, where it is not the accuracy."""
    return "" if table.figure == "accuracy" else f" ({table.figure})"


def _is_glossed(table: ClassTable) -> bool:
    """Return whether the talk's German words stand beside the English ones: beside its figures."""
    return table.of_talk and current_language() == "en"


def _gain_note(table: ClassTable) -> Texts:
    assert table.gain is not None
    unit, deviation = say("p.p."), table.gain.std_pp
    of_attention = table.of_talk and table.key == "attention"
    is_glossed = of_attention and _is_glossed(table)
    german = of_attention and not is_glossed
    title = say("Gain by attention") if german else say("Gain over the baseline")
    named = (" ", Span("Steigerung durch Attention", "german")) if is_glossed else ()
    after = "" if deviation is None else f" ± {format_number(deviation, 2)}"
    if table.talk_gain is not None:
        after += "; " + say("the talk: {value}", value=f"{format_points(table.talk_gain)} {unit}")
    return (
        title,
        *named,
        f"{_of_figure(table)}: ",
        Span(f"{format_points(table.gain.mean_pp)} {unit}", "strong"),
        after,
    )


def _by_run(results: Results, experiment: Experiment, table: ClassTable) -> Disclosure:
    """Return each run's values, for the page; `_seeds_file` writes all of them."""
    columns = (
        Column("row", say("Row"), value=lambda each: each[0].name),
        Column(
            "figure",
            say("Figure"),
            value=lambda each: (
                "" if each[0].name.endswith("accuracy") and each[0].kind == "average" else each[1]
            ),
        ),
        Column("mean", say("Mean"), PRINTED, lambda each: each[0].cells[each[1]].text),
        Column("std_pp", say("± p.p."), decimals(2), lambda each: each[0].cells[each[1]].deviation),
        *(Column(run, run, PRINTED, _run_value(index)) for index, run in enumerate(table.runs)),
    )
    values = [(row, figure) for row in table.rows for figure in MEASURES if figure in row.cells]
    summary = say("{name}: values by {run}", name=table.key, run=table.runs[0].split()[0])
    return values_by_run(results, experiment, f"--{table.key}_seeds", summary, columns, values)


def _seeds_file(results: Results, experiment: Experiment, tables: list[ClassTable]) -> Group:
    """Return the file of every run's values, and links to the files that are on no page."""
    columns = (
        *join_columns(lambda _: experiment),
        *(
            Column(key, "", value=operator.itemgetter(index))
            for index, key in enumerate(("variant", "run", "row", "kind", "figure", "value"))
        ),
    )
    values = [
        (table.key, run, row.name, row.kind, figure, value)
        for table in tables
        for row in table.rows
        for figure, cell in row.cells.items()
        for run, value in zip(table.runs or ["the only one"], cell.by_seed, strict=True)
    ]
    key, title = f"{experiment.key}_seeds", say("every value (CSV)")
    table = Table(key, title, columns, make_rows(columns, values), files=("csv",), media=())
    links: Texts = (
        say("All models of this experiment:"),
        " ",
        Span(title, link=f"tables/{key}.csv"),
    )
    if len(_pair(results, experiment)) == 2:
        side = Span(
            say("both tables side by side (LaTeX)"), link=f"tables/{experiment.key}_pair.tex"
        )
        links = (*links, ", ", side)
    return Group((table, Paragraph(links, "small", media=(PAGE,))))


def _class_gain_file(results: Results, experiment: Experiment) -> list[Block]:
    """Return the file of all classes with the value of each seed."""
    if len(_pair(results, experiment)) < 2:
        return []
    columns = (
        *join_columns(lambda _: experiment),
        Column("class", "", value=lambda each: each.name),
        Column("support", "", decimals(1), lambda each: each.support),
        Column("recall_change_pp", "", POINTS, lambda each: each.mean),
        Column("std_pp", "", decimals(3), lambda each: each.deviation),
        Column("by_seed_pp", "", value=lambda each: " ".join(f"{v:+.2f}" for v in each.values)),
        Column("published_change_pp", "", POINTS, lambda each: each.talk),
    )
    rows = make_rows(columns, class_changes(*_pair(results, experiment)))
    title = say("Change in recall by class")
    sources = results.comparison_sources
    key = f"{experiment.key}_class-gain"
    return [Table(key, title, columns, rows, sources=sources, files=("csv",), media=())]


def _pair_table(results: Results, experiment: Experiment) -> list[Table]:
    """Return baseline and attention side by side, where an experiment has both.

    Paper has them where the talk's figures stand below ours, and of many classes those whose recall
    changes most; the file has all.
    """
    pair = _pair(results, experiment)
    if len(pair) != 2:
        return []
    rows = list(zip(*(table.rows for table in pair), strict=True))
    if not any(table.has_published for table in pair):
        return [dataclasses.replace(_side_by_side(results, experiment, rows), media=())]
    if not _has_many_classes(results, experiment):
        return [_side_by_side(results, experiment, rows)]
    changes = sorted(class_changes(*pair), key=lambda each: -abs(each.mean or 0))
    most = {each.name for each in changes[:PAPER_CLASSES]}
    shown = [both for both in rows if both[0].kind == "average" or both[0].name in most]
    caption = say(
        "The {count} classes whose recall changes most, and the averages over all classes. The "
        "file tables/{file} has all {all}.",
        count=PAPER_CLASSES,
        file=f"{experiment.key}_pair.tex",
        all=len(changes),
    )
    return [
        dataclasses.replace(_side_by_side(results, experiment, rows), media=()),
        dataclasses.replace(_side_by_side(results, experiment, shown), caption=caption, files=()),
    ]


def _side_by_side(
    results: Results, experiment: Experiment, rows: list[tuple[ClassRow, ...]]
) -> Table:
    """Return these rows of both tables, each pair in a row."""
    pair = _pair(results, experiment)
    columns = (
        Column("", " ", TEXT, lambda rows: rows[0].name, width=0),
        *(
            Column(
                "", HEADINGS[figure], PRINTED, _side_cell(side, figure),
                group=table.title,
            )
            for side, table in enumerate(pair)
            for figure in MEASURES
        ),
        Column("", HEADINGS["support"], PRINTED, lambda rows: _cell("support")(rows[0])),
    )  # fmt: skip
    notes: list[Texts] = [(_second_line(),)] if any(table.has_published for table in pair) else []
    notes += [note for table in pair for note in _notes(table, table.title)]
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


def _pair(results: Results, experiment: Experiment) -> list[ClassTable]:
    """Return the tables of baseline and attention."""
    return tables_of(results, experiment)[0]


CHAPTERS = [
    beginning.chapter,
    provenance.machine_kinds,
    beginning.scores,
    chapter,
    comparisons.chapter,
    hyperparameters.searches_chapter,
    documents.chapter,
]
APPENDICES = [hyperparameters.chapter, appendix]

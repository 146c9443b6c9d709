"""Columns, links to the glossary and other blocks that chapters share."""

import dataclasses
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from heed.report.blocks import (
    PAGE,
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
    Value,
    get_value,
    make_rows,
)
from heed.report.experiments import Experiment
from heed.report.figures.variants import ordered_variants
from heed.report.formats import INTERVAL, POINTS, PROBABILITY
from heed.report.results import Results

EXPLANATION = "explanation"  # the section of what the weights explain
DEGENERATE, TUNED_ALIKE = "degenerate", "tuned-alike"  # words of the glossary
MakeFigure = Callable[[Results, Experiment, list[str], str], Figure]


def glossary_key(name: str) -> str:
    """Return the key of a variant, a reference model or a word of the report in the glossary."""
    return f"glossary-{name}"


def glossary_address(name: str) -> str:
    """Return the address of a variant, a reference model or a word in the glossary."""
    return f"#{glossary_key(name)}"


def glossary_link(name: str, text: str = "") -> Span:
    """Return a term, or another text for it, with a link to its entry in the glossary."""
    return Span(text or name, link=glossary_address(name))


def link_terms(text: str, terms: dict[str, str]) -> Texts:
    """Return a text in which the first occurrence of each term is a link to the glossary.

    `terms` are as they are printed: term → name of its entry.
    """
    parts: list[str | Span] = []
    rest, left = text, dict(terms)
    while found := re.search("|".join(map(re.escape, left)), rest) if left else None:
        parts += [rest[: found.start()], glossary_link(left.pop(found[0]), found[0])]
        rest = rest[found.end() :]
    return tuple(filter(None, [*parts, rest]))


def experiment_title(experiment: Experiment) -> Texts:
    """Return the title with a link to the experiment's section, its mark, and a colon."""
    mark = (" ", Span(experiment.printed_mark, "mark")) if experiment.printed_mark else ()
    link = Span(experiment.title, link=f"#experiment-{experiment.key}")
    return (link, *mark, f"{colon(experiment)} ")


def title_cell(experiment: Experiment, note: str = "") -> Cell:
    """Return the title with a link to the experiment's section, its mark, and a note below it."""
    link = f"#experiment-{experiment.key}"
    return Cell(experiment.title, note, mark=experiment.printed_mark, link=link)


def colon(experiment: Experiment) -> str:
    """Return the colon after a title; nothing after one that is a sentence."""
    return "" if experiment.title.endswith(("?", "!", ".")) else ":"


def join_columns(get_experiment: Value) -> tuple[Column, ...]:
    """Return the first columns of every CSV file, by which files can be joined."""
    return (
        Column("experiment", "", value=value_of(get_experiment, "key")),
        Column("corpus", "", value=value_of(get_experiment, "corpus_name")),
        Column("mark", "", value=value_of(get_experiment, "mark")),
    )


def experiment_table(
    results: Results,
    experiment: Experiment,
    name: str,
    title: str,
    columns: Iterable[Column],
    records: Iterable[Any],
    **options: Any,
) -> Table:
    """Return a table of an experiment, whose files are named after it, of its comparison."""
    columns = (*join_columns(lambda _: experiment), *columns)
    options = {"sources": results.comparison_sources, "mark": experiment.mark} | options
    rows = make_rows(columns, records, options.pop("kind", lambda _: ""))
    return Table(f"{experiment.key}{name}", title, columns, rows, **options)


def csv_file(
    key: str, title: str, before: str, columns: Iterable[Column], records: Iterable[Any]
) -> Group:
    """Return a CSV file that is no table elsewhere, and for the page a line that links it."""
    columns = tuple(columns)
    table = Table(key, title, columns, make_rows(columns, records), files=("csv",), media=())
    texts = (before, " ", Span(title, link=f"tables/{key}.csv"))
    return Group((table, Paragraph(texts, "small", media=(PAGE,))))


def seeds_file(
    experiment: Experiment, names: Sequence[str], values: Iterable[Sequence[str]]
) -> Group:
    """Return the file of every run's values, by columns of these names."""
    columns = (
        *join_columns(lambda _: experiment),
        *(Column(name, "", value=operator.itemgetter(i)) for i, name in enumerate(names)),
    )
    title, before = "every value (CSV)", "All models of this experiment:"
    return csv_file(f"{experiment.key}_seeds", title, before, columns, values)


def value_of(value: Value, path: str) -> Callable[[Any], Any]:
    """Return a function from a record to what a path leads to from one of its values, or None."""
    first, second = get_value(value), get_value(path)
    return lambda record: second(first(record))


def verdict_cell(get_difference: Value) -> Callable[[Any], Cell]:
    """Return a function from a record to the verdict on its difference, with its remark."""
    get = get_value(get_difference)

    def value(record: Any) -> Cell:
        difference = get(record)
        return Cell(difference and difference.verdict, difference.remark if difference else "")

    return value


def interval_column(
    results: Results, get_difference: Value, ends: str = "ends", **options: Any
) -> Column:
    """Return the column for people of a difference's interval, which has this name there."""
    covers = f"{results.coverage} interval"
    meaning = (
        "that of a secondary comparison is simultaneous, for all of its kind in the experiment"
    )
    value = value_of(get_difference, ends)
    return Column("", covers, INTERVAL, value, meaning=meaning, **options)


def interval_columns(get_difference: Value, low: str, high: str) -> tuple[Column, Column]:
    """Return the CSV columns of the ends of a difference's interval."""
    return (
        Column(low, "", POINTS, value_of(get_difference, "low")),
        Column(high, "", POINTS, value_of(get_difference, "high")),
    )


def corrected_p_column(get_difference: Value) -> Column:
    """Return the column of a difference's corrected p, in every form of a table."""
    value = value_of(get_difference, "result.p_corrected")
    return Column("p_corrected", "Corrected p", PROBABILITY, value, short="corr. p")


def tested_columns(
    results: Results, get_difference: Value, ends: str = "gain_", paper: bool = True
) -> tuple[Column, ...]:
    """Return the columns of a difference's interval, and of its p."""
    return (
        interval_column(results, get_difference, paper=paper),
        *interval_columns(get_difference, f"{ends}low_pp", f"{ends}high_pp"),
        Column("p", "", PROBABILITY, value_of(get_difference, "result.p")),
        corrected_p_column(get_difference),
    )


def all_models(
    results: Results, experiment: Experiment, drawn: list[str], kinds: Mapping[str, MakeFigure]
) -> list[Block]:
    """Return figures of all models, by the functions of `kinds`, which the page opens on demand.

    Nothing where the experiment's other figures draw all variants, which `drawn` has.
    """
    variants = ordered_variants(results, experiment)
    if variants == drawn:
        return []
    every = (results, experiment, variants)
    figures = tuple(make(*every, f"{key}-all") for key, make in kinds.items())
    summary = "The same figures of all models"
    return [Disclosure(summary, (Group(figures, "plots"),), "figures-all", media=(PAGE,))]


def on_page(figures: Iterable[Figure]) -> tuple[Figure, ...]:
    """Return figures that the page has and paper leaves to it."""
    return tuple(dataclasses.replace(figure, media=(PAGE,)) for figure in figures)


def caution(results: Results, experiment: Experiment) -> Texts:
    """Return the caution beside weights, with the chapter that tests them, or how to test them."""
    tested: str | Span = "heed explain tests what they explain: docs/explanation.md."
    if results.is_explained(experiment):
        tested = Span("This report tests what they explain.", link=f"#{EXPLANATION}")
    return ("Weights are not explanations by themselves.", " ", tested)

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
from heed.report.language import say
from heed.report.measures import report_of
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

    `terms` are as they are printed in the report's language: term → name of its entry.
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


def colon(experiment: Experiment) -> str:
    """Return the colon after a title; nothing after one that is a sentence."""
    return "" if experiment.title.endswith(("?", "!", ".")) else ":"


def join_columns(get_experiment: Value) -> tuple[Column, ...]:
    """Return the first columns of every CSV file, by which files can be joined."""
    return (
        Column("experiment", "", value=difference_value(get_experiment, "key")),
        Column("corpus", "", value=difference_value(get_experiment, "corpus_name")),
        Column("mark", "", value=difference_value(get_experiment, "mark")),
    )


def values_by_run(
    results: Results,
    experiment: Experiment,
    name: str,
    summary: str,
    columns: tuple[Column, ...],
    records: Iterable[Any],
) -> Disclosure:
    """Return a table, of this name and title, with each run's values, for the page alone."""
    table = Table(
        f"{experiment.key}{name}",
        summary,
        columns,
        make_rows(columns, records),
        sources=results.comparison_sources,
        location="values",
        mark=experiment.mark,
        style="seeds",
        files=(),
    )
    return Disclosure(summary, (table,), "runs", media=(PAGE,))


def seeds_file(
    experiment: Experiment, names: Sequence[str], values: Iterable[Sequence[str]], links: Texts = ()
) -> Group:
    """Return the file of every run's values, by columns of these names, and links for the page."""
    columns = (
        *join_columns(lambda _: experiment),
        *(Column(name, "", value=operator.itemgetter(i)) for i, name in enumerate(names)),
    )
    key, title = f"{experiment.key}_seeds", say("every value (CSV)")
    table = Table(key, title, columns, make_rows(columns, values), files=("csv",), media=())
    link = Span(title, link=f"tables/{key}.csv")
    texts = (say("All models of this experiment:"), " ", link, *links)
    return Group((table, Paragraph(texts, "small", media=(PAGE,))))


def difference_value(get_difference: Value, value: Value) -> Callable[[Any], Any]:
    """Return a function from a record to a value of its difference; None if it has none."""
    first, second = get_value(get_difference), get_value(value)

    def get(record: Any) -> Any:
        difference = first(record)
        return None if difference is None else second(difference)

    return get


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
    covers = say("{covers} interval", covers=results.coverage)
    meaning = say(
        "that of a secondary comparison is simultaneous, for all of its kind in the experiment"
    )
    value = difference_value(get_difference, ends)
    return Column("", covers, INTERVAL, value, meaning=meaning, **options)


def interval_columns(get_difference: Value, low: str, high: str) -> tuple[Column, Column]:
    """Return the CSV columns of the ends of a difference's interval."""
    return (
        Column(low, "", POINTS, difference_value(get_difference, "low")),
        Column(high, "", POINTS, difference_value(get_difference, "high")),
    )


def p_column(get_difference: Value) -> Column:
    """Return the CSV column of a difference's p, before correction."""
    return Column("p", "", PROBABILITY, difference_value(get_difference, "result.p"))


def corrected_p_column(get_difference: Value) -> Column:
    """Return the column of a difference's corrected p, in every form of a table."""
    value = difference_value(get_difference, "result.p_corrected")
    return Column("p_corrected", say("Corrected p"), PROBABILITY, value, short=say("corr. p"))


def tested_columns(
    results: Results, get_difference: Value, ends: str = "gain_", paper: bool = True
) -> tuple[Column, ...]:
    """Return the columns of a difference's interval, and of its p."""
    return (
        interval_column(results, get_difference, paper=paper),
        *interval_columns(get_difference, f"{ends}low_pp", f"{ends}high_pp"),
        p_column(get_difference),
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
    summary = say("The same figures of all models")
    return [Disclosure(summary, (Group(figures, "plots"),), "figures-all", media=(PAGE,))]


def on_page(figures: Iterable[Figure]) -> tuple[Figure, ...]:
    """Return figures that the page has and paper leaves to it."""
    return tuple(dataclasses.replace(figure, media=(PAGE,)) for figure in figures)


def caution(results: Results, experiment: Experiment) -> Texts:
    """Return the caution beside weights, with the chapter that tests them, or how to test them."""
    tested: str | Span = say("heed explain tests what they explain: docs/explanation.md.")
    if reason := report_of(experiment.measure.task).untested_weights():
        tested = reason
    if results.is_explained(experiment):
        tested = Span(say("This report tests what they explain."), link=f"#{EXPLANATION}")
    return (say("Weights are not explanations by themselves."), " ", tested)

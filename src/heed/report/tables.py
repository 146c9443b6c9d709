"""Tables: tables.yaml declares each once, rows/ has its records; this makes CSV and Markdown.

A column without a heading is in the CSV file alone, and one with `csv: false` in none.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd

from heed.report.experiments import Experiment
from heed.report.formats import TEXT, Format, format_coverage, format_named, read_yaml
from heed.report.results import Results, Source
from heed.report.rows import (
    Rows,
    classification,
    comparisons,
    expected,
    explanation,
    glossary,
    hyperparameters,
    summary,
    trainings,
    translation,
)
from heed.tables import csv_text
from heed.terminal import escape_markdown

DECLARED: dict[str, dict[str, Any]] = read_yaml("tables")  # by name
MODULES = {  # that the declarations name; imported above, where an edit of them is seen
    module.__name__.rpartition(".")[2]: module
    for module in (classification, comparisons, expected, explanation, glossary, hyperparameters,
                 summary, trainings, translation)
}  # fmt: skip
PAGE, PAPER = "page", "paper"


@dataclasses.dataclass(frozen=True)
class TableColumn:
    """A column of a table: tables.yaml says what each key means."""

    key: str = ""
    heading: str = ""
    format: Format = TEXT
    value: str = ""
    unit: str = ""
    meaning: str = ""
    short: str = ""
    width: int = 0
    csv: bool = True
    paper: bool = True
    merge: bool = False
    code: bool = False
    note: str = ""
    note_format: Format = TEXT
    strong: str = ""
    link: str = ""
    mark: str = ""
    group: str = ""

    @property
    def title(self) -> str:
        """The heading with its unit."""
        return f"{self.heading} ({self.unit})" if self.heading and self.unit else self.heading


class Cell(NamedTuple):
    """A value of a table, as `text` for people; `note` is a small second line."""

    value: Any
    text: str
    note: str = ""
    mark: str = ""
    link: str = ""
    strong: bool = False


class Row(NamedTuple):
    """A row with a cell for each column; `kind` is its CSS class, `key` its id for links."""

    cells: tuple[Cell, ...]
    kind: str = ""
    key: str = ""


@dataclasses.dataclass(frozen=True)
class Table:
    """A table with its rows, for page, paper and files."""

    key: str  # of its files, tables/KEY.csv and .tex, and of its id in the page, #table-KEY
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[Row, ...]
    sources: tuple[Source, ...] = ()
    mark: str = ""  # such as "generated text"
    style: str = ""
    files: tuple[str, ...] = ("csv", "tex")

    def column_indices(self, medium: str) -> list[int]:
        """Return the indices of the columns that the page or the paper has."""
        columns = ((column.heading, column.paper or medium != PAPER) for column in self.columns)
        return [index for index, shown in enumerate(columns) if all(shown)]

    def meanings(self, medium: str) -> str:
        """Return the explanations of its columns, in one paragraph."""
        columns = (self.columns[index] for index in self.column_indices(medium))
        explained = (column for column in columns if column.meaning)
        return " ".join(f"{column.heading}: {column.meaning}." for column in explained)


# The first columns of every CSV file of an experiment, by which files can be joined.
FIRST = {"experiment": "@key", "corpus": "@corpus_name", "mark": "@mark"}
JOINED = [{"key": key, "value": path} for key, path in FIRST.items()]
PATHS = {"value", "note", "strong", "link", "mark"}


def _columns(declared: list[dict[str, Any]], facts: Mapping[str, Any]) -> Iterator[TableColumn]:
    """Yield the columns of a table; `for_each` names a fact with a value for each of several."""
    for column in declared:
        options = dict(column)
        when, for_each = options.pop("when", ""), options.pop("for_each", "")
        if when and not facts[when]:
            continue
        for item in facts[for_each] if for_each else [facts.get("item", "")]:
            names = {**facts, "item": item}
            if for_each and isinstance(facts[for_each], Mapping):
                names["heading"] = facts[for_each][item]
            if "columns" in options:
                yield from _columns(options["columns"], names)
            else:
                yield _column(options, names)


def _column(options: Mapping[str, Any], names: Mapping[str, Any]) -> TableColumn:
    values = {"value": options.get("key", "").format(**names)}
    for key, value in options.items():
        if key in PATHS:
            value = value.replace("{item}", names["item"])
        elif isinstance(value, str):
            value = value.format(**names)
        values[key] = format_named(value) if key in ("format", "note_format") else value
    return TableColumn(**values)


def build_tables(results: Results) -> dict[tuple[str, str], list[Table]]:
    """Return all tables of a study by name and experiment ("" of the study's), as declared."""
    tables: dict[tuple[str, str], list[Table]] = {}
    for name, declared in DECLARED.items():
        if declared.get("of") == "study":
            tables[name, ""] = [*_build(name, results)]
            continue
        for experiment in results.experiments:
            task = experiment.measure.task
            tasks = {*declared.get("tasks", [task])}.difference(declared.get("except", []))
            needed = (getattr(experiment, name) for name in declared.get("needs", []))
            has_all = task in tasks and all(needed)
            tables[name, experiment.key] = [*_build(name, results, experiment)] if has_all else []
    return tables


def _build(name: str, results: Results, *of: Experiment) -> Iterator[Table]:
    declared, default = DECLARED[name], f"{{key}}_{name}" if of else name
    module, function = declared["rows"].split(".")
    made, experiment = getattr(MODULES[module], function)(results, *of), next(iter(of), None)
    known = {"coverage": format_coverage(results.comparison.significance.alpha)}
    if experiment:
        measure = experiment.measure
        known |= {
            "key": experiment.key, "experiment": experiment.title, "mark": experiment.mark,
            "metric": measure.name, "unit": measure.unit, "long_unit": measure.long_unit,
        }  # fmt: skip
    first = JOINED if experiment or "joined" in declared else []
    for part in [made] if isinstance(made, Rows) else made or []:
        facts = {**known, **part.facts, "part": part.part}
        columns = tuple(_columns([*first, *declared["columns"]], facts))
        yield Table(
            key=declared.get("file", default).format(**facts),
            title=declared.get("title", "").format(**facts),
            columns=columns,
            rows=tuple(_row(declared, columns, record, experiment) for record in part.records),
            sources=part.sources or results.comparison_sources,
            mark=facts.get("mark", ""), style=declared.get("style", ""),
            files=tuple(declared.get("files", ("csv", "tex"))),
        )  # fmt: skip


def _row(
    declared: dict[str, Any], columns: tuple[TableColumn, ...], record: Any, experiment: Any
) -> Row:
    if "joined" in declared:
        experiment = get_path(record, declared["joined"])

    def get(path: str) -> Any:
        if path.startswith("@"):
            return get_path(experiment, path[1:])
        return get_path(record, path) if path else ""

    def cell(it: TableColumn) -> Cell:
        value, note = get(it.value), get(it.note)
        printed = "" if note in (None, "") else it.note_format.printed(note)
        more = get(it.mark) or "", get(it.link) or "", bool(get(it.strong))
        return Cell(value, it.format.printed(value), printed, *more)

    return Row(tuple(map(cell, columns)), *(get(declared.get(key, "")) for key in ("kind", "id")))


def get_path(record: Any, path: str) -> Any:
    """Return what a path of attributes and keys leads to; None where something on it is None."""
    for name in path.split("."):
        if record is None:
            return None
        if isinstance(record, Mapping):
            record = record[name]
        else:
            record = record[int(name)] if name.isdecimal() else getattr(record, name)
    return record


def csv_table(table: Table) -> str:
    """Return every column of a table's CSV file as CSV, or what the page shows: it has no file."""
    if "csv" not in table.files:
        titles, *rows = _shown(table)
        return csv_text(pd.DataFrame(rows, columns=titles, dtype=str))
    chosen = [(n, column) for n, column in enumerate(table.columns) if column.key and column.csv]
    rows = [[column.format.plain(row.cells[n].value) for n, column in chosen] for row in table.rows]
    return csv_text(pd.DataFrame(rows, columns=[column.key for _, column in chosen], dtype=str))


def markdown_table(table: Table) -> str:
    """Return the columns that the page has of a table."""
    formats = [table.columns[index].format for index in table.column_indices(PAGE)]
    rows = [[*map(escape_markdown, row)] for row in _shown(table)]
    rows.insert(1, ["---" if form.align == "left" else "---:" for form in formats])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def _shown(table: Table) -> list[list[str]]:
    """Return titles and rows as the page has them, each cell with its small second line."""
    indices = table.column_indices(PAGE)
    shown = [[row.cells[index] for index in indices] for row in table.rows]
    texts = [[(it.text, it.note, it.mark and f"({it.mark})") for it in cells] for cells in shown]
    rows = ([" ".join(filter(None, cell)) for cell in cells] for cells in texts)
    return [[table.columns[index].title for index in indices], *rows]

"""The hyperparameters of an experiment's models, with the talk's where they differ."""

import dataclasses
import operator
from collections.abc import Callable

from heed.report.blocks import Block, Cell, Column, Table, make_rows
from heed.report.chapters.shared import join_columns
from heed.report.experiments import ClassTable, Experiment, Setting
from heed.report.formats import RIGHT
from heed.report.language import say
from heed.report.results import Results


@dataclasses.dataclass(frozen=True)
class Line:
    """A hyperparameter of all models, by variant."""

    group: str
    name: str
    settings: dict[str, Setting]


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a table with a column for each model, and a CSV file with a row for each value."""
    tables = [table for table in experiment.tables if table.settings]
    key = f"{experiment.key}_hyperparameters"
    columns = (
        *join_columns(lambda _: experiment),
        *(
            Column(name, "", value=operator.itemgetter(index))
            for index, name in enumerate(
                ("variant", "group", "hyperparameter", "value", "published")
            )
        ),
    )
    rows = [
        (table.key, group, each.name, each.value, each.talk)
        for table in tables
        for group, settings in table.settings.items()
        for each in settings
    ]
    csv_table = Table(key, "", columns, make_rows(columns, rows), files=("csv",), media=())
    return [csv_table, *(_model_table(results, experiment, tables, key) if tables else [])]


def _model_table(
    results: Results, experiment: Experiment, tables: list[ClassTable], key: str
) -> list[Block]:
    lines = [
        Line(group, each.name, {table.key: table.settings[group][index] for table in tables})
        for group, settings in tables[0].settings.items()
        for index, each in enumerate(settings)
    ]
    columns = (
        Column("", say("Hyperparameter"), value=lambda line: line.name),
        *(Column("", table.key, RIGHT, _cell(table.key)) for table in tables),
        Column("", say("Group"), value=lambda line: line.group, merge=True),
    )
    return [
        Table(
            key,
            say("Hyperparameters"),
            columns,
            make_rows(columns, lines),
            sources=results.comparison_sources,
            location=f"experiments.{experiment.key}.models",
            mark=experiment.mark,
            style="scores",
            wide=True,
        )
    ]


def _cell(variant: str) -> Callable[[Line], Cell]:
    """Return a function from a line to a variant's value, with the talk's where it differs."""

    def value(line: Line) -> Cell:
        setting = line.settings[variant]
        return Cell(
            setting.value, say("the talk: {value}", value=setting.talk) if setting.differs else ""
        )

    return value

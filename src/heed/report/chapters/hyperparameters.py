"""The hyperparameters of an experiment's models, with the talk's where they differ."""

import dataclasses
import operator
from collections.abc import Callable

from heed.report.blocks import Block, Cell, Column, Table, rows_of
from heed.report.chapters.shared import joining
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
    """Return a column a model for people; the CSV file has a row a value."""
    tables = [table for table in experiment.tables if table.settings]
    key = f"{experiment.key}_hyperparameters"
    columns = (
        *joining(lambda _: experiment),
        *(
            Column(name, "", value=operator.itemgetter(place))
            for place, name in enumerate(
                ("variant", "group", "hyperparameter", "value", "published")
            )
        ),
    )
    rows = [
        (table.key, group, each.name, each.ours, each.talk)
        for table in tables
        for group, settings in table.settings.items()
        for each in settings
    ]
    long = Table(key, "", columns, rows_of(columns, rows), files=("csv",), on=())
    return [long, *(_wide(results, experiment, tables, key) if tables else [])]


def _wide(
    results: Results, experiment: Experiment, tables: list[ClassTable], key: str
) -> list[Block]:
    lines = [
        Line(group, each.name, {table.key: table.settings[group][place] for table in tables})
        for group, settings in tables[0].settings.items()
        for place, each in enumerate(settings)
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
            rows_of(columns, lines),
            sources=results.compared,
            where=f"experiments.{experiment.key}.models",
            mark=experiment.mark,
            style="scores",
            wide=True,
        )
    ]


def _cell(variant: str) -> Callable[[Line], Cell]:
    """Return what gives a variant's value, with the talk's below it where it differs."""

    def value(line: Line) -> Cell:
        setting = line.settings[variant]
        return Cell(
            setting.ours, say("the talk: {value}", value=setting.talk) if setting.differs else ""
        )

    return value

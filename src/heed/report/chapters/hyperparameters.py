"""The hyperparameters of an experiment's models, with the talk's where they differ.

All of those that the schema declares are in the CSV file. Page and paper have a row for each that
is not the default in some model, name the others below the table, and explain each in the end.
"""

import dataclasses
from collections.abc import Callable

from heed.report.blocks import (
    PAGE,
    PAPER,
    Block,
    Cell,
    Column,
    Heading,
    Items,
    Section,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import join_columns
from heed.report.experiments import Experiment
from heed.report.formats import RIGHT
from heed.report.language import say
from heed.report.measures import task_name
from heed.report.results import Results
from heed.report.settings import Setting, format_plain, format_setting


@dataclasses.dataclass(frozen=True)
class Line:
    """A hyperparameter of all models, by variant."""

    settings: dict[str, Setting]

    @property
    def first(self) -> Setting:
        """The hyperparameter of the first model."""
        return next(iter(self.settings.values()))

    @property
    def differs(self) -> bool:
        """Whether two models have different values."""
        return len({format_setting(each.value) for each in self.settings.values()}) > 1

    @property
    def printed(self) -> bool:
        """Whether it has a row: not where every model has the default."""
        return any(setting.printed for setting in self.settings.values())


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a table with a column for each model, and a CSV file with a row for each value."""
    models = experiment.settings
    key = f"{experiment.key}_hyperparameters"
    columns = (
        *join_columns(lambda _: experiment),
        Column("variant", "", value=lambda pair: pair[0]),
        Column("group", "", value=lambda pair: pair[1].group),
        Column("hyperparameter", "", value=lambda pair: pair[1].key),
        Column("value", "", value=lambda pair: format_plain(pair[1].value)),
        Column("default", "", value=lambda pair: _default(pair[1])),
        Column("published", "", value=lambda pair: pair[1].talk),
    )
    pairs = [(variant, setting) for variant, settings in models.items() for setting in settings]
    csv_table = Table(key, "", columns, make_rows(columns, pairs), files=("csv",), media=())
    return [csv_table, *(_model_table(results, experiment, key) if models else [])]


def _default(setting: Setting) -> str:
    return "" if setting.default is None else format_plain(setting.default)


def _model_table(results: Results, experiment: Experiment, key: str) -> list[Block]:
    lines = [
        Line(dict(zip(experiment.settings, settings, strict=True)))
        for settings in zip(*experiment.settings.values(), strict=True)
    ]
    columns = (
        Column("", say("Hyperparameter"), value=lambda line: line.first.key, code=True),
        *(
            Column("", name, RIGHT, _cell(name), short=name.replace("-", "- "))  # on two lines
            for name in experiment.settings
        ),
        *(
            (Column("", say("Group"), value=lambda line: line.first.group, width=18, merge=True),)
            if any(line.first.group for line in lines)
            else ()
        ),
    )
    return [
        Table(
            key,
            say("Hyperparameters"),
            columns,
            make_rows(columns, [line for line in lines if line.printed]),
            notes=_notes([line.first for line in lines if not line.printed]),
            sources=results.comparison_sources,
            location=f"experiments.{experiment.key}.models",
            mark=experiment.mark,
            style="scores",
            media=(PAGE,),
        ),
        _paper_table(experiment, key, columns, lines),
    ]


def _paper_table(
    experiment: Experiment, key: str, columns: tuple[Column, ...], lines: list[Line]
) -> Table:
    """Return the table on paper: a row for each hyperparameter in which the models differ."""
    printed = [line for line in lines if line.printed]
    return Table(
        f"{key}-that-differ",
        say("Hyperparameters in which the models differ"),
        columns[: 1 + len(experiment.settings)],
        make_rows(
            columns[: 1 + len(experiment.settings)], [line for line in printed if line.differs]
        ),
        notes=(
            _same([line for line in printed if not line.differs]),
            *_notes([line.first for line in lines if not line.printed]),
        ),
        mark=experiment.mark,
        files=(),
        media=(PAPER,),
    )


def _same(lines: list[Line]) -> Texts:
    """Return the hyperparameters that are the same in all models, with the talk's."""
    texts: list[str | Span] = [say("The same in all models:")]
    for index, line in enumerate(lines):
        talks = dict.fromkeys(each.talk for each in line.settings.values() if each.differs)
        talk = f" ({say('the talk: {value}', value=' / '.join(talks))})" if talks else ""
        value = f" {format_setting(line.first.value)}{talk}"
        texts += [", " if index else " ", Span(line.first.key, "code"), value]
    return (*texts, ".")


def _notes(unprinted: list[Setting]) -> tuple[Texts, ...]:
    """Return the paragraph that names the hyperparameters without a row."""
    texts: list[str | Span] = []
    for setting in unprinted:
        texts += [", ", Span(setting.key, "code"), f" {format_setting(setting.value)}"]
    if texts:
        texts = [say("All others have their default:"), " ", *texts[1:], ". "]
    section = say("The section “Hyperparameters” has the meaning and the default of each.")
    return ((*texts, Span(section, link="#hyperparameters")),)


def _cell(variant: str) -> Callable[[Line], Cell]:
    """Return a function from a line to a variant's value, with the talk's where it differs."""

    def value(line: Line) -> Cell:
        setting = line.settings[variant]
        note = say("the talk: {value}", value=setting.talk) if setting.differs else ""
        return Cell(format_setting(setting.value), note)

    return value


def meanings(results: Results) -> list[Block]:
    """Return the section with the meaning and the default of every hyperparameter, by task."""
    by_task: dict[str, dict[str, Setting]] = {}
    for experiment in results.experiments:
        settings = by_task.setdefault(experiment.measure.task, {})
        for model_settings in experiment.settings.values():
            settings |= {setting.key: setting for setting in model_settings}
    blocks: list[Block] = []
    for task, settings in by_task.items():
        items = Items(tuple(_meaning(setting) for setting in settings.values()))
        heading = (Heading(task_name(task)),) if len(by_task) > 1 else ()
        blocks += [*heading, items] if settings else []
    return [Section("hyperparameters", say("Hyperparameters"), tuple(blocks))] if blocks else []


def _meaning(setting: Setting) -> Texts:
    texts: Texts = (Span(setting.key, "code"), f": {setting.meaning}")
    if setting.default is None:
        return (*texts, ".")
    default = Span(format_setting(setting.default), "code")
    return (*texts, f" ({say('default')} ", default, ").")

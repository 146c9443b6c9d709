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
    Disclosure,
    Group,
    Heading,
    Items,
    Paragraph,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import glossary_address, join_columns
from heed.report.experiments import Experiment
from heed.report.figures import searches as figures
from heed.report.formats import RIGHT
from heed.report.language import say
from heed.report.measures import Measure, task_name
from heed.report.results import Results
from heed.report.settings import Setting, format_plain, format_setting
from heed.search.results import Search, read_search


@dataclasses.dataclass(frozen=True)
class Line:
    """A hyperparameter of all models, by variant."""

    settings: dict[str, Setting]

    @property
    def first(self) -> Setting:
        """The hyperparameter of the first model."""
        return next(iter(self.settings.values()))

    def differs(self, variant: str, other: str) -> bool:
        """Return whether a model's value is not another's, or the talk's differs from both."""
        ours, theirs = self.settings[variant], self.settings[other]
        return ours.value != theirs.value or (ours.differs and ours.talk != theirs.talk)

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


def _lines(experiment: Experiment) -> list[Line]:
    """Return the hyperparameters of an experiment's models."""
    return [
        Line(dict(zip(experiment.settings, settings, strict=True)))
        for settings in zip(*experiment.settings.values(), strict=True)
    ]


def _model_table(results: Results, experiment: Experiment, key: str) -> list[Block]:
    lines = _lines(experiment)
    columns = (
        Column("", say("Hyperparameter"), value=lambda line: line.first.key, code=True),
        *(
            Column(
                "",
                name,
                RIGHT,
                _cell(name),
                short=name.replace("-", "- "),  # on two lines
                link=glossary_address(name),
            )
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
    ]


def on_paper(results: Results) -> list[Block]:
    """Return what paper has: of each experiment a list, in one section."""
    lists = [block for each in results.experiments for block in _lists(each)]
    return [Disclosure(say("Hyperparameters"), tuple(lists), media=(PAPER,))] if lists else []


def _lists(experiment: Experiment) -> list[Block]:
    """Return the first model's that are not defaults, and how others differ."""
    if not experiment.settings:
        return []
    lines = _lines(experiment)
    printed = [line for line in lines if line.printed]
    first, *others = experiment.settings
    settings = [line.settings[first] for line in printed if line.settings[first].printed]
    items = [_listed(first, settings)]
    for variant in others:
        differing = [line.settings[variant] for line in printed if line.differs(variant, first)]
        items.append(_listed(say("{name}, otherwise the same", name=variant), differing))
    return [Heading(experiment.title), Items(tuple(items))]


def _listed(name: str, settings: list[Setting]) -> Texts:
    """Return a model's hyperparameters in a line, with the talk's where they differ."""
    texts: list[str | Span] = [Span(name, "strong"), ": "]
    for index, setting in enumerate(settings):
        talk = f" ({say('the talk: {value}', value=setting.talk)})" if setting.differs else ""
        value = f" {format_setting(setting.value)}{talk}"
        texts += [", " if index else "", Span(setting.key, "code"), value]
    return (*texts, "." if settings else "–")


def _notes(unprinted: list[Setting]) -> tuple[Texts, ...]:
    """Return the paragraph that names the hyperparameters without a row."""
    texts: list[str | Span] = []
    for setting in unprinted:
        texts += [", ", Span(setting.key, "code"), f" {format_setting(setting.value)}"]
    if texts:
        texts = [say("All others have their default:"), " ", *texts[1:], ". "]
    end = say("The end of the appendix has the meaning and the default of each.")
    return ((*texts, Span(end, link="#hyperparameters")),)


def _cell(variant: str) -> Callable[[Line], Cell]:
    """Return a function from a line to a variant's value, with the talk's where it differs."""

    def value(line: Line) -> Cell:
        setting = line.settings[variant]
        note = say("the talk: {value}", value=setting.talk) if setting.differs else ""
        return Cell(format_setting(setting.value), note)

    return value


def meanings(results: Results) -> list[Block]:
    """Return the meaning and the default of every hyperparameter, by task."""
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
    if not blocks:
        return []
    summary = say("What each hyperparameter means, and its default")
    return [Disclosure(summary, tuple(blocks), key="hyperparameters", media=(PAGE,))]


def _meaning(setting: Setting) -> Texts:
    texts: Texts = (Span(setting.key, "code"), f": {setting.meaning}")
    if setting.default is None:
        return (*texts, ".")
    default = Span(format_setting(setting.default), "code")
    return (*texts, f" ({say('default')} ", default, ").")


def searches_chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a paragraph and the figures of each search that had trials, on demand."""
    blocks: list[Block] = []
    for folder in results.search_folders(experiment):
        if search := read_search(folder):
            drawn = Group(tuple(figures.figures(results, experiment, search, folder)), "plots")
            summary = say(
                "Search {name}: {trials} trials", name=search.search, trials=len(search.trials)
            )
            described = Paragraph((_describe(search, experiment.measure.task),))
            blocks.append(Disclosure(summary, (described, drawn), "others"))
    return blocks


def _describe(search: Search, task: str) -> str:
    measure = Measure(task, search.metric)
    text = say(
        "{trials} trials of {model}, sampler {sampler}, scheduler {scheduler}, seed {seed}; "
        "{epochs} epochs in all. Best: trial {best}, validation {metric} {score} after epoch "
        "{epoch}. Chosen by the validation part; the test part was not used.",
        trials=len(search.trials),
        model=search.model,
        sampler=search.sampler,
        scheduler=search.scheduler,
        seed=search.seed,
        epochs=search.epochs,
        best=search.best.trial,
        metric=measure.name,
        score=measure.figure(search.best.score),
        epoch=search.best.epoch,
    )
    expected = search.expected_best
    if expected.reason is None:
        return text
    reason = say(expected.reason, **(expected.values or {}))
    return f"{text} " + say("No expected best: {reason}.", reason=reason)

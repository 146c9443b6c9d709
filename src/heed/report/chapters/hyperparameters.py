"""The hyperparameters of an experiment's models, with the talk's where they differ.

All of those that the schema declares are in the CSV file. Page and paper have a row for each that
is not the default in some model, name the others below the table, and explain each in the end.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from heed.evaluation.results import BASELINE, ModelResult
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
from heed.report.formats import RIGHT, format_count
from heed.report.language import say
from heed.report.measures import Measure, report_of
from heed.report.published import NO_SCORES, Talk
from heed.report.results import Results
from heed.search.results import Search, read_search

# The talk's hyperparameters, by its groups; a column of the talk's scores has the name of the key
# but for one. All others are of the last group.
TALK_GROUPS = {
    "Group 1": ("epochs", "batch_size", "learning_rate", "vocabulary_size"),
    "Group 2": ("embedding_dim", "hidden_size", "linear_size", "dropout", "heads"),
}
COLUMNS = {"hidden_size": "lstm_hidden"}


@dataclasses.dataclass(frozen=True)
class Setting:
    """A hyperparameter of a model, or a number that follows from all of them.

    `always`: it is printed also where it has its default. `talk` is the talk's value, empty where
    it names none; `differs`: ours is another one.
    """

    group: str
    key: str
    meaning: str
    value: Any
    default: Any = None
    always: bool = True
    talk: str = ""
    differs: bool = False

    @property
    def printed(self) -> bool:
        """Whether the report prints it even where all models have the same value."""
        return self.always or self.value != self.default


Line = dict[str, Setting]  # a hyperparameter of all models, by variant


def read_settings(results: Results, experiment: Experiment) -> dict[str, list[Setting]]:
    """Return the hyperparameters of the models by variant: the baseline's and attention's first."""
    result = experiment.result
    first = (BASELINE, *result.attention[:1])
    return {
        variant: model_settings(
            result.models[variant],
            experiment.talk.get(variant, NO_SCORES) if experiment.talk else None,
        )
        for variant in sorted(result.models, key=lambda each: each not in first)
    }


def model_settings(model: ModelResult, talk: Talk | None) -> list[Setting]:
    """Return every hyperparameter of a model, and the numbers that follow from all of them.

    Those of an experiment that is compared with the talk are in its groups: the talk's first, then
    all others. `talk` is None for any other experiment.
    """
    h, last = model.hyperparameters, say("What the talk leaves open") if talk else ""
    others = {field.name: field for field in dataclasses.fields(h)}
    settings = [
        _talk_setting(say(group), others.pop(key), h, talk.summary.get(COLUMNS.get(key, key)))
        for group, keys in TALK_GROUPS.items()
        for key in keys
        if talk and key in others
    ]
    millions = talk.summary.get("parameters_million", "") if talk else ""
    count = Setting(
        group=say("Group 2") if talk else "",
        key="parameters",
        meaning=say("number of parameters"),
        value=model.parameters,
        talk=say("{count} million", count=millions) if millions else "",
        differs=bool(millions),
    )
    open_settings = [
        Setting(
            last, name, _description(field), getattr(h, name), default=field.default, always=False
        )
        for name, field in others.items()
    ]
    epochs = ", ".join(map(str, model.best_epochs))
    kept = Setting(last, "best_epochs", say("epoch kept, by seed"), epochs)
    between = [count, *open_settings] if talk else [*open_settings, count]
    return [*settings, *between, kept]


def _talk_setting(
    group: str, field: "dataclasses.Field[Any]", hyperparameters: Any, talk: str | None
) -> Setting:
    """Return a hyperparameter that the talk has too; heads are 0 for a model without any."""
    without_heads = field.name == "heads" and not hyperparameters.has_heads
    value = 0 if without_heads else getattr(hyperparameters, field.name)
    return Setting(
        group=group,
        key=field.name,
        meaning=_description(field),
        value=value,
        default=field.default,
        talk=format_setting(int(talk) if talk.isdigit() else talk) if talk else "",
        differs=bool(talk) and float(talk or 0) != value,
    )


def _description(field: "dataclasses.Field[Any]") -> str:
    description: str = field.metadata["description"]
    return say(description).replace("`", "")


def format_setting(value: Any) -> str:
    """Return the value of a hyperparameter in its format for people."""
    if isinstance(value, bool):
        return say("yes" if value else "no")
    return format_count(value) if isinstance(value, int) and value >= 10_000 else str(value)


def format_plain(value: Any) -> str:
    """Return the value of a hyperparameter as params.yaml has it; empty for None."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a table with a column for each model, and a CSV file with a row for each value."""
    models = read_settings(results, experiment)
    key = f"{experiment.key}_hyperparameters"
    columns = (
        *join_columns(lambda _: experiment),
        Column("variant", "", value=lambda pair: pair[0]),
        Column("group", "", value=lambda pair: pair[1].group),
        Column("hyperparameter", "", value=lambda pair: pair[1].key),
        Column("value", "", value=lambda pair: format_plain(pair[1].value)),
        Column("default", "", value=lambda pair: format_plain(pair[1].default)),
        Column("published", "", value=lambda pair: pair[1].talk),
    )
    pairs = [(variant, setting) for variant, settings in models.items() for setting in settings]
    csv_table = Table(key, "", columns, make_rows(columns, pairs), files=("csv",), media=())
    return [csv_table, *([_model_table(results, experiment, key, models)] if models else [])]


def _lines(models: dict[str, list[Setting]]) -> list[Line]:
    """Return the hyperparameters of all models, with those of each."""
    return [dict(zip(models, each, strict=True)) for each in zip(*models.values(), strict=True)]


def _first(line: Line) -> Setting:
    return next(iter(line.values()))


def _is_printed(line: Line) -> bool:
    """Return whether a hyperparameter has a row: not where every model has the default."""
    return any(setting.printed for setting in line.values())


def _model_table(
    results: Results, experiment: Experiment, key: str, models: dict[str, list[Setting]]
) -> Table:
    lines = _lines(models)
    columns = (
        Column("", say("Hyperparameter"), value=lambda line: _first(line).key, code=True),
        *(
            Column(
                "",
                name,
                RIGHT,
                _cell_of(name),
                short=name.replace("-", "- "),  # on two lines
                link=glossary_address(name),
            )
            for name in models
        ),
    )
    if any(_first(line).group for line in lines):
        group = Column(
            "", say("Group"), value=lambda line: _first(line).group, width=18, merge=True
        )
        columns = (*columns, group)
    return Table(
        key,
        say("Hyperparameters"),
        columns,
        make_rows(columns, filter(_is_printed, lines)),
        notes=_notes([_first(line) for line in lines if not _is_printed(line)]),
        sources=results.comparison_sources,
        location=f"experiments.{experiment.key}.models",
        mark=experiment.mark,
        style="scores",
        media=(PAGE,),
    )


def _cell_of(variant: str) -> Callable[[Line], Cell]:
    """Return a function from a hyperparameter to a variant's value, with the talk's."""

    def value(line: Line) -> Cell:
        setting = line[variant]
        note = say("the talk: {value}", value=setting.talk) if setting.differs else ""
        return Cell(format_setting(setting.value), note)

    return value


def _notes(unprinted: list[Setting]) -> tuple[Texts, ...]:
    """Return the paragraph that names the hyperparameters without a row."""
    texts: list[str | Span] = []
    for setting in unprinted:
        texts += [", ", Span(setting.key, "code"), f" {format_setting(setting.value)}"]
    if texts:
        texts = [say("All others have their default:"), " ", *texts[1:], ". "]
    end = say("The end of the appendix has the meaning and the default of each.")
    return ((*texts, Span(end, link="#hyperparameters")),)


def on_paper(results: Results) -> list[Block]:
    """Return the hyperparameters on paper: of each experiment a list, in one section."""
    lists = [block for each in results.experiments for block in _lists(results, each)]
    return [Disclosure(say("Hyperparameters"), tuple(lists), media=(PAPER,))] if lists else []


def _lists(results: Results, experiment: Experiment) -> list[Block]:
    """Return the hyperparameters of the first model that are no defaults, and how others differ."""
    models = read_settings(results, experiment)
    if not models:
        return []
    printed = [line for line in _lines(models) if _is_printed(line)]
    first, *others = models
    items = [_listed(first, [line[first] for line in printed if line[first].printed])]
    for variant in others:
        pairs = [(line[variant], line[first]) for line in printed]
        differing = [
            own
            for own, other in pairs
            if own.value != other.value or (own.differs and own.talk != other.talk)
        ]
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


def meanings(results: Results) -> list[Block]:
    """Return the meaning and the default of every hyperparameter, by task."""
    by_task: dict[str, dict[str, Setting]] = {}
    for experiment in results.experiments:
        settings = by_task.setdefault(experiment.measure.task, {})
        for of_model in read_settings(results, experiment).values():
            settings |= {setting.key: setting for setting in of_model}
    blocks: list[Block] = []
    for task, settings in by_task.items():
        items = Items(tuple(_meaning(setting) for setting in settings.values()))
        heading = (Heading(report_of(task).title()),) if len(by_task) > 1 else ()
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
            name, trials = search.search, len(search.trials)
            summary = say("Search {name}: {trials} trials", name=name, trials=trials)
            described = Paragraph((_describe(search, experiment.measure.task),))
            blocks.append(Disclosure(summary, (described, drawn), "others"))
    return blocks


def _describe(search: Search, task: str) -> str:
    measure = Measure(task, search.metric)
    text = say(
        "{trials} trials of {model}, sampler {sampler}, scheduler {scheduler}, seed {seed}; "
        "{epochs} epochs in all. Best: trial {best}, validation {metric} {score} after epoch "
        "{epoch}. Chosen by the validation split; the test split was not used.",
        trials=len(search.trials),
        model=search.model,
        sampler=search.sampler,
        scheduler=search.scheduler,
        seed=search.seed,
        epochs=search.epochs,
        best=search.best.trial,
        metric=measure.name,
        score=measure.format(search.best.score),
        epoch=search.best.epoch,
    )
    expected = search.expected_best
    if expected.reason is None:
        return text
    reason = say(expected.reason, **(expected.values or {}))
    return f"{text} " + say("No expected best: {reason}.", reason=reason)

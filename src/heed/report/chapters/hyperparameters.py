"""The hyperparameters of an experiment's models, with the talk's where they differ.

All of those that the schema declares are in the CSV file. Page and paper have a row for each that
is not the default in some model, and name the others below the table. And the searches for them.
"""

import dataclasses
import operator
from collections.abc import Callable, Iterator

from heed.evaluation.results import BASELINE, ModelResult
from heed.report.blocks import (
    Block,
    Cell,
    Column,
    Disclosure,
    Paragraph,
    Span,
    Table,
    Texts,
    make_rows,
)
from heed.report.chapters.shared import experiment_table, glossary_address, join_columns
from heed.report.experiments import Experiment
from heed.report.formats import RIGHT, format_count, pluralize
from heed.report.measures import Measure
from heed.report.published import NO_SCORES, Talk
from heed.report.results import Results
from heed.search.results import RESULT, Search
from heed.study import Search as DeclaredSearch

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
    value: object
    default: object = None
    always: bool = True
    talk: str = ""
    differs: bool = False

    @property
    def printed(self) -> bool:
        """Whether the report prints it even where all models have the same value."""
        return self.always or self.value != self.default


Line = dict[str, Setting]  # a hyperparameter of all models, by variant


def model_settings(model: ModelResult, talk: Talk | None) -> list[Setting]:
    """Return every hyperparameter of a model, and the numbers that follow from all of them.

    The talk's are first, in its groups; `talk` is None where an experiment is not compared with it.
    """
    h, group = model.hyperparameters, "What the talk leaves open" if talk else ""
    defaults = {field.name: field.default for field in dataclasses.fields(h)}
    of_talk = [*_talk_settings(model, talk, defaults)] if talk else []
    others = [
        Setting(group, key, getattr(h, key), default, always=False)
        for key, default in defaults.items()
    ]
    count = [] if talk else [Setting("", "parameters", model.parameters)]
    kept = Setting(group, "best_epochs", ", ".join(map(str, model.best_epochs)))
    return [*of_talk, *others, *count, kept]


def _talk_settings(
    model: ModelResult, talk: Talk, defaults: dict[str, object]
) -> Iterator[Setting]:
    """Yield the hyperparameters of the talk's groups, which it takes from `defaults`."""
    h = model.hyperparameters
    for group, keys in TALK_GROUPS.items():
        for key in (key for key in keys if key in defaults):
            value = 0 if key == "heads" and not h.has_heads else getattr(h, key)
            known = talk.summary.get(COLUMNS.get(key, key), "")
            printed = format_setting(int(known) if known.isdigit() else known)
            differs = bool(known) and float(known) != value
            yield Setting(group, key, value, defaults.pop(key), talk=printed, differs=differs)
    millions = talk.summary.get("parameters_million", "")
    printed = f"{millions} million" if millions else ""
    yield Setting("Group 2", "parameters", model.parameters, talk=printed, differs=bool(millions))


def format_setting(value: object) -> str:
    """Return the value of a hyperparameter in its format for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_count(value) if isinstance(value, int) and value >= 10_000 else str(value)


def format_plain(value: object) -> str:
    """Return the value of a hyperparameter as params.yaml has it; empty for None."""
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a table with a column for each model, and a CSV file with a row for each value."""
    models, key = read_settings(experiment), f"{experiment.key}_hyperparameters"
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


def _model_table(
    results: Results, experiment: Experiment, key: str, models: dict[str, list[Setting]]
) -> Table:
    lines: list[Line] = [
        dict(zip(models, each, strict=True)) for each in zip(*models.values(), strict=True)
    ]
    printed = [line for line in lines if any(setting.printed for setting in line.values())]
    columns = (
        Column("", "Hyperparameter", value=lambda line: _first(line).key, code=True),
        *(
            Column(
                "", name, RIGHT, _cell_of(name), short=name.replace("-", "- "),  # on two lines
                link=glossary_address(name),
            )
            for name in models
        ),
    )  # fmt: skip
    if any(_first(line).group for line in lines):
        heading = "Group"
        group = Column("", heading, value=lambda line: _first(line).group, width=18, merge=True)
        columns = (*columns, group)
    return Table(
        key,
        "Hyperparameters",
        columns,
        make_rows(columns, printed),
        notes=_notes([_first(line) for line in lines if line not in printed]),
        sources=results.comparison_sources,
        location=f"experiments.{experiment.key}.models",
        mark=experiment.mark,
        style="scores",
    )


def _first(line: Line) -> Setting:
    return next(iter(line.values()))


def _cell_of(variant: str) -> Callable[[Line], Cell]:

    def value(line: Line) -> Cell:
        setting = line[variant]
        note = f"the talk: {setting.talk}" if setting.differs else ""
        return Cell(format_setting(setting.value), note)

    return value


def _notes(unprinted: list[Setting]) -> tuple[Texts, ...]:
    texts: list[str | Span] = []
    for setting in unprinted:
        texts += [", ", Span(setting.key, "code"), f" {format_setting(setting.value)}"]
    return (("All others have their default:", " ", *texts[1:], "."),) if texts else ()


def searches_chapter(results: Results, experiment: Experiment) -> list[Block]:
    """Return a paragraph on each search that had trials, on demand, and how each model was tuned.

    The latter is a table where models were searched each for itself.
    """
    blocks: list[Block] = []
    for name in results.searches(experiment):
        declared, folder = results.params.searches[name], results.folder / "search" / experiment.key
        models = results.params.searched_models(name)
        path = folder / name if declared.model else folder / name / models[0]
        if search := results.read_search_folder(path, name):
            summary = f"Search {name}: {len(search.trials)} trials"
            text = describe_search(search, experiment.measure.task)
            if not declared.model:
                text = _describe_each(search, declared)
                summary = f"Search {name} of {len(models)} models, each for itself"
            blocks.append(Disclosure(summary, (Paragraph((text,)),), "others"))
    return [*blocks, *_tuning_table(results, experiment)]


def _describe_each(search: Search, declared: DeclaredSearch) -> str:
    trials = pluralize("{count} trial", "{count} trials", declared.trials)
    limit = pluralize(
        "{trials} at most, and {count} full training of {epochs} epochs",
        "{trials} at most, and {count} full trainings of {epochs} epochs",
        declared.trainings, trials=trials, epochs=search.training,
    )  # fmt: skip
    return (
        "Each model was searched for itself, in the same space with the same budget: "
        f"{limit if declared.trainings else trials}. Scheduler {search.scheduler}, seed "
        f"{search.seed}. The first trial is the model’s own configuration and runs to its end. "
        "Chosen by the validation split; the test split was not used."
    )


# CSV column of the table of tuning: its heading on the page
TUNING = {
    "variant": "Model", "search": "", "trials": "Trials", "trainings": "Full trainings",
    "winner": "Winner", "hyperparameter": "Hyperparameter", "declared": "as declared",
    "chosen": "Tuned",
}  # fmt: skip


def tuning_values(variant: str, search: Search | None) -> Iterator[tuple[str, ...]]:
    """Yield the values of TUNING: a row for each hyperparameter that was searched, if any was."""
    if search is None:
        yield (variant, *[""] * (len(TUNING) - 1))
        return
    trials, trainings = str(len(search.trials)), f"{search.trainings:.2f}"
    facts = (variant, search.search, trials, trainings, str(search.best.trial))
    for key, values in search.changed.items():
        yield (*facts, key, *map(format_plain, values))


def _tuning_table(results: Results, experiment: Experiment) -> list[Block]:
    """Return how each variant was tuned; nothing where none was searched for itself."""
    models, title = results.models(experiment), "How each model was tuned"
    searches = {name: _own_search(results, experiment, model) for name, model in models.items()}
    if not any(searches.values()):
        return []
    columns = (
        Column(name, heading, value=operator.itemgetter(i), merge=i == 0)
        for i, (name, heading) in enumerate(TUNING.items())
    )
    folders = [
        results.search_folder(experiment, models[name]) for name in searches if searches[name]
    ]
    rows = [row for each in searches.items() for row in tuning_values(*each)]
    what = results, experiment, "_tuning", title, columns, rows
    sources = results.sources.add(*(folder / RESULT for folder in folders))
    table = experiment_table(*what, sources=sources, location="searches", style="scores")
    return [Disclosure(title, (table,), "others")]


def _own_search(results: Results, experiment: Experiment, model: str) -> Search | None:
    search = results.read_search(experiment, model)
    return search if search and search.training and search.model == model else None


def describe_search(search: Search, task: str) -> str:
    """Return what was tried in a search, and what won."""
    measure, best = Measure(task, search.metric), search.best
    return (
        f"{len(search.trials)} trials of {search.model}, scheduler {search.scheduler}, seed "
        f"{search.seed}; {search.epochs} epochs in all. Best: trial {best.trial}, validation "
        f"{measure.name} {measure.format(best.score)} after epoch {best.epoch}. Chosen by the "
        "validation split; the test split was not used."
    )


def read_settings(experiment: Experiment) -> dict[str, list[Setting]]:
    """Return the hyperparameters of the models by variant: the baseline's and attention's first."""
    result, talk = experiment.result, experiment.talk
    first = (BASELINE, *result.attention[:1])
    return {
        variant: model_settings(
            result.models[variant], talk.get(variant, NO_SCORES) if talk else None
        )
        for variant in sorted(result.models, key=lambda each: each not in first)
    }

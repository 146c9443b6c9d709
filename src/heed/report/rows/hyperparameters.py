"""The rows of hyperparameters, with the talk's where they differ, and of the searches for them.

The CSV file has all that the schema declares; page and paper those that are not the default in
some model.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from heed.evaluation.results import BASELINE, ModelResult
from heed.report.experiments import Experiment
from heed.report.formats import format_count
from heed.report.measures import Measure
from heed.report.published import NO_SCORES, Talk
from heed.report.results import Results
from heed.report.rows import Rows
from heed.search.results import RESULT, Search

# The talk's hyperparameters in words, by its groups; all others are of the last group.
GROUPS = {
    "group 1": {
        "epochs": "epochs", "batch_size": "batch size", "learning_rate": "learning rate",
        "vocabulary_size": "vocabulary",
    },
    "group 2": {
        "embedding_dim": "size of embeddings", "hidden_size": "size of the LSTM",
        "linear_size": "size of the linear layer", "dropout": "dropout", "heads": "heads",
    },
}  # fmt: skip


def talk_column(key: str) -> str:
    """Return the column of the talk's scores for a hyperparameter."""
    return "lstm_hidden" if key == "hidden_size" else key


def shown_setting(hyperparameters: Any, key: str) -> Any:
    """Return a hyperparameter; 0 for the heads of a model that has none."""
    return 0 if key == "heads" and not hyperparameters.has_heads else getattr(hyperparameters, key)


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
    for group, keys in GROUPS.items():
        for key in (key for key in keys if key in defaults):
            value, known = shown_setting(h, key), talk.summary.get(talk_column(key), "")
            printed = format_setting(int(known) if known.isdigit() else known)
            differs = bool(known) and float(known) != value
            default = defaults.pop(key)
            yield Setting(group.capitalize(), key, value, default, talk=printed, differs=differs)
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


def values(results: Results, experiment: Experiment) -> Rows:
    """Return every hyperparameter of every model, for the CSV file."""
    return Rows(
        [
            {
                "variant": variant, "of": setting, "value": format_plain(setting.value),
                "default": format_plain(setting.default),
            }
            for variant, settings in read_settings(experiment).items()
            for setting in settings
        ]
    )  # fmt: skip


def _by_key(experiment: Experiment) -> list[dict[str, Setting]]:
    """Return each hyperparameter of all models, by variant."""
    models = read_settings(experiment)
    rows = zip(*models.values(), strict=True)
    return [dict(zip(models, settings, strict=True)) for settings in rows]


def hyperparameters(results: Results, experiment: Experiment) -> Rows | None:
    """Return a row for each hyperparameter that is not its default in some model."""
    lines = _by_key(experiment)
    records = [
        {
            "key": next(iter(line.values())).key,
            "group": next(iter(line.values())).group,
            "values": {name: format_setting(each.value) for name, each in line.items()},
            "notes": {
                name: f"the talk: {each.talk}" if each.differs else ""
                for name, each in line.items()
            },
        }
        for line in lines
        if any(each.printed for each in line.values())
    ]
    facts = {
        "models": {name: experiment.words[name] for name in read_settings(experiment)},
        "groups": any(record["group"] for record in records),
    }
    return Rows(records, facts, location=f"experiments.{experiment.key}.models") if lines else None


def defaults(experiment: Experiment) -> dict[str, str]:
    """Return the hyperparameters that have their default in all models, for people."""
    firsts = (
        next(iter(line.values()))
        for line in _by_key(experiment)
        if not any(each.printed for each in line.values())
    )
    return {each.key: format_setting(each.value) for each in firsts}


@dataclasses.dataclass(frozen=True)
class SearchOfModels:
    """A search of an experiment that had trials: its models in words, and the first one's search.

    `own`: each model was searched for itself.
    """

    name: str
    models: list[str]
    declared: Any  # heed.study.Search
    search: Search
    own: bool
    measure: Measure

    @property
    def best(self) -> str:
        """The best validation score, for people."""
        return self.measure.format(self.search.best.score)


def searches(results: Results, experiment: Experiment) -> Iterator[SearchOfModels]:
    """Yield the searches of an experiment that had trials."""
    words = {model: experiment.words[name] for name, model in results.models(experiment).items()}
    for name in results.searches(experiment):
        declared, folder = results.params.searches[name], results.folder / "search" / experiment.key
        models = results.params.searched_models(name)
        path = folder / name if declared.model else folder / name / models[0]
        if search := results.read_search_folder(path, name):
            named = [words[each] for each in models if each in words]
            measure = Measure(experiment.measure.task, search.metric)
            yield SearchOfModels(name, named, declared, search, not declared.model, measure)


def tuning(results: Results, experiment: Experiment) -> Rows | None:
    """Return how each model was tuned; None where none was searched for itself."""
    models = results.models(experiment)
    found = {name: _own_search(results, experiment, model) for name, model in models.items()}
    folders = [results.search_folder(experiment, models[name]) for name in found if found[name]]
    if not folders:
        return None
    records = [
        {"words": experiment.words[name], "variant": name} | record
        for name, search in found.items()
        for record in tuning_values(search)
    ]
    files = results.sources.add(*(folder / RESULT for folder in folders))
    return Rows(records, sources=files, location="searches")


def tuning_values(search: Search | None) -> Iterator[dict[str, str]]:
    """Yield a record for each hyperparameter that was searched; one without values if none was."""
    keys = ("search", "trials", "trainings", "winner", "hyperparameter", "declared", "chosen")
    if search is None:
        yield dict.fromkeys(keys, "")
        return
    trials, trainings = str(len(search.trials)), f"{search.trainings:.2f}"
    facts = (search.search, trials, trainings, str(search.best.trial))
    for key, ends in search.changed.items():
        yield dict(zip(keys, (*facts, key, *map(format_plain, ends)), strict=True))


def _own_search(results: Results, experiment: Experiment, model: str) -> Search | None:
    search = results.read_search(experiment, model)
    return search if search and search.training and search.model == model else None

"""The rows of hyperparameters, with the talk's where they differ, and of the searches for them."""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

from heed.evaluation.results import ModelResult
from heed.report.experiments import Experiment
from heed.report.formats import format_count, read_yaml
from heed.report.measures import Measure
from heed.report.published import NO_SCORES, Talk
from heed.report.results import Results
from heed.report.rows import Rows, known
from heed.search.results import RESULT, Search

# The talk's hyperparameters in words, by its groups; all others are of the last group.
GROUPS: dict[str, dict[str, str]] = read_yaml("names")["talk"]
COLUMNS = {"hidden_size": "lstm_hidden"}  # of the talk's scores, where they have another name


def shown_setting(hyperparameters: Any, key: str) -> Any:
    """Return a hyperparameter; 0 for the heads of a model that has none."""
    return 0 if key == "heads" and not hyperparameters.has_heads else getattr(hyperparameters, key)


class Setting(NamedTuple):
    """A hyperparameter of a model, or a number that follows from all of them."""

    group: str
    key: str
    value: object
    default: object = None
    printed: bool = True  # where any model has it so, the report prints it
    talk: str = ""  # the talk's value, if it names one
    differs: bool = False  # from the talk's


def model_settings(model: ModelResult, talk: Talk | None) -> Iterator[Setting]:
    """Yield a model's hyperparameters, and what follows from them; by the talk's groups."""
    h, group = model.hyperparameters, "What the talk leaves open" if talk else ""
    defaults = {field.name: field.default for field in dataclasses.fields(h)}
    if talk:
        yield from _talk_settings(model, talk, defaults)
    for key, default in defaults.items():
        value = getattr(h, key)
        yield Setting(group, key, value, default, value != default)
    if not talk:
        yield Setting("", "parameters", model.parameters)
    yield Setting(group, "best_epochs", ", ".join(map(str, model.best_epochs)))


def _talk_settings(model: ModelResult, talk: Talk, defaults: dict[str, Any]) -> Iterator[Setting]:
    """Yield the hyperparameters of the talk's groups, which it takes from `defaults`."""
    h = model.hyperparameters
    for group, keys in GROUPS.items():
        for key in filter(defaults.__contains__, keys):
            value, known = shown_setting(h, key), talk.summary.get(COLUMNS.get(key, key), "")
            printed = format_setting(int(known) if known.isdigit() else known)
            differs, default = bool(known) and float(known) != value, defaults.pop(key)
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


def _settings(experiment: Experiment) -> dict[str, list[Setting]]:
    """Return the hyperparameters of every model, in one order: the baseline's first."""
    models, talk = experiment.result.models, experiment.talk
    return {
        name: [*model_settings(models[name], talk.get(name, NO_SCORES) if talk else None)]
        for name in experiment.variants
    }


def values(results: Results, experiment: Experiment) -> Rows:
    """Return every hyperparameter of every model, for the CSV file."""
    records = [
        {"variant": variant, "of": setting, "value": format_plain(setting.value),
         "default": format_plain(setting.default)}
        for variant, own in _settings(experiment).items()
        for setting in own
    ]  # fmt: skip
    return Rows(records)


def hyperparameters(results: Results, experiment: Experiment) -> Rows:
    """Return a row for each hyperparameter that is not its default in some model."""
    settings, records = _settings(experiment), list[dict[str, Any]]()
    for line in zip(*settings.values(), strict=True):
        if any(setting.printed for setting in line):
            own = dict(zip(settings, line, strict=True))
            notes = known({n: f"the talk: {e.talk}" for n, e in own.items() if e.differs})
            shown = {name: format_setting(setting.value) for name, setting in own.items()}
            records.append({"of": line[0], "values": shown, "notes": notes})
    models = {name: experiment.words[name] for name in settings}
    facts = {"models": models, "groups": any(record["of"].group for record in records)}
    return Rows(records, facts)


def defaults(experiment: Experiment) -> dict[str, str]:
    """Return the hyperparameters that have their default in all models, for people."""
    lines = zip(*_settings(experiment).values(), strict=True)
    same = (line[0] for line in lines if not any(setting.printed for setting in line))
    return {setting.key: format_setting(setting.value) for setting in same}


def searches(results: Results, experiment: Experiment) -> Iterator[dict[str, Any]]:
    """Yield an experiment's searches that had trials; `own`: each model was searched for itself."""
    words = {model: experiment.words[name] for name, model in results.models(experiment).items()}
    for name in results.params.searches_of(experiment.key):
        declared, models = results.params.searches[name], results.params.searched_models(name)
        winner = name if declared.model else f"{name}/{models[0]}"
        if search := results.read_search_folder(experiment, winner):
            measure = Measure(experiment.measure.task, search.metric)
            yield {
                "name": name, "models": [words[model] for model in models if model in words],
                "declared": declared, "search": search, "own": not declared.model,
                "measure": measure, "best": measure.format(search.best.score),
            }  # fmt: skip


def tuning(results: Results, experiment: Experiment) -> Rows | None:
    """Return how each model was tuned; None where none was searched for itself."""
    records, files = list[dict[str, Any]](), []
    for name, model in results.models(experiment).items():
        search = results.read_search(experiment, model)
        own = search if search and search.training and search.model == model else None
        if own:
            winner = results.params.winner(model)
            files.append(results.folder / "search" / experiment.key / winner / RESULT)
        records += [experiment.named(name) | record for record in tuning_values(own)]
    return Rows(records, sources=results.sources.add(*files)) if files else None


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

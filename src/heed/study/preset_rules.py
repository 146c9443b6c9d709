"""The rules on presets: their names, and the task of their hyperparameters."""

from collections.abc import Iterator

from pydantic import ValidationError

from heed.hyperparameters import Configuration
from heed.study.defaults import NAMES_BY_TASK, SECTIONS
from heed.study.models import Model
from heed.study.schema import Key, Params
from heed.study.suggestions import suggest, unknown_name
from heed.study.tasks import PRESETS


def preset_contradictions(params: Params, name: str) -> Iterator[tuple[Key, str]]:
    """Yield (key, message) for every contradiction of a preset of the study."""
    key, values = ("defaults", "presets", name), params.defaults.presets[name].overrides()
    if any(name in presets for presets in PRESETS.values()):
        yield key, "is the name of a preset of heed's own; choose another"
    users = {
        params.task(model): model_name
        for model_name, model in reversed(params.models.items())
        if model.preset == name and model.experiment in params.experiments
    }
    for task, model_name in users.items():
        for hyperparameter, message in wrong_hyperparameters(task, values):
            yield (*key, hyperparameter), f"{message} (models.{model_name} has this preset)"
    mistakes = [list(wrong_hyperparameters(task, values)) for task in SECTIONS]
    if not users and all(mistakes):  # report those of the task that it fits best
        for hyperparameter, message in min(mistakes, key=len):
            yield (*key, hyperparameter), message


def wrong_preset(params: Params, model: Model) -> str:
    """Return what is wrong with the preset that a model names, or ""."""
    task = params.task(model)
    known = params.presets(task)
    if model.preset in ("", *known):
        return ""
    others = [other for other in PRESETS if model.preset in PRESETS[other]]
    if others:
        return f"preset {model.preset} is of {others[0]}, and this model of {task}"
    return unknown_name(model.preset, f"preset of {task}", known or {"none": {}})


def wrong_hyperparameters(task: str, values: Configuration) -> Iterator[tuple[str, str]]:
    """Yield (name, message) for hyperparameters of another task, or with values of another."""
    names = NAMES_BY_TASK[task]
    for name in values:
        if name not in names:
            yield name, f"is no hyperparameter of {task}{suggest(name, names)}"
    try:
        SECTIONS[task].model_validate({k: v for k, v in values.items() if k in names})
    except ValidationError as error:
        for mistake in error.errors():
            text, found = mistake["msg"], mistake["input"]
            yield str(mistake["loc"][0]), f"{text[0].lower()}{text[1:]}, found {found!r}"

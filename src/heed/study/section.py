"""The parts of all tasks that params.yaml is checked by: hyperparameters, presets and rules."""

import dataclasses
from types import ModuleType
from typing import Annotated, Any

from heed.hyperparameters import MAX_COUNT, MAX_SEED, Preset
from heed.records import Limits, fields_of
from heed.task import part_modules, task_module, task_names

Count = Annotated[int, Limits(gt=0, le=MAX_COUNT)]
Seed = Annotated[int, Limits(ge=0, le=MAX_SEED)]
# The part `recipe` of each task, as heed/task/interface.py describes it.
RECIPES: dict[str, ModuleType] = {task: task_module(task, "recipe") for task in task_names()}
# heed's own presets: task → name → preset
PRESETS: dict[str, dict[str, Preset]] = {
    task: task_module(task, "presets").PRESETS if part_modules(task, "presets") else {}
    for task in task_names()
}


def rules_of(task: str) -> Any:
    """Return the part `rules` of a task."""
    return task_module(task, "rules")


def task_of_labels() -> str:
    """Return the task that learns a label of which a document has one class."""
    return next(task for task in task_names() if rules_of(task).LABELS == "one")


def _make_defaults(task: str) -> type:
    schema, fields = RECIPES[task], []
    for declaration in (schema.Hyperparameters, schema.Prediction):
        for each in dataclasses.fields(declaration):
            if "description" in each.metadata:  # else it is one of the experiment's `data`
                field = dataclasses.field(default=each.default, metadata=each.metadata)
                fields.append((each.name, fields_of(declaration)[each.name].declared, field))
    made = dataclasses.make_dataclass(f"{task.capitalize()}Defaults", fields, frozen=True)
    made.__doc__ = schema.Hyperparameters.__doc__
    return made


# The hyperparameters of each task, as a record, and their names.
SECTIONS = {task: _make_defaults(task) for task in RECIPES}
NAMES_BY_TASK = {task: tuple(fields_of(section)) for task, section in SECTIONS.items()}

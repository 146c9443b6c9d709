"""What each task says of its part of params.yaml: its hyperparameters, and the rules on them."""

from typing import Any

from heed.hyperparameters import Preset
from heed.task import part_modules, task_module, task_names

# The part `recipe` of each task, as heed/task/interface.py describes it.
RECIPES: dict[str, Any] = {task: task_module(task, "recipe") for task in task_names()}
# heed's own presets: task → name → preset
PRESETS: dict[str, dict[str, Preset]] = {
    task: task_module(task, "presets").PRESETS if part_modules(task, "presets") else {}
    for task in task_names()
}


def rules_of(task: str) -> Any:
    """Return the part `rules` of a task; imported when it is asked for, since it imports rules."""
    return task_module(task, "rules")


def task_of_labels(has_several: bool) -> str:
    """Return the task that learns a label of which a document has one class, or several."""
    number = "several" if has_several else "one"
    return next(task for task in task_names() if number == rules_of(task).LABELS)

"""Tasks: what a model learns and how it is judged.

Each task is a package here, and no code outside it depends on its details.

A stage imports the modules of a task that it needs by name, when it runs. So an import of this
module imports no task, and a training of one task does not depend on the code of another. Where a
module of a task has the name of a module of heed, it is the task's part of it: heed/recipe.py
writes a recipe, tasks/classification/recipe.py defines what a classifier's recipe contains.
"""

import importlib
from typing import Any

from heed.files import HeedError

TASKS = ("classification", "multilabel", "translation")

# stage → the modules of a task's package that its command imports
STAGE_MODULES: dict[str, tuple[str, ...]] = {
    "search": ("recipe", "rules", "network", "learning"),
    "recipe": ("recipe",),  # and `network`, of a parameter-matched control
    "train": ("recipe", "learning"),
    "score": ("recipe", "prediction", "evaluation"),
    "explain": ("recipe", "explanation"),
    "adversaries": ("recipe", "adversaries"),
    "opponents": ("recipe", "opponents"),
    "compare": ("recipe", "metrics"),
    "report": ("recipe",),
}


def task_module(task: str, name: str) -> Any:
    """Return module `name` of the package of `task`; interface.py describes each module.

    Raises:
        HeedError: there is no such task.

    """
    if task not in TASKS:
        raise HeedError(f"there is no task {task}. Known: {', '.join(TASKS)}")
    return importlib.import_module(f"heed.tasks.{task}.{name}")


def import_stage_modules(task: str, stage: str) -> None:
    """Import every module of `task` that a stage runs, so that `sys.modules` is complete."""
    for name in STAGE_MODULES[stage]:
        task_module(task, name)

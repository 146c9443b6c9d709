"""Tasks: what a model learns and how it is judged.

Each task is a package here, and nothing outside it knows its terms.

The stages ask for the part of a task that they need, by name and when they run. So nothing that
imports this module imports a task, and the code that a training of one task depends on holds
nothing of another. A module of a task that is named as a stage is that stage's part of it:
heed/recipe.py writes a recipe, tasks/classification/recipe.py says what is in a classifier's.
"""

import importlib
from typing import Any

from heed.files import HeedError

TASKS = ("classification",)

# stage → the modules of a task's package that its command loads
PARTS: dict[str, tuple[str, ...]] = {
    "search": ("recipe", "capacity", "learning"),
    "recipe": ("recipe", "capacity"),
    "train": ("recipe", "learning"),
    "predict": ("recipe", "prediction"),
    "opponents": ("recipe", "opponents"),
    "evaluate": ("recipe", "evaluation"),
    "compare": ("recipe", "metrics"),
    "report": ("recipe",),
}


def part(task: str, name: str) -> Any:
    """Return module `name` of the package of `task` (see interface.py for what each holds).

    Raises:
        HeedError: there is no such task.

    """
    if task not in TASKS:
        raise HeedError(f"there is no task {task}. Known: {', '.join(TASKS)}")
    return importlib.import_module(f"heed.tasks.{task}.{name}")


def load_parts(task: str, stage: str) -> None:
    """Import every module of `task` that a stage needs, so that what is loaded is all that it will
    run.
    """
    for name in PARTS[stage]:
        part(task, name)

"""The registry of tasks: what a model learns and how it is judged.

A task is a folder in heed/tasks; no list names them, and no code outside a task names one. A task
offers the parts that interface.py describes, each a module of this name. A task may be based on
another (`BASE` in its `__init__.py`), whose parts it has where it has none of its own.

A stage imports the parts that it needs by name, when it runs. So an import of this module imports
no task, and a training of one task does not depend on the code of another. Where a part has the
name of a module of heed, it is the task's share of it: heed/recipe.py writes a recipe,
tasks/TASK/recipe.py defines what it contains.
"""

import functools
import importlib
import importlib.util
import pkgutil
from typing import Any

from heed.files import HeedError

PACKAGE = "heed.tasks"
# stage → the parts of a task that its command imports
STAGE_MODULES: dict[str, tuple[str, ...]] = {
    "search": ("recipe", "rules", "presets", "capacity", "learning"),
    "recipe": ("recipe", "presets", "capacity"),
    "train": ("recipe", "learning"),
    "score": ("recipe", "prediction", "evaluation"),
    "explain": ("recipe", "explanation"),
    "adversaries": ("recipe", "adversaries"),
    "opponents": ("recipe", "opponents"),
    "compare": ("recipe", "metrics"),
    "report": ("recipe", "report"),
}


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks, in alphabetical order."""
    folders = importlib.import_module(PACKAGE).__path__
    return tuple(sorted(each.name for each in pkgutil.iter_modules(folders) if each.ispkg))


@functools.cache
def part_module(task: str, part: str) -> str | None:
    """Return the name of the module that is this part of a task, or None if the task has none.

    Raises:
        HeedError: there is no such task.

    """
    if task not in (names := task_names()):
        raise HeedError(f"there is no task {task}. Known: {', '.join(names)}")
    package = importlib.import_module(f"{PACKAGE}.{task}")
    if importlib.util.find_spec(f"{package.__name__}.{part}"):
        return f"{package.__name__}.{part}"
    base = getattr(package, "BASE", "")
    return part_module(base, part) if base else None


def task_module(task: str, part: str) -> Any:
    """Return the module that is a part of a task; interface.py describes each part.

    Raises:
        HeedError: there is no such task, or it has no such part.

    """
    if (name := part_module(task, part)) is None:
        raise HeedError(f"the task {task} has no {part}: {PACKAGE}.{task}.{part} is not there")
    return importlib.import_module(name)


def stage_modules(task: str, stage: str) -> list[str]:
    """Return the names of the modules of a task that the command of a stage imports."""
    names = [part_module(task, part) for part in STAGE_MODULES.get(stage, ())]
    return [name for name in names if name]


def import_stage_modules(task: str, stage: str) -> None:
    """Import every module of `task` that a stage runs, so that `sys.modules` is complete."""
    for name in stage_modules(task, stage):
        importlib.import_module(name)

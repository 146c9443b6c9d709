"""The registry of tasks: each is a folder in heed/tasks, and no list names them.

A task offers the parts that interface.py describes, each a module of this name, and may be based on
another (`BASE` in its `__init__.py`). A stage imports the parts that it needs by name, when it
runs.
"""

import functools
import importlib
import importlib.util
import pkgutil
from types import ModuleType
from typing import Any

from heed.files import HeedError

PACKAGE = "heed.tasks"
# stage → the parts of a task that its command imports
STAGE_MODULES: dict[str, tuple[str, ...]] = {
    "search": ("recipe", "rules", "learning"),
    "recipe": ("recipe", "rules"),  # and for `search`, where networks are built
    "train": ("recipe", "learning"),
    "score": ("recipe", "metrics", "learning", "prediction", "evaluation"),
    "explain": ("recipe", "metrics", "learning", "explanation"),
    "adversarial_attention": ("recipe", "metrics", "learning", "adversarial_attention"),
    "reference_models": ("recipe", "metrics", "reference_models"),
    "pretrained": ("recipe", "metrics", "learning", "reference_models", "encoders"),
    "compare": ("recipe", "metrics"),
    "report": ("recipe", "report"),
}


def task_names() -> tuple[str, ...]:
    """Return the names of all tasks, in alphabetical order."""
    folders = importlib.import_module(PACKAGE).__path__
    return tuple(sorted(module.name for module in pkgutil.iter_modules(folders) if module.ispkg))


@functools.cache
def part_modules(task: str, part: str) -> tuple[str, ...]:
    """Return the modules that are a part of a task: its own, then its base's. Raises HeedError."""
    if task not in (names := task_names()):
        raise HeedError(f"there is no task {task}. Known: {', '.join(names)}")
    package = importlib.import_module(f"{PACKAGE}.{task}")
    name = f"{package.__name__}.{part}"
    own = (name,) if importlib.util.find_spec(name) else ()
    base = getattr(package, "BASE", "")
    return own + (part_modules(base, part) if base else ())


class Part:
    """A part of a task: what its module defines, or else its base's module defines."""

    def __init__(self, modules: list[ModuleType]) -> None:
        """Store the modules, the task's own first."""
        self._modules = modules

    def __getattr__(self, name: str) -> Any:
        """Return what the first module with this name has; AttributeError where none has it."""
        last = self._modules[-1]
        return getattr(next((part for part in self._modules if hasattr(part, name)), last), name)


def task_module(task: str, part: str) -> Any:
    """Return a part of a task. Raises HeedError: there is no such task, or it has no such part."""
    if not (names := part_modules(task, part)):
        raise HeedError(f"the task {task} has no {part}: {PACKAGE}.{task}.{part} is not there")
    modules = [importlib.import_module(name) for name in names]
    return Part(modules) if len(modules) > 1 else modules[0]


def import_stage_modules(task: str, stage: str) -> None:
    """Import every module of `task` that a stage runs, so that `sys.modules` is complete."""
    for part in STAGE_MODULES[stage]:
        for name in part_modules(task, part):
            importlib.import_module(name)

"""A folder in heed/tasks is a task, and nothing outside that folder names one."""

import ast

import pytest

import heed.tasks
from heed.files import HeedError
from heed.task import STAGE_MODULES, part_modules, task_module, task_names
from tests.conftest import ROOT

SOURCE = ROOT / "src/heed"
OUTSIDE = [
    path
    for folder in (SOURCE, ROOT / "workflow")
    for path in sorted(folder.rglob("*.py"))
    if not path.is_relative_to(SOURCE / "tasks")
]
TASKS = task_names()
# Words that are no task: a key of a published file.
OTHER_WORDS = {
    "cli/commands.py": "translation",  # heed translate --translation
    "corpora/published.py": "classification",
}


def named(source: str) -> set[str]:
    """Return what in a program names a task: constants, imports and `is_TASK`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and node.value in TASKS:
            found.add(str(node.value))
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for task in TASKS:
            if any(f"{module}.".startswith(f"heed.tasks.{task}.") for module in modules):
                found.add(f"heed.tasks.{task}")
            name = getattr(node, "attr", getattr(node, "id", getattr(node, "name", "")))
            if name == f"is_{task}" or name == task.upper():
                found.add(name)
    return found


def test_nothing_outside_a_task_names_it():
    found = {
        str(path).removeprefix(f"{SOURCE}/"): names
        for path in OUTSIDE
        if (names := named(path.read_text()))
    }
    assert found == {path: {word} for path, word in OTHER_WORDS.items()}


def test_every_task_has_the_parts_that_the_stages_import():
    for task in task_names():
        for parts in STAGE_MODULES.values():
            assert any(part_modules(task, part) for part in parts)
        assert task_module(task, "recipe").Hyperparameters and task_module(task, "report").VALUES
    with pytest.raises(HeedError, match=r"there is no task dreams\. Known: classification"):
        task_module("dreams", "recipe")


def test_a_folder_is_a_task_with_the_parts_of_its_base(tmp_path, monkeypatch):
    (tmp_path / "dreams").mkdir()
    (tmp_path / "dreams/__init__.py").write_text('BASE = "classification"\n')
    (tmp_path / "dreams/metrics.py").write_text("")
    monkeypatch.setattr(heed.tasks, "__path__", [*heed.tasks.__path__, str(tmp_path)])
    assert "dreams" in task_names()
    own = ("heed.tasks.dreams.metrics", "heed.tasks.classification.metrics")
    assert part_modules("dreams", "metrics") == own
    assert part_modules("dreams", "presets") == ("heed.tasks.classification.presets",)
    assert task_module("dreams", "metrics").AVERAGES == ("macro", "weighted")
    with pytest.raises(AttributeError):
        getattr(task_module("dreams", "metrics"), "colours")  # noqa: B009
    with pytest.raises(HeedError, match="the task translation has no presets"):
        task_module("translation", "presets")

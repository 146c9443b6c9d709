"""A folder in heed/tasks is a task, and nothing but the report names one outside that folder."""

import pytest

import heed.tasks
from heed.files import HeedError
from heed.task import STAGE_MODULES, part_modules, task_module, task_names


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
    assert part_modules("dreams", "encoders") == ("heed.tasks.classification.encoders",)
    assert task_module("dreams", "metrics").AVERAGES == ("macro", "weighted")
    with pytest.raises(AttributeError):
        getattr(task_module("dreams", "metrics"), "colours")  # noqa: B009
    with pytest.raises(HeedError, match="the task translation has no encoders"):
        task_module("translation", "encoders")

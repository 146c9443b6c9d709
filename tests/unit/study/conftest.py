"""Fixtures of studies of the user's own."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from heed.models.size import count_parameters
from heed.study import cost
from heed.task import task_module
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which each parameter and token takes as long: nothing is measured.

    Estimates are compared with each other, and measurements of a busy machine differ much.
    """

    def measure(task: str, h: Any, sizes: Any, length: int) -> tuple[int, float]:
        parameters = count_parameters(lambda: task_module(task, "learning").build(h, sizes))
        return parameters, 1e-9 * parameters * length

    monkeypatch.setattr(cost, "measure", measure)


@pytest.fixture
def own_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with what `heed corpus add` needs of a clone."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "workflow/studies", "workflow/studies")
    shutil.copy("workflow/studies/sample.yaml", "params.yaml")

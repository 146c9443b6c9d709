"""Fixtures of studies of the user's own."""

import shutil
from pathlib import Path

import pytest

from heed.study import cost
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which each token takes as long: nothing is measured."""
    monkeypatch.setattr(cost, "measure", lambda task, h, sizes, length: 3e-4 * length)


@pytest.fixture
def own_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with what `heed corpus add` needs of a clone."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "workflow/studies", "workflow/studies")
    shutil.copy("workflow/studies/sample.yaml", "params.yaml")

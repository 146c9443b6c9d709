"""Unfinished work goes to the DVC remote while a stage runs, and another machine has it."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))
import unfinished

WORK = Path("work/train")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Go to a machine: a folder of DVC that shares nothing but a remote with the others."""
    monkeypatch.setattr(unfinished, "EVERY_S", 0.1)

    def go(name: str) -> None:
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        for command in ("init --no-scm", f"remote add --default store {tmp_path}/remote"):
            subprocess.run(["dvc", *command.split()], check=True, capture_output=True)

    return go


def checkpoint(epoch: int, remote: Path) -> None:
    """Write a checkpoint, and wait until the remote has it."""
    (WORK / "run").mkdir(parents=True, exist_ok=True)
    (WORK / "run/checkpoint").write_text(f"epoch {epoch}")
    end = time.monotonic() + 20
    sent = remote / "unfinished/train@model/run/checkpoint"
    while not sent.exists() or sent.read_text() != f"epoch {epoch}":
        assert time.monotonic() < end
        time.sleep(0.05)


def test_another_machine_resumes_and_the_end_leaves_nothing(
    machine: Callable[[str], None], tmp_path: Path
) -> None:
    machine("first")
    with pytest.raises(KeyboardInterrupt), unfinished.kept(WORK, "train@model") as found:
        assert not found
        checkpoint(1, tmp_path / "remote")
        checkpoint(2, tmp_path / "remote")
        raise KeyboardInterrupt
    machine("second")
    with unfinished.kept(WORK, "train@model") as found:
        assert found and (WORK / "run/checkpoint").read_text() == "epoch 2"
    assert not [path for path in (tmp_path / "remote").rglob("*") if path.is_file()]


def test_what_is_on_this_machine_is_not_replaced(
    machine: Callable[[str], None], tmp_path: Path
) -> None:
    machine("first")
    with pytest.raises(KeyboardInterrupt), unfinished.kept(WORK, "train@model"):
        checkpoint(1, tmp_path / "remote")
        raise KeyboardInterrupt
    (WORK / "run/checkpoint").write_text("epoch 3")
    with unfinished.kept(WORK, "train@model") as found:
        assert not found and (WORK / "run/checkpoint").read_text() == "epoch 3"

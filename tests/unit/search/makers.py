"""Makers of searches: a study that searches on the corpus `tiny`, and what its processes leave."""

import os
import subprocess
import sys
import time
from pathlib import Path

from heed.search.candidates import TrialSetup, make_setup
from heed.search.results import FINISHED, Trial
from heed.study import parse
from tests.conftest import ROOT

SPACE = (
    "{learning_rate: {loguniform: [0.001, 0.05]}, hidden_size: {integer: [2, 9]}, heads: {choice: "
    "[1, 2, 3, 4]}}"
)
STUDY = (ROOT / "tests/studies/parts/search.yaml").read_text()


def planned(text: str = STUDY, model: str = "") -> TrialSetup:
    return make_setup(parse(text), "hunt", Path("data/tokens/tiny"), model)


def heed(*command: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "heed.cli", *command], capture_output=True, text=True,
        env=os.environ | environment,
    )  # fmt: skip


def trial(number: int, *scores: float, stop: str = FINISHED, metric: str = "accuracy") -> Trial:
    rows = [
        {"epoch": i, "train_loss": 1.0, "validation_loss": 1 - s}
        | {"validation_accuracy": s, "validation_macro_f1": s}
        for i, s in enumerate(scores, 1)
    ]
    return Trial.from_history(number, {"heads": number + 1}, rows, len(rows), stop, metric)


def marked(mark: str) -> list[str]:
    """Return the command lines of all processes with this mark in their environment."""
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                commands.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return commands


def gone(mark: str, timeout: float = 20.0) -> bool:
    """Whether all processes with this mark end within `timeout` seconds."""
    end = time.monotonic() + timeout
    while marked(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True

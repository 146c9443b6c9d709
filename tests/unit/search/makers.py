"""Makers of searches: a study that searches on the corpus `tiny`, and what its processes leave."""

from pathlib import Path

import psutil

from heed.search.candidates import TrialSetup, make_setup
from heed.search.results import FINISHED, Trial
from heed.study import parse
from tests.conftest import ROOT
from tests.pipeline.makers import wait_for

SPACE = (
    "{learning_rate: {loguniform: [0.001, 0.05]}, hidden_size: {integer: [2, 9]}, heads: {choice: "
    "[1, 2, 3, 4]}}"
)
STUDY = (ROOT / "tests/studies/parts/search.yaml").read_text()


def planned(text: str = STUDY, model: str = "") -> TrialSetup:
    return make_setup(parse(text), "hunt", Path("data/tokens/tiny"), model)


def trial(number: int, *scores: float, stop: str = FINISHED, metric: str = "accuracy") -> Trial:
    rows = [
        {"epoch": i, "train_loss": 1.0, "validation_loss": 1 - s}
        | {"validation_accuracy": s, "validation_macro_f1": s}
        for i, s in enumerate(scores, 1)
    ]
    return Trial.from_history(number, {"heads": number + 1}, rows, len(rows), stop, metric)


def marked(mark: str) -> list[list[str]]:
    """Return the command lines of all processes whose HEED_MARK is this one."""
    processes = [process.info for process in psutil.process_iter(["cmdline", "environ"])]
    return [p["cmdline"] for p in processes if (p["environ"] or {}).get("HEED_MARK") == mark]


def wait_until_gone(mark: str, seconds: float = 20.0) -> None:
    """Wait for the end of all processes with this mark."""
    wait_for(lambda: not marked(mark), seconds=seconds, describe=lambda: str(marked(mark)))

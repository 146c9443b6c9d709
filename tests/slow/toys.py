"""A toy study (tests/toy) in which a stage must run, stopped in its middle under a driver."""

import contextlib
import subprocess
from collections.abc import Iterator

import pytest

from tests.pipeline.makers import CHANGES, SNAKEMAKE, Toy, held
from tests.reports import without_times

DRIVERS = {"dvc": ["dvc", "repro"], "snakemake": SNAKEMAKE}
MODEL, TITLE = "a hyperparameter of one model", "the title of the study"
# stage: (the command, what changes so that it must run, the folder it writes into)
STAGES = {
    "tokenize": ("tokenize letters", "a corpus", "data/tokens/letters"),
    "train": ("train author-last-state", MODEL, "results/train/author-last-state/1"),
    "report": ("report", TITLE, "reports"),
}
STRANGE = ["with a space", "Grüße 世界 и мир", 'quote\'s "two" & $HOME; 100% (#1) [a]', "-dash"]
Report = dict[str, str]

each_driver = pytest.mark.parametrize("driver", DRIVERS)
each_stage = pytest.mark.parametrize("stage", STAGES)


def report_of(toy: Toy) -> Report:
    return without_times(toy.path / "reports")


def assert_recovers(
    toy: Toy, driver: list[str], expected: Report, allowed: str = "", damaged: str = ""
) -> None:
    """The same command again makes the undisturbed report, and leaves nothing to do.

    `dvc repro` may fail with the message `allowed` about its own file `damaged`, and recovers when
    that is deleted; snakemake repairs the file itself, or says that it is to be deleted."""
    code, output = toy.try_(*driver)
    assert "Traceback" not in output, output
    if code:
        assert allowed and allowed in output, output
        assert driver == DRIVERS["dvc"] or f"Delete {damaged}" in output
        (toy.path / damaged).unlink()
        toy.run(*driver)
    assert report_of(toy) == expected and toy.is_up_to_date()


class Drill:
    def __init__(self, toy: Toy, driver: str, stage: str, expected: Report) -> None:
        self.toy, self.driver, self.expected = toy, DRIVERS[driver], expected
        self.command, change, self.out = STAGES[stage]
        toy.change(*CHANGES[change][:2])

    @contextlib.contextmanager
    def stopped(self) -> Iterator[subprocess.Popen]:
        """Start the driver and yield it when the stage has written its first file and waits."""
        with held(self.toy, self.driver, self.command) as (process, _):
            yield process

    def fail(self, process: subprocess.Popen) -> None:
        self.toy.held.unlink()
        output = process.communicate(timeout=120)[0]
        assert "Traceback" not in output, output
        assert process.returncode, "the stage was disturbed, and yet the driver succeeded"

    def assert_recovers(self, *allowed: str) -> None:
        """The same command again makes the undisturbed report."""
        assert_recovers(self.toy, self.driver, self.expected, *allowed)

"""After a fault at one of three stages the same driver makes the undisturbed report, byte for byte.

The real dvc.yaml, DVC and Snakefile; a stub of `heed` (tests/toy), whose report is a hash of all
its inputs."""

import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.slow.toys import Drill, each_driver, each_stage


def kill_driver(drill: Drill) -> None:
    """Its stage is left running when the driver starts again."""
    with drill.stopped() as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        again = drill.toy.start(*drill.driver)
        time.sleep(8)
        drill.toy.held.unlink()
        output = again.communicate(timeout=200)[0]
        assert not again.returncode, output


def kill_all(drill: Drill) -> None:
    with drill.stopped() as process:
        os.killpg(process.pid, signal.SIGKILL)


def kill_stage(drill: Drill) -> None:
    with drill.stopped() as process:
        os.kill(int(drill.toy.held.read_text()), signal.SIGKILL)
        drill.fail(process)


def cut_power(drill: Drill, share: float) -> None:
    """The newest files of the stage, of DVC and of Snakemake did not reach the disk."""
    kill_all(drill)
    stage = [path for path in (drill.toy.path / drill.out).rglob("*") if path.is_file()]
    plans = drill.toy.path.glob(".heed/snakemake/*/plan.json")
    for path in [*stage, drill.toy.path / ".dvc/tmp/rwlock", *plans]:
        if path.exists():
            os.truncate(path, int(path.stat().st_size * share))


FAULTS: list[Callable[[Drill], None]] = [
    kill_driver, kill_all, kill_stage, lambda drill: cut_power(drill, 0),
    lambda drill: cut_power(drill, 0.5),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@each_driver
@each_stage
def test_a_fault_under_a_driver(drill, fault):
    fault(drill)
    drill.assert_recovers("RWLock-file '.dvc/tmp/rwlock'", ".dvc/tmp/rwlock")

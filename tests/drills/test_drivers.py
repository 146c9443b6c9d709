"""After a fault at one of three stages the same driver makes the undisturbed report, byte for byte.

The real dvc.yaml, DVC and Snakefile; a stub of `heed` (tests/toy), whose report is a hash of all
its inputs.
"""

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.drills.conftest import WITHOUT_RIGHTS
from tests.drills.study import Study
from tests.drills.toys import DRIVERS, STAGES, STRANGE, Drill, Report, each_driver, each_stage
from tests.pipeline.makers import Toy

pytestmark = pytest.mark.slow


def kill_driver(drill: Drill) -> None:
    """Its stage is left running when the driver starts again."""
    with drill.stopped() as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        again = drill.toy.start(*drill.driver)
        time.sleep(8)
        drill.held.unlink()
        output = again.communicate(timeout=200)[0]
        assert not again.returncode, output


def kill_all(drill: Drill) -> None:
    with drill.stopped() as process:
        os.killpg(process.pid, signal.SIGKILL)


def kill_stage(drill: Drill) -> None:
    with drill.stopped() as process:
        os.kill(int(drill.held.read_text()), signal.SIGKILL)
        drill.fail(process)


def cut_power(drill: Drill, share: float) -> None:
    """The newest files of the stage, of DVC and of Snakemake did not reach the disk."""
    kill_all(drill)
    stage = [path for path in (drill.toy.path / drill.out).rglob("*") if path.is_file()]
    plans = drill.toy.path.glob(".heed/snakemake/*/plan.json")
    for path in [*stage, drill.toy.path / ".dvc/tmp/rwlock", *plans]:
        if path.exists():
            os.truncate(path, int(path.stat().st_size * share))


CUT = "power cut under a driver: the last-written file cut off, or empty"
FAULTS = [
    ("kill -9 of a driver, its stage left running", kill_driver),
    ("kill -9 of a driver and its stage", kill_all),
    ("kill -9 of a stage under a driver", kill_stage),
    (CUT, lambda drill: cut_power(drill, 0)),
    (CUT, lambda drill: cut_power(drill, 0.5)),
]


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=pytest.mark.drill(kind)) for kind, fault in FAULTS]
)
@each_driver
@each_stage
def test_a_fault_under_a_driver(drill: Drill, fault: Callable[[Drill], None]) -> None:
    fault(drill)
    drill.assert_recovers("RWLock-file '.dvc/tmp/rwlock'", ".dvc/tmp/rwlock")


@pytest.mark.drill("disk full under a driver")
@each_driver
@each_stage
def test_a_full_disk(
    finished: Toy, driver: str, stage: str, undisturbed: Callable[[str], Report],
    mounted: Callable, tmp_path: Path,
) -> None:  # fmt: skip
    (tmp_path / "disk").mkdir()
    mounted("-t", "tmpfs", "-o", "size=24m", "tmpfs", str(tmp_path / "disk"))
    toy = finished.copy(tmp_path / "disk")
    drill = Drill(toy, driver, stage, undisturbed(STAGES[stage][1]))
    filler = tmp_path / "disk/filler"
    with drill.stopped() as process:
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        drill.fail(process)
    filler.unlink()
    drill.assert_recovers()


def fails(drill: Drill, reason: str, *prefix: str) -> None:
    code, output = drill.toy.try_(*prefix, *drill.driver)
    assert code
    assert "Traceback" not in output
    assert reason in output


@pytest.mark.drill("read-only folder under a driver")
@each_driver
@each_stage
def test_a_read_only_folder(drill: Drill, mounted: Callable) -> None:
    folder = str(drill.toy.path / drill.out.split("/")[0])
    mounted("--bind", folder, folder)
    unmount = mounted("-o", "remount,bind,ro", folder)
    fails(drill, "Read-only file system")
    unmount()
    drill.assert_recovers()


@pytest.mark.drill("no permission under a driver")
@each_driver
@each_stage
def test_no_permission(drill: Drill, mounts: bool) -> None:
    out = drill.toy.path / drill.out
    folder = out if drill.out == "reports" else out.parent
    mode = folder.stat().st_mode
    folder.chmod(0o555)
    fails(drill, "ermission denied", *(WITHOUT_RIGHTS if os.geteuid() == 0 else ()))
    folder.chmod(mode)
    drill.assert_recovers()


@pytest.mark.drill(
    "kill -9 of all, the real heed, in a path with spaces, non-ASCII, and what shells read"
)
@each_driver
def test_the_real_study_killed_is_that_of_the_plain_commands(
    driver: str, plain: Study, tmp_path: Path
) -> None:
    clone = tmp_path / " ".join(STRANGE[1:3]) / "clone"
    toy = Toy.of_real_heed(clone, plain.path / "params.yaml")
    process = toy.start(*DRIVERS[driver])
    while not [*clone.glob("results/train/*/1")]:
        time.sleep(0.1)
        assert process.poll() is None, process.communicate()[0]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    toy.run(*DRIVERS[driver])
    # The warm command has imported more than `heed train` does: the digest of its code is another.
    noted = ("run.json", "runs.json", "SHA256SUMS")
    expected, files = (
        {name: digest for name, digest in found.items() if not name.endswith(noted)}
        for found in (plain.expected, Study(clone, plain.heed).files())
    )
    # plain commands need no description of their code, and of a search's corpus
    described = re.compile(r"results/code/.*|results/search/[^/]+/corpus\.json")
    made = {name: digest for name, digest in files.items() if not described.fullmatch(name)}
    assert made == expected
    assert toy.is_up_to_date()

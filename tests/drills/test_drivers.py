"""After a fault at one of three stages the same driver makes the undisturbed report, byte for byte.

The real dvc.yaml, DVC and Snakefile; a stub of `heed` (tests/toy), whose report is a hash of all
its inputs.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.drills.conftest import WITHOUT_RIGHTS
from tests.drills.study import Study
from tests.drills.test_commands import STRANGE
from tests.pipeline.makers import CHANGES, SNAKEMAKE, Toy, make_clone
from tests.reports import without_times

DRIVERS = {"dvc": ["dvc", "repro"], "snakemake": SNAKEMAKE}
# stage: (the command, what changes so that it must run, the folder it writes into)
STAGES = {
    "tokenize": ("tokenize letters", "a corpus", "data/tokens/letters"),
    "train": (
        "train author-baseline",
        "a hyperparameter of one model",
        "results/train/author-baseline/1",
    ),
    "report": ("report", "the title of the study", "reports"),
}
Report = dict[str, str]

each_driver = pytest.mark.parametrize("driver", DRIVERS)
each_stage = pytest.mark.parametrize("stage", STAGES)


def report_of(toy: Toy) -> Report:
    return without_times(toy.path / "reports")


@pytest.fixture(scope="session")
def undisturbed(finished: Toy, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """Return a function that makes the report after a change of params.yaml, without any fault."""
    reports: dict[str, Report] = {"": report_of(finished)}

    def make(change: str) -> Report:
        if change not in reports:
            toy = finished.copy(tmp_path_factory.mktemp("undisturbed"))
            toy.change(*CHANGES[change][:2])
            toy.run("dvc", "repro")
            reports[change] = report_of(toy)
        return reports[change]

    return make


def assert_recovers(
    toy: Toy, driver: list[str], expected: Report, allowed: str = "", damaged: str = ""
) -> None:
    """The same command again makes the undisturbed report, and leaves nothing to do.

    `dvc repro` may fail with the message `allowed` about its own file `damaged`, and recovers when
    that is deleted; snakemake repairs the file itself.
    """
    code, output = toy.try_(*driver)
    assert "Traceback" not in output, output
    if code:
        assert allowed and allowed in output, output
        assert driver == DRIVERS["dvc"]
        (toy.path / damaged).unlink()
        toy.run(*driver)
    assert report_of(toy) == expected
    assert "up to date" in toy.run("dvc", "status")


class Drill:
    """A toy study in which a stage must run, under a driver."""

    def __init__(self, toy: Toy, driver: str, stage: str, expected: Report) -> None:
        self.toy, self.driver, self.expected = toy, DRIVERS[driver], expected
        self.command, change, self.out = STAGES[stage]
        toy.change(*CHANGES[change][:2])
        self.held = Path(f"{toy.log}.held")

    @contextlib.contextmanager
    def stopped(self, prefix: tuple[str, ...] = ()) -> Iterator[subprocess.Popen]:
        """Start the driver and yield it when the stage has written its first file and waits.

        All processes are ended afterwards.
        """
        process = self.toy.start(*prefix, *self.driver, TOY_HOLD=self.command)
        end = time.monotonic() + 120
        while not self.held.exists() or not self.held.read_text():
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < end, "the stage was not reached"
            time.sleep(0.05)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            self.held.unlink(missing_ok=True)

    @property
    def stage_process(self) -> int:
        return int(self.held.read_text())

    def resume(self, process: subprocess.Popen) -> tuple[int, str]:
        """Let the stage continue; return the driver's exit code and output."""
        self.held.unlink()
        output = process.communicate(timeout=120)[0]
        assert "Traceback" not in output, output
        return process.returncode, output

    def assert_recovers(self) -> None:
        """The same command again makes the undisturbed report."""
        assert_recovers(self.toy, self.driver, self.expected)


@pytest.fixture
def drill(toy: Toy, driver: str, stage: str, undisturbed: Callable[[str], Report]) -> Drill:
    return Drill(toy, driver, stage, undisturbed(STAGES[stage][1]))


@pytest.mark.slow
@pytest.mark.drill("kill -9 of a driver, its stage left running")
@each_driver
@each_stage
def test_kill_9_of_the_driver_alone(drill: Drill) -> None:
    with drill.stopped() as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        again = drill.toy.start(*drill.driver)
        time.sleep(8)
        drill.held.unlink()
        output = again.communicate(timeout=200)[0]
        assert not again.returncode, output
    drill.assert_recovers()


@pytest.mark.slow
@pytest.mark.drill("kill -9 of a driver and its stage")
@each_driver
@each_stage
def test_kill_9_of_all(drill: Drill) -> None:
    with drill.stopped() as process:
        os.killpg(process.pid, signal.SIGKILL)
    drill.assert_recovers()


@pytest.mark.slow
@pytest.mark.drill("kill -9 of a stage under a driver")
@each_driver
@each_stage
def test_kill_9_of_the_stage(drill: Drill) -> None:
    with drill.stopped() as process:
        os.kill(drill.stage_process, signal.SIGKILL)
        code, _ = drill.resume(process)
        assert code
    drill.assert_recovers()


def power_cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.slow
@pytest.mark.drill("power cut under a driver: the last-written file cut off, or empty")
@pytest.mark.parametrize("share", [0, 0.5])
@each_driver
@each_stage
def test_power_cut(drill: Drill, share: float) -> None:
    """As `stopped`, and the newest files of the stage, of DVC and of Snakemake did not reach the
    disk.
    """
    with drill.stopped() as process:
        os.killpg(process.pid, signal.SIGKILL)
    newest = [path for path in (drill.toy.path / drill.out).rglob("*") if path.is_file()]
    for path in [
        *newest,
        drill.toy.path / ".dvc/tmp/rwlock",
        *drill.toy.path.glob(".heed/snakemake/*/plan.json"),
    ]:
        if path.exists():
            os.truncate(path, int(path.stat().st_size * share))
    assert_recovers(
        drill.toy, drill.driver, drill.expected, "RWLock-file '.dvc/tmp/rwlock'", ".dvc/tmp/rwlock"
    )


@pytest.mark.slow
@pytest.mark.drill("disk full under a driver")
@each_driver
@each_stage
def test_a_full_disk(
    finished: Toy,
    driver: str,
    stage: str,
    undisturbed: Callable[[str], Report],
    mounted: Callable,
    tmp_path: Path,
) -> None:
    (tmp_path / "disk").mkdir()
    mounted("-t", "tmpfs", "-o", "size=24m", "tmpfs", str(tmp_path / "disk"))
    toy = finished.copy(tmp_path / "disk")
    drill = Drill(toy, driver, stage, undisturbed(STAGES[stage][1]))
    filler = tmp_path / "disk/filler"
    with drill.stopped() as process:
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        code, _ = drill.resume(process)
        assert code, "nothing could be written, and yet the driver succeeded"
    filler.unlink()
    drill.assert_recovers()


@pytest.mark.slow
@pytest.mark.drill("read-only folder under a driver")
@each_driver
@each_stage
def test_a_read_only_folder(drill: Drill, mounted: Callable) -> None:
    folder = str(drill.toy.path / drill.out.split("/")[0])
    mounted("--bind", folder, folder)
    unmount = mounted("-o", "remount,bind,ro", folder)
    code, output = drill.toy.try_(*drill.driver)
    assert code
    assert "Traceback" not in output
    assert "Read-only file system" in output
    unmount()
    drill.assert_recovers()


@pytest.mark.slow
@pytest.mark.drill("no permission under a driver")
@each_driver
@each_stage
def test_no_permission(drill: Drill, mounts: bool) -> None:
    folder = (
        (drill.toy.path / drill.out).parent
        if drill.out != "reports"
        else drill.toy.path / "reports"
    )
    mode = folder.stat().st_mode
    folder.chmod(0o555)
    prefix = WITHOUT_RIGHTS if os.geteuid() == 0 else ()
    code, output = drill.toy.try_(*prefix, *drill.driver)
    folder.chmod(mode)
    assert code
    assert "Traceback" not in output
    assert "ermission denied" in output
    drill.assert_recovers()


@pytest.mark.slow
@pytest.mark.drill(
    "kill -9 of all, the real heed, in a path with spaces, non-ASCII, and what shells read"
)
@each_driver
def test_the_real_study_killed_is_that_of_the_plain_commands(
    driver: str, plain: Study, tmp_path: Path
) -> None:
    clone = tmp_path / " ".join(STRANGE[1:3]) / "clone"
    make_clone(clone, plain.path / "params.yaml")
    toy = Toy(clone)  # without a stub: the real heed
    toy.environment["OMP_NUM_THREADS"] = "1"
    for command in ("init --quiet", "add --all", "commit --quiet --message drill"):
        toy.run("git", *command.split())
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
    # plain commands need no description of their code
    made = {name: digest for name, digest in files.items() if not name.startswith("results/code/")}
    assert made == expected
    assert "up to date" in toy.run("dvc", "status")

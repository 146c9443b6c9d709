"""Fixtures of the drills: the undisturbed study, and copies of it that get a fault."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.pipeline.makers import CHANGES, SEARCHED, SMALL, Toy
from tests.slow import toys
from tests.slow.study import STAGES, UNTUNED, Heed, Study
from tests.slow.toys import Drill, Report, report_of

NEW_MOUNTS, PRIVATE_BELOW = 0x00020000, (1 << 18) | (1 << 14)  # CLONE_NEWNS; MS_PRIVATE | MS_REC
# root then needs permissions like any other user
WITHOUT_RIGHTS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All here is slow; one worker runs all that needs the warm command and the small study."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.slow)
            if {"heed", "study_of"} & set(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.xdist_group("drills"))


@pytest.fixture(scope="session")
def mounts() -> bool:
    """Whether this process may mount: it then has a mount namespace until it ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    return not libc.unshare(NEW_MOUNTS) and not libc.mount(b"none", b"/", None, PRIVATE_BELOW, None)


@pytest.fixture(scope="session")
def heed(mounts: bool) -> Iterator[Heed]:
    """The warm command; it sees what this process mounts."""
    heed = Heed()
    yield heed
    heed.end()


@pytest.fixture(scope="session")
def unprivileged(mounts: bool) -> Iterator[Heed]:
    """The warm command without root's right to read and write everything."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root may read and write everything, and no setpriv takes that right away")
    heed = Heed(*(WITHOUT_RIGHTS if os.geteuid() == 0 else ()))
    yield heed
    heed.end()


def make_undisturbed(path: Path, heed: Heed, params: str) -> Study:
    study = Study(path, heed)
    study.make(params)
    for command in UNTUNED:
        study.run(command)
    study.expected = study.files()
    return study


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory, heed: Heed) -> Study:
    return make_undisturbed(tmp_path_factory.mktemp("plain") / "study", heed, SMALL)


@pytest.fixture(scope="session")
def tuned(tmp_path_factory: pytest.TempPathFactory, heed: Heed) -> Study:
    return make_undisturbed(tmp_path_factory.mktemp("tuned") / "study", heed, SEARCHED)


@pytest.fixture
def study_of(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Study]]:
    """Return a function that copies the undisturbed study in which a stage runs."""
    clone = tmp_path / "clone"

    def copy(stage: str, folder: Path = clone) -> Study:
        study = request.getfixturevalue("tuned" if stage == "search" else "plain")
        shutil.copytree(study.path, folder, symlinks=True, dirs_exist_ok=True)
        return Study(folder, study.heed, study.expected)

    yield copy
    shutil.rmtree(clone, ignore_errors=True)


@pytest.fixture
def mounted(mounts: bool) -> Iterator[Callable[..., Callable[[], None]]]:
    """Return a function that runs `mount` with its arguments, and returns one that unmounts."""
    if not mounts:
        pytest.skip("needs root, or `unshare --user --map-root-user --mount make test-slow`")
    mount_points: list[str] = []

    def mount(*arguments: str) -> Callable[[], None]:
        subprocess.run(["mount", *arguments], check=True)
        mount_points.append(arguments[-1])
        return unmount

    def unmount() -> None:
        while mount_points:
            subprocess.run(["umount", "--lazy", mount_points.pop()], check=False)

    yield mount
    unmount()


@pytest.fixture(scope="session")
def moments(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Study, str], list[str]]:
    """Return a function that lists each time a stage touches a file, as warm.py counts them."""
    events: dict[str, list[str]] = {}

    def trace_stage(study: Study, stage: str) -> list[str]:
        if stage not in events:
            command, outs = STAGES[stage]
            trace = tmp_path_factory.mktemp("trace") / stage
            study.remove(outs)
            study.run(command, trace=trace)
            events[stage] = trace.read_text().splitlines()
        return events[stage]

    return trace_stage


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


@pytest.fixture
def drill(toy: Toy, driver: str, stage: str, undisturbed: Callable[[str], Report]) -> Drill:
    return Drill(toy, driver, stage, undisturbed(toys.STAGES[stage][1]))

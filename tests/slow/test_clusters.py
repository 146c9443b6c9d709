"""Searches on a real Ray cluster of several nodes, each with processes of its own, and what is left
when some are killed.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.conftest import contents, write_tokens
from tests.pipeline.makers import wait_for
from tests.slow.ray_nodes import RayNodes, ray_nodes
from tests.unit.search.makers import STUDY, wait_until_gone

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.timeout(1800)]
RESULTS = Path("results/search/tiny/hunt")
TRIALS, EPOCHS = 8, 12
HEED = (sys.executable, "-m", "heed.cli")
OPEN = {"RAY_AUTH_MODE": "disabled"}
RATES = ("loguniform: [0.001, 0.05]", "choice: [0.0000001, 0.01, 0.02]")  # one learns nothing


@pytest.fixture
def hosts() -> Iterator[RayNodes]:
    with ray_nodes() as nodes:
        yield nodes


def make_study(folder: Path) -> Path:
    """Write a study whose trials take some seconds each."""
    generator = np.random.default_rng(0)
    labels = [("good", "bad")[i % 2] for i in range(700)]
    words = [[f"w{w}" for w in generator.integers(0, 300, 45)] for _ in labels]
    fine = [["fine"] * 10 * (label == "good") for label in labels]
    texts = [one + other for one, other in zip(words, fine, strict=True)]
    splits = ["train"] * 600 + ["validation"] * 50 + ["test"] * 50
    write_tokens(folder / "data/tokens/tiny", texts, labels, splits)
    (folder / "params.yaml").write_text(STUDY)
    with contextlib.chdir(folder):
        change("trials: 4", f"trials: {TRIALS}")
        change("epochs: 3", f"epochs: {EPOCHS}")
        change("integer: [2, 9]", "choice: [48, 60, 72]")
        change("max_tokens: 12", "max_tokens: 60")
        change("batch_size: 8", "batch_size: 16")
    return folder


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_study(tmp_path))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The results of the search on this machine alone, by two threads."""
    with contextlib.chdir(make_study(tmp_path_factory.mktemp("alone"))):
        finish(search(HEED_THREADS="2"))
        return contents(RESULTS)


def change(old: str, new: str) -> None:
    text = Path("params.yaml").read_text()
    assert old in text
    Path("params.yaml").write_text(text.replace(old, new))


def search(*on: str, **environment: str) -> subprocess.Popen:
    """Start a search, by a command that starts it on a host where there are several."""
    return subprocess.Popen(
        [*on, *HEED, "recipe", "tiny"], env=os.environ | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip


def search_on(hosts: RayNodes) -> subprocess.Popen:
    return search(*hosts.on(1), HEED_RAY_ADDRESS=hosts.address, **hosts.environment)


def kill(process: subprocess.Popen) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def finish(process: subprocess.Popen) -> str:
    output = process.communicate(timeout=900)[0]
    assert process.returncode == 0, output
    return output


def work_folder() -> Path:
    """Return the work folder of the search that runs.

    Its name goes by the modules that the command has loaded.
    """
    return next(Path(".heed/work").glob("search-*"), Path("none yet"))


def starts() -> dict[int, list[dict]]:
    files = sorted((work_folder() / "trials").glob("*/starts.jsonl"))
    return {int(f.parent.name): [*map(json.loads, f.read_text().splitlines())] for f in files}


def places(key: str) -> set[str]:
    """Return the nodes, or the hosts, on which trials have started."""
    return {start[key] for trial in starts().values() for start in trial}


def ended() -> set[int]:
    return {int(file.parent.name) for file in (work_folder() / "trials").glob("*/ended")}


def checkpoints() -> int:
    return len([*(work_folder() / "trials").glob("*/checkpoint.safetensors")])


def timing() -> dict:
    return json.loads(Path("results/timing/search/hunt.json").read_text())


def test_nodes_come_and_go_and_the_result_is_the_same_bytes(study, hosts, alone):
    hosts.start(1)
    hosts.start(2)
    process = search_on(hosts)
    wait_for(lambda: len(places("node")) == 2, process)
    wait_for(lambda: checkpoints() == 2, process)
    hosts.kill(2)
    hosts.start(3)
    output = finish(process)
    assert contents(RESULTS) == alone, "which node ran a trial, and how often, changes nothing"
    assert f"cluster at {hosts.address}, 2 nodes, 2 cores" in output
    trials = timing()["trials"]
    assert len({start["node"] for trial in trials for start in trial["starts"]}) == 3, (
        "the node added later works too"
    )
    again = [trial["starts"] for trial in trials if len(trial["starts"]) > 1]
    assert len(again) == 1, "one trial was on the node that was killed"
    assert again[0][1]["epochs"] > 0, "it resumed at its checkpoint"


def test_a_driver_killed_on_a_cluster_goes_on_with_the_same_configurations(study, hosts, alone):
    hosts.start(1)
    hosts.start(2)
    process = search_on(hosts)
    wait_for(lambda: len(ended()) >= 2 and checkpoints() == 2, process)
    kill(process)
    whole, before = ended(), starts()
    finish(search_on(hosts))
    after = {trial["trial"]: trial["starts"] for trial in timing()["trials"]}
    assert {*after} == {*range(TRIALS)}
    assert all(after[number] == before[number] for number in whole), (
        "trials that had ended were not started again"
    )
    again = [after[number] for number in before if number not in whole]
    # one whose worker was quick has ended before it noticed that its driver was dead
    assert any(each[1]["epochs"] > 0 for each in again if len(each) > 1), (
        "trials that ran resumed at their checkpoints"
    )
    assert contents(RESULTS) == alone


def test_a_killed_search_on_one_machine_leaves_no_process_and_goes_on(study):
    process = search(HEED_MARK="killed-search", HEED_THREADS="2")
    wait_for(lambda: len(ended()) >= 1 and checkpoints() == 2, process)
    process.kill()
    process.communicate()
    wait_until_gone("killed-search", 240)
    whole = ended()
    output = finish(search(HEED_THREADS="2"))
    trials = timing()["trials"]
    assert all(len(trials[number]["starts"]) == 1 for number in whole)
    assert any(len(trial["starts"]) == 2 and trial["starts"][1]["epochs"] > 0 for trial in trials)
    assert f"{TRIALS} of {TRIALS} trials ended" in output


def test_asha_stops_bad_trials_early_and_the_log_counts_them(study):
    change("scheduler: none", "scheduler: asha")
    change(*RATES)
    output = finish(search(HEED_THREADS="2"))
    found = json.loads((RESULTS / "search.json").read_text())
    assert found["stops"]["stopped by asha"] > 0
    assert found["epochs"] < TRIALS * EPOCHS
    assert f"({found['stops']['stopped by asha']} stopped early)" in output


def test_a_local_ray_has_a_token_whatever_the_environment_says(study):
    process = search(HEED_THREADS="1", **OPEN)
    try:
        wait_for(lambda: bool(starts()), process)
        modes = {
            child.name(): child.environ().get("RAY_AUTH_MODE")
            for child in psutil.Process(process.pid).children(recursive=True)
            if child.name() in ("gcs_server", "raylet")
        }
    finally:
        kill(process)
    assert modes == {"gcs_server": "token", "raylet": "token"}


def test_on_hosts_a_link_is_cut_and_a_host_dies(study, hosts, alone):
    for number in (1, 2, 3):
        hosts.start(number, HEED_NODE=hosts.host(number))
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "f" * 64}
    stranger = search(*hosts.on(2), HEED_RAY_ADDRESS=hosts.address, **token)
    output = stranger.communicate(timeout=120)[0]
    assert stranger.returncode == 1, "without the token nobody gets in"
    assert "no Ray cluster" in output, output

    process = search_on(hosts)
    wait_for(lambda: places("host") == {*map(hosts.host, (1, 2, 3))}, process)
    hosts.cut(3)
    time.sleep(20)
    hosts.mend(3)
    wait_for(lambda: len(ended()) >= 3, process)
    cut = {number for number, trial in starts().items() if len(trial) > 1}
    hosts.kill(2)
    assert "token" not in finish(process)
    assert contents(RESULTS) == alone
    assert cut == set(), "20 s without a network interrupt no trial"
    again = [trial["starts"] for trial in timing()["trials"] if len(trial["starts"]) > 1]
    assert len(again) <= 2, "of the host that died, and at most one that was starting then"
    assert all(starts[-1]["host"] != hosts.host(2) for starts in again)

"""Ctrl-C ends each command with one line, and the same command then makes the undisturbed result.

SIGINT goes to all processes of the terminal, as Ctrl-C sends it."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from heed.progress import INTERRUPTED
from tests.conftest import ROOT, change_recipe, contents
from tests.pipeline.makers import SNAKEMAKE, Toy, wait_for
from tests.slow.toys import STAGES, Drill, Report, each_driver
from tests.unit.search.makers import STUDY

LINE = f"heed: {INTERRUPTED}"


def start(*command: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "heed.cli", *command], stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def interrupt(process: subprocess.Popen, condition: Callable[[], object]) -> tuple[str, str]:
    """Send SIGINT to a process and its children when `condition` holds; return what it printed."""
    wait_for(condition, process)
    os.killpg(process.pid, signal.SIGINT)
    return process.communicate(timeout=120)


def ended_by_one_line(errors: str) -> bool:
    """Return whether the last line says it, after those of a run that nobody stops."""
    *others, last = errors.splitlines()
    expected = all("epoch" in line or "SHA256SUMS: not there" in line for line in others)
    return last == LINE and expected


def test_a_training(workplace: Path) -> None:
    change_recipe(epochs=300)
    command = ("train", "tiny-self-attention", "--seeds", "1")
    run = Path("results/train/tiny-self-attention")
    assert start(*command).wait(timeout=300) == 0
    undisturbed_run = contents(run / "1")
    shutil.rmtree(run)
    process = start(*command)
    _, errors = interrupt(process, lambda: [*Path(".heed/work").glob("*/*.safetensors")])
    assert process.returncode == 1 and ended_by_one_line(errors)
    assert not run.exists() and start(*command).wait(timeout=300) == 0
    assert contents(run / "1") == undisturbed_run


@pytest.mark.xdist_group("ray")
def test_a_search(workplace: Path) -> None:
    Path("params.yaml").write_text(STUDY.replace("epochs: 3", "epochs: 40"))
    process, weights = start("recipe", "tiny"), "search-*/trials/*/*.safetensors"
    _, errors = interrupt(process, lambda: [*Path(".heed/work").glob(weights)])
    assert process.returncode == 1 and ended_by_one_line(errors)
    assert not Path("results/search/tiny/hunt").exists()
    assert start("recipe", "tiny").wait(timeout=300) == 0
    interrupted = contents(Path("results/search/tiny/hunt"))
    shutil.rmtree("results/search/tiny/hunt")
    assert start("recipe", "tiny").wait(timeout=300) == 0
    assert contents(Path("results/search/tiny/hunt")) == interrupted


@each_driver
def test_a_driver(toy: Toy, driver: str, undisturbed: Callable[[str], Report]) -> None:
    drill = Drill(toy, driver, "train", undisturbed(STAGES["train"][1]))
    with drill.stopped() as process:
        os.killpg(process.pid, signal.SIGINT)
        output = process.communicate(timeout=120)[0]
        assert process.returncode
    assert "Traceback" not in output
    if driver == "snakemake":
        assert output.splitlines()[-1] == LINE and output.count("heed: stopped") == 1
        assert "Error in rule" not in output
    else:
        assert len(output[output.index("> heed train") :].splitlines()) <= 3
    drill.assert_recovers()


def test_snakemake_while_it_plans(toy: Toy) -> None:
    code = toy.path / "src/heed/models/attention.py"
    code.write_text(code.read_text() + "# a comment\n")
    log = toy.path / "logs/quick.log"
    log.unlink(missing_ok=True)
    process = toy.start(*SNAKEMAKE)
    output, _ = interrupt(process, log.exists)
    assert process.returncode and output.splitlines()[-1] == LINE
    assert "Traceback" not in output and toy.executed(*SNAKEMAKE) in ([], ["code"])
    assert toy.is_up_to_date()

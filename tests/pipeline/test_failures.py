"""Stages that fail, drivers that are killed or run twice, and mistakes of users."""

import threading
from pathlib import Path

import pytest

from heed.pipeline import read_lock
from tests.pipeline.makers import ATTENTION, SNAKEMAKE, add_to, by_driver, held, wait_for_output

KEY = "heed: params.yaml:14: defaults.classification"
# mistake: (text of params.yaml, its replacement, the message)
MISTAKES = {
    "a name in params.yaml": (
        "dropout: 0.5", "droput: 0.5", f"{KEY}.droput: unknown key; did you mean dropout?",
    ),
    "a value in params.yaml": ("dropout: 0.5", "dropout: 5", f"{KEY}.dropout: "),
    "code that does not parse": ("", "x = (", "src/heed/models/attention.py:"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("what", "driver"), by_driver(MISTAKES, {("a value in params.yaml", "dvc")})
)
def test_a_mistake_stops_a_run_before_any_output_is_touched(toy, driver, what):
    def times() -> dict[Path, int]:
        paths = (path for path in toy.path.glob("results/*/**/*") if path.is_file())
        return {path: path.stat().st_mtime_ns for path in paths}

    old, new, message = MISTAKES[what]
    before = times()
    toy.change(old, new) if old else add_to(ATTENTION, new)(toy)
    toy.log.write_text("")
    code, output = toy.try_(*driver)
    assert code and message in output
    assert "Traceback" not in output and set(toy.logged()) <= {"code"}
    assert times() == before
    toy.change(new, old) if old else toy.run("git", "checkout", "--quiet", "src")
    assert toy.executed(*driver) == []


@pytest.mark.parametrize("has_backup", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_dvc_lock_cut_off_by_a_kill_is_repaired_and_nothing_is_run_again(toy, has_backup):
    lock = toy.path / "dvc.lock"
    text = lock.read_text()
    lock.write_text(text[: text.index("md5", len(text) // 2) + 2])  # in the middle of a key
    if not has_backup:
        (toy.path / ".heed/dvc.lock").unlink()
    code, output = toy.try_("snakemake", "-n")
    assert code == 1 and "heed: dvc.lock cannot be read: a kill has cut it off" in output
    # Downloads, searches and the digests of code persist, and what persists is never in DVC's
    # run-cache: heed verifies the files that are there.
    persisting = ["code", "download one", "download two", "recipe author", "recipe feelings"]
    assert toy.executed(*SNAKEMAKE) == ([] if has_backup else persisting) and toy.is_up_to_date()


def test_a_dvc_lock_that_another_dvc_writes_is_read_when_it_is_whole(tmp_path):
    lock, text = tmp_path / "dvc.lock", "schema: '2.0'\nstages:\n  a:\n    cmd: b\n"
    lock.write_text(text[:-4])
    threading.Timer(0.3, lock.write_text, [text]).start()
    assert read_lock(tmp_path) == {"a": {"cmd": "b"}}


@pytest.mark.slow
def test_a_second_driver_says_which_process_it_waits_for(toy):
    toy.change("dropout: 0.2", "dropout: 0.3")
    with held(toy, ["dvc", "repro"], "train author-last-state") as (process, resume):
        other = toy.start(*SNAKEMAKE)
        wait_for_output(other, f"waiting for process {process.pid}, a dvc that runs a stage")
        add_to(ATTENTION, "\n")(toy)  # `code` is stale, and would write what the training reads
        code, output = toy.try_("dvc", "repro")
        assert code
        # docs/run/drivers.md
        assert f"' is busy, it is being blocked by:\n  (PID {process.pid})" in output
        resume()
        assert process.wait(timeout=120) == 0
    assert other.communicate(timeout=120) and other.returncode == 0
    assert toy.is_up_to_date()


EDIT = ("sed", "-i")
WRONG = {
    "params": ([*EDIT, "s/dropout: 0.5/droput: 0.5/", "params.yaml"], f"{KEY[6:]}.droput: unknown"),
    "no git": (["mv", ".git", "away"], "it needs .git and .dvc"),
    "no dvc": (["mv", ".dvc", "away"], "it needs .git and .dvc"),
    "dvc.yaml": ([*EDIT, "s/cmd: heed compare/cmt: a/", "dvc.yaml"], "`dvc status` says more"),
}
SLOW = [pytest.param(what, marks=pytest.mark.slow) for what in ("no git", "no dvc", "dvc.yaml")]


@pytest.mark.parametrize("what", ["params", *SLOW])
def test_a_mistake_is_one_message(toy, what):
    mistake, message = WRONG[what]
    toy.run(*mistake)
    code, output = toy.try_(*SNAKEMAKE)
    assert code == 1 and message in output
    assert len([line for line in output.splitlines() if not line.startswith("Using ")]) == 1

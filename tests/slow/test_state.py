"""The files of DVC and Snakemake are damaged, edited by hand or locked by dead processes.

The driver makes the same report or says what to do."""

import json
import shutil
from pathlib import Path

import pytest

from heed.pipeline import read_lock
from tests.pipeline.makers import CHANGES, Toy, wait_for, wait_for_output
from tests.slow import toys


def cached(toy: Toy, out: str) -> list[Path]:
    """Return the paths in the cache of an output: of the folder's list, then of its files."""
    outs = [o for stage in read_lock(toy.path).values() for o in stage["outs"]]
    entry = next(o for o in outs if Path(out).is_relative_to(o["path"]))

    def cache_path(md5: str) -> Path:
        return toy.path / ".dvc/cache/files/md5" / md5[:2] / md5[2:]

    first = cache_path(entry["md5"])
    files = json.loads(first.read_text()) if first.suffix == ".dir" else []
    return [first, *(cache_path(file["md5"]) for file in files)]


def delete(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def corrupt(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(b"corrupt" + path.read_bytes()[7:])


def output(stage: str) -> str:
    return "reports/index.html" if stage == "report" else toys.STAGES[stage][2]


@pytest.mark.parametrize(
    ("fault", "which"), [(corrupt, -1), (Path.unlink, 0)], ids=["corrupted", "missing"]
)
@toys.each_driver
@toys.each_stage
def test_a_broken_cache(toy, driver, stage, which, fault, undisturbed):
    """The output itself is gone too, so that the driver turns to the cache."""
    fault(cached(toy, output(stage))[which])
    delete(toy.path / output(stage))
    toys.assert_recovers(toy, toys.DRIVERS[driver], undisturbed(""))


@toys.each_stage
def test_a_damaged_cache_that_dvc_takes_as_it_is(toy, stage, undisturbed):
    """A disk or a copy changed one byte; the mode is DVC's own, and so DVC does not look."""
    damaged = cached(toy, output(stage))[-1]
    mode, changed = damaged.stat().st_mode, bytearray(damaged.read_bytes())
    changed[len(changed) // 2] ^= 1
    damaged.chmod(0o644)
    damaged.write_bytes(changed)
    damaged.chmod(mode)
    delete(toy.path / output(stage))
    toys.assert_recovers(toy, toys.DRIVERS["snakemake"], undisturbed(""))


@pytest.mark.parametrize("which", [0, -1])  # of tokens the first is .digest, which DVC reads
@pytest.mark.parametrize("fault", ["edited", "power cut"])
@toys.each_driver
@toys.each_stage
def test_a_broken_output(toy, driver, stage, fault, which, undisturbed):
    path = toy.path / output(stage)
    path = sorted(filter(Path.is_file, path.rglob("*")))[which] if path.is_dir() else path
    text = path.read_bytes()
    path.write_bytes(text[:-3] + b"xy\n" if fault == "edited" else text[: len(text) // 2])
    named = (str(path.relative_to(toy.path)),) * 2 if path.name == ".digest" else ()
    toys.assert_recovers(toy, toys.DRIVERS[driver], undisturbed(""), *named)


# of no process, of an unrelated process, as after a restart
HOLDERS = {"dead": 2**22 - 3, "other": 1}
LOCKS = {"cut off": '{"write": {"/a/p', "empty": ""}


@pytest.mark.parametrize("holder", [*HOLDERS, *LOCKS])
@toys.each_driver
def test_a_stale_lock(toy, driver, holder, undisturbed):
    toy.change(*CHANGES[toys.TITLE][:2])
    (toy.path / ".dvc/tmp/lock").write_text(f"{HOLDERS.get(holder, holder)}\n")
    process = {"pid": HOLDERS.get(holder), "cmd": "dvc repro"}
    lock = {"write": {str(toy.path / "reports/index.html"): process}, "read": {}}
    (toy.path / ".dvc/tmp/rwlock").write_text(LOCKS.get(holder, json.dumps(lock)))
    both = (".dvc/tmp/rwlock",) * 2
    toys.assert_recovers(toy, toys.DRIVERS[driver], undisturbed(toys.TITLE), *both)


@pytest.mark.parametrize(
    ("first", "second"), [("dvc", "dvc"), ("dvc", "snakemake"), ("snakemake", "dvc")]
)
def test_two_drivers_at_once(toy, first, second, undisturbed):
    toy.change(*CHANGES[toys.MODEL][:2])
    (log := toy.path / "logs/train@author-last-state.log").write_text("")
    process = toy.start(*toys.DRIVERS[first], TOY_SLEEP="3")
    if first == "dvc":
        wait_for_output(process, "Running stage 'train@")
    else:
        wait_for(lambda: log.exists() and "Running stage" in log.read_text(), process)
    one = toy.try_(*toys.DRIVERS[second], TOY_SLEEP="1")
    output = process.communicate(timeout=200)[0]
    for code, said in (one, (process.returncode, output)):
        assert "Traceback" not in said
        assert not code or "is busy" in said or "Unable to acquire lock" in said, said
    toys.assert_recovers(toy, toys.DRIVERS[second], undisturbed(toys.MODEL))


def conflict(path: Path) -> str:
    """Put the markers of a merge around a line in the middle; return the original text."""
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    middle = len(lines) // 2
    line = lines[middle]
    lines[middle : middle + 1] = ["<<<<<<< HEAD\n", line, "=======\n", line, ">>>>>>> other\n"]
    path.write_text("".join(lines))
    return text


@pytest.mark.parametrize("file", ["params.yaml", "dvc.lock"])
@toys.each_driver
def test_a_merge_conflict(toy, driver, file, undisturbed):
    before = toys.report_of(toy)
    text = conflict(toy.path / file)
    code, output = toy.try_(*toys.DRIVERS[driver])
    assert "Traceback" not in output and toys.report_of(toy) == before
    if file == "params.yaml":
        assert code
        line = 1 + (toy.path / file).read_text().splitlines().index("<<<<<<< HEAD")
        assert f"{file}:{line}: " in output if driver == "snakemake" else file in output
    if code:
        assert file in output
        (toy.path / file).write_text(text)
    toys.assert_recovers(toy, toys.DRIVERS[driver], undisturbed(""))

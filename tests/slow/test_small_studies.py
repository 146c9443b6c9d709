"""Small studies by the real heed under both drivers: the same bytes, whatever happens."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.conftest import ROOT, contents
from tests.pipeline.makers import DVC, SNAKEMAKE, Toy, copy_of, wait_for
from tests.reports import without_times

RUNS = "results/train/author-self-attention"


def modified(folder: Path) -> dict[Path, int]:  # without .digest, which is renewed
    return {path: path.stat().st_mtime_ns for path in folder.rglob("[!.]*") if path.is_file()}


def same_bytes(one: Path, other: Path) -> bool:
    return contents(one) == contents(other) != {}


def test_train_by_hand_does_what_the_stage_does(real_study, tmp_path):
    clone = copy_of(real_study, tmp_path / "clone")
    lock, command = clone.path / "dvc.lock", ("heed", "train", "author-self-attention")
    shutil.rmtree(clone.path / RUNS)
    lock.rename(tmp_path / "dvc.lock")  # else the runs come from DVC's cache
    assert "epoch 1/2" in clone.run(*command)
    assert same_bytes(clone.path / RUNS, real_study.path / RUNS)
    made = contents(clone.path / RUNS), modified(clone.path / RUNS)
    assert "epoch 1/2" not in clone.run(*command)
    assert (contents(clone.path / RUNS), modified(clone.path / RUNS)) == made
    (tmp_path / "dvc.lock").rename(lock)
    assert "train@author-self-attention" in clone.run("dvc", "status")  # its times are others
    clone.run(*SNAKEMAKE)
    assert "epoch 1/2" not in (clone.path / "logs/train@author-self-attention.log").read_text()
    assert same_bytes(clone.path / RUNS, real_study.path / RUNS) and clone.is_up_to_date()


def test_seeds_that_were_killed_together_continue_at_their_last_epochs(real_study, tmp_path):
    killed, whole = (copy_of(real_study, tmp_path / name) for name in ("killed", "whole"))
    repro = ("dvc", "repro", "train@author-self-attention")
    for clone in (killed, whole):
        clone.change("epochs: 2", "epochs: 60")
    process = killed.start(*repro, HEED_THREADS="2")
    saved = ".heed/work/train-*/checkpoint.safetensors"
    wait_for(lambda: len([*killed.path.glob(saved)]) == 2, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    output = killed.run(*repro, HEED_THREADS="2")
    epochs = re.findall(r"author-self-attention seed (\d): epoch (\d+)/60", output)
    first = {seed: int(epoch) for seed, epoch in reversed(epochs)}
    assert {*first} == {"1", "2"} and min(first.values()) > 1, first
    whole.run(*repro, HEED_THREADS="1")
    assert same_bytes(killed.path / RUNS, whole.path / RUNS)


@pytest.mark.timeout(1500)
def test_the_small_study_under_both_drivers_gives_the_same_bytes(tmp_path):
    first, second = (tmp_path / driver[0] / "clone" for driver in (DVC, SNAKEMAKE))
    for path, driver in ((first, DVC), (second, SNAKEMAKE)):
        toy = Toy.of_real_heed(path, ROOT / "tests/studies/small.yaml")
        toy.run(*driver)
        assert toy.is_up_to_date() and "stages are up to date" in toy.run("snakemake", "-n")
    assert without_times(first / "reports") == without_times(second / "reports")
    for folder in ("data/tokens", "results"):
        assert same_bytes(first / folder, second / folder)

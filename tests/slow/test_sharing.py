"""Colleagues share a study through a DVC remote: docs/sharing.md, against real servers."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.makers import SNAKEMAKE, Toy, copy_of
from tests.slow.servers import REMOTES, SECRET, Remote

MODEL = "results/train/author-baseline/1/model.safetensors"
each_remote = pytest.mark.parametrize("kind", REMOTES)


@pytest.fixture
def remote(kind: str, tmp_path: Path) -> Iterator[Remote]:
    with REMOTES[kind](tmp_path) as remote:
        yield remote


def colleague(clone: Toy, remote: Remote, name: str = "colleague") -> Toy:
    """Return a clone by git, which has no results, with its own keys for the remote."""
    other = Toy(clone.path.parent / name)
    other.environment = clone.environment | {}
    clone.run("git", "clone", "--quiet", str(clone.path), str(other.path))
    remote.give_keys(other)
    return other


@each_remote
def test_a_colleague_who_clones_and_pulls_has_the_study(
    real_study: Toy, remote: Remote, tmp_path: Path
) -> None:
    ada = copy_of(real_study, tmp_path / "ada")
    remote.declare(ada)
    ada.run("dvc", "push")
    pushed = len(remote.files())
    assert pushed > 60
    bob = colleague(ada, remote)
    assert f"{pushed} files fetched" in bob.run("dvc", "pull")
    assert "stages are up to date" in bob.run("snakemake", "-n")
    assert bob.is_up_to_date()
    committed = bob.try_("git", "grep", "--fixed-strings", SECRET)
    assert committed == (1, ""), "a key was committed"


@each_remote
def test_a_damaged_file_on_a_remote_is_refused(toy: Toy, remote: Remote) -> None:
    remote.declare(toy)
    toy.run("dvc", "push")
    stored = remote.find(toy.path / "reports/index.html")
    stored.write_bytes(b"X" + stored.read_bytes()[1:])  # of the same length
    other = colleague(toy, remote)
    code, output = other.try_("dvc", "pull")
    assert code == 1
    assert "Checkout failed for following targets:\nreports/index.html\n" in output
    assert not (other.path / "reports/index.html").exists()
    assert (other.path / "reports/report.tex").exists()  # the others are there


def test_without_verify_dvc_takes_a_damaged_file_for_right(toy: Toy, tmp_path: Path) -> None:
    """Why docs/sharing.md says `verify true`. If this fails, DVC checks by itself: say so there."""
    remote = Remote.of_folder(tmp_path / "store")
    remote.declare(toy, verify="false")
    toy.run("dvc", "push")
    stored = remote.find(toy.path / MODEL)
    stored.write_bytes(b"damaged")
    stored.chmod(0o444)
    other = colleague(toy, remote)
    other.run("dvc", "pull")
    assert (other.path / MODEL).read_text() == "damaged"
    assert other.is_up_to_date()


def test_a_file_that_a_remote_has_lost_comes_back_when_its_folder_is_pushed_again(
    toy: Toy, tmp_path: Path
) -> None:
    remote = Remote.of_folder(tmp_path / "store")
    remote.declare(toy)
    toy.run("dvc", "push")
    stored = remote.find(toy.path / MODEL)
    stored.unlink()
    other = colleague(toy, remote)
    code, output = other.try_("dvc", "pull")
    assert code == 1
    assert f"failed to transfer '{stored.parent.name}{stored.name}'" in output
    # DVC takes a folder whose list is there for whole: without the lists it looks at every file
    assert "Everything is up to date" in toy.run("dvc", "push")
    for path in remote.stored.glob("files/md5/??/*.dir"):
        path.unlink()
    toy.run("dvc", "push")
    other.run("dvc", "pull")
    assert other.executed(*SNAKEMAKE) == []


@each_remote
def test_a_killed_push_continues_and_loses_nothing(toy: Toy, remote: Remote) -> None:
    remote.declare(toy)
    process = toy.start("dvc", "push", "--jobs", "1")
    while len(remote.files()) < 3:
        time.sleep(0.005)
        assert process.poll() is None, process.communicate()[0]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    first = {path: path.read_bytes() for path in remote.files()}
    output = toy.run("dvc", "push")
    assert "files pushed" in output or "file pushed" in output  # it was killed before the end
    assert {path: path.read_bytes() for path in first} == first
    assert "Everything is up to date" in toy.run("dvc", "push")
    other = colleague(toy, remote)
    other.run("dvc", "pull")
    assert other.executed(*SNAKEMAKE) == []


@contextlib.contextmanager
def team(toy: Toy, path: Path) -> Iterator[tuple[Toy, Toy, Remote]]:
    """Yield two clones of one bare git repository, with one DVC remote."""
    remote = Remote.of_folder(path / "store")
    toy.run("git", "clone", "--quiet", "--bare", str(toy.path), str(path / "team.git"))
    toy.run("git", "remote", "add", "origin", str(path / "team.git"))
    remote.declare(toy)
    toy.run("dvc", "push")
    toy.run("git", "push", "--quiet", "origin", "HEAD")
    other = Toy(toy.path.parent / "colleague")
    toy.run("git", "clone", "--quiet", str(path / "team.git"), str(other.path))
    other.run("dvc", "pull")
    yield toy, other, remote


def test_an_experiment_that_a_colleague_pulls_is_not_run_again(toy: Toy, tmp_path: Path) -> None:
    with team(toy, tmp_path) as (ada, bob, _):
        ada.run("dvc", "exp", "run", "-S", "models.author-baseline.dropout=0.4", "--name", "drop")
        ada.run("dvc", "exp", "push", "origin", "drop")
        assert "drop" in bob.run("dvc", "exp", "list", "origin")
        bob.run("dvc", "exp", "pull", "origin", "drop")
        difference = bob.run("dvc", "params", "diff", "HEAD", "drop").split()
        assert difference[-4:] == ["params.yaml", "models.author-baseline.dropout", "0.2", "0.4"]
        assert "author-baseline.accuracy" in bob.run("dvc", "metrics", "diff", "HEAD", "drop")
        assert "index.html" in bob.run("dvc", "plots", "diff", "HEAD", "drop")
        bob.run("dvc", "exp", "apply", "drop")
        assert "dropout: 0.4" in bob.params.read_text()
        assert bob.executed(*SNAKEMAKE) == []


def test_the_run_cache_saves_a_colleague_the_runs_of_an_earlier_version(
    toy: Toy, tmp_path: Path
) -> None:
    with team(toy, tmp_path) as (ada, bob, _):
        ada.change("dropout: 0.2", "dropout: 0.4")
        ada.run(*SNAKEMAKE)
        ada.run("git", "commit", "--all", "--quiet", "--message", "more dropout")
        ada.run("dvc", "push", "--run-cache")
        ada.run("git", "push", "--quiet", "origin", "HEAD")
        bob.change("dropout: 0.2", "dropout: 0.4")  # has not pulled her commit
        bob.run("git", "fetch", "--quiet")
        bob.run("dvc", "fetch", "--run-cache", "--all-commits")
        # metrics.json is in git and not in the cache, so that the stage that writes it runs
        assert bob.executed(*SNAKEMAKE) == ["code", "compare"]

"""Colleagues share a study through a DVC remote, here a folder (docs/run/sharing.md)."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.pipeline.makers import SNAKEMAKE, Toy, copy_of


def share(clone: Toy, store: Path) -> None:
    """Make a folder the clone's default remote, commit that, and push into it."""
    clone.run("dvc", "remote", "add", "--default", "store", str(store))
    clone.run("dvc", "remote", "modify", "store", "verify", "true")
    clone.run("git", "commit", "--all", "--quiet", "--message", "remote")
    clone.run("dvc", "push")


def stored(store: Path) -> list[Path]:
    return sorted(path for path in store.glob("files/md5/??/*") if path.suffix != ".tmp")


def colleague(clone: Toy, source: Path | None = None) -> Toy:
    """Return a clone by git, which has no results."""
    other = Toy(clone.path.parent / "colleague")
    other.environment = clone.environment | {}
    clone.run("git", "clone", "--quiet", str(source or clone.path), str(other.path))
    return other


def test_a_colleague_who_clones_and_pulls_has_the_study(real_study, tmp_path):
    ada = copy_of(real_study, tmp_path / "ada")
    share(ada, tmp_path / "store")
    pushed = len(stored(tmp_path / "store"))
    assert pushed > 60
    bob = colleague(ada)
    assert f"{pushed} files fetched" in bob.run("dvc", "pull")
    assert "stages are up to date" in bob.run("snakemake", "-n") and bob.is_up_to_date()


def test_a_damaged_file_on_a_remote_is_refused(toy, tmp_path):
    share(toy, tmp_path / "store")
    page = (toy.path / "reports/index.html").read_bytes()
    (copy,) = [path for path in stored(tmp_path / "store") if path.read_bytes() == page]
    copy.chmod(0o644)
    copy.write_bytes(b"X" + page[1:])  # of the same length
    other = colleague(toy)
    code, output = other.try_("dvc", "pull")
    assert code == 1 and "Checkout failed for following targets:\nreports/index.html\n" in output
    assert not (other.path / "reports/index.html").exists()
    assert (other.path / "reports/report.tex").exists()  # the others are there


def test_a_killed_push_continues_and_loses_nothing(toy, tmp_path):
    share(toy, tmp_path / "first")
    store = tmp_path / "store"
    toy.run("dvc", "remote", "modify", "store", "url", str(store))
    process = toy.start("dvc", "push", "--jobs", "1")
    while len(stored(store)) < 3:
        time.sleep(0.002)
        assert process.poll() is None, process.communicate()[0]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    first = {path: path.read_bytes() for path in stored(store)}
    output = toy.run("dvc", "push")
    assert "files pushed" in output or "file pushed" in output  # it was killed before the end
    assert {path: path.read_bytes() for path in first} == first
    assert "Everything is up to date" in toy.run("dvc", "push")
    toy.run("git", "commit", "--all", "--quiet", "--message", "another folder")
    other = colleague(toy)
    other.run("dvc", "pull")
    assert other.executed(*SNAKEMAKE) == []


@pytest.fixture
def team(toy: Toy, tmp_path: Path) -> tuple[Toy, Toy]:
    """Return two clones of one bare git repository, with one DVC remote."""
    toy.run("git", "clone", "--quiet", "--bare", str(toy.path), str(tmp_path / "team.git"))
    toy.run("git", "remote", "add", "origin", str(tmp_path / "team.git"))
    share(toy, tmp_path / "store")
    toy.run("git", "push", "--quiet", "origin", "HEAD")
    other = colleague(toy, tmp_path / "team.git")
    other.run("dvc", "pull")
    return toy, other


def test_an_experiment_that_a_colleague_pulls_is_not_run_again(team):
    ada, bob = team
    ada.run("dvc", "exp", "run", "-S", "models.author-last-state.dropout=0.4", "--name", "drop")
    ada.run("dvc", "exp", "push", "origin", "drop")
    assert "drop" in bob.run("dvc", "exp", "list", "origin")
    bob.run("dvc", "exp", "pull", "origin", "drop")
    difference = bob.run("dvc", "params", "diff", "HEAD", "drop").split()
    assert difference[-4:] == ["params.yaml", "models.author-last-state.dropout", "0.2", "0.4"]
    assert "author-last-state.accuracy" in bob.run("dvc", "metrics", "diff", "HEAD", "drop")
    assert "index.html" in bob.run("dvc", "plots", "diff", "HEAD", "drop")
    bob.run("dvc", "exp", "apply", "drop")
    assert "dropout: 0.4" in bob.params.read_text() and bob.executed(*SNAKEMAKE) == []


def test_the_run_cache_saves_a_colleague_the_runs_of_an_earlier_version(team):
    ada, bob = team
    ada.change("dropout: 0.2", "dropout: 0.4")
    ada.run(*SNAKEMAKE)
    ada.run("git", "commit", "--all", "--quiet", "--message", "more dropout")
    ada.run("dvc", "push", "--run-cache")
    ada.run("git", "push", "--quiet", "origin", "HEAD")
    bob.change("dropout: 0.2", "dropout: 0.4")  # has not pulled her commit
    bob.run("git", "fetch", "--quiet")
    bob.run("dvc", "fetch", "--run-cache", "--all-commits")
    # metrics.json is in git and not in the cache; no folder that is kept, as searches are, is in it
    assert bob.executed(*SNAKEMAKE) == ["code", "compare", "recipe author"]

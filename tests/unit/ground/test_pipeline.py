"""What heed reads of params.yaml and dvc.lock beside DVC, and whom it believes."""

import os
import re
import shutil

import pytest
import stages as workflow

from heed.cli import stages
from heed.cli.commands import make_parser
from heed.files import HeedError
from heed.pipeline import read_lock, same_params
from tests.conftest import ROOT


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """Return the working folder: that of the default study, with no results."""
    shutil.copy(ROOT / "dvc.yaml", tmp_path)
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(clone, old, new):
    text = (clone / "params.yaml").read_text()
    assert old in text
    (clone / "params.yaml").write_text(text.replace(old, new))


@pytest.mark.parametrize(("stage", "key", "old", "name"), [
    ("tokenize", "news", "test: 800", "corpora.news"),
    ("explain", "place-attention-pooling", "documents: 0.2", "explain.documents"),
    ("recipe", "place", "label: sentiment", "experiments.place.data"),
    ("train", "news-average", "seeds: [1, 2, 3]", "seeds"),
    ("compare", "", "title: Cues in", "experiments"),
])  # fmt: skip
def test_what_a_stage_reads_may_not_be_edited_while_it_runs(clone, stage, key, old, name):
    def run(edited):
        with same_params(stage, key):
            edit(clone, edited, edited.replace(": ", ": 4", 1) if edited == old else "# nothing")

    with pytest.raises(HeedError, match=f"params.yaml: {re.escape(name)} was edited while `heed"):
        run(old)
    if stage != "compare":
        run("title: Does attention")  # of another section: DVC records nothing of it here


@pytest.mark.parametrize(("limit", "threads", "cores"), [
    ("max 100000", "", 8), ("250000 100000", "", 2), ("50000 100000", "", 1), (None, "", 8),
    ("900000 100000", "", 8), ("250000 100000", "5", 5),
])  # fmt: skip
def test_cores_are_those_that_this_process_may_use(tmp_path, monkeypatch, limit, threads, cores):
    monkeypatch.setattr(stages, "CPU_LIMIT", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8))
    monkeypatch.setenv("HEED_THREADS", threads)
    if limit:
        (tmp_path / "cpu.max").write_text(f"{limit}\n")
    assert stages.count_cores() == cores


def test_a_seed_is_named_once(capsys):
    assert make_parser().parse_args(["score", "news", "--seeds", "3,1"]).seeds == [3, 1]
    with pytest.raises(SystemExit):
        make_parser().parse_args(["score", "news", "--seeds", "1,2,1"])
    assert "each seed once, found '1,2,1'" in capsys.readouterr().err


@pytest.mark.parametrize(("written", "seeds"), [("[1, 010]", [1, 10]), ("[1, 08]", [1, 8])])
def test_stages_read_seeds_as_dvc_does(clone, written, seeds):
    edit(clone, "seeds: [1, 2, 3]", f"seeds: {written}")
    assert stages.read_seeds("news-average") == seeds


def test_a_dvc_lock_that_is_not_utf_8_is_one_message(clone):
    (clone / "dvc.lock").write_bytes(b"schema: '2.0'\nstages: {a: {cmd: \xff}}\n")
    with pytest.raises(HeedError, match="cannot be read"):
        read_lock()


def test_nothing_outside_of_the_results_is_moved_away(clone):
    (clone / "results/old").mkdir(parents=True)
    (clone / "victim").mkdir()
    outs = "[{path: results/../victim}, {path: results/old}]"
    (clone / "dvc.lock").write_text(f"stages: {{a: {{outs: {outs}}}}}\n")
    assert workflow.find_removed([], clone) == ["results/old"]


@pytest.mark.parametrize(("mode", "is_believed"), [(0o700, True), (0o777, False)])
def test_dvcs_pickles_go_where_others_could_write_them(clone, mode, is_believed):
    (clone / ".heed/dvc").mkdir(parents=True)
    (clone / ".heed/dvc/cache.db").touch()
    (clone / ".heed").chmod(mode)
    workflow.make_private(clone / ".heed")
    assert (clone / ".heed/dvc/cache.db").exists() == is_believed
    assert (clone / ".heed").stat().st_mode & 0o777 == 0o700


def test_a_moved_clone_names_its_own_folder_to_dvc(clone):
    (clone / ".dvc").mkdir()
    elsewhere = f"/backup{clone}/.heed/dvc"
    (clone / ".dvc/config.local").write_text(f"[core]\n    site_cache_dir = {elsewhere}\n")
    workflow._name_site_cache(clone / ".heed")
    assert f"site_cache_dir = {clone}/.heed/dvc\n" in (clone / ".dvc/config.local").read_text()

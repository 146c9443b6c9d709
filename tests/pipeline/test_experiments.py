"""Experiments of DVC in the working tree and on copies of it."""

import json
from pathlib import Path

import pytest

from tests.pipeline.makers import EXPLAINED, SNAKEMAKE, Toy, add_to, below

EXP = ("dvc", "exp", "run", "--quiet", "-S")
DROPOUT = "models.author-last-state.dropout="
SHOW = ("dvc", "exp", "show", "--only-changed", "--no-pager")
pytestmark = pytest.mark.slow


def test_dvc_experiments(toy: Toy) -> None:
    toy.log.write_text("")
    toy.run(*EXP, f"{DROPOUT}0.3", "--name", "by-dvc")
    assert toy.logged() == below("author-last-state")
    toy.change("dropout: 0.3", "dropout: 0.4")
    assert toy.executed(*SNAKEMAKE) == below("author-last-state")
    toy.run("dvc", "exp", "save", "--name", "by-snakemake")
    table = toy.run(*SHOW, COLUMNS="160")
    assert "by-dvc" in table and "by-snakemake" in table
    assert "author-last-state.dropout" in table and "author-last-state.accuracy" in table
    assert max(map(len, table.splitlines())) <= 160
    assert toy.executed("dvc", "exp", "apply", "by-dvc") == [] and toy.executed(*SNAKEMAKE) == []


RENAME = """

_write_json = write_json


def write_json(path: str | Path, value: Any) -> None:
    _write_json(path, value | {"edited": True} if Path(path).name == "run.json" else value)
"""


def test_an_experiment_on_a_copy_runs_the_code_of_the_copy(tmp_path: Path) -> None:
    """The real heed, of another clone than the one that is installed."""
    toy = Toy.of_real_heed(tmp_path / "clone", EXPLAINED)
    cache = str(toy.path / ".heed/dvc")
    toy.run("dvc", "config", "--local", "core.site_cache_dir", cache)  # as `make setup` does
    run = "train@author-self-attention"
    info = toy.path / "results/train/author-self-attention/1/run.json"
    toy.run("dvc", "repro", run)
    before = json.loads(info.read_text())
    assert "edited" not in before
    add_to("src/heed/files.py", RENAME)(toy)
    toy.run("dvc", "exp", "run", "--temp", "--name", "edited", run)
    assert json.loads(info.read_text()) == before
    toy.try_("dvc", "exp", "apply", "edited")  # it fails, since there is no report yet
    assert json.loads(info.read_text()) == before | {"edited": True}

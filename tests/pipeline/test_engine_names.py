"""What engine_names.py says of DVC and Snakemake is so, asked of the engines that are installed."""

import json
import shutil
import subprocess
from pathlib import Path

import engine_names as engine
import pytest
from dvc.repo import Repo
from ruamel.yaml import YAML

from heed.files import HeedError
from heed.study.reader import check_as_dvc_reads
from tests.conftest import ROOT

DVC_YAML = """
stages:
  first: {cmd: echo 1 > out, deps: [params.yaml], params: [study], outs: [out], meta: {gpus: 1}}
  second: {cmd: cp out copy, deps: [out], outs: [copy]}
  third: {cmd: echo 3, deps: [copy], frozen: true, always_changed: true}
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DVC repository whose first stage has run."""
    root = tmp_path_factory.mktemp("repository")
    (root / "dvc.yaml").write_text(DVC_YAML)
    (root / "params.yaml").write_text("study: tiny\n")
    for command in ("git init -q", "dvc init -q", "dvc repro --quiet first"):
        subprocess.run(command.split(), cwd=root, check=True)
    return root


def test_stages_are_read_as_dvc_reads_them(root, monkeypatch):
    monkeypatch.chdir(root)
    repository = engine.open_repository(root)
    found = {stage.addressing: stage for stage in engine.stages(repository)}
    assert [*found] == ["first", "second", "third"]
    first = found["first"]
    assert (first.cmd, first.meta) == ("echo 1 > out", {"gpus": 1})
    upstream = [engine.upstream(repository, stage) for stage in found.values()]
    assert upstream == [[], ["first"], ["second"]]
    assert engine.paths(repository, first.outs) == ["out"]
    assert engine.paths(repository, first.deps) == ["params.yaml", "params.yaml"]


# what is written (None: deleted) into a file of the repository, and the reason
REASONS = {
    "nothing": ("params.yaml", "study: tiny\n", ""),
    "params": ("params.yaml", "study: x\n", "params.yaml mod"),
    "an output": ("out", "2\n", "output out modified"),
    "no output": ("out", None, "output out deleted"),
    "a command": ("dvc.yaml", DVC_YAML.replace("echo 1", "echo 2"), "its command changed"),
}


@pytest.mark.parametrize("what", REASONS)
def test_the_reasons_are_those_of_dvc_status(root, tmp_path, monkeypatch, what):
    file, text, expected = REASONS[what]
    copy = tmp_path / "copy"
    shutil.copytree(root, copy, symlinks=True)
    monkeypatch.chdir(copy)
    (copy / file).unlink() if text is None else (copy / file).write_text(text)
    repository = engine.open_repository(copy)
    first, second, third = engine.stages(repository)
    reasons = engine.reasons(repository, first)
    assert any(reason.startswith(expected) for reason in reasons) == bool(expected)
    assert bool(reasons) == bool(expected)
    assert bool(Repo(copy).status(targets=["first"])) == bool(expected)
    assert engine.reasons(repository, second) == engine.reasons(repository, third) == ["never run"]


def test_the_processes_of_the_rwlock_are_read_and_a_torn_one_has_none(tmp_path):
    from dvc import rwlock

    assert engine.RWLOCK.name == rwlock.RWLOCK_FILE and engine.rwlock_processes(tmp_path) == set()
    path = tmp_path / engine.RWLOCK
    path.parent.mkdir(parents=True)
    process = {"pid": 7, "cmd": "dvc repro"}
    locks = {"write": {"a": process}, "read": {"b": [process | {"pid": 8}]}}
    path.write_text(json.dumps(rwlock.SCHEMA(locks)))  # as DVC reads it
    assert engine.rwlock_processes(tmp_path) == {7, 8}
    path.write_text('{"write": {"a"')
    assert engine.rwlock_processes(tmp_path) == set()


SNAKEFILE = Path(__file__).with_name("told.smk").read_text()


@pytest.mark.parametrize("dry", [True, False])
def test_a_snakefile_knows_how_it_is_run(tmp_path, dry):
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("WORKFLOW", str(ROOT / "workflow")))
    command = ["snakemake", "--cores", "3", "--quiet", *(["-n"] if dry else [])]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    said = {*(tmp_path / "said").read_text().splitlines()}
    expected = {"is_main_process True", f"is_dry_run {dry}", f"is_running_jobs {not dry}"}
    expected |= {"shares_nothing False"}
    assert expected | (set() if dry else {"runs_jobs_here True", "cores 3"}) <= said
    assert (tmp_path / "one").exists() != dry


def test_dvc_reads_the_same_yaml_as_heed(tmp_path):
    """YAML 1.2, with or without ruamel.yaml's C parser (ruamel.yaml.clib), which only DVC uses."""
    path = tmp_path / "params.yaml"
    path.write_text(
        "{a: yes, b: no, c: on, d: 010, e: 0o10, f: '1:30', g: 1e-3, h: 1_000, i: ~, j: y, k: .5, "
        "l: 2001-01-01}"
    )
    from dvc.utils.serialize import load_yaml

    content = YAML(typ="safe", pure=True).load(path)
    assert content["a"] == "yes" and content["d"] == 10
    assert load_yaml(path) == content
    check_as_dvc_reads(path.read_text(), path)


def test_a_text_that_dvc_alone_cannot_read_is_named_with_its_line(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("study:\n  {title: letters:authors}\n")
    if YAML(typ="safe").Parser is YAML(typ="safe", pure=True).Parser:
        pytest.skip("ruamel.yaml has no C parser here: DVC reads what heed reads")
    with pytest.raises(HeedError, match=r"params\.yaml:2: .*: put the text in quotes"):
        check_as_dvc_reads(path.read_text(), path)
    path.write_text("study: {title: letters, &name: b}\n")
    with pytest.raises(HeedError, match="DVC reads other values than heed"):
        check_as_dvc_reads(path.read_text(), path)

"""dvc.lock is changed by stage: the same bytes as DVC's own, which rewrites the whole file."""

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "workflow"))
import lock_file
from dvc.utils.serialize import _yaml as serializer

NOTE = "a text that is longer than a line of eighty characters, so that YAML folds it: " * 2
ENTRY: dict[str, Any] = {
    "cmd": "heed train",
    "deps": [{"path": "results/code/checked.txt", "hash": "md5", "md5": "0" * 32, "size": 1}],
    "params": {"params.yaml": {"models.a": {"heads": 4, "reason": NOTE, "text": "two\nlines\n"}}},
    "outs": [{"path": "results/train/a/1", "hash": "md5", "md5": "1" * 32 + ".dir", "nfiles": 2}],
}
CHANGED = ENTRY | {"cmd": "heed train #2"}


def change_as_dvc(path: Path, changes: dict[str, Any]) -> None:
    with serializer.modify_yaml(path) as content:
        content["schema"] = "2.0"
        content.setdefault("stages", {}).update(
            {name: copy.deepcopy(entry) for name, entry in changes.items()}
        )


def change_by_stage(path: Path, changes: dict[str, Any]) -> bool:
    """Return whether the file has the form that can be changed by stage."""
    with lock_file.changed_stages(
        path, lambda text: serializer.parse_yaml(text, path), serializer._dump
    ) as content:
        if content is not None:
            content["stages"].update(
                {name: copy.deepcopy(entry) for name, entry in changes.items()}
            )
    return content is not None


@pytest.fixture
def locks(tmp_path: Path) -> tuple[Path, Path]:
    """Two dvc.lock with the same three stages."""
    paths = tmp_path / "one" / "dvc.lock", tmp_path / "two" / "dvc.lock"
    for path in paths:
        path.parent.mkdir()
        change_as_dvc(path, {"code": ENTRY, "train@a-1": ENTRY, "zum Schluß@é": ENTRY})
    return paths


@pytest.mark.parametrize(
    "changes",
    [
        {"train@a-1": CHANGED},
        {"zum Schluß@é": CHANGED, "code": CHANGED},
        {"new@b": ENTRY},
        {"train@a-1": ENTRY},
        {},
    ],
)
def test_it_is_the_same_bytes_as_dvcs(locks, changes):
    change_as_dvc(locks[0], changes)
    assert change_by_stage(locks[1], changes)
    assert locks[0].read_bytes() == locks[1].read_bytes()


def test_it_gives_the_entries_that_are_there(locks):
    with lock_file.changed_stages(
        locks[0], lambda text: serializer.parse_yaml(text, locks[0]), serializer._dump
    ) as content:
        assert content["stages"].get("train@a-1", {}) == ENTRY
        assert content["stages"].get("nothing", {}) == {}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "schema: '2.0'\nstages:\n  code:\n    cmd: a\n  train",
        "schema: '2.0'\nstages:\n# mine\n  code:\n    cmd: a\n",
        "schema: '2.0'\nstages:\n  code:\n    cmd: a\n  # mine\n  train:\n    cmd: a\n",
        "schema: '2.0'\nstages:\n  'a: b':\n    cmd: a\n",
        "schema: '2.0'\nstages:\n  code:\n    cmd: a\n  code:\n    cmd: b\n",
        "schema: '2.0'\nstages:\n  code:\n    cmd: a\ndatasets: []\n",
        "schema: '2.0'\nstages: {}\n",
        "schema: '2.0'\nstages:\n  a: &id001\n    cmd: a\n  code: *id001\n",
        "<<<<<<< HEAD\nschema: '2.0'\nstages:\n  code:\n    cmd: a\n",
    ],
)
def test_a_file_of_another_form_is_left_to_dvc(tmp_path, text):
    path = tmp_path / "dvc.lock"
    path.write_text(text)
    assert not change_by_stage(path, {"code": ENTRY})
    assert path.read_text() == text


def test_a_stage_runs_and_dvc_finds_nothing_to_do(tmp_path):
    (tmp_path / "dvc.yaml").write_text(
        "stages:\n  first: {cmd: echo 1 > out, outs: [out]}\n"
        "  second: {cmd: cp out copy, deps: [out], outs: [copy]}\n"
    )
    for command in (["git", "init", "-q"], ["dvc", "init", "-q"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    for stage in ("first", "second"):
        subprocess.run(
            [sys.executable, ROOT / "workflow/dvc_stage.py", stage],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
    content = YAML(typ="safe").load(tmp_path / "dvc.lock")
    assert [*content["stages"]] == ["first", "second"]
    status = subprocess.run(
        ["dvc", "status"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert status.stdout == "Data and pipelines are up to date.\n"

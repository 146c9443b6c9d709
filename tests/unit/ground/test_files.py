"""A file or folder is written completely, or not at all."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from heed.files import (
    CHECKSUMS,
    HeedError,
    digest_folder,
    git_blob,
    read_json,
    read_yaml,
    verify_checksums,
    write_text,
    write_yaml,
    writing,
    writing_folder,
)
from heed.tables import read_csv, write_csv


def test_a_file_is_there_whole_or_as_it_was(tmp_path):
    path = tmp_path / "new folder" / "file"
    write_text(path, "old")
    with pytest.raises(RuntimeError), writing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and [p.name for p in path.parent.iterdir()] == ["file"]


def test_a_folder_is_replaced_whole_or_stays_as_it_was(tmp_path):
    for content in ("one", "two"):
        with writing_folder(tmp_path / "out") as out:
            write_text(out / content, content)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["two"]
    with pytest.raises(RuntimeError), writing_folder(tmp_path / "out") as out:
        write_text(out / "three", "3")
        raise RuntimeError
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "two"]


def test_what_a_killed_writer_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    dead, living = tmp_path / ".file.4194301.tmp", tmp_path / f".file.{os.getppid()}.tmp"
    others = tmp_path / ".file2.4194301.tmp"
    for path in (dead, living, others):
        path.write_text("half")
    write_text(tmp_path / "file", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [living.name, others.name, "file"]
    )


def test_a_changed_folder_is_refused_unless_it_has_no_checksums(tmp_path):
    path = tmp_path / "out"
    verify_checksums(path, "heed compare")
    with writing_folder(path, checksums=True) as out:
        write_text(out / "a", "1")
        write_text(out / "b", "2")
    verify_checksums(path, "heed compare")
    assert subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=path).returncode == 0
    for damage in (
        lambda: (path / "a").write_text("3"),
        (path / "b").unlink,
        lambda: (path / "c").write_text(""),
    ):
        with writing_folder(path, checksums=True) as out:
            write_text(out / "a", "1")
            write_text(out / "b", "2")
        damage()
        with pytest.raises(HeedError, match=r"out/[abc]: not .* Run again: heed compare"):
            verify_checksums(path, "heed compare")
    (path / CHECKSUMS).unlink()
    verify_checksums(path, "heed compare")


def test_yaml_that_was_cut_off_is_refused(tmp_path):
    path = tmp_path / "recipe.yaml"
    write_yaml(path, {"b": 1, "a": "ü"})
    assert list(read_yaml(path, "heed recipe x").items()) == [("b", 1), ("a", "ü")]
    path.write_text(path.read_text()[:5])
    with pytest.raises(HeedError, match=r"recipe.yaml: cut off: .* Run again: heed recipe x"):
        read_yaml(path, "heed recipe x")
    path.write_text("a: [\n...\n")
    with pytest.raises(HeedError, match="not valid YAML"):
        read_yaml(path, "heed recipe x")


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="no /dev/full on this system")
def test_a_full_disk_is_one_message(tmp_path):
    with (
        pytest.raises(
            HeedError, match=r"out: cannot be written: No space left on device. Free space"
        ),
        writing(tmp_path / "out"),
    ):
        Path("/dev/full").write_text("x")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_one_message(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(HeedError, match=r"cannot be written: Permission denied"):
        write_text(tmp_path / "out", "x")


def test_hashes_are_those_of_git_and_of_content(tmp_path):
    write_text(tmp_path / "a", "hello\n")
    assert git_blob(tmp_path / "a") == "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object
    before = digest_folder(tmp_path)
    write_text(tmp_path / "a", "hello!\n")
    assert digest_folder(tmp_path) != before


def test_broken_json_names_the_command_that_makes_it(tmp_path):
    with pytest.raises(HeedError, match="Run: heed compare"):
        read_json(tmp_path / "x.json", "heed compare")
    write_text(tmp_path / "x.json", "{")
    with pytest.raises(HeedError, match=r"not valid JSON.*Run again: heed compare"):
        read_json(tmp_path / "x.json", "heed compare")


def test_a_name_that_a_spreadsheet_would_compute_is_read_as_it_was(tmp_path):
    names = ["=1+1", "+a", "-b", "@c", "-1.5", "'=d", "''+e", "'f", "NA", "a,b", '"g"', "1", "＝h"]
    table = pd.DataFrame({"label": names, "accuracy": -0.5})
    write_csv(tmp_path / "table.csv", table)
    cells = pd.read_csv(tmp_path / "table.csv", dtype=str, keep_default_na=False)
    computed = [cell for cell in cells["label"] if re.match("[=+@＝-]", cell)]
    assert computed == ["-1.5"] and {*cells["accuracy"]} == {"-0.5"}
    assert_frame_equal(read_csv(tmp_path / "table.csv", "label", "predicted"), table)

"""A file or folder is written completely, or not at all."""

import os
import re
import socket
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
    read_text,
    read_yaml,
    require_readable,
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
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {living.name, others.name, "file"}


def test_a_changed_folder_is_refused_unless_it_has_no_checksums(tmp_path):
    path = tmp_path / "out"
    verify_checksums(path, "heed compare")
    for damage in (
        lambda: (path / "a").write_text("3"),
        (path / "b").unlink,
        lambda: (path / "c").write_text(""),
    ):
        with writing_folder(path, checksums=True) as out:
            write_text(out / "a", "1")
            write_text(out / "b", "2")
        verify_checksums(path, "heed compare")
        subprocess.run(["sha256sum", "--check", "--quiet", CHECKSUMS], cwd=path, check=True)
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
    message = "out: cannot be written: No space left on device. Free space"
    with pytest.raises(HeedError, match=message), writing(tmp_path / "out"):
        Path("/dev/full").write_text("x")
    assert not list(tmp_path.iterdir())


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


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


NO_FILES = {  # how a path is made that is no file, and what is said of it
    "a pipe": (os.mkfifo, "expected a file, found a pipe, .* Write its content to a file"),
    "a device": (
        lambda path: path.symlink_to("/dev/zero"),
        "expected a file, found a device, which can be read",
    ),
    "a socket": (bind, "expected a file, found a socket"),
    "a folder": (Path.mkdir, "expected a file, found a folder. Name a file in it"),
    "a loop": (lambda path: path.symlink_to(path.name), "cannot be read: Too many levels"),
    "a lost link": (lambda path: path.symlink_to("nowhere"), "not there"),
    "nothing": (lambda path: None, "not there"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_one_message_and_is_not_read(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    make, message = NO_FILES[kind]
    Path("texts").mkdir()
    for path in (Path("x.csv"), Path("texts/x.csv")):
        make(path)
        with pytest.raises(HeedError, match=f"^{path}: {message}"):
            require_readable(path)
    if kind not in ("a folder", "nothing"):
        with pytest.raises(HeedError, match=f"^texts/x.csv: {message}"):
            require_readable(Path("texts"), or_folder=True)


@pytest.mark.parametrize("name", ["a\nb.csv", "a\x1b[2Jb.csv", "a\u2028b.csv", "a\udcffb.csv"])
def test_a_name_that_cannot_be_printed_is_refused_and_named(tmp_path, name):
    problem = "is not UTF-8" if "\udcff" in name else "has U[+](000A|001B|2028) in it"
    (tmp_path / name).write_text("x")
    for path in (tmp_path / name, tmp_path):
        with pytest.raises(HeedError, match=f"the name {problem}, and cannot be printed") as error:
            require_readable(path, or_folder=True)
        assert str(error.value).isprintable()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["a pipe", "a device", "a socket"])
def test_a_pipe_in_place_of_a_result_is_named_with_the_command_that_writes_it(tmp_path, kind):
    folder = tmp_path / "out"
    with writing_folder(folder, checksums=True) as out:
        write_text(out / "a.json", "1")
    (folder / "a.json").unlink()
    NO_FILES[kind][0](folder / "a.json")
    for read in (read_json, read_yaml, lambda path, command: verify_checksums(folder, command)):
        message = f"a.json: not a file, but {kind}. Remove it, and run again: heed compare"
        with pytest.raises(HeedError, match=message):
            read(folder / "a.json", "heed compare")


def test_a_name_that_a_spreadsheet_would_compute_is_read_as_it_was(tmp_path):
    names = ["=1+1", "+a", "-b", "@c", "-1.5", "'=d", "''+e", "'f", "NA", "a,b", '"g"', "1", "＝h"]
    table = pd.DataFrame({"label": names, "accuracy": -0.5})
    write_csv(tmp_path / "table.csv", table)
    cells = pd.read_csv(tmp_path / "table.csv", dtype=str, keep_default_na=False)
    computed = [cell for cell in cells["label"] if re.match("[=+@＝-]", cell)]
    assert computed == ["-1.5"] and {*cells["accuracy"]} == {"-0.5"}
    assert_frame_equal(read_csv(tmp_path / "table.csv", "label", "predicted"), table)


def test_the_file_that_a_text_names_is_read_and_no_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("\ufeffa splendid film", encoding="utf-8")
    Path("notes").write_text("of a file")
    assert read_text("a.txt") == "a splendid film", "without the byte order mark"
    assert read_text("./notes") == "of a file" and capsys.readouterr().err == ""
    assert read_text("notes") == "notes"
    assert "notes is taken as the text: the file is ./notes" in capsys.readouterr().err
    Path("old.txt").write_bytes("Köln".encode("latin-1"))
    assert read_text("old.txt") == "K\ufffdln"
    assert "old.txt: what is not UTF-8 in it is read as \ufffd\n" in capsys.readouterr().err

    def refuse(*_arguments: object, **_options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(HeedError, match=r"a\.txt: cannot be read \(Permission denied\)"):
        read_text("a.txt")

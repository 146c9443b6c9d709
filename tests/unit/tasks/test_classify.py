"""`heed classify`: the text is that of the file that it names."""

from pathlib import Path

import pytest

from heed.files import HeedError, read_text


def test_the_file_that_a_text_names_is_read_and_no_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("\ufeffa splendid film", encoding="utf-8")
    Path("notes").write_text("of a file")
    assert read_text("a.txt") == "a splendid film", "without the byte order mark"
    assert read_text("./notes") == "of a file" and capsys.readouterr().err == ""
    assert read_text("notes") == "notes"
    assert "notes is taken as the text: the file is ./notes" in capsys.readouterr().err

    def refuse(*_arguments: object, **_options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(HeedError, match=r"a\.txt: cannot be read \(Permission denied\)"):
        read_text("a.txt")

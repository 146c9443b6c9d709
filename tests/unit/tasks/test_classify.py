"""`heed classify`: the text, and what is said where the model knows no word of it."""

from pathlib import Path

import pytest

import heed
from heed.files import HeedError, read_text
from heed.tasks.classification.texts import classify
from tests.conftest import train


def test_a_text_of_unknown_words_alone_has_no_prediction(workplace):
    train("tiny-attention", 1)
    texts = ["w1 nobody", "nobody knows", "\u2603 \u200b", "w1\u200b"]
    result = heed.load_run("tiny-attention", 1).predict(texts)
    assert [name is None for name in result.predicted] == [False, True, True, True]
    with pytest.raises(HeedError, match="tiny-attention: the text has no word that the model kno"):
        classify("tiny-attention", "nobody knows")


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

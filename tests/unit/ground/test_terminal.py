"""Characters that control a terminal are printed as code points, wherever heed prints."""

import subprocess
import sys

import pytest

from heed.cli import program
from heed.files import HeedError
from heed.terminal import print_line, visible
from tests.conftest import ROOT, cases, run_heed

CASES = cases(__file__)


@pytest.mark.parametrize("name", CASES["control"])
def test_a_character_that_controls_a_terminal_is_printed_as_its_code_point(name, capsys):
    print_line(CASES["control"][name])
    print_line(CASES["control"][name], error=True)
    out, err = capsys.readouterr()
    assert out == err == visible(CASES["control"][name]) + "\n"
    assert "[U+" in out and all(letter.isprintable() or letter == "\n" for letter in out)


@pytest.mark.parametrize(("command", "where", "code", "message"), CASES["outputs"])
def test_an_output_that_cannot_be_written_is_one_message(command, where, code, message):
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m heed.cli {command} {where}', sys.executable], cwd=ROOT, text=True,
        capture_output=True,
    )  # fmt: skip
    assert done.stderr == (f"heed: {message}\n" if message else "") and done.returncode == code


def test_an_argument_that_is_not_utf_8_is_refused():
    done = run_heed("study", b"\xff")
    assert done.returncode == 1
    assert done.stderr == "heed: [U+DCFF]: is not UTF-8: type it as UTF-8, or rename the file\n"


@pytest.mark.parametrize(("command", "path", "meant"), [
    ("explain", "../train/tiny-self-attention", "the model's name: tiny-self-attention"),
    ("explain", "results/train/tiny-self-attention/1", "the model's name: tiny-self-attention"),
    ("explain", "../..", "a model's name"),
])  # fmt: skip
def test_a_path_in_place_of_a_model_is_refused_with_the_name(monkeypatch, command, path, meant):
    monkeypatch.setattr(sys, "argv", ["heed", command, path])
    with pytest.raises(HeedError) as error:
        program._run_command()
    assert str(error.value) == f"{path}: is a path. Give {meant}"

"""`make` finds a Python that fits, or says what it looked for: stand-ins for Python are asked."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

SETUP = ROOT / "envs/find-python.sh"
# what a stand-in does with `-c 'import sys; …'`, `-c 'import ensurepip, venv'` and `-m venv .venv`
FITS = "exit 0"
TOO_OLD = 'case "$2" in *version_info*) exit 1;; esac'
WITHOUT_VENV = 'case "$2" in *ensurepip*) exit 1;; esac'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a folder of programs, for PATH, that has a shell and no Python."""
    folder = tmp_path / "with a space"
    folder.mkdir()
    shell = shutil.which("sh")
    assert shell
    (folder / "sh").symlink_to(shell)
    return folder


def add_python(path: Path, name: str, body: str) -> Path:
    python = path / name
    python.write_text(f"#!/bin/sh\n{body}\n")
    python.chmod(0o755)
    return python


def find_python(path: Path, *named: str) -> subprocess.CompletedProcess[str]:
    command, environment = [path / "sh", SETUP, *named], {"PATH": str(path)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_first_python_that_fits_is_taken(path):
    add_python(path, "python3.11", "exit 127")  # pyenv's, of a version that is not switched on
    add_python(path, "python3.12", WITHOUT_VENV)
    add_python(path, "python3.13", FITS)
    add_python(path, "python3", FITS)
    assert find_python(path).stdout == "python3.13\n"
    (path / "python3.13").unlink()
    assert find_python(path).stdout == "python3\n"


def test_a_python_that_is_named_is_the_only_one_asked(path):
    add_python(path, "python3.11", FITS)
    named = add_python(path, "my python", FITS)
    assert find_python(path, str(named)).stdout == f"{named}\n"
    old = add_python(path, "python3.9", TOO_OLD)
    found = find_python(path, str(old))
    assert found.returncode == 1 and not found.stdout
    assert f"heed: PYTHON={old} is no Python 3.11 to 3.14" in found.stderr


def test_without_a_python_that_fits_the_message_says_what_was_looked_for(path):
    add_python(path, "python3", TOO_OLD)
    found = find_python(path)
    assert found.returncode == 1 and not found.stdout
    looked_for = "python3.11 python3.12 python3.13 python3.14 python3"
    assert f"heed: found no Python 3.11 to 3.14 on PATH: looked for {looked_for}. " in found.stderr
    add_python(path, "python3.12", WITHOUT_VENV)
    found = find_python(path)
    assert found.returncode == 1 and not found.stdout
    assert "heed: python3.12 cannot make an environment: it has no venv" in found.stderr


@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_make_sets_up_with_that_python_and_keeps_an_environment_that_is_there(path, tmp_path):
    clone = tmp_path / "clone"
    (clone / "envs").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, clone / name)
    for file in [*ROOT.glob("envs/*.sh"), *ROOT.glob("envs/*.lock")]:
        shutil.copy(file, clone / "envs")
    # `python -m venv .venv` makes an environment whose pip installs nothing
    for name in ("python3.12", "python3.13"):
        programs = "for name in python pip dvc; do ln -sf /bin/true $3/bin/$name; done"
        make_venv = f'if [ "$1" = -m ]; then mkdir -p "$3/bin"; {programs}; fi'
        add_python(path, name, f'echo {name} "$@" >> "{tmp_path}/log"\n{make_venv}')

    def make(*options: str) -> str:
        environment = {"PATH": os.pathsep.join([str(path), "/usr/bin", "/bin"])}
        command = ["make", "setup", *options]
        return subprocess.run(
            command, cwd=clone, env=environment, capture_output=True, text=True, check=True
        ).stdout

    def made() -> list[str]:
        lines = (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []
        return [line for line in lines if "-m venv" in line]

    assert "is not used" not in make(f"PYTHON={path}/python3.13")
    assert made() == ["python3.13 -m venv .venv"]
    (clone / ".venv/.runtime").unlink()
    assert ".venv is there and kept, and PYTHON=python3.12 is not used" in make("PYTHON=python3.12")
    assert made() == ["python3.13 -m venv .venv"]
    assert "is not used" not in make()
    (clone / ".venv/.runtime").unlink()
    (clone / ".venv/bin/pip").unlink()  # `python -m venv` was stopped
    assert "is not used" not in make("PYTHON=python3.12")
    assert made() == ["python3.13 -m venv .venv", "python3.12 -m venv .venv"]

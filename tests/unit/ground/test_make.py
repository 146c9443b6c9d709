"""`make` finds a Python that fits, or says what it looked for: stand-ins for Python are asked."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

TOO_OLD = "exit 1"
# `python -m venv .venv` makes an environment whose programs do nothing
NAMES = "python pip uv dvc snakemake ruff pyrefly snakefmt lint-imports"
PROGRAMS = f"for name in {NAMES}; do ln -sf /bin/true .venv/bin/$name; done"
FITS = f'if [ "$1" = -m ]; then echo "$0" >> log; mkdir -p .venv/bin; {PROGRAMS}; fi'
pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="needs make")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "with a space"
    (folder / "programs").mkdir(parents=True)
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, folder)
    for name in ("sh", "make", "mkdir", "chmod", "rm", "touch", "ln", "env", "sed", "tr", "grep"):
        (folder / "programs" / name).symlink_to(str(shutil.which(name)))
    return folder


def add_python(clone: Path, name: str, body: str) -> Path:
    python = clone / "programs" / name
    python.write_text(f"#!/bin/sh\n{body}\n")
    python.chmod(0o755)
    return python


def make(clone: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [clone / "programs/make", "setup", *options], cwd=clone,
        env={"PATH": str(clone / "programs")}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def made_by(clone: Path) -> list[str]:
    log = clone / "log"
    return [Path(line).name for line in log.read_text().splitlines()] if log.exists() else []


def test_the_first_python_that_fits_is_taken(clone: Path) -> None:
    add_python(clone, "python3.11", "exit 127")  # pyenv's, of a version that is not switched on
    add_python(clone, "python3.12", TOO_OLD)
    add_python(clone, "python3.13", FITS)
    add_python(clone, "python3", FITS)
    assert make(clone).returncode == 0 and made_by(clone) == ["python3.13"]


def test_without_a_python_that_fits_the_message_says_what_is_wanted(clone: Path) -> None:
    add_python(clone, "python3.12", FITS)
    named = add_python(clone, "my python", TOO_OLD)
    done = make(clone, f"PYTHON={named}")  # which is the only one asked
    assert done.returncode == 2 and not made_by(clone)
    assert "heed: found neither uv nor a Python 3.11 to 3.14 with venv" in done.stderr


def test_an_environment_that_is_there_is_kept(clone: Path) -> None:
    python = add_python(clone, "python3.13", FITS)
    assert "is not used" not in make(clone, f"PYTHON={python}").stdout
    (clone / ".venv/.runtime").unlink()
    printed = make(clone, "PYTHON=python3").stdout
    assert ".venv is there and kept, and PYTHON=python3 is not used" in printed
    assert made_by(clone) == ["python3.13"]
    (clone / ".venv/.runtime").unlink()
    for program in ("python", "uv"):  # `python -m venv` was stopped
        (clone / ".venv/bin" / program).unlink()
    assert make(clone).returncode == 0 and made_by(clone) == ["python3.13"] * 2


def test_the_uv_of_the_machine_makes_the_environment(clone: Path) -> None:
    add_python(clone, "uv", FITS.replace('"$1" = -m', '"$1" = venv'))
    assert make(clone).returncode == 0 and made_by(clone) == ["uv"]


@pytest.mark.parametrize("command", ["report", "test"])
def test_the_commands_of_the_readme_run_where_the_path_has_a_space(clone: Path, command) -> None:
    add_python(clone, "python3.13", FITS)
    done = make(clone, command)
    assert done.returncode == 0 and not done.stderr, done.stderr

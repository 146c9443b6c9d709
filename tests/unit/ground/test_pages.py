"""The commands of each page of the documentation, run one after the other in one folder.

Where a driver would run the stages, params.yaml is checked instead."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.utils.hydra import apply_overrides

from heed.cli.program import main
from heed.study import load
from tests.conftest import ROOT
from tests.fixtures.own_corpora import write_messages
from tests.pages import PAGES, program, read_commands

USERS = "the folder, the host or the editor of a user"
CLUSTER = "needs a cluster: tests/slow/test_clusters.py, test_slurm.py"
CONTAINER = "needs containers: tests/slow/test_container.py"
SETUP = "sets up an environment, or runs these tests"
REMOTE = "needs a remote: tests/slow/test_sharing.py"
STAGES = "runs stages, or reads their results: tests/pipeline"
MEASURED = "measures, or reads published studies: tests/unit/test_benchmarks.py"
EDITION = "reads a published study: tests/unit/published/test_verify.py"
NOT_RUN = {
    "cd": USERS, "export": USERS, "source": USERS, "vi": USERS, "ssh": USERS, "pre-commit": SETUP,
    "python -m pip": SETUP, "python -m pytest": SETUP, "make": SETUP, "git clone": REMOTE,
    "python3 -m venv": SETUP, "pip": SETUP, "uv": SETUP,
    "git fetch": REMOTE, "git push": REMOTE, "dvc remote": REMOTE, "dvc push": REMOTE,
    "dvc pull": REMOTE, "dvc fetch": REMOTE, "ray": CLUSTER, "kubectl": CLUSTER,
    "apptainer": CONTAINER, "docker": CONTAINER, "podman": CONTAINER, "snakemake": STAGES,
    "dvc": STAGES, "heed report": STAGES, "heed try": STAGES,
    "heed verify": EDITION, "python -m benchmarks.remote": MEASURED,
}  # fmt: skip


def run_heed(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    if arguments[0] in ("classify", "translate"):  # a trained model: it must be one of the study's
        load().section("models", arguments[1])
        return
    monkeypatch.setattr(sys, "argv", ["heed", *arguments])
    try:
        main()
    except SystemExit as stopped:
        assert not stopped.code, f"heed {' '.join(arguments)}: {stopped.code}"


def run(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a command of a page, unless it is one of NOT_RUN."""
    line = " ".join(words[words.index(program(words)) :])
    if line.startswith("dvc exp run "):
        overrides = [word for word in words if "=" in word]
        text = Path("params.yaml").read_text()
        apply_overrides("params.yaml", overrides)
        load()
        if "--queue" in words:  # which leaves the folder as it is
            Path("params.yaml").write_text(text)
    elif any(f"{line} ".startswith(f"{start} ") for start in NOT_RUN):
        return
    elif words[0] == "heed":
        run_heed(words[1:], monkeypatch)
    elif words[:2] == ["python", "-m"]:
        runpy.run_path(str(ROOT / f"{words[2].replace('.', '/')}.py"), run_name="__main__")
    else:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as after `make report`, as far as these commands see, with a user's file."""
    folder = tmp_path_factory.mktemp("pages") / "clone"
    shutil.copytree(ROOT / "workflow/studies", folder / "workflow/studies")
    shutil.copy(folder / "workflow/studies/sample.yaml", folder / "params.yaml")
    own = shutil.ignore_patterns("tmp", "cache", "config.local")
    shutil.copytree(ROOT / ".dvc", folder / ".dvc", ignore=own)
    for command in ("init --quiet", "add --all", "commit --quiet --message fresh"):
        subprocess.run(["git", *command.split()], cwd=folder, check=True)
    for name in ("dvc.lock", "metrics.json"):
        (folder / name).write_text("{}\n")
    write_messages(folder, 60).rename(folder / "reviews.csv")
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_run_in_its_order(page, fresh, tmp_path, monkeypatch):
    commands = [*read_commands(page)]
    if not commands:
        return
    shutil.copytree(fresh, tmp_path / "clone")
    monkeypatch.chdir(tmp_path / "clone")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
    if page.name == "own-corpus.md":
        run(["python", "-m", "tests.fixtures.own_corpora"], monkeypatch)
    for words in commands:
        run(words, monkeypatch)

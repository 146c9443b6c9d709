"""A command that edits params.yaml and the studies, killed before each change of a file."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.slow.study import Heed

SEEDS = "study --seeds 7"
# command → the commands before it
COMMANDS: dict[str, list[str]] = {
    "corpus add a.csv": [SEEDS], "corpus add b.csv --study a": ["corpus add a.csv"],
    SEEDS: ["study --seeds 6"], "study other.yaml": [SEEDS], "study talk": ["corpus add a.csv"],
}  # fmt: skip
DONE = {  # what the command says where it was killed after all its changes but the last
    "corpus add b.csv --study a": "sources: b is there already",
    "corpus add a.csv": "studies/a.yaml: is there already",
}


def make(folder: Path, heed: Heed, commands: list[str]) -> None:
    shutil.copytree(ROOT / "workflow/studies", folder / "workflow/studies")
    sample = (ROOT / "workflow/studies/sample.yaml").read_text()
    (folder / "params.yaml").write_text(sample)
    (folder / "other.yaml").write_text(sample.replace("name: sample\n", "name: other\n"))
    for name in "ab":
        rows = [f"some words {i},{'xy'[i % 2]}\n" for i in range(60)]
        (folder / f"{name}.csv").write_text("".join(["text,label\n", *rows]))
    for command in commands:
        assert heed.run(folder, command).code == 0


def studies(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.yaml")}


@pytest.mark.parametrize("command", COMMANDS)
def test_after_a_kill_the_next_command_completes_the_study_or_says_so(command, heed, tmp_path):
    make(tmp_path / "done", heed, COMMANDS[command])
    trace = tmp_path / "trace"
    assert heed.run(tmp_path / "done", command, trace=trace).code == 0
    expected, moments = studies(tmp_path / "done"), len(trace.read_text().splitlines())
    make(tmp_path / "before", heed, COMMANDS[command])
    for moment in range(moments):
        folder = tmp_path / str(moment)
        shutil.copytree(tmp_path / "before", folder)
        assert heed.run(folder, command, kill=moment).code == -9
        again = heed.run(folder, command)
        assert not again.code or DONE[command] in again.message, (moment, again.output)
        if studies(folder) != expected:  # the file of the study follows with the next command
            assert heed.run(folder, "study").code == 0 and studies(folder).keys() == expected.keys()
            assert studies(folder)["params.yaml"] == expected["params.yaml"]

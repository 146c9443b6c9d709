"""The notebook for teachers, run by a kernel of Jupyter in a fresh clone."""

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.timeout(1800)]
EXERCISES = "docs/teach/exercises.ipynb"


def read(name):
    return pytest.importorskip("nbformat", reason="make test-slow installs it").read(ROOT / name, 4)


def run(name, tmp_path, monkeypatch):
    """Run a notebook in a fresh clone; return its cells by their ids."""
    nbclient = pytest.importorskip("nbclient", reason="make test-slow installs it")
    clone, notebook = tmp_path / "clone", read(name)
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    (clone / ".venv").symlink_to(sys.prefix)
    monkeypatch.setenv("PYTHONPATH", str(clone / "src"), prepend=os.pathsep)
    folder = {"metadata": {"path": str((clone / name).parent)}}
    nbclient.NotebookClient(notebook, timeout=1500, resources=folder).execute()
    return {cell.id: cell for cell in notebook.cells}


def answers(cells):
    """Return the verdicts and the tables in the answers of the exercises, by the cells' ids."""
    found = {}
    for name, cell in cells.items():
        if name.startswith("answer-"):
            shown = cell.outputs[0].data["text/html"]
            assert shown.startswith("<details><summary>The answer</summary>")
            found[name] = re.findall(r"<b>(.+?)</b>|<td>([\d.]+)</td>", shown)
    return found


def test_the_exercises_have_the_answers_that_are_stored(tmp_path, monkeypatch):
    found = answers(run(EXERCISES, tmp_path, monkeypatch))
    assert [*found] == [f"answer-{number}" for number in range(1, 6)]
    stored = answers({cell.id: cell for cell in read(EXERCISES).cells})
    for number, verdict in {1: "better", 3: "practically the same", 4: "undecided"}.items():
        assert found[f"answer-{number}"] == stored[f"answer-{number}"] == [(verdict, "")]
    places = [float(value) for _, value in found["answer-2"]]
    last_state, attention = places[:6], places[6:]
    assert abs(last_state[1] - last_state[4]) < 0.05  # the middle says nothing to a last state
    assert min(attention[:3]) > 0.8 and max(attention[3:]) < 0.2
    for seed in range(3):
        _, _, weight, accuracy, deceiving = (
            float(value) for _, value in found["answer-5"][5 * seed : 5 * seed + 5]
        )
        assert weight < 0.1 and deceiving > accuracy - 0.02

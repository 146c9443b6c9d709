"""The notebook that runs one experiment, docs/notebooks/place.ipynb, by a kernel of Jupyter, in a
fresh clone."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.timeout(1800)]
NOTEBOOK = "docs/notebooks/place.ipynb"


def test_the_notebook_runs_place_and_finds_what_must_be_found(tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="make test-slow installs it")
    nbformat = pytest.importorskip("nbformat")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
    (clone / ".venv").symlink_to(sys.prefix)
    monkeypatch.setenv("PYTHONPATH", str(clone / "src"), prepend=os.pathsep)
    notebook = nbformat.read(clone / NOTEBOOK, 4)
    assert not [cell for cell in notebook.cells if cell.get("outputs")]
    folder = {"metadata": {"path": str((clone / NOTEBOOK).parent)}}
    nbclient.NotebookClient(notebook, timeout=1500, resources=folder).execute()
    cells = {cell.id: cell for cell in notebook.cells}
    lines = cells["comparisons"].outputs[0].text.splitlines()
    verdicts = dict(line.split(": ", 1) for line in lines)
    assert verdicts["attention - baseline"].endswith(", better")
    assert verdicts["attention - mean"].endswith(", practically the same")
    assert "image/svg+xml" in cells["recency"].outputs[0].data

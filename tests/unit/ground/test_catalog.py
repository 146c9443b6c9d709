"""What the Snakemake workflow catalog looks for is there, and true."""

import re
import subprocess
from pathlib import Path

import yaml

from tests.conftest import ROOT


def test_the_catalog_finds_workflow_instructions_and_settings():
    assert (ROOT / "workflow/Snakefile").is_file()
    assert (ROOT / "Snakefile").readlink() == Path("workflow/Snakefile")
    settings = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert "clone the repository" in settings["mandatory-flags"]["desc"]
    directives = re.findall(r"\b(conda|container):", (ROOT / "workflow/Snakefile").read_text())
    assert any(settings["software-stack-deployment"].values()) == bool(directives)
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme and "workflow" in readme  # how the catalog finds repositories


def test_as_a_module_of_another_workflow_the_snakefile_says_to_clone(tmp_path):
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow/Snakefile").write_text(  # as snakedeploy writes it
        f'module heed:\n    snakefile: "{ROOT}/workflow/Snakefile"\n\nuse rule * from heed\n'
    )
    done = subprocess.run(
        ["snakemake", "-n"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.strip().startswith("heed: this Snakefile is no module for other workflows")
    assert len(done.stderr.strip().splitlines()) == 1

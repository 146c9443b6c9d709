"""What the Snakemake workflow catalog looks for is there, and true."""

import subprocess

from tests.conftest import ROOT


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

"""The benchmarks run, and count what they say; their times are not tested."""

import subprocess
import sys

import pytest
from benchmarks.__main__ import ALL

from tests.conftest import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_benchmark_runs(name):
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("| ")

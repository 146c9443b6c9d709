"""uv.lock pins all that pyproject.toml asks for, with hashes, from public indexes alone."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT

LOCK = tomllib.loads((ROOT / "uv.lock").read_text())
HOSTS = ("https://files.pythonhosted.org/", "https://download-r2.pytorch.org/whl/cpu/torch-")
UV = Path(found) if (found := shutil.which("uv")) else ROOT / ".venv/bin/uv"


def test_a_file_of_the_lock_has_a_hash_and_a_public_address():
    (own,) = (each for each in LOCK["package"] if each["source"] == {"editable": "."})
    for package in LOCK["package"]:
        files = package.get("wheels", []) + [each for each in [package.get("sdist")] if each]
        assert files or package is own, package["name"]
        for file in files:
            assert file["url"].startswith(HOSTS), file["url"]
            assert re.fullmatch(r"sha256:[0-9a-f]{64}", file["hash"]), file["url"]


@pytest.mark.skipif(not UV.exists(), reason="make setup installs uv")
def test_the_lock_is_that_of_pyproject():
    subprocess.run([UV, "lock", "--check", "--offline", "--quiet"], cwd=ROOT, check=True)


def test_ray_on_kubernetes_has_the_locks_version_and_asks_for_a_token():
    """Kubernetes drops a field that it does not know: a misspelt one would ask for no token."""
    spec = yaml.safe_load((ROOT / "workflow/clusters/kuberay.yaml").read_text())["spec"]
    (ray,) = (each for each in LOCK["package"] if each["name"] == "ray")
    assert spec["rayVersion"] == ray["version"] and spec["authOptions"] == {"mode": "token"}


def test_make_installs_nothing_without_a_hash():
    command = ["make", "-nB", "UV=.venv/bin/uv", ".venv/.servers", ".venv/.slurm", ".venv/.docs"]
    printed = subprocess.check_output(command, cwd=ROOT, text=True).replace("\\\n", "")
    installs = re.findall(r"(?:pip install|uv sync) [^|;\n]*", printed)
    assert len(installs) >= 9
    assert all("--locked" in each or "--require-hashes" in each for each in installs)

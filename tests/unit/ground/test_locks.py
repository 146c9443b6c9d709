"""uv.lock pins all that pyproject.toml asks for, with hashes, from public indexes alone."""

import os
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


def test_torch_for_the_cpu_is_that_for_gpus_under_each_python_and_machine():
    torch = {each["version"]: each for each in LOCK["package"] if each["name"] == "torch"}
    gpu, cpu = sorted(torch)
    assert cpu == f"{gpu}+cpu"
    addresses = " ".join(file["url"] for file in torch[cpu]["wheels"])
    wheels = re.findall(r"-(cp\d+)-\1-manylinux_2_28_(\w+)\.whl", addresses)
    pythons, machines = ("cp311", "cp312", "cp313", "cp314"), ("x86_64", "aarch64")
    assert {*wheels} == {(python, machine) for python in pythons for machine in machines}


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


@pytest.mark.skipif(Path("/proc/driver/nvidia").exists(), reason="a GPU is here")
@pytest.mark.parametrize(("fails", "installed"), [
    ("nothing", ["--no-index"]),
    ("--no-index", ["--no-index", "--inexact"]),
    ("--no-index|--inexact", ["--no-index", "--inexact", "--group cuda"]),
])  # fmt: skip
def test_torch_is_that_of_a_folder_of_pip_or_of_an_index(fails, installed, tmp_path):
    """Programs of .venv are stand-ins, which write what they are asked for."""
    for name in ("Makefile", "pyproject.toml", "uv.lock"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    for name in ("python", "pip", "uv", "dvc"):
        program = tmp_path / ".venv/bin" / name
        program.write_text(f"""#!/bin/sh
        case "$*" in *torch*) exit ;; *"pip install"*|*sync*) echo "$*" >> log ;; *) exit ;; esac
        echo "$*" | grep -qvE -e '({fails})$|({fails}) --no-deps$'""")
        program.chmod(0o755)
    environment = os.environ | {"PATH": "/usr/bin:/bin"}
    command = ["make", "UV=.venv/bin/uv", "setup"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "log").read_text().splitlines()
    assert len(log) == len(installed)
    assert all(what in line for what, line in zip(installed, log, strict=True))
    assert ("the one for GPUs follows" in done.stderr) == ("--group cuda" in installed)

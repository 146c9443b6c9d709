"""The locks pin all that pyproject.toml asks for, with hashes, and pip refuses any other file."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT

LOCKS = sorted(ROOT.glob("envs/*.lock"))
PIN = r"^([\w.-]+)(?:\[[\w, -]+\])?==([\w.+]+)(?: ; [^\\\n]+)?(?: \\\n    --hash=sha256:\w{64})+\n"
PINS = {
    path.stem: {canonicalize_name(n): v for n, v in re.findall(PIN, path.read_text(), re.M)}
    for path in LOCKS
}
GPU = any(Path(name).exists() for name in ("/proc/driver/nvidia", "/dev/kfd"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_has_comments_and_pins_with_hashes_and_names_no_index(lock: Path) -> None:
    assert not re.sub(PIN, "", re.sub(r"^#.*\n", "", lock.read_text(), flags=re.M), flags=re.M)
    assert PINS[lock.stem], "a package"


def test_what_pyproject_asks_for_is_in_the_locks() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    more = project["project"]["optional-dependencies"] | project["dependency-groups"]
    asked = {"requirements": project["project"]["dependencies"]} | more
    runtime = PINS["requirements"] | PINS["cpu"]
    for name in asked.keys() & PINS.keys():
        needs = [*map(Requirement, asked[name])]  # of the project itself: the needs of its extras
        extras = [extra for need in needs if need.name == "heed-attention" for extra in need.extras]
        needs += [Requirement(need) for extra in extras for need in asked[extra]]
        for need in (need for need in needs if need.name != "heed-attention"):
            version = (runtime | PINS[name])[canonicalize_name(need.name)]
            assert need.specifier.contains(version), f"envs/{name}.lock: {need} is {version}"
    alone = {path.stem for path in ROOT.glob("envs/*.in")}
    assert PINS.keys() - asked.keys() - alone == {"cpu", "cuda"}, "`make lock` cannot make them"


def test_torch_for_the_cpu_is_that_for_gpus_and_comments_name_its_files() -> None:
    assert PINS["cpu"] == {"torch": f"{PINS['cuda']['torch']}+cpu"}
    lock = (ROOT / "envs/cpu.lock").read_text()
    wheels = re.findall(r"^# (\w+)  torch-(.+)-(cp\d+)-\3-manylinux_2_28_(\w+)\.whl$", lock, re.M)
    assert [digest for digest, *_ in wheels] == re.findall(r"sha256:(\w+)", lock)
    assert {version for _, version, *_ in wheels} == {PINS["cpu"]["torch"]}
    pythons, machines = ("cp311", "cp312", "cp313", "cp314"), ("x86_64", "aarch64")
    assert [wheel[2:] for wheel in wheels] == [(p, m) for p in pythons for m in machines]


def test_make_installs_nothing_without_a_hash() -> None:
    command = ["make", "-nB", "PYTHON=python3", ".venv/.servers", ".venv/.slurm", ".venv/.docs"]
    printed = subprocess.check_output(command, cwd=ROOT, text=True)
    installed = [line for line in printed.splitlines() if "pip install" in line]
    assert len(installed) >= 8 and "sh envs/torch.sh .venv/bin/python" in printed
    (own,) = (line for line in installed if "--require-hashes" not in line)
    assert own.endswith("--no-deps --no-build-isolation --editable .")


def test_locks_that_are_named_are_there() -> None:
    users = ("Makefile", "envs/Containerfile", "envs/environment.yaml", "envs/README.md")
    named = {
        name for user in users for name in re.findall(r"[\w-]+\.lock", (ROOT / user).read_text())
    }
    assert named - {"NAME.lock", "dvc.lock"} == {path.name for path in LOCKS}


CPU, CUDA = ("--require-hashes --no-deps --requirement envs/cpu.lock", "envs/cuda.lock")
on_a_machine_without_gpus = pytest.mark.skipif(GPU, reason="a GPU is here")


@pytest.mark.parametrize(
    ("named", "settings", "cpu", "installed"),
    [
        ("https://torch/cpu", "", 0, [f"{CPU} --extra-index-url=https://torch/cpu"]),
        ("https://torch/cu126", "", 0, ["torch==VERSION --extra-index-url=https://torch/cu126"]),
        pytest.param("", "global.index-url='x'", 0, [CPU], marks=on_a_machine_without_gpus),
        pytest.param(
            "", "global.index-url='x'", 1, [CPU, f"--require-hashes --requirement {CUDA}"],
            marks=on_a_machine_without_gpus,
        ),
        ("https://silent/cpu", "", 1, [CPU, f"--require-hashes --requirement {CUDA}"]),
    ],
)  # fmt: skip
def test_torch_is_that_of_the_index_that_is_named_or_the_one_for_the_cpu(
    named: str, settings: str, cpu: int, installed: list[str], tmp_path: Path
) -> None:
    python, log = tmp_path / "python", tmp_path / "log"
    python.write_text(f"""#!/bin/sh
    case "$*" in
        *"config list") echo "{settings}" ;;
        *urlopen*silent*) exit 1 ;;
        *" install "*) echo "$*" >> {log}; case "$*" in *cpu.lock*) exit {cpu} ;; esac ;;
    esac""")
    python.chmod(0o755)
    environment = os.environ | {"TORCH_INDEX": named}
    done = subprocess.run(
        ["sh", "envs/torch.sh", python], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert not done.returncode and ("does not answer" in done.stderr) == ("silent" in named)
    version = PINS["cuda"]["torch"]
    pip = "-m pip install --quiet --no-compile"
    expected = [f"{pip} {options}".replace("VERSION", version) for options in installed]
    assert log.read_text().splitlines() == expected

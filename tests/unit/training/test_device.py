"""A training holds one GPU, or a slot of it, until its process ends, however it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from heed.files import HeedError
from heed.training import machine as device

HOLD = """
import sys, time
from heed.training.machine import claim_gpu
gpu = claim_gpu(poll=0.02)
print(gpu, time.time(), flush=True)
time.sleep(float(sys.argv[1]))
print(time.time(), flush=True)
"""


def hold(folder: Path, seconds: float, **environment: str) -> subprocess.Popen:
    others = {k: v for k, v in os.environ.items() if k != "CUDA_VISIBLE_DEVICES"}
    environment = others | {"TMPDIR": str(folder)} | environment
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(seconds)], env=environment, text=True,
        stdout=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize("at_most", [1, 2])
def test_runs_per_gpu_is_the_number_of_jobs_on_a_gpu_at_once(tmp_path, at_most):
    variables = {"CUDA_VISIBLE_DEVICES": "0,1", "HEED_RUNS_PER_GPU": str(at_most)}
    jobs = [hold(tmp_path, 1.5, **variables) for _ in range(2 * at_most + 1)]
    outputs = [job.communicate(timeout=60)[0].split() for job in jobs]
    assert {gpu for gpu, *_ in outputs} == {"0", "1"}
    for gpu in "01":
        times = [(float(start), float(end)) for name, start, end in outputs if name == gpu]
        at_once = [sum(start <= moment < end for start, end in times) for moment, _ in times]
        assert max(at_once) == at_most


@pytest.mark.parametrize("text", ["-1", "two", ""])
def test_a_wrong_number_in_the_environment_is_named(alone, text):
    alone.setenv("HEED_RUNS_PER_GPU", text)
    with pytest.raises(HeedError, match="HEED_RUNS_PER_GPU: expected a whole number from 1"):
        device.runs_per_gpu()


def test_a_killed_process_releases_its_gpu(tmp_path):
    first = hold(tmp_path, 600, CUDA_VISIBLE_DEVICES="0")
    assert first.stdout and first.stdout.readline().split()[0] == "0"
    second = hold(tmp_path, 0, CUDA_VISIBLE_DEVICES="0")
    time.sleep(0.5)
    assert second.poll() is None  # it waits
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert second.communicate(timeout=20)[0].split()[0] == "0"


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """No GPU held by this process, locks in a folder of this test, no variable set.

    All is restored afterwards."""
    monkeypatch.setattr(device, "_held", None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HEED_RUNS_PER_GPU"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


@pytest.mark.parametrize(("visible", "gpus"), [
    ("2,3", ["2", "3"]), ("", []), ("-1", []), ("0,-1,1", ["0"]),
    ("GPU-aa, MIG-bb", ["GPU-aa", "MIG-bb"]),
])  # fmt: skip
def test_cuda_visible_devices_names_the_usable_gpus(alone, visible, gpus):
    alone.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert device.list_gpus() == gpus


def test_nvidia_smi_lists_the_gpus_and_the_instances_of_a_split_one(alone, tmp_path):
    assert device.list_gpus() == []  # no nvidia-smi
    gpus = "GPU 0: H100 (UUID: GPU-a)\nGPU 1: H100 (UUID: GPU-b)\n"
    listing = f"{gpus}  MIG 1g.10gb Device 0: (UUID: MIG-c)\n"
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\nprintf '%s' '{listing}'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    assert device.list_gpus() == ["0", "MIG-c"]


def test_two_slurm_jobs_that_both_see_gpu_0_lock_it_by_its_uuid(alone, tmp_path):
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\necho 'GPU 0: H100 (UUID: GPU-second)'\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    alone.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert device.claim_gpu() == "0"
    assert [path.name for path in tmp_path.glob("heed-gpus-*/*")] == ["GPU_second"]


def test_a_claimed_gpu_is_the_only_one_that_cuda_sees_and_a_second_claim_returns_it(alone):
    alone.setenv("CUDA_VISIBLE_DEVICES", "5,6")
    assert device.claim_gpu() == "5" and os.environ["CUDA_VISIBLE_DEVICES"] == "5"
    assert device.claim_gpu() == "5"


def test_without_a_gpu_auto_is_the_cpu_and_cuda_is_an_error(alone):
    alone.setenv("CUDA_VISIBLE_DEVICES", "")
    assert device.choose_device("cpu") == "cpu" and device.choose_device("auto") == "cpu"
    with pytest.raises(HeedError, match=r"device: cuda: .*Mend it, or set `device: auto` or `cpu`"):
        device.choose_device("cuda")

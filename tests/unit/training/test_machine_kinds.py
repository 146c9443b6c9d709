"""Every run notes its machine kind; where runs of two kinds are compared, every output says so."""

import copy
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from heed.evaluation.results import Comparison, mixed_machine_kinds
from heed.files import write_text
from heed.training import machine as device
from heed.training.machine import continue_kind, machine_kind
from tests.conftest import killed, train
from tests.fixtures.report import made_up

RUN = Path("results/train/tiny-self-attention/1")
OLD, NEW = "x86_64 AVX2, Intel family 6 model 79, torch 2", "x86_64 AVX512, AMD family 26, torch 2"


TWO_PROCESSES = """
import os
import torch  # which looks at the environment when it is first asked for its instructions
from heed.training.machine import continue_kind, machine_kind
if os.fork():
    os.wait()
else:
    os.environ.update(ATEN_CPU_CAPABILITY="default", MKL_CBWR="COMPATIBLE")
print(machine_kind("cpu"), flush=True)
"""


def test_another_process_finds_the_same_kind_unless_torch_uses_other_instructions():
    printed = subprocess.check_output([sys.executable, "-c", TWO_PROCESSES], text=True)
    restricted, same = printed.splitlines()
    assert same == machine_kind("cpu") != restricted
    assert " DEFAULT, " in restricted and restricted.endswith(", MKL_CBWR=COMPATIBLE")


def test_a_kind_names_instructions_processor_and_torch_and_no_host():
    kind = machine_kind("cpu")
    node = os.uname()
    assert kind.startswith(f"{node.machine} {torch.backends.cpu.get_cpu_capability()}, ")
    assert f", torch {torch.__version__}" in kind
    assert node.nodename not in kind and node.release not in kind


@pytest.mark.parametrize(("facts", "processor"), [
    ("vendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9B45\n"
     "\nvendor_id\t: AuthenticAMD\nmodel\t\t: 3\n", "AMD family 26 model 2"),
    ("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n", "Intel family 6 model 85"),
    ("processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd4f\n", "what cpuinfo says"),
    (None, "what cpuinfo says"),
], ids=["AMD", "Intel", "Arm", "macOS"])  # fmt: skip
def test_the_processor_is_what_libraries_choose_kernels_by(facts, processor, tmp_path, monkeypatch):
    monkeypatch.setattr(device, "CPU_FACTS", tmp_path / "cpuinfo")
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"cpu_name": "what cpuinfo says"})
    if facts is not None:
        write_text(tmp_path / "cpuinfo", facts)
    assert machine_kind("cpu").split(", ")[1] == processor


def test_on_a_gpu_the_kind_names_it_with_its_libraries_and_not_the_processor(monkeypatch):
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "NVIDIA H200")
    monkeypatch.setattr("torch.version.cuda", "13.0")
    monkeypatch.setattr("torch.backends.cudnn.version", lambda: 91900)
    instructions, _, version = machine_kind("cpu").split(", ")[:3]
    gpu = machine_kind("cuda").split(", ")
    assert gpu[:5] == ["NVIDIA H200", "CUDA 13.0", "cuDNN 91900", instructions, version]


def test_a_run_notes_its_kind_and_a_training_that_moved_notes_both(workplace, monkeypatch):
    train("tiny-self-attention", 1)
    assert json.loads((RUN / "run.json").read_text())["machine_kind"] == machine_kind("cpu")

    monkeypatch.setattr("heed.training.loop.machine_kind", lambda *_: OLD)
    with pytest.raises(KeyboardInterrupt):
        train("tiny-self-attention", 1, killed)
    monkeypatch.setattr("heed.training.loop.machine_kind", lambda *_: NEW)
    assert train("tiny-self-attention", 1).machine_kind == f"{OLD}, then {NEW}"


def test_a_training_that_moves_back_and_forth_names_each_stretch():
    assert continue_kind("", NEW) == NEW == continue_kind(NEW, NEW)
    moved = continue_kind(OLD, NEW)
    assert continue_kind(moved, NEW) == moved
    assert continue_kind(moved, OLD) == f"{OLD}, then {NEW}, then {OLD}"


def with_kinds(data: Comparison, kinds: dict[str, list[str]]) -> Comparison:
    """A copy whose first experiment has runs of these kinds, by variant."""
    data = copy.deepcopy(data)
    models = next(iter(data.experiments.values())).models
    for variant, each in kinds.items():
        models[variant] = dataclasses.replace(models[variant], machine_kinds=each)
    return data


SAMPLE = made_up.comparison("sample")
MIXED = with_kinds(
    SAMPLE, {"last-state": [OLD, NEW, OLD], "average": [NEW] * 3, "self-attention": [NEW] * 3}
)


def test_a_mixed_experiment_has_one_line_and_others_have_none():
    assert list(mixed_machine_kinds(MIXED)) == [
        "sample-sentiment: this comparison has runs of several machine kinds "
        f"(docs/read/report.md): {OLD} (seeds of last-state 1, 3), {NEW} (seeds of last-state 2; "
        "average 1, 2, 3; self-attention 1, 2, 3)"
    ]
    assert not list(mixed_machine_kinds(SAMPLE))

"""The machine kind of a training: what its bytes depend on besides recipe, seed and code.

Two runs of one kind, recipe and seed are the same bytes. Between two kinds the last digits of sums
differ, and a training makes more of that with every step (docs/report.md, "Machine kinds").
"""

import os
import platform
from pathlib import Path

import torch

CPU_FACTS = Path("/proc/cpuinfo")
VENDORS = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}
# These let the libraries of torch compute as an older processor would.
RESTRICTIONS = ("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")


def machine_kind(device: str) -> str:
    """Return the machine kind of a training on `device` (cpu or cuda) in this process.

    For example `x86_64 AVX512, AMD family 26 model 2, torch 2.13.0+cpu`. Its parts:

    - the architecture, as the system names it (x86_64, aarch64, arm64 on macOS), and the
      instructions that torch uses, which ATEN_CPU_CAPABILITY may restrict: the width of a vector
      decides in which order a sum is added. A training on a GPU has them too, since its initial
      weights are drawn on the CPU
    - on the CPU, the processor's vendor, family and model, by which oneDNN and MKL choose their
      kernels and the sizes of their blocks; not its name, which differs between processors of one
      family that compute the same
    - on a GPU, its name and the versions of CUDA and cuDNN (of ROCm), which choose the kernels
    - torch's version with its build, which brings the other libraries along
    - RESTRICTIONS that are set

    The host is not in it, so that two hosts of one kind have the same text.
    """
    instructions = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    parts = [_gpu(), instructions] if device == "cuda" else [instructions, _processor()]
    restrictions = [f"{name}={os.environ[name]}" for name in RESTRICTIONS if name in os.environ]
    return ", ".join([*parts, f"torch {torch.__version__}", *restrictions])


def continue_kind(earlier: str, present: str) -> str:
    """Return the machine kind of a training that began on `earlier` and goes on on `present`.

    `earlier` is empty where it begins. A training that a killed process has left to a machine of
    another kind has the bytes of neither: `KIND, then OTHER KIND`.
    """
    if not earlier or earlier == present or earlier.endswith(f", then {present}"):
        return earlier or present
    return f"{earlier}, then {present}"


def _processor() -> str:
    """Return vendor, family and model of the processor; its name where the system has no such."""
    facts: dict[str, str] = {}
    if CPU_FACTS.exists():
        for line in CPU_FACTS.read_text(encoding="utf-8").partition("\n\n")[0].splitlines():
            key, _, value = line.partition(":")
            facts[key.strip()] = value.strip()
    if not {"vendor_id", "cpu family", "model"} <= facts.keys():
        return str(torch.cpu.get_capabilities()["cpu_name"])
    vendor = VENDORS.get(facts["vendor_id"], facts["vendor_id"])
    return f"{vendor} family {facts['cpu family']} model {facts['model']}"


def _gpu() -> str:
    """Return the name of the GPU that this process uses, and the versions of its libraries."""
    libraries = f"CUDA {torch.version.cuda}" if torch.version.cuda else f"ROCm {torch.version.hip}"
    return f"{torch.cuda.get_device_name()}, {libraries}, cuDNN {torch.backends.cudnn.version()}"

"""The machine of a training: its device, its determinism, its kind, and the time it took.

A training claims a free GPU by an flock on a file, which the kernel releases when the process ends:
Snakemake counts GPUs (`--resources gpu=2`) but does not assign them. HEED_RUNS_PER_GPU slots of a
GPU depend on the machine, and no study sets them. A machine kind is all that the bytes of
a training depend on besides recipe, seed and code (docs/read/report.md, "Machine kinds"). Nothing
here imports torch before a training asks for its device or its machine kind.
"""

import contextlib
import ctypes
import dataclasses
import fcntl
import itertools
import os
import platform
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Annotated

import numpy as np

from heed.files import HeedError, read_json, reading, write_json
from heed.paths import train_command
from heed.records import as_json, read_record
from heed.terminal import print_line

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # glibc's malloc.h
NEVER = 2**31 - 1
_held: tuple[str, IO[str]] | None = None  # the GPU of this process, and its locked file


def list_gpus() -> list[str]:
    """Return the GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them.

    By CUDA_VISIBLE_DEVICES (set by SLURM, by a user), else `nvidia-smi -L`.
    """
    if (visible := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        names = [name.strip() for name in visible.split(",")]
        # CUDA, too, stops at the first name that is not a GPU
        return list(itertools.takewhile(lambda name: name not in ("", "-1", "NoDevFiles"), names))
    return list(_query_uuids())


def _query_uuids() -> dict[str, str]:
    """Return the GPUs that nvidia-smi lists, index → UUID; a split one (MIG) by its instances."""
    try:
        listing = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return {}
    uuids: dict[str, str] = {}
    index = ""
    for line in listing.splitlines():
        if match := re.match(r"GPU (\d+): .*\(UUID: (GPU-[^)]+)\)", line):
            index = match[1]
            uuids[index] = match[2]
        elif match := re.search(r"\(UUID: (MIG-[^)]+)\)", line):
            uuids.pop(index, None)
            uuids[match[1]] = match[1]
    return uuids


def runs_per_gpu() -> int:
    """Return how many trainings share a GPU: HEED_RUNS_PER_GPU, 1 by default."""
    text = os.environ.get("HEED_RUNS_PER_GPU", "1")
    if not text.isdecimal() or int(text) < 1:
        raise HeedError(f"HEED_RUNS_PER_GPU: expected a whole number from 1, found {text!r}")
    return int(text)


def assigned_gpus() -> int | None:
    """Return the number of GPUs that Snakemake assigned to this stage; None without Snakemake."""
    text = os.environ.get("HEED_GPUS", "")
    return int(text) if text.isdecimal() else None


def claim_gpu(poll: float = 0.5) -> str | None:
    """Hold a slot of a GPU until this process ends; return the GPU, or None if there is no GPU.

    It becomes the only one that CUDA sees, so torch must not have initialised CUDA. Every GPU's
    first slot is taken before any second. If all are taken it waits.
    """
    global _held
    if _held is None:
        if not (gpus := list_gpus()):
            return None
        _held = _wait_for_slot(gpus, poll)
        os.environ["CUDA_VISIBLE_DEVICES"] = _held[0]
        # the order in which nvidia-smi counts
        os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    return _held[0]


def _wait_for_slot(gpus: list[str], poll: float) -> tuple[str, IO[str]]:
    # Locks go by UUID: in two SLURM jobs of one machine, GPU 0 may be two GPUs.
    uuids = _query_uuids()
    folder = Path(tempfile.gettempdir(), f"heed-gpus-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    slots = [(gpu, slot) for slot in range(runs_per_gpu()) for gpu in gpus]
    has_reported = False
    while True:
        for gpu, slot in slots:
            name = re.sub(r"\W", "_", uuids.get(gpu, gpu)) + (f"-{slot}" if slot else "")
            if file := _lock(folder / name):
                return gpu, file
        if not has_reported:
            print_line(
                f"heed: waiting for a free GPU of {len(gpus)} ({len(slots)} slots)", error=True
            )
            has_reported = True
        time.sleep(poll)


def _lock(path: Path) -> IO[str] | None:
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def uses_gpu(name: str) -> bool:
    """Whether a training on device `name` will be on a GPU; claims none, initialises no CUDA."""
    import torch

    built = torch.version.cuda or torch.version.hip
    return name != "cpu" and bool(built) and bool(list_gpus())


def choose_device(name: str) -> str:
    """Return the torch device of a training: `cpu`, or `cuda` with one GPU claimed.

    If all GPUs are taken `auto` waits, and does not use the CPU: the result of a run must not
    depend on what else is running. Raises HeedError: `name` is `cuda`, and torch can use none.
    """
    if name == "cpu":
        return "cpu"
    import torch

    built = torch.version.cuda or torch.version.hip
    if built and claim_gpu() and torch.cuda.is_available():
        return "cuda"
    if name == "auto":
        return "cpu"
    raise HeedError(
        f"device: cuda: torch {torch.__version__} can use no GPU here; visible are: "
        f"{', '.join(list_gpus()) or 'none'} (nvidia-smi -L, CUDA_VISIBLE_DEVICES; "
        "envs/README.md). Mend it, or set `device: auto` or `cpu` in params.yaml"
    )


CPU_FACTS = Path("/proc/cpuinfo")
VENDORS = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}
# These let the libraries of torch compute as an older processor would.
RESTRICTIONS = ("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
ZEN_5 = 26  # AMD's family
BFLOAT16 = ("amx_bf16", "avx512_bf16")  # instructions that multiply in bfloat16


def bfloat16_instructions() -> str:
    """Return the first of BFLOAT16 that torch finds in this processor, or an empty text."""
    import torch

    has = torch.cpu.get_capabilities()
    return next((name for name in BFLOAT16 if has.get(name)), "")


def products_library() -> str:
    """Return the library of float32 products on this CPU, `mkl` or `onednn`: the faster one.

    MKL does not use AVX-512 on AMD, whose cores do twice as much with it from family 26 (Zen 5) on.
    torch gives oneDNN a product only if it may round to bfloat16, which oneDNN does with AMX alone:
    with avx512_bf16 it computes in float32 (tested), with AMX it silently would not.
    """
    vendor, _, family = _processor().partition(" model ")[0].partition(" family ")
    is_faster = vendor == "AMD" and int(family) >= ZEN_5
    return "onednn" if is_faster and bfloat16_instructions() == "avx512_bf16" else "mkl"


def machine_kind(device: str, precision: str = "float32") -> str:
    """Return the machine kind of a training on `device` (cpu or cuda) in this process.

    For example `x86_64 AVX512, AMD family 26 model 2, torch 2.13.0+cpu`: the instructions that
    torch uses, since the width of a vector decides in which order a sum is added (initial weights
    are drawn on the CPU); the processor's vendor, family and model, or the GPU's name and
    libraries, which choose kernels; torch's build; RESTRICTIONS that are set; and on a CPU in
    bfloat16 the instructions for it.
    """
    import torch

    instructions = f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"
    parts = [_gpu(), instructions] if device == "cuda" else [instructions, _processor()]
    restrictions = [f"{name}={os.environ[name]}" for name in RESTRICTIONS if name in os.environ]
    if (device, precision) == ("cpu", "bfloat16"):
        restrictions.append(bfloat16_instructions())
    return ", ".join([*parts, f"torch {torch.__version__}", *restrictions])


def continue_kind(earlier: str, present: str) -> str:
    """Return the machine kind of a training that began on `earlier`, or begins, on `present`.

    One that moved has the bytes of neither: `KIND, then OTHER KIND`.
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
        import torch

        return str(torch.cpu.get_capabilities()["cpu_name"])
    vendor = VENDORS.get(facts["vendor_id"], facts["vendor_id"])
    return f"{vendor} family {facts['cpu family']} model {facts['model']}"


def _gpu() -> str:
    import torch

    libraries = f"CUDA {torch.version.cuda}" if torch.version.cuda else f"ROCm {torch.version.hip}"
    return f"{torch.cuda.get_device_name()}, {libraries}, cuDNN {torch.backends.cudnn.version()}"


def make_deterministic() -> None:
    """Make torch use deterministic algorithms, no denormal numbers, one thread, fast products."""
    import torch

    precision = "bf16" if products_library() == "onednn" else "ieee"
    torch.backends.mkldnn.matmul.fp32_precision = precision  # type: ignore[attr-defined]
    # cuBLAS is not deterministic without
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # The same as use_deterministic_algorithms(True), which imports torch's compiler: 1.6 s.
    torch.set_deterministic_debug_mode("error")
    # Otherwise torch fills every new tensor with NaN: 15% of a CPU training
    # (docs/internals/decisions.md), which finds reads of uninitialised memory and nothing else.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    # Numbers under 1e-38 are 0: such gradients come back through long texts, and Intel cores with
    # AVX-512 are many times slower with them (docs/internals/performance.md). Set before torch has
    # threads, which inherit it. It returns False where the cores cannot.
    torch.set_flush_denormal(True)
    torch.backends.cudnn.deterministic = True
    # the talk's True lets cuDNN choose other kernels in every run
    torch.backends.cudnn.benchmark = False
    torch.set_num_threads(1)


def seed_everything(seed: int, epoch: int = 0) -> None:
    """Seed python, numpy, torch and CUDA for one epoch (0: initialisation).

    So a resumed training needs no saved generator state.
    """
    import torch

    mixed = int(np.random.SeedSequence((seed, epoch)).generate_state(1, np.uint32)[0])
    random.seed(mixed)
    np.random.seed(mixed)
    torch.manual_seed(mixed)  # CUDA's generators too


def keep_memory() -> None:
    """Make glibc allocate large tensors on its heap and never shrink it.

    Otherwise every large tensor is mapped, faulted in and unmapped again, in every step
    (benchmarks/training.py measures it).
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(MMAP_MAX, 0)
        mallopt(TRIM_THRESHOLD, NEVER)


@dataclasses.dataclass(frozen=True)
class TrainingTime:
    """A training's time (CPU: of all its threads), where it ran, and the digest of its code."""

    seconds: Annotated[float, {"ge": 0}]
    cpu_seconds: Annotated[float, {"ge": 0}]
    code: str = ""
    device: str = ""
    host: str = ""
    torch: str = ""
    ended: str = ""

    @property
    def on_gpu(self) -> bool:
        """Whether the training ran on a GPU."""
        return self.device != "cpu"

    @property
    def core_minutes(self) -> float:
        """CPU time in minutes; of a training on a GPU, the time that passed."""
        return (self.seconds if self.on_gpu else self.cpu_seconds) / 60


class Stopwatch:
    """Counts the times of a training up to each `save`, also in processes that were killed."""

    def __init__(self, path: Path) -> None:
        self._path, self._started = path, np.array([time.perf_counter(), time.process_time()])
        with contextlib.suppress(HeedError, ValueError):
            saved = read_record(TrainingTime, read_json(path, ""))
            self._started -= [saved.seconds, saved.cpu_seconds]

    def read(self) -> tuple[float, float]:
        """Return the wall and CPU seconds so far."""
        seconds = np.array([time.perf_counter(), time.process_time()]) - self._started
        wall, cpu = seconds.round(2).tolist()
        return wall, cpu

    def save(self) -> None:
        """Save the times so far for the process that resumes this training."""
        write_json(self._path, as_json(TrainingTime(*self.read())))


def write_training_time(path: Path, times: tuple[float, float], code: str, device: str) -> None:
    """Write the time of a training that ends now on this host."""
    import torch

    host, ended = platform.node(), time.strftime("%Y-%m-%dT%H:%M:%S%z")
    record = TrainingTime(*times, code, device, host, torch.__version__, ended)
    write_json(path, as_json(record))


def read_training_time(path: Path) -> TrainingTime:
    """Return the time in a file `…/MODEL/SEED.json`. Raises HeedError."""
    command = train_command(path.parent.name, path.stem)
    with reading(path, command):
        return read_record(TrainingTime, read_json(path, command))

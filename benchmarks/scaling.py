"""N independent trainings on N cores against one, beside the same for plain matrix
multiplication.
"""

import os
import subprocess
import sys

import torch

from benchmarks.training import ours
from benchmarks.workload import Row, gemm_flops, show


def rates(what: str, processes: int) -> list[float]:
    """Return what each of `processes` processes, started together, measured."""
    command = [sys.executable, "-m", "benchmarks.scaling", what]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return [float(process.communicate()[0]) for process in running]


def main() -> None:
    torch.set_num_threads(1)
    if len(sys.argv) > 1 and sys.argv[1] == "training":
        print(ours()[0])
        return
    if len(sys.argv) > 1 and sys.argv[1] == "gemm":
        print(gemm_flops(4.0))
        return
    cores = len(os.sched_getaffinity(0))
    share = {
        what: sum(rates(what, cores)) / rates(what, 1)[0] / cores for what in ("gemm", "training")
    }
    show(
        [
            Row(
                f"{cores} trainings on {cores} cores against one, as a share of GEMM's own scaling",
                f"{share['training'] / share['gemm']:.0%}", ">= 95%",
                f"trainings {share['training']:.0%} of linear, GEMM {share['gemm']:.0%}",
            )
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()

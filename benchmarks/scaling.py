"""N independent trainings on N cores against one, compared with plain matrix multiplication."""

import os
import sys

import torch

from benchmarks.training import measure_heed
from benchmarks.workload import Row, gemm_flops, launch, numbers, print_rows


def rates(measurement: str, processes: int) -> list[float]:
    """Return the rate that each of `processes` concurrent processes measures."""
    running = [launch("benchmarks.scaling", measurement) for _ in range(processes)]
    return [numbers(process)[0] for process in running]


def main() -> None:
    torch.set_num_threads(1)
    if len(sys.argv) > 1:
        print(measure_heed()[0] if sys.argv[1] == "training" else gemm_flops(4.0))
        return
    cores = len(os.sched_getaffinity(0))
    share = {
        measurement: sum(rates(measurement, cores)) / rates(measurement, 1)[0] / cores
        for measurement in ("gemm", "training")
    }
    metric = f"{cores} trainings on {cores} cores against one, as a share of GEMM's own scaling"
    note = f"trainings {share['training']:.0%} of linear, GEMM {share['gemm']:.0%}"
    print_rows([Row(metric, f"{share['training'] / share['gemm']:.0%}", ">= 95%", note)])


if __name__ == "__main__":
    main()

"""All benchmarks in one table: one process after the other, on an idle machine."""

import json
import os
import platform
import subprocess
import sys

from benchmarks.workload import Row

ALL = ("recurrent", "training", "products", "memory", "translation")


def main() -> None:
    import torch

    print(
        f"{os.cpu_count()} cores ({platform.machine()}), torch {torch.__version__}, Python "
        f"{platform.python_version()}\n"
    )
    print("| figure | measured | target | note |\n|---|---|---|---|")
    for name in ALL:
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", "--json"], stdout=subprocess.PIPE,
            text=True, check=True,
        )  # fmt: skip
        line = next(line for line in done.stdout.splitlines() if line.startswith("ROWS "))
        for row in json.loads(line.removeprefix("ROWS ")):
            print(Row(**row).line(), flush=True)


if __name__ == "__main__":
    main()

"""Trials an hour and best validation score of search strategies at equal core-time.

The strategies are ASHA and plain random search. FOLDER is a clone in which the corpora of the
studies letters and headlines are tokenised. Each strategy has the same cores for the same minutes,
the same space and the same seed, so the same configurations in the same order.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from benchmarks.workload import Row, print_rows

STUDIES = {"author": "letters", "headlines": "headlines"}  # by experiment
SPACE = {
    "learning_rate": {"loguniform": [0.0003, 0.03]}, "batch_size": {"choice": [32, 64, 128]},
    "hidden_size": {"choice": [32, 64, 96]}, "dropout": {"uniform": [0.1, 0.6]},
    "heads": {"choice": [1, 2, 4, 8]},
}  # fmt: skip
TRIALS = 1000  # more than any strategy can try
# The keys of `searches` in which the strategies differ; ASHA validates eight times an epoch.
STRATEGIES: dict[str, dict[str, Any]] = {
    "random": {"scheduler": "none"},
    "asha": {"scheduler": "asha", "reports": 8, "grace_period": 0.25, "reduction_factor": 4},
}


@contextmanager
def study(
    folder: Path, experiment: str, hyperparameters: dict[str, Any], search: dict[str, Any]
) -> Iterator[Path]:
    """Yield a folder with one model, one search and the tokens of `folder`."""
    params = yaml.safe_load((folder / f"workflow/studies/{STUDIES[experiment]}.yaml").read_text())
    model = f"{experiment}-attention"
    params["models"] = {model: params["models"][model] | hyperparameters}
    params["experiments"] = {experiment: params["experiments"][experiment]}
    params["study"]["attention"] = ["attention"]
    subject = {"experiment": experiment, "model": model}
    params["searches"] = {"measured": subject | search}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        (work / "data").mkdir()
        (work / "data/tokens").symlink_to((folder / "data/tokens").resolve())
        (work / "params.yaml").write_text(yaml.safe_dump(params))
        yield work


def heed(work: Path, *command: str, cores: int = 1) -> float:
    """Run a command of heed; return its wall time in seconds."""
    started = time.monotonic()
    environment = os.environ | {"HEED_THREADS": str(cores)}
    done = subprocess.run(
        [sys.executable, "-m", "heed.cli", *command], cwd=work, env=environment,
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return time.monotonic() - started


def compare_strategies(folder: Path, experiment: str, minutes: float, cores: int) -> Iterator[Row]:
    """Yield one row for each strategy."""
    random_rate = 0.0  # the first strategy's
    hyperparameters = {"epochs": 6, "patience": 0}
    for strategy, search in STRATEGIES.items():
        search = {"trials": TRIALS, "minutes": minutes, "space": SPACE, **search}
        with study(folder, experiment, hyperparameters, search) as work:
            wall = heed(work, "search", "measured", cores=cores) / 60
            trials = pd.read_csv(work / "results/search" / experiment / "measured/trials.csv")
        rate = trials["stop"].isin(["finished", "stopped by asha"]).sum() / minutes * 60
        random_rate = random_rate or rate
        target = ">= 2.5x, score no worse" if strategy == "asha" else ""
        note = (
            f"best validation accuracy {trials['score'].max():.4f}; {wall:.1f} minutes on {cores} "
            "cores"
        )
        yield Row(
            f"{experiment}, {strategy}: trials an hour", f"{rate:.0f} ({rate / random_rate:.1f}x)",
            target, note,
        )  # fmt: skip


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    options = parser.parse_args()
    for experiment in STUDIES:
        print_rows(
            [*compare_strategies(options.folder, experiment, options.minutes, options.cores)]
        )


if __name__ == "__main__":
    main()

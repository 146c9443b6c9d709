"""Trials an hour and best validation score at equal core-time: asha, plain random search, and one trial after the other.

FOLDER is a clone in which the desk study's corpora are tokenised. Each way
has the same cores for the same minutes, the same space and the same seed, so the same configurations in the same order.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import yaml

from benchmarks.workload import Row, show

EXPERIMENTS = {"letters-author": "letters-pieces", "news-headlines": "news-headlines"}
SPACE = {
    "learning_rate": {"loguniform": [0.0003, 0.03]},
    "batch_size": {"choice": [32, 64, 128]},
    "hidden_size": {"choice": [32, 64, 96]},
    "dropout": {"uniform": [0.1, 0.6]},
    "heads": {"choice": [1, 2, 4, 8]},
}
TRIALS = 1000  # more than any way can try
REPORTS = 8


def ways(cores: int) -> dict[str, dict[str, object]]:
    """Return what differs: asha looks eight times an epoch; one after the other, each trial has all the cores."""
    return {
        "asha": {"scheduler": "asha", "reports": REPORTS, "grace_period": 2 / REPORTS, "reduction_factor": 4},
        "random": {"scheduler": "none"},
        "one by one": {"scheduler": "none", "concurrent": 1, "cpu": cores},
    }


def search(folder: Path, experiment: str, way: str, minutes: float, cores: int) -> tuple[float, float, float]:
    """Return (trials an hour, best validation accuracy, wall minutes) of one search."""
    study = yaml.safe_load((folder / "workflow/studies/desk.yaml").read_text())
    model, corpus = f"{experiment}-attention", EXPERIMENTS[experiment]
    study["models"] = {model: study["models"][model] | {"epochs": 6}}
    study["experiments"] = {experiment: study["experiments"][experiment]}
    if way == "one by one":
        study["defaults"]["threads"] = cores
    study["searches"] = {
        "it": {
            "corpus": corpus, "experiment": experiment, "model": model, "after": "none", "trials": TRIALS, "minutes": minutes,
            "space": SPACE, **ways(cores)[way],
        }
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as work:
        Path(work, "data").mkdir()
        Path(work, "data/tokens").symlink_to((folder / "data/tokens").resolve())
        Path(work, "params.yaml").write_text(yaml.safe_dump(study))
        command = [sys.executable, "-m", "heed.cli", "search"]
        subprocess.run([*command, "none"], cwd=work, check=True, capture_output=True)
        environment = {"HEED_THREADS": str(cores)}
        started = time.monotonic()
        done = subprocess.run([*command, "it"], cwd=work, env=os.environ | environment, capture_output=True, text=True)  # fmt: skip
        wall = (time.monotonic() - started) / 60
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        trials = pd.read_csv(Path(work, "results/search/it/trials.csv"))
    judged = trials[trials["stop"].isin(["finished", "stopped by asha"])]
    return len(judged) / minutes * 60, float(trials["score"].max()), wall


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    options = parser.parse_args()
    folder, minutes, cores = options.folder, options.minutes, options.cores
    rows = []
    for experiment in EXPERIMENTS:
        found = {way: search(folder, experiment, way, minutes, cores) for way in ways(cores)}
        plain = found["random"]
        for way, (rate, best, wall) in found.items():
            reach = ">= 2.5x, no worse" if way == "asha" else ""
            more = f"best validation accuracy {best:.4f}, {wall:.1f} min wall"
            rows.append(
                Row(f"{experiment}, {way}: trials an hour", f"{rate:.0f} ({rate / plain[0]:.1f}x)", reach, more)
            )
    show(rows)


if __name__ == "__main__":
    main()

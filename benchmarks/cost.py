"""The estimates of `heed cost` for the active study, beside the times of its trainings.

`python -m benchmarks.cost` in a clone in which `snakemake` has run the study, or a part of it.
Seconds of processor time by results/timing, the mean over seeds. The first estimate is that of
`heed cost`, which measures the speed of a model, the second that of `heed study`, by
hyperparameters alone. Models with `patience` are left out: they may have stopped early.
"""

import pandas as pd

from heed.paths import RESULTS
from heed.report.results import read_training_time, training_folder
from heed.study import load
from heed.study.cost import estimate_cost, measure_study


def main() -> None:
    params = load()
    rows = {}
    costs = estimate_cost(params, measure_study(params)), estimate_cost(params)
    for cost, study in zip(*(each.models for each in costs), strict=True):
        times = (training_folder(RESULTS) / cost.name).glob("[0-9]*.json")  # without the longer one
        seeds = [int(path.stem) for path in times]
        if seeds and not params.resolved(cost.name, {}).patience:
            times = [read_training_time(RESULTS, cost.name, seed).cpu_seconds for seed in seeds]
            rows[cost.name] = [sum(times) / len(times), cost.training, study.training]
    table = pd.DataFrame.from_dict(rows, "index", columns=["measured", "heed cost", "heed study"])
    table.loc["all of these"] = table.sum()
    for column in ("heed cost", "heed study"):
        table[f"{column}: ratio"] = table[column] / table["measured"]
    print(table.round(2).to_string())


if __name__ == "__main__":
    main()

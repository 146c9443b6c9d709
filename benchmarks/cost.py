"""The estimates of `heed cost` for the active study, beside the times of its trainings.

`python -m benchmarks.cost` in a clone in which `snakemake` has run the study, or a part of it.
Seconds of processor time by results/timing, of all epochs: where a model with `patience` stopped
earlier, as long for each of the others.
"""

import pandas as pd

from heed.paths import RESULTS
from heed.report.results import read_training_time, training_folder
from heed.study import load
from heed.study.cost import known_corpora, training_times


def main() -> None:
    params = load()
    rows = {}
    for name, estimated in training_times(params, known_corpora(params)).items():
        times = (training_folder(RESULTS) / name).glob("[0-9]*.json")  # without the longer one
        seeds = [int(path.stem) for path in times]
        runs = [RESULTS / "train" / name / f"{seed}/history.csv" for seed in seeds]
        if epochs := sum(len(pd.read_csv(path)) for path in runs):
            times = [read_training_time(RESULTS, name, seed).cpu_seconds for seed in seeds]
            of_all = params.hyperparameters(name).epochs * sum(times) / epochs
            rows[name] = [of_all, estimated]
    table = pd.DataFrame.from_dict(rows, "index", columns=["measured", "heed cost"])
    table.loc["all of these"] = table.sum()
    table["ratio"] = table["heed cost"] / table["measured"]
    print(table.round(2).to_string())


if __name__ == "__main__":
    main()

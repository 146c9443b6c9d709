"""What `dvc plots` draws: curves, confusion matrices and comparisons of all models, one table each
(dvc.yaml, .dvc/plots).
"""

from pathlib import Path

import pandas as pd

from heed.report.experiments import Experiment
from heed.report.results import read_table


def write_series(experiments: list[Experiment], folders: list[Path], into: Path) -> None:
    """Write curves.csv, confusion.csv and comparisons.csv into the folder `into`; `folders` are the
    evaluated models'.
    """
    curves, confused = [], []
    for folder in folders:
        curves.append(read_table(folder / "history.csv").assign(model=folder.name))
        counts = (
            read_table(folder / "confusion.csv")
            .groupby(["label", "predicted"], as_index=False)["documents"]
            .sum()
        )
        share = counts["documents"] / counts.groupby("label")["documents"].transform("sum")
        confused.append(counts.assign(model=folder.name, share=share))
    compared = [
        {
            "experiment": experiment.key,
            "compared": f"{each.first} − {each.second}",
            "difference_pp": each.mean,
            "low_pp": each.low,
            "high_pp": each.high,
            "p_holm": each.p_holm,
        }
        for experiment in experiments
        for each in experiment.comparisons
    ]
    columns = ["experiment", "compared", "difference_pp", "low_pp", "high_pp", "p_holm"]
    _write(pd.concat(curves), into / "curves.csv")
    _write(pd.concat(confused).rename(columns={"label": "actual"}), into / "confusion.csv")
    _write(pd.DataFrame(compared, columns=columns), into / "comparisons.csv")


def _write(table: pd.DataFrame, path: Path) -> None:
    table.to_csv(path, index=False, lineterminator="\n", float_format="%.6g")

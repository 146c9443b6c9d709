"""The tables that `dvc plots` draws (dvc.yaml, .dvc/plots).

Training curves, confusion matrices and comparisons of all models.
"""

from pathlib import Path

import pandas as pd

from heed.report.experiments import Experiment
from heed.report.renderers.csv import quote_formulas
from heed.report.results import read_table


def write_series(experiments: list[Experiment], evaluations: list[Path], folder: Path) -> None:
    """Write curves.csv, confusion.csv and comparisons.csv.

    Args:
        experiments: with their comparisons.
        evaluations: the folders of the models' evaluations.
        folder: of the files to write.

    """
    curves, confusions = [], []
    for evaluation in evaluations:
        curves.append(read_table(evaluation / "history.csv").assign(model=evaluation.name))
        counts = (
            read_table(evaluation / "confusion.csv")
            .groupby(["label", "predicted"], as_index=False)["documents"]
            .sum()
        )
        share = counts["documents"] / counts.groupby("label")["documents"].transform("sum")
        confusions.append(counts.assign(model=evaluation.name, share=share))
    comparisons = [
        {
            "experiment": experiment.key,
            "compared": f"{each.first} − {each.second}",
            "difference_pp": each.mean,
            "low_pp": each.low,
            "high_pp": each.high,
            "p_holm": each.result.p_holm,
        }
        for experiment in experiments
        for each in experiment.comparisons
    ]
    columns = ["experiment", "compared", "difference_pp", "low_pp", "high_pp", "p_holm"]
    _write(pd.concat(curves), folder / "curves.csv")
    _write(pd.concat(confusions).rename(columns={"label": "actual"}), folder / "confusion.csv")
    _write(pd.DataFrame(comparisons, columns=columns), folder / "comparisons.csv")


def _write(table: pd.DataFrame, path: Path) -> None:
    quote_formulas(table).to_csv(path, index=False, lineterminator="\n", float_format="%.6g")

"""The tables that `dvc plots` draws (dvc.yaml, .dvc/plots).

Training curves, confusion matrices and comparisons of all models.
"""

from pathlib import Path

import pandas as pd

from heed.report.experiments import Experiment
from heed.report.measures import Measure
from heed.report.renderers.csv import quote_formulas
from heed.report.results import read_table
from heed.task import task_module


def write_series(
    experiments: list[Experiment], evaluations: dict[Path, Measure], folder: Path
) -> None:
    """Write curves.csv, confusion.csv and comparisons.csv.

    Each has the columns that dvc.yaml names, also where no model of the study has such values.

    Args:
        experiments: with their comparisons.
        evaluations: the folders of the models' evaluations, with what decides between models.
        folder: of the files to write.

    """
    curves, confusions = [], []
    for evaluation, measure in evaluations.items():
        curves.append(_curves(evaluation, measure))
        if (evaluation / "confusion.csv").exists():  # of a classification
            confusions.append(_confusion(evaluation))
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
    curve_columns = ["seed", "epoch", "model", "figure", "validation"]
    confusion_columns = ["actual", "predicted", "documents", "model", "share"]
    _write(_with_columns(curves, curve_columns), folder / "curves.csv")
    _write(_with_columns(confusions, confusion_columns), folder / "confusion.csv")
    _write(pd.DataFrame(comparisons, columns=columns), folder / "comparisons.csv")


def _curves(evaluation: Path, measure: Measure) -> pd.DataFrame:
    """Return the history of a model's runs; `validation` has the values of `figure`.

    That is the metric by which models are compared, or where validation does not measure it the one
    by which searches decide.
    """
    history = read_table(evaluation / "history.csv")
    figures = measure.metric, task_module(measure.task, "recipe").FIGURES[0]
    figure = next(each for each in figures if f"validation_{each}" in history)
    values = {"figure": figure, "validation": history[f"validation_{figure}"]}
    return history.assign(model=evaluation.name, **values)


def _confusion(evaluation: Path) -> pd.DataFrame:
    """Return the documents of a model by true and predicted class, with shares of the true."""
    counts = (
        read_table(evaluation / "confusion.csv")
        .groupby(["label", "predicted"], as_index=False)["documents"]
        .sum()
    )
    share = counts["documents"] / counts.groupby("label")["documents"].transform("sum")
    return counts.assign(model=evaluation.name, share=share).rename(columns={"label": "actual"})


def _with_columns(tables: list[pd.DataFrame], columns: list[str]) -> pd.DataFrame:
    """Return the tables in one, which has at least these columns: dvc.yaml names them."""
    table = pd.concat(tables) if tables else pd.DataFrame()
    return table.reindex(columns=[*table, *(each for each in columns if each not in table)])


def _write(table: pd.DataFrame, path: Path) -> None:
    quote_formulas(table).to_csv(path, index=False, lineterminator="\n", float_format="%.6g")

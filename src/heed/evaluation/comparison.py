"""All models and opponents of a study side by side: means and deviations over seeds, and the gain over the baseline."""

import statistics
from pathlib import Path
from typing import Any

import pandas as pd

from heed import metrics
from heed.files import HeedError, read_json, write_json, writing_folder
from heed.predictions import read_predictions
from heed.recipe import read_recipe

EVALUATE, OPPONENTS = Path("results/evaluate"), Path("results/opponents")
SUMMARY = ("accuracy", *(f"{average}_{figure}" for average in metrics.AVERAGES for figure in metrics.FIGURES))
PER_CLASS = (*metrics.FIGURES, "support")


def spread(values: list[float]) -> dict[str, Any]:
    """Return mean, sample standard deviation in percentage points (None of one value), and the values."""
    return {"mean": statistics.fmean(values), "std_pp": _deviation(values, 100), "values": values}


def gain(accuracy: list[float], baseline: list[float]) -> dict[str, Any]:
    """Return the difference of accuracies paired by seed, in percentage points: mean, sample deviation, values."""
    values = [100 * (a - b) for a, b in zip(accuracy, baseline, strict=True)]
    return {"mean_pp": statistics.fmean(values), "std_pp": _deviation(values, 1), "values_pp": values}


def _deviation(values: list[float], unit: float) -> float | None:
    return unit * statistics.stdev(values) if len(values) > 1 else None


def compare(experiments: dict[str, dict[str, str]], seeds: list[int], into: Path, metrics_file: Path) -> dict[str, Any]:
    """Write results/compare and metrics.json; return the comparison (docs/contracts.md).

    Args:
        experiments: for each experiment its models, by variant.
        seeds: the study's seeds.
        into: results/compare.
        metrics_file: metrics.json.

    Raises:
        HeedError: an evaluation is missing, or is not of these seeds.

    """
    found = {name: _experiment(name, models, seeds) for name, models in experiments.items()}
    comparison = {"seeds": seeds, "experiments": found}
    with writing_folder(into) as out:
        write_json(out / "comparison.json", comparison)
    write_json(metrics_file, {name: _metrics(experiment) for name, experiment in found.items()})
    return comparison


def _experiment(name: str, models: dict[str, str], seeds: list[int]) -> dict[str, Any]:
    recipes = {variant: read_recipe(EVALUATE / model / "recipe.yaml") for variant, model in models.items()}
    recipe = next(iter(recipes.values()))
    for variant, other in recipes.items():
        if other["tokens"] != recipe["tokens"]:
            raise HeedError(
                f"results/evaluate/{models[variant]}: made of other tokens. Run again: heed train {models[variant]}"
            )
    tables = {variant: _model(model, recipes[variant], seeds) for variant, model in models.items()}
    if "baseline" in tables:
        baseline = tables["baseline"]["summary"]["accuracy"]["values"]
        for variant, table in tables.items():
            accuracy = table["summary"]["accuracy"]["values"]
            table["gain"] = None if variant == "baseline" else gain(accuracy, baseline)
    return {
        "classes": recipe["classes"],
        "corpus": {"name": recipe["corpus"], "folds": recipe["folds"], **recipe["data"]},
        "models": tables,
        "opponents": {opponent: _opponent(name, opponent, recipe) for opponent in ("majority", "linear")},
    }


def _model(model: str, recipe: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    path = EVALUATE / model
    try:
        # Every name is text: a class called "NA" or "1" is not a missing value or a number.
        summary = pd.read_csv(path / "summary.csv")
        by_class = pd.read_csv(path / "classes.csv", dtype={"class": str}, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise HeedError(f"{path}: cannot be read ({error}). Run: heed evaluate {model}") from None
    if summary["seed"].tolist() != seeds:
        raise HeedError(
            f"{path}: is of seeds {summary['seed'].tolist()}, the study has {seeds}. Run: heed evaluate {model}"
        )
    groups = by_class.groupby("class", sort=False)
    return {
        "model": model,
        "hyperparameters": recipe["hyperparameters"],
        "parameters": round(summary["parameters"].mean()),
        "best_epochs": summary["best_epoch"].tolist(),
        "summary": {figure: spread(summary[figure].tolist()) for figure in SUMMARY},
        "classes": {
            str(name): {figure: spread([float(x) for x in group[figure]]) for figure in PER_CLASS}
            for name, group in groups
        },
        "gain": None,
    }


def _opponent(experiment: str, opponent: str, recipe: dict[str, Any]) -> dict[str, Any]:
    """Return summary and classes of an opponent: one value a fold."""
    command = f"heed opponents {experiment}"
    read_json(OPPONENTS / experiment / "opponents.json", command)
    summaries, by_class = [], []
    for fold in range(recipe["folds"] or 1):
        table = read_predictions(OPPONENTS / experiment / f"{opponent}-{fold}.parquet", "test", command)
        label, predicted = table["label"].to_numpy(), table["predicted"].to_numpy()
        summaries.append(metrics.summary(label, predicted, recipe["classes"]))
        by_class.append(metrics.by_class(label, predicted, recipe["classes"]))
    return {
        "summary": {figure: spread([row[figure] for row in summaries]) for figure in SUMMARY},
        "classes": {
            name: {figure: spread([float(row[name][figure]) for row in by_class]) for figure in PER_CLASS}
            for name in recipe["classes"]
        },
    }


def _metrics(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return what `dvc exp show` prints of an experiment: few columns, rounded to what five seeds can carry."""
    figures: dict[str, Any] = {}
    for variant, model in experiment["models"].items():
        figures[variant] = round(model["summary"]["accuracy"]["mean"], 4)
    if (attention := experiment["models"].get("attention")) and attention["gain"]:
        figures["gain_pp"] = round(attention["gain"]["mean_pp"], 2)
    figures["linear"] = round(experiment["opponents"]["linear"]["summary"]["accuracy"]["mean"], 4)
    return figures

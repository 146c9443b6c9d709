"""All models and opponents of a study side by side: means and deviations over seeds, and what their differences are worth."""

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from heed import metrics
from heed.evaluation import significance
from heed.files import HeedError, check, read_json, reading, write_json, writing_folder
from heed.predictions import read_predictions
from heed.recipe import read_recipe

EVALUATE, OPPONENTS = Path("results/evaluate"), Path("results/opponents")
SUMMARY = ("accuracy", *(f"{average}_{figure}" for average in metrics.AVERAGES for figure in metrics.FIGURES))
PER_CLASS = (*metrics.FIGURES, "support")
BASELINE, ATTENTION, OTHERS = "baseline", "attention", ("majority", "linear")
# Holm's correction is made within each family, over all experiments of the study.
FAMILIES = {
    "gain": "attention over the baseline: the question of the study",
    "rivals": "attention over every other model and opponent",
    "variants": "every other model over the baseline",
    "pairs": "a variant over its own baseline and its own mean: searched over searched-baseline and searched-mean",
}


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
    families = Counter(
        family for models in experiments.values() for pair in _pairs(models) if (family := _family(*pair))
    )
    found = {name: _experiment(name, models, seeds, families) for name, models in experiments.items()}
    _correct(found)
    folds = [bool(experiment["corpus"]["folds"]) for experiment in found.values()]
    comparison = {
        "seeds": seeds,
        "significance": {
            "signature": significance.signature(folds=any(folds), fixed=not all(folds)),
            "alpha": significance.ALPHA,
            "power": significance.POWER,
            "families": {name: {"tests": families[name], "says": says} for name, says in FAMILIES.items()},
        },
        "experiments": found,
    }
    with writing_folder(into, sealed=True) as out:
        write_json(out / "comparison.json", comparison)
    write_json(metrics_file, {name: _metrics(experiment) for name, experiment in found.items()})
    return comparison


def _experiment(name: str, models: dict[str, str], seeds: list[int], families: dict[str, int]) -> dict[str, Any]:
    for model in models.values():
        check(EVALUATE / model, f"heed evaluate {model}")
    check(OPPONENTS / name, f"heed opponents {name}")
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
    answers = {variant: _answers(model, recipe["folds"], seeds) for variant, model in models.items()}
    opponents = {opponent: _predicted(name, opponent, recipe) for opponent in OTHERS}
    return {
        "classes": recipe["classes"],
        "corpus": {"name": recipe["corpus"], "folds": recipe["folds"], **recipe["data"]},
        "models": tables,
        "opponents": {opponent: _opponent(parts, recipe["classes"]) for opponent, parts in opponents.items()},
        "comparisons": _comparisons(
            answers | {opponent: [_right(part) for part in parts] for opponent, parts in opponents.items()}, families
        ),
    }


def _right(table: pd.DataFrame) -> pd.DataFrame:
    """Return whether each document (column) was answered rightly, in the one row of an opponent."""
    return pd.DataFrame([(table["label"] == table["predicted"]).to_numpy()], columns=table["id"])


def _answers(model: str, folds: int, seeds: list[int]) -> list[pd.DataFrame]:
    """Return for each part that was tested on (one, or one a fold) whether each seed (row) had each document right."""
    path = EVALUATE / model / "predictions.parquet"
    with reading(path, f"heed evaluate {model}"):
        table = pd.read_parquet(path, columns=["seed", "id", "label", "predicted"])
    table["right"] = table["label"] == table["predicted"]
    found = []
    for fold in range(folds or 1):
        of_fold = [seed for seed in seeds if not folds or (seed - 1) % folds == fold]
        part = table[table["seed"].isin(of_fold)]
        wide = part.pivot(index="seed", columns="id", values="right").reindex(of_fold)
        if wide.empty or wide.isna().any(axis=None):
            raise HeedError(
                f"{path}: seeds {of_fold} were not tested on the same documents. Run: heed evaluate {model}"
            )
        found.append(wide.astype(bool))
    return found


def _comparisons(answers: dict[str, list[pd.DataFrame]], families: dict[str, int]) -> dict[str, dict[str, Any]]:
    """Return what each difference is worth, of all pairs that belong to a family."""
    found: dict[str, dict[str, Any]] = {}
    for first, second in itertools.permutations(answers, 2):
        if family := _family(first, second):
            theirs = [
                part.reindex(columns=own.columns) for own, part in zip(answers[first], answers[second], strict=True)
            ]
            if any(part.isna().any(axis=None) for part in theirs):
                raise HeedError(
                    f"{first} and {second} were not tested on the same documents. Run again: dvc repro compare"
                )
            blocks = significance.differences(
                [part.to_numpy() for part in answers[first]], [part.to_numpy().astype(bool) for part in theirs]
            )
            found.setdefault(first, {})[second] = {"family": family} | significance.assess(blocks, families[family])
    return found


def _pairs(models: Iterable[str]) -> Iterable[tuple[str, str]]:
    return itertools.permutations([*models, *OTHERS], 2)


def _family(first: str, second: str) -> str | None:
    if first == ATTENTION:
        return "gain" if second == BASELINE else "rivals"
    if first not in (BASELINE, *OTHERS) and second in (f"{first}-{BASELINE}", f"{first}-mean"):
        return "pairs"
    return "variants" if second == BASELINE and first not in OTHERS else None


def _correct(found: dict[str, dict[str, Any]]) -> None:
    """Correct the p values of every family over all experiments."""
    entries = [
        entry
        for experiment in found.values()
        for others in experiment["comparisons"].values()
        for entry in others.values()
        if entry["p"] is not None
    ]
    for family in FAMILIES:
        own = [entry for entry in entries if entry["family"] == family]
        for entry, p in zip(own, significance.holm([entry["p"] for entry in own]), strict=True):
            entry["p_holm"] = p


def _model(model: str, recipe: dict[str, Any], seeds: list[int]) -> dict[str, Any]:
    path = EVALUATE / model
    with reading(path, f"heed evaluate {model}"):
        # Every name is text: a class called "NA" or "1" is not a missing value or a number.
        summary = pd.read_csv(path / "summary.csv")
        by_class = pd.read_csv(path / "classes.csv", dtype={"class": str}, keep_default_na=False)
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


def _predicted(experiment: str, opponent: str, recipe: dict[str, Any]) -> list[pd.DataFrame]:
    """Return an opponent's answers on each test part: one table a fold."""
    command = f"heed opponents {experiment}"
    read_json(OPPONENTS / experiment / "opponents.json", command)
    paths = [OPPONENTS / experiment / f"{opponent}-{fold}.parquet" for fold in range(recipe["folds"] or 1)]
    return [read_predictions(path, "test", command) for path in paths]


def _opponent(parts: list[pd.DataFrame], classes: list[str]) -> dict[str, Any]:
    """Return summary and classes of an opponent: one value a fold."""
    runs = [(table["label"].to_numpy(), table["predicted"].to_numpy()) for table in parts]
    summaries = [metrics.summary(label, predicted, classes) for label, predicted in runs]
    by_class = [metrics.by_class(label, predicted, classes) for label, predicted in runs]
    return {
        "summary": {figure: spread([row[figure] for row in summaries]) for figure in SUMMARY},
        "classes": {
            name: {figure: spread([float(row[name][figure]) for row in by_class]) for figure in PER_CLASS}
            for name in classes
        },
    }


def _metrics(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return what `dvc exp show` prints of an experiment: few columns, rounded to what five seeds can carry."""
    figures: dict[str, Any] = {}
    for variant, model in experiment["models"].items():
        figures[variant] = round(model["summary"]["accuracy"]["mean"], 4)
    if (attention := experiment["models"].get("attention")) and attention["gain"]:
        figures["gain_pp"] = round(attention["gain"]["mean_pp"], 2)
        gained = experiment["comparisons"][ATTENTION][BASELINE]
        if gained["interval_pp"]:
            figures["low_pp"], figures["high_pp"] = (round(end, 2) for end in gained["interval_pp"])
            figures["p_holm"] = float(f"{gained['p_holm']:.2g}")
    figures["linear"] = round(experiment["opponents"]["linear"]["summary"]["accuracy"]["mean"], 4)
    return figures

"""The tables of one model: figures on test by class and averaged, for each seed; its answers; what it attended to."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from heed import metrics
from heed.evaluation import diagnosis
from heed.evaluation.explanation import explain
from heed.files import HeedError, check, read_json, reading, writing_folder
from heed.predictions import read_certainty, read_predictions
from heed.recipe import write_recipe
from heed.text.tokens import load_tokens
from heed.training.determinism import make_deterministic
from heed.training.run import TOKENS, TRAIN, load_run


def evaluate(name: str, seeds: list[int], into: Path) -> pd.DataFrame:
    """Write results/evaluate/NAME from the runs of `seeds`; return its summary, one row a seed.

    Raises:
        HeedError: a run is missing, is another model's or seed's, or was made with another recipe than the others.

    """
    runs = _runs(name, seeds)
    recipe = runs[0].info["recipe"]
    tokens = load_tokens(TOKENS / recipe["corpus"])
    lengths = pd.Series(np.diff(tokens.offsets), tokens.documents(["id"])["id"])
    edges = diagnosis.length_edges(lengths.to_numpy())
    classes = recipe["classes"]
    classes_rows, summary_rows, answers = [], [], []
    diagnosed: dict[str, list[pd.DataFrame]] = {"history": [], "confusion": [], "lengths": [], "calibration": []}
    for seed, (folder, command, info) in zip(seeds, runs, strict=True):
        test = read_predictions(folder / "predictions.parquet", "test", command)
        validation = read_predictions(folder / "predictions.parquet", "validation", command)
        answers.append(test.drop(columns="split").assign(seed=seed))
        label, predicted = test["label"].to_numpy(), test["predicted"].to_numpy()
        for what, table in _diagnosis(folder, command, test, lengths[test["id"]].to_numpy(), edges).items():
            table.insert(0, "seed", seed)
            diagnosed[what].append(table)
        for class_name, figures in metrics.by_class(label, predicted, classes).items():
            classes_rows.append({"seed": seed, "class": class_name, **figures})
        summary_rows.append(
            {
                "seed": seed,
                **metrics.summary(label, predicted, classes),
                "validation_accuracy": float((validation["label"] == validation["predicted"]).mean()),
                "best_epoch": info["best_epoch"],
                "parameters": info["parameters"],
            }
        )
    summary = pd.DataFrame(summary_rows)
    first = runs[0].folder
    predictions = pd.read_parquet(first / "predictions.parquet").query("split == 'test'")
    # With the machine's threads the weights would be the machine's (and beside busy neighbours 1 s became 38 s).
    make_deterministic(recipe["hyperparameters"]["threads"])
    documents, weights = explain(load_run(first), tokens, predictions)
    with writing_folder(into, sealed=True) as out:
        pd.DataFrame(classes_rows).to_csv(out / "classes.csv", index=False, lineterminator="\n")
        summary.to_csv(out / "summary.csv", index=False, lineterminator="\n")
        for what, tables in diagnosed.items():
            table = pd.concat(tables, ignore_index=True)
            table.to_csv(out / f"{what}.csv", index=False, lineterminator="\n", float_format="%.6g")
        pd.concat(answers, ignore_index=True).to_parquet(out / "predictions.parquet", index=False)
        documents.to_parquet(out / "documents.parquet", index=False)
        weights.to_parquet(out / "weights.parquet", index=False)
        write_recipe(out / "recipe.yaml", recipe)
    return summary


class _Run(NamedTuple):
    """A trained run: its folder, the command that makes it, and its run.json."""

    folder: Path
    command: str
    info: dict[str, Any]


def _runs(name: str, seeds: list[int]) -> list[_Run]:
    """Return the runs of all seeds, all made with one recipe."""
    runs: list[_Run] = []
    for seed in seeds:
        folder, command = TRAIN / name / str(seed), f"heed train {name} --seed {seed}"
        check(folder, command)
        info = read_json(folder / "run.json", command)
        if (found := (info["recipe"]["model"], info["seed"])) != (name, seed):
            raise HeedError(f"{folder}: is the run of {found[0]} with seed {found[1]}. Run again: {command}")
        runs.append(_Run(folder, command, info))
        if info["recipe"] != runs[0].info["recipe"]:
            raise HeedError(f"{folder}: made with another recipe than seed {seeds[0]}. Run again: {command}")
    return runs


def _diagnosis(
    run: Path, command: str, test: pd.DataFrame, lengths: np.ndarray, edges: np.ndarray
) -> dict[str, pd.DataFrame]:
    """Return of one run: its history, who was taken for whom, right answers by length of text and by certainty.

    Args:
        run: its folder.
        command: what makes the run.
        test: its predictions of the test documents.
        lengths: tokens of each of them, (test,)
        edges: of the groups of lengths, from `diagnosis.length_edges`.

    """
    right = (test["label"] == test["predicted"]).to_numpy()
    with reading(run / "history.csv", command):
        history = pd.read_csv(run / "history.csv")
    return {
        "history": history,
        "confusion": diagnosis.confusion(test),
        "lengths": diagnosis.by_length(right, lengths, edges),
        "calibration": diagnosis.calibration(right, read_certainty(run / "predictions.parquet", "test")),
    }

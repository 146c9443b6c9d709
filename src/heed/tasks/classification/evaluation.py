"""The tables of a classifier: metrics on the test split by class and averaged, and diagnosis."""

import numpy as np
import pandas as pd

from heed.evaluation.item_statistics import TestedModel, group_edges
from heed.paths import TOKENS
from heed.recipe import Recipe
from heed.tables import join_seeds
from heed.task import task_module
from heed.task.interface import Metrics
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tokens.arrays import load_tokens

EXACT = ("classes", "summary")  # tables whose metrics are written with all digits
LENGTH_GROUPS = 8  # of lengths, with about as many documents each


def tables(
    tested: TestedModel, seeds: list[int], predictions: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return a model's tables by name, `seed` first, from predictions of all seeds and splits."""
    recipe: Recipe[Data, Hyperparameters] = tested.recipe
    split_name = task_module(recipe.task, "metrics")
    metrics: Metrics = split_name.make_metrics(recipe.data)
    tokens = load_tokens(TOKENS / recipe.corpus)
    lengths = pd.Series(np.diff(tokens.offsets), tokens.documents(["id"])["id"])
    edges, first = group_edges(lengths.to_numpy(), LENGTH_GROUPS), metrics.all[0].name
    by_seed: dict[int, dict[str, pd.DataFrame]] = {}
    for i, seed in enumerate(seeds):
        run = predictions[predictions["seed"] == seed]
        test, validation = (run[run["split"] == split] for split in ("test", "validation"))
        statistics = tested.statistics[i].to_numpy()
        validated = split_name.statistics_table(validation, recipe.data.classes).to_numpy()
        summary = {
            **metrics.compute(statistics),
            "support": len(test),
            f"validation_{first}": metrics.compute(validated)[first],
            "best_epoch": tested.best_epochs[i],
            "parameters": tested.parameters[i],
        }
        details = metrics.details(statistics.sum(0, dtype=np.float64))["classes"]
        classes = pd.DataFrame([{"class": name} | values for name, values in details.items()])
        right = (test["label"] == test["predicted"]).to_numpy()
        by_seed[seed] = {
            "classes": classes.astype({"support": int}),
            "summary": pd.DataFrame([summary]),
            "confusion": confusion(test),
            "lengths": by_length(right, lengths[test["id"]].to_numpy(), edges),
        }
    return join_seeds(by_seed)


def confusion(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the confusion matrix as rows `label, predicted, documents`, for pairs that occur."""
    return predictions.groupby(["label", "predicted"]).size().reset_index(name="documents")


def by_length(right: np.ndarray, lengths: np.ndarray, edges: np.ndarray) -> pd.DataFrame:
    """Return `longest, documents, mean_length, right` of each group of `group_edges`."""
    longest = pd.Series(edges[np.searchsorted(edges, lengths)], name="longest")
    groups = pd.DataFrame({"right": right, "length": lengths}).groupby(longest)
    parts = {"documents": ("right", "size"), "mean_length": ("length", "mean")}
    return groups.agg(**parts, right=("right", "sum")).reset_index()

"""The tables of a classifier: figures on test by class and averaged, for each seed, and where it is
right and wrong.
"""

import numpy as np
import pandas as pd

from heed.evaluation.tested import TestedModel
from heed.paths import TOKENS
from heed.recipe import Recipe
from heed.tasks.classification import diagnosis
from heed.tasks.classification.metrics import make_metrics
from heed.tasks.classification.probabilities import certainty
from heed.tasks.classification.recipe import Data, Hyperparameters
from heed.tokens.arrays import load_tokens

EXACT = ("classes", "summary")  # tables whose figures are written with every digit


def tables(
    tested: TestedModel, seeds: list[int], predictions: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return the tables of a model by name, each with the column `seed` first; `summary` has one
    row a seed.

    Args:
        tested: its statistics on the test part.
        seeds: of its runs, in order.
        predictions: of all seeds, on validation and test (docs/contracts.md).

    """
    recipe: Recipe[Data, Hyperparameters] = tested.recipe
    tokens = load_tokens(TOKENS / recipe.corpus)
    lengths = pd.Series(np.diff(tokens.offsets), tokens.documents(["id"])["id"])
    edges = diagnosis.length_edges(lengths.to_numpy())
    metrics = make_metrics(recipe.data)
    made: dict[str, list[pd.DataFrame]] = {}
    for i, seed in enumerate(seeds):
        of_seed = predictions[predictions["seed"] == seed]
        test, validation = (of_seed[of_seed["split"] == part] for part in ("test", "validation"))
        statistics = tested.statistics[i].to_numpy()
        summary = {
            **metrics.of(statistics),
            "support": len(test),
            "validation_accuracy": float((validation["label"] == validation["predicted"]).mean()),
            "best_epoch": tested.best_epochs[i],
            "parameters": tested.parameters[i],
        }
        by_class = metrics.details(statistics.sum(0, dtype=np.float64))["classes"]
        for name, table in {
            "classes": pd.DataFrame(
                [{"class": key} | _counted(figures) for key, figures in by_class.items()]
            ),
            "summary": pd.DataFrame([summary]),
            **_diagnosis(test, lengths[test["id"]].to_numpy(), edges),
        }.items():
            table.insert(0, "seed", seed)
            made.setdefault(name, []).append(table)
    return {name: pd.concat(parts, ignore_index=True) for name, parts in made.items()}


def _counted(figures: dict[str, float]) -> dict[str, float]:
    """Return a class's figures with its support as a whole number."""
    return figures | {"support": int(figures["support"])}


def _diagnosis(
    test: pd.DataFrame, lengths: np.ndarray, edges: np.ndarray
) -> dict[str, pd.DataFrame]:
    """Return the confusion matrix of a run, and its right answers by length of text and by
    certainty.

    Args:
        test: its predictions of the test documents.
        lengths: tokens of each of them, (test,)
        edges: of the groups of lengths, from `diagnosis.length_edges`.

    """
    right = (test["label"] == test["predicted"]).to_numpy()
    return {
        "confusion": diagnosis.confusion(test),
        "lengths": diagnosis.by_length(right, lengths, edges),
        "calibration": diagnosis.calibration(right, certainty(test)),
    }

"""The table of a regression: its metrics by seed."""

import pandas as pd
from heed.tasks.regression.metrics import make_metrics

from heed.evaluation.tested import TestedModel

EXACT = ("summary",)


def tables(
    tested: TestedModel, seeds: list[int], predictions: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return the table `summary` of a model."""
    metrics = make_metrics(tested.recipe.data)
    rows = [
        {"seed": seed, **metrics.compute(tested.statistics[i].to_numpy())}
        for i, seed in enumerate(seeds)
    ]
    return {"summary": pd.DataFrame(rows)}

"""The table of a regression: its metrics by seed."""

import pandas as pd
from heed.tasks.regression.metrics import make_metrics

from heed.evaluation.item_statistics import TestedModel

EXACT = ("summary",)


def tables(tested: TestedModel, seeds: list[int], _: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the table `summary` of a model."""
    metrics = make_metrics(tested.recipe.data)
    runs = zip(seeds, tested.statistics, strict=True)
    rows = [{"seed": seed, **metrics.compute(run.to_numpy())} for seed, run in runs]
    return {"summary": pd.DataFrame(rows)}

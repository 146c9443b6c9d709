"""The tables of a multi-label classifier: metrics on the test part by class and averaged."""

import pandas as pd

from heed.evaluation.tested import TestedModel
from heed.tasks.classification.evaluation import EXACT, tables_of_seeds
from heed.tasks.multilabel.labels import statistics_table
from heed.tasks.multilabel.metrics import figures, make_metrics

__all__ = ["EXACT", "tables"]


def tables(
    tested: TestedModel, seeds: list[int], predictions: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return the tables `classes` and `summary` of a model; the first column of each is `seed`.

    Args:
        tested: the model's statistics on the test part.
        seeds: those of its runs, in order.
        predictions: of all seeds, on validation and test (docs/contracts.md).

    """
    data = tested.recipe.data

    def validate(validation: pd.DataFrame) -> dict[str, float]:
        values = figures(statistics_table(validation, data.classes).to_numpy(), data.classes)
        return {"micro_f1": values["micro_f1"]}

    return tables_of_seeds(
        tested, seeds, predictions, make_metrics(data), validate, diagnose=lambda test: {}
    )

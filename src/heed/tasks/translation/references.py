"""The references of translations: the texts of the target, and those of further languages.

A corpus may have several translations of a source, each as a language of its own. A model learns
from one of them, the target; its translations are compared with all.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from heed.tokens.arrays import ParallelTokens


def further_references(
    tokens: ParallelTokens, languages: Sequence[str], rows: np.ndarray
) -> list[list[str]]:
    """Return the texts of these languages for each row, without those that are empty."""
    columns = [tokens.sides[language].texts(rows) for language in languages]
    return [[column[i] for column in columns if column[i]] for i in range(len(rows))]


def read_references(predictions: pd.DataFrame) -> list[list[str]]:
    """Return the references of each row of a table of predictions, that of the target first."""
    return [
        [reference, *further]
        for reference, further in zip(
            predictions["reference"], predictions["further_references"], strict=True
        )
    ]

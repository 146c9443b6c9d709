"""The sentences that the report shows: the pair, its translation, and the weights of its words.

They are chosen by a rule that no model has a part in: of the test sentences, sorted by the number
of source words and then in the order of the corpus, those in the middle of GROUPS groups of equal
size. So the same sentences can be compared between models, and none was picked because it suits.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from heed.tasks.translation.alignment import weights_of_words
from heed.tasks.translation.recipe import Data
from heed.tokens.arrays import ParallelTokens, Side

if TYPE_CHECKING:
    from heed.tasks.translation.prediction import Aligned

GROUPS = 6
SPREAD_SENTENCES = 120  # at most: of what is measured over all lengths


def displayed_rows(
    tokens: ParallelTokens, data: Data, predictions: pd.DataFrame, groups: int = GROUPS
) -> np.ndarray:
    """Return the rows that are shown, in the order of their lengths.

    Args:
        tokens: the corpus.
        data: the languages.
        predictions: of the test part.
        groups: the number of groups, and so of rows where there are enough.

    """
    ids = tokens.documents(["id"])["id"]
    rows = pd.Series(ids.index, ids)[predictions["id"]].to_numpy()
    lengths = np.diff(tokens.sides[data.source].offsets)[rows]
    order = rows[np.lexsort([rows, lengths])]
    middles = (2 * np.arange(groups) + 1) * len(order) // (2 * groups)
    return order[np.unique(middles)]


def displayed_tables(
    tokens: ParallelTokens,
    data: Data,
    predictions: pd.DataFrame,
    rows: np.ndarray,
    aligned: "list[Aligned]",
    split: Callable[[Side, int], list[str]],
) -> dict[str, pd.DataFrame]:
    """Return `sentences` (a row each) and `weights` (a row for each pair of words).

    Weights of the pieces of a word are added over source words and averaged over target words.

    Args:
        tokens: the corpus.
        data: the languages.
        predictions: of the test part.
        rows: from `displayed_rows`.
        aligned: the attention between each source and its reference.
        split: returns the words of a row that the weights are of.

    """
    ids = tokens.documents(["id"])["id"].to_numpy()[rows]
    columns = ["id", "source", "reference", "hypothesis", "score", "gold"]
    sentences = predictions.set_index("id", drop=False).loc[ids, columns].reset_index(drop=True)
    for column, language in (("source_words", data.source), ("reference_words", data.target)):
        sentences[column] = [split(tokens.sides[language], int(row)) for row in rows]
    tables = []
    for id_, each in zip(ids, aligned, strict=True):
        if each.weights is not None:
            table = _by_words(each)
            table.insert(0, "id", id_)
            tables.append(table)
    empty = pd.DataFrame({"id": [], "target": [], "source": [], "weight": []})
    return {"sentences": sentences, "weights": pd.concat(tables) if tables else empty}


def _by_words(aligned: "Aligned") -> pd.DataFrame:
    """Return the weights between words as rows `target, source, weight`."""
    assert aligned.weights is not None
    weights = weights_of_words(aligned.weights, aligned.source_words, aligned.target_words)
    target, source = np.indices(weights.shape)
    return pd.DataFrame(
        {"target": target.ravel(), "source": source.ravel(), "weight": weights.ravel()}
    )

"""Exact duplicates across the parts of a corpus."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from heed.study import Corpus


def find_duplicates(
    corpus: "Corpus", texts: list[np.ndarray], columns: dict[str, np.ndarray]
) -> tuple[np.ndarray, dict[str, int]]:
    """Return which documents `drop_duplicates` drops, (documents,), and the counts of duplicates.

    Two documents are duplicates when their texts are equal; of documents with texts in several
    languages, when those of any language are.

    Args:
        corpus: its section in params.yaml.
        texts: for each language, the number of each document's text, the same for equal texts;
            -1, which is no duplicate, where a document has none: (documents,) each.
        columns: the split columns, each (documents,).

    """
    by_language = [pd.Series(language) for language in texts]

    def among(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return which documents are of `rows` and have a text of `others`, (documents,)."""
        repeats = [(texts.isin(texts[others]) & (texts >= 0)).to_numpy() for texts in by_language]
        return rows & np.logical_or.reduce(repeats)

    repeated = np.logical_or.reduce(
        [(texts.duplicated() & (texts >= 0)).to_numpy() for texts in by_language]
    )
    shared, dropped = 0, np.zeros(len(repeated), bool)
    for column in columns.values():
        is_train = column == "train"
        shared = max(shared, int(among(column == "test", is_train).sum()))
        if corpus.drop_duplicates and corpus.split.kind != "folds":
            dropped |= among(is_train, ~is_train)
    # with folds every document is in a test part: keep the first of equal documents
    if corpus.drop_duplicates and corpus.split.kind == "folds":
        dropped = repeated
    return dropped, {
        "texts": int(repeated.sum()),
        "test_texts_in_train": shared,
        "dropped": int(dropped.sum()),
    }

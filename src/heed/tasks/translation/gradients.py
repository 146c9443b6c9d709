"""The gradient that reaches each word of the source, by the source's length.

models/dependence.py defines it. The sentences are those of `displayed_rows` with
SPREAD_SENTENCES groups: spread evenly over the test part, sorted by length, so they are the same
for every model.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from heed.models.dependence import SourceGradients

TRUNCATION = 8  # steps of truncated backpropagation through time


def sentence_table(
    id_: str, source_words: int, truncation: int | None, gradients: "SourceGradients"
) -> pd.DataFrame:
    """Return the gradients of one sentence, a row for each position that the encoder reads.

    Columns: `id`; `source_words`, its length in words; `position` of the unit, from 0;
    `truncation` in steps, 0 for none; `norm` and `relative`, the norm divided by its mean over the
    sentence; `forward_norm` and `forward_relative`, the same of the forward direction alone, which
    are missing for a model without recurrence.
    """
    forward = gradients.forward
    if forward is None:
        forward = np.full(len(gradients.whole), np.nan)
    return pd.DataFrame(
        {
            "id": id_,
            "source_words": source_words,
            "position": np.arange(len(gradients.whole)),
            "truncation": truncation or 0,
            "norm": gradients.whole,
            "relative": _relative(gradients.whole),
            "forward_norm": forward,
            "forward_relative": _relative(forward),
        }
    )


def _relative(norms: np.ndarray) -> np.ndarray:
    """Return norms divided by their mean; 0 where all are 0."""
    return norms / (norms.mean() or 1.0)


def by_length(table: pd.DataFrame, edges: np.ndarray) -> pd.DataFrame:
    """Return how much gradient reaches the first position, by the length of the source.

    `truncation, longest, sentences, mean_length, relative, forward_relative`: the last two are
    means over the sentences of a group, of their first position's. 1 is as much as reaches the mean
    position of the sentence.

    Args:
        table: of `sentence_table`, of any number of sentences.
        edges: the largest length of each group, ascending, as of `diagnosis.group_edges`; no
            sentence is longer than the last.

    """
    first = table[table["position"] == 0]
    longest = np.asarray(edges)[np.searchsorted(edges, first["source_words"].to_numpy())]
    groups = first.assign(longest=longest).groupby(["truncation", "longest"], sort=True)
    return groups.agg(
        sentences=("id", "size"),
        mean_length=("source_words", "mean"),
        relative=("relative", "mean"),
        forward_relative=("forward_relative", "mean"),
    ).reset_index()

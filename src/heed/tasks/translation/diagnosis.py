"""Translations by the length of their source, and alignments by the distance of what they link.

BLEU and chrF of a group are those of its sums: each is a figure of the corpus that the group is.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from heed.tasks.translation.alignment import Gold, Links
from heed.tasks.translation.metrics import has_links, make_metrics
from heed.tasks.translation.recipe import Data

GROUPS = 6  # of lengths or distances, at most, with about as many sentences or links each
BY_LENGTH = ("bleu", "chrf", "aer")  # the figures of each group; aer where there is gold


def group_edges(values: np.ndarray) -> np.ndarray:
    """Return the largest value of each group, (groups,), ascending.

    Args:
        values: lengths of all tested sentences, or distances of their gold links; at least one.

    """
    shares = np.arange(1, GROUPS + 1) / GROUPS
    return np.unique(np.quantile(values, shares, method="higher"))


def by_length(
    statistics: np.ndarray, lengths: np.ndarray, edges: np.ndarray, data: Data
) -> pd.DataFrame:
    """Return `longest, sentences, mean_length` and figures of each group that has sentences.

    The alignment error rate of a group without gold links is missing.

    Args:
        statistics: additive statistics of each sentence, (sentences, statistics)
        lengths: words of each source, (sentences,)
        edges: from `group_edges`.
        data: how translations are scored.

    """
    group = np.searchsorted(edges, lengths)
    occurring = np.unique(group)
    sums = np.stack([statistics[group == number].sum(0) for number in occurring])
    figures = make_metrics(data).figures
    values = {figure.name: figure.value(sums) for figure in figures if figure.name in BY_LENGTH}
    if "aer" in values:
        values["aer"] = np.where(has_links(sums, data), values["aer"], np.nan)
    return pd.DataFrame(
        {
            "longest": edges[occurring],
            "sentences": [int((group == number).sum()) for number in occurring],
            "mean_length": [float(lengths[group == number].mean()) for number in occurring],
            **values,
        }
    )


def link_distances(gold: Sequence[Gold | None]) -> np.ndarray:
    """Return |i - j| of every sure link (i, j): how far the translation moves a word, (links,)."""
    return np.asarray(
        [abs(i - j) for correct in gold if correct is not None for i, j in correct[0]], np.int64
    )


def by_distance(
    links: Sequence[Links], gold: Sequence[Gold | None], edges: np.ndarray
) -> pd.DataFrame:
    """Return `furthest, links, found` of each group: sure links, and those that were found.

    BLEU has no positions; the share of the sure links that a model finds, by how far they reach,
    shows whether its attention can move.

    Args:
        links: of each sentence and its reference, by the model.
        gold: of each sentence; None where it has none.
        edges: from `group_edges` of `link_distances`.

    """
    found = [
        (abs(link[0] - link[1]), link in proposed)
        for proposed, correct in zip(links, gold, strict=True)
        if correct is not None
        for link in correct[0]
    ]
    table = pd.DataFrame(found, columns=["distance", "found"])
    table["furthest"] = edges[np.searchsorted(edges, table["distance"].to_numpy())]
    groups = table.groupby("furthest", sort=True)["found"]
    return groups.agg(links="size", found="sum").reset_index()

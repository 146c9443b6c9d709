"""The tables of a translator: its scores on test, by length of source, by distance of links."""

import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from heed.evaluation.item_statistics import TestedModel, group_edges
from heed.paths import TOKENS
from heed.tables import join_seeds
from heed.tasks.translation import metrics
from heed.tasks.translation.recipe import Data
from heed.tasks.translation.reference_models import (
    TranslationTable,
    fit_ibm1,
    separated_words,
)
from heed.tokens.arrays import load_tokens

EXACT = ("summary",)  # tables whose metrics are written with all digits
GROUPS = 6  # of lengths, at most, with about as many sentences each
BY_LENGTH = ("bleu", "chrf", "aer")  # the metrics of each group; aer where there is gold


def tables(
    tested: TestedModel, seeds: list[int], predictions: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return the tables of a model by name; the first column of each is `seed`.

    Where the corpus has gold links, `aer_shifted` is the error of the same links moved by one
    target word; else `ibm1_agreement` of a model with attention is the agreement with IBM model 1,
    2 |A ∩ B| / (|A| + |B|), which is not known to be right.
    """
    is_test = predictions["split"] == "test"
    edges = group_edges(predictions.loc[is_test, "source_words"].to_numpy(), GROUPS)
    alignments = _Alignments(tested, predictions.loc[is_test, "id"].drop_duplicates())
    by_seed: dict[int, dict[str, pd.DataFrame]] = {}
    for i, seed in enumerate(seeds):
        run, statistics = predictions[predictions["seed"] == seed], tested.statistics[i]
        test = run[run["split"] == "test"].set_index("id").loc[statistics.index]
        scores = alignments.judge(test["links"], tested.folds[i])
        words = test["source_words"].to_numpy()
        by_seed[seed] = {
            "summary": pd.DataFrame([_summary(tested, i, run) | scores]),
            "lengths": by_length(statistics.to_numpy(), words, edges, tested.recipe.data),
        }
    return join_seeds(by_seed)


def _summary(tested: TestedModel, i: int, run: pd.DataFrame) -> dict[str, float | None]:
    validation = run[run["split"] == "validation"]
    translated, right = (validation[column].tolist() for column in ("hypothesis", "reference"))
    return {
        **metrics.make_metrics(tested.recipe.data).compute(tested.statistics[i].to_numpy()),
        "support": len(tested.statistics[i]),
        "validation_bleu": metrics.corpus_bleu(translated, right, tested.prediction),
        "best_epoch": tested.best_epochs[i],
        "parameters": tested.parameters[i],
    }


class _Alignments:
    """Gold links that a model's links are compared with, or else the links of IBM model 1."""

    def __init__(self, tested: TestedModel, ids: pd.Series) -> None:
        """Read the gold links of the test sentences `ids`."""
        self.recipe, self.lowercase = tested.recipe, tested.prediction.lowercase
        self.tokens = load_tokens(TOKENS / self.recipe.corpus)
        self.rows = pd.Series(self.tokens.rows_of(ids), ids)
        gold = metrics.gold_links(self.tokens, self.recipe.data, self.rows.to_numpy())
        self.gold = None if gold is None else dict(zip(ids, gold, strict=True))
        self.fitted = functools.cache(self._fit)

    def judge(self, formatted: pd.Series, fold: int) -> dict[str, float]:
        """Return the scores of a run's links, by id as text."""
        rows = self.rows[formatted.index].to_numpy()
        links = [sure for sure, _ in filter(None, metrics.read_links(formatted))]
        if self.gold is None:
            if not self.recipe.hyperparameters.learns_weights:
                return {}
            return {"ibm1_agreement": self._agreement(links, rows, fold)}
        gold = [self.gold[id_] for id_ in formatted.index]
        lengths = np.diff(metrics.sides(self.tokens, self.recipe.data)[1].offsets)[rows].tolist()
        shifted = [*map(shift, links, lengths)]
        counts = metrics.corpus_counts(shifted, gold).sum(0)
        return {"aer_shifted": float(metrics.error_rate(counts))}

    def _fit(self, fold: int) -> tuple[TranslationTable, list[np.ndarray], list[np.ndarray]]:
        train = self.tokens.rows("train", fold)
        table, sides = fit_ibm1(self.tokens, self.recipe.data, self.lowercase, train)
        source, target = (side.rows for side in sides)
        return table, source, target

    def _agreement(self, links: Sequence[metrics.Links], rows: np.ndarray, fold: int) -> float:
        if self.recipe.hyperparameters.segmentation == "words":
            links = self._separate(links, rows)
        table, source, target = self.fitted(fold)
        aligned = self._separate([table.align(source[row], target[row]) for row in rows], rows)
        counts = metrics.corpus_counts(links, [(expected, expected) for expected in aligned])
        return 1 - float(metrics.error_rate(counts.sum(0)))

    def _separate(self, links: Sequence[metrics.Links], rows: np.ndarray) -> list[metrics.Links]:
        """Return links of tokens, or pieces, as links of the words that white space separates."""
        separated = []
        for row, aligned in zip(rows, links, strict=True):
            first, second = (
                separated_words(side, row).tolist()
                for side in metrics.sides(self.tokens, self.recipe.data)
            )
            separated.append({(first[i], second[j]) for i, j in aligned})
        return separated


def shift(links: metrics.Links, target_words: int) -> metrics.Links:
    """Return the links moved by one target word, around the end: an alignment's control."""
    return {(i, (j + 1) % target_words) for i, j in links}


def by_length(
    statistics: np.ndarray, lengths: np.ndarray, edges: np.ndarray, data: Data
) -> pd.DataFrame:
    """Return `longest, sentences, mean_length` and metrics of each group of `group_edges`."""
    longest = edges[np.searchsorted(edges, lengths)]
    groups = pd.Series(lengths).groupby(longest).agg(sentences="size", mean_length="mean")
    table = groups.rename_axis("longest").reset_index()
    sums = pd.DataFrame(statistics, columns=metrics.statistic_names(data)).groupby(longest).sum()
    for metric in metrics.make_metrics(data).all:
        if metric.name in BY_LENGTH:
            table[metric.name] = metric.value(sums.to_numpy())
    if data.has_gold_alignment:
        has_links = sums[[*metrics.COUNTS[:2]]].any(axis=1).to_numpy()
        table["aer"] = table["aer"].where(has_links)
    return table

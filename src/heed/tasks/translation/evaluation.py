"""The tables of a translator: its figures on test, by length of source, by distance of links."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from heed.evaluation.tested import TestedModel
from heed.paths import TOKENS
from heed.recipe import Recipe
from heed.tasks.translation.metrics import (
    Gold,
    Links,
    corpus_bleu,
    corpus_counts,
    error_rate,
    gold_links,
    has_links,
    make_metrics,
    read_links,
    read_references,
    shift,
    sides,
)
from heed.tasks.translation.recipe import Data
from heed.tasks.translation.statistical import (
    TranslationTable,
    read_sentences,
    separated_words,
    train_ibm1,
)
from heed.tokens.arrays import ParallelTokens, load_tokens

EXACT = ("summary",)  # tables whose metrics are written with all digits
GROUPS = 6  # of lengths or distances, at most, with about as many sentences or links each
BY_LENGTH = ("bleu", "chrf", "aer")  # the figures of each group; aer where there is gold


def tables(
    tested: TestedModel, seeds: list[int], predictions: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return the tables of a model by name; the first column of each is `seed`.

    `summary`: every figure. Where the corpus has gold links, `aer_shifted` is the error of the
    same links moved by one target word; where it has none, `ibm1_agreement` of a model with
    attention is the agreement with IBM model 1, fitted on the training split, which is not known to
    be right: 2 |A ∩ B| / (|A| + |B|). `lengths`, and `distances` where there are gold links.
    `predictions` are those of all seeds, on validation and test (docs/contracts.md).
    """
    is_test = predictions["split"] == "test"
    edges = group_edges(predictions.loc[is_test, "source_words"].to_numpy())
    alignments = _Alignments(tested, predictions.loc[is_test, "id"])
    tables_by_name: dict[str, list[pd.DataFrame]] = {}
    for i, seed in enumerate(seeds):
        run = predictions[predictions["seed"] == seed].set_index("id")
        statistics = tested.statistics[i]
        test = run[run["split"] == "test"].loc[statistics.index]
        words = test["source_words"].to_numpy()
        scores, made = alignments.judge(test["links"], tested.folds[i])
        made["summary"] = pd.DataFrame([_summary(tested, i, run) | scores])
        made["lengths"] = by_length(statistics.to_numpy(), words, edges, tested.recipe.data)
        for name, table in made.items():
            table.insert(0, "seed", seed)
            tables_by_name.setdefault(name, []).append(table)
    return {name: pd.concat(by_seed, ignore_index=True) for name, by_seed in tables_by_name.items()}


def _summary(tested: TestedModel, i: int, run: pd.DataFrame) -> dict[str, float | None]:
    """Return every score of a model's run i, from its statistics and its predictions.

    `references` is how many each test sentence has, None where they differ.
    """
    test, validation = (run[run["split"] == split] for split in ("test", "validation"))
    counts, hypotheses = {*map(len, read_references(test))}, validation["hypothesis"].tolist()
    return {
        **make_metrics(tested.recipe.data).compute(tested.statistics[i].to_numpy()),
        "support": len(tested.statistics[i]),
        "references": counts.pop() if len(counts) == 1 else None,
        "validation_bleu": corpus_bleu(hypotheses, read_references(validation), tested.prediction),
        "best_epoch": tested.best_epochs[i],
        "parameters": tested.parameters[i],
    }


class _Alignments:
    """What a model's links are compared with: gold links, or else those of IBM model 1.

    IBM model 1 is fitted once for each fold.
    """

    def __init__(self, tested: TestedModel, ids: pd.Series) -> None:
        """Read the gold links of the test sentences `ids` of all seeds; an id may repeat."""
        self.recipe: Recipe[Data, Any] = tested.recipe
        self.tokens: ParallelTokens = load_tokens(TOKENS / self.recipe.corpus)
        self.lowercase = tested.prediction.lowercase
        unique = ids.drop_duplicates()
        self.rows = pd.Series(self.tokens.rows_of(unique), unique)  # by id
        gold = gold_links(self.tokens, self.recipe.data, self.rows.to_numpy())
        self.gold = None if gold is None else dict(zip(unique, gold, strict=True))
        distances = link_distances(gold or [])
        self.furthest = group_edges(distances) if len(distances) else distances
        self.fitted = functools.cache(self._fit)

    def judge(
        self, formatted: pd.Series, fold: int
    ) -> tuple[dict[str, float], dict[str, pd.DataFrame]]:
        """Return the figures of a run's links that its statistics do not have, and `distances`.

        `formatted` are the run's links of each test sentence, by id, as text.
        """
        rows = self.rows[formatted.index].to_numpy()
        links = [sure for sure, _ in filter(None, read_links(formatted))]
        if self.gold is None:
            if not self.recipe.hyperparameters.learns_weights:
                return {}, {}
            return {"ibm1_agreement": self._agreement(links, rows, fold)}, {}
        gold = [self.gold[id_] for id_ in formatted.index]
        lengths = np.diff(sides(self.tokens, self.recipe.data)[1].offsets)[rows]
        shifted = [shift(each, int(length)) for each, length in zip(links, lengths, strict=True)]
        scores = {"aer_shifted": float(error_rate(corpus_counts(shifted, gold).sum(0)))}
        if not len(self.furthest):
            return scores, {}
        return scores, {"distances": by_distance(links, gold, self.furthest)}

    @functools.cached_property
    def words(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The word ids of all sources and of all targets."""
        data = self.recipe.data
        source, target = (
            read_sentences(self.tokens, language, self.lowercase).rows
            for language in (data.source, data.target)
        )
        return source, target

    def _fit(self, fold: int) -> TranslationTable:
        train, (source, target) = self.tokens.rows("train", fold), self.words
        return train_ibm1([source[row] for row in train], [target[row] for row in train])

    def _agreement(self, links: Sequence[Links], rows: np.ndarray, fold: int) -> float:
        """Return the agreement with IBM model 1 between words that white space separates."""
        if self.recipe.hyperparameters.segmentation == "words":
            links = self._separate(links, rows)
        table, (source, target) = self.fitted(fold), self.words
        aligned = self._separate([table.align(source[row], target[row]) for row in rows], rows)
        others: list[Gold | None] = [(each, each) for each in aligned]
        return 1 - float(error_rate(corpus_counts(links, others).sum(0)))

    def _separate(self, links: Sequence[Links], rows: np.ndarray) -> list[Links]:
        """Return links of tokens as links of the words that white space separates.

        A model of pieces links these words; IBM model 1 and a model of words link tokens.
        """
        both = sides(self.tokens, self.recipe.data)
        words = [[separated_words(side, row) for side in both] for row in rows]
        return [
            {(int(of_source[i]), int(of_target[j])) for i, j in each}
            for each, (of_source, of_target) in zip(links, words, strict=True)
        ]


def group_edges(values: np.ndarray) -> np.ndarray:
    """Return the largest value of each group, (groups,), ascending, of at least one value.

    They are the lengths of all tested sentences, or the distances of their gold links.
    """
    shares = np.arange(1, GROUPS + 1) / GROUPS
    return np.unique(np.quantile(values, shares, method="higher"))


def by_length(
    statistics: np.ndarray, lengths: np.ndarray, edges: np.ndarray, data: Data
) -> pd.DataFrame:
    """Return `longest, sentences, mean_length` and figures of each group that has sentences.

    The alignment error rate of a group without gold links is missing. `statistics` are additive,
    (sentences, statistics), `lengths` the words of each source, `edges` from `group_edges`.
    """
    group = np.searchsorted(edges, lengths)
    occurring = np.unique(group)
    sums = np.stack([statistics[group == number].sum(0) for number in occurring])
    scores = make_metrics(data).all
    values = {metric.name: metric.value(sums) for metric in scores if metric.name in BY_LENGTH}
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
    shows whether its attention can move. `edges` are from `group_edges` of `link_distances`.
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

"""The tables of a translator: its figures on test, by length of source, by distance of links."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from heed.evaluation.tested import TestedModel
from heed.paths import TOKENS
from heed.recipe import Recipe
from heed.tasks.translation import ibm1
from heed.tasks.translation.alignment import (
    Gold,
    Links,
    corpus_counts,
    error_rate,
    gold_links,
    parse_links,
    shift,
)
from heed.tasks.translation.metrics import has_links, make_metrics
from heed.tasks.translation.recipe import Data, Prediction
from heed.tasks.translation.references import read_references
from heed.tasks.translation.sentences import read_sentences, separated_words
from heed.tasks.translation.statistics import corpus_bleu
from heed.tokens.arrays import ParallelTokens, load_tokens

EXACT = ("summary",)  # tables whose metrics are written with all digits


def tables(
    tested: TestedModel, seeds: list[int], predictions: pd.DataFrame
) -> dict[str, pd.DataFrame]:
    """Return the tables of a model by name; the first column of each is `seed`.

    `summary`: every figure. Where the corpus has gold links, `aer_shifted` is the error of the
    same links moved by one target word; where it has none, `ibm1_agreement` of a model with
    attention is the agreement with IBM model 1, fitted on the training part, which is not known to
    be right: 2 |A ∩ B| / (|A| + |B|). `lengths`, and `distances` where there are gold links: see
    py.

    Args:
        tested: the model's statistics on the test part.
        seeds: those of its runs, in order.
        predictions: of all seeds, on validation and test (docs/contracts.md).

    """
    recipe: Recipe[Data, Any] = tested.recipe
    is_test = predictions["split"] == "test"
    edges = group_edges(predictions.loc[is_test, "source_words"].to_numpy())
    alignments = _Alignments(tested, predictions.loc[is_test, "id"])
    tables_by_name: dict[str, list[pd.DataFrame]] = {}
    for i, seed in enumerate(seeds):
        run = predictions[predictions["seed"] == seed].set_index("id")
        statistics = tested.statistics[i]
        test = run[run["split"] == "test"].loc[statistics.index]
        lengths = by_length(
            statistics.to_numpy(), test["source_words"].to_numpy(), edges, recipe.data
        )
        figures, by_distance = alignments.judge(test["links"], tested.folds[i])
        summary = _summary(tested, i, run) | figures
        of_seed = {"summary": pd.DataFrame([summary]), "lengths": lengths}
        for name, table in (of_seed | by_distance).items():
            table.insert(0, "seed", seed)
            tables_by_name.setdefault(name, []).append(table)
    return {
        name: pd.concat(of_seeds, ignore_index=True) for name, of_seeds in tables_by_name.items()
    }


def _summary(tested: TestedModel, i: int, run: pd.DataFrame) -> dict[str, float | None]:
    """Return every figure of a model's run i, from its statistics and its predictions.

    `references` is how many each test sentence has, None where they differ.
    """
    statistics = tested.statistics[i]
    return {
        **make_metrics(tested.recipe.data).compute(statistics.to_numpy()),
        "support": len(statistics),
        "references": _number_of_references(run[run["split"] == "test"]),
        "validation_bleu": _validation_bleu(run, tested.prediction),
        "best_epoch": tested.best_epochs[i],
        "parameters": tested.parameters[i],
    }


def _number_of_references(test: pd.DataFrame) -> int | None:
    """Return how many references each sentence has; None where sentences differ in it."""
    counts = {*map(len, read_references(test))}
    return counts.pop() if len(counts) == 1 else None


def _validation_bleu(run: pd.DataFrame, scoring: Prediction) -> float:
    validation = run[run["split"] == "validation"]
    return corpus_bleu(validation["hypothesis"].tolist(), read_references(validation), scoring)


class _Alignments:
    """What a model's links are compared with: gold links, or else those of IBM model 1."""

    def __init__(self, tested: TestedModel, ids: pd.Series) -> None:
        """Read the gold links of the test sentences `ids` of all seeds; an id may repeat."""
        self.recipe: Recipe[Data, Any] = tested.recipe
        self.tokens: ParallelTokens = load_tokens(TOKENS / self.recipe.corpus)
        all_ids = self.tokens.documents(["id"])["id"]
        self.rows = pd.Series(all_ids.index, all_ids)[ids.unique()]  # by id
        gold = gold_links(self.tokens, self.recipe.data, self.rows.to_numpy())
        self.gold = None if gold is None else dict(zip(self.rows.index, gold, strict=True))
        distances = link_distances(gold or [])
        self.furthest = group_edges(distances) if len(distances) else distances
        self.agreement = _Agreement(self.tokens, tested)

    def judge(
        self, formatted: pd.Series, fold: int
    ) -> tuple[dict[str, float], dict[str, pd.DataFrame]]:
        """Return the figures of a run's links that its statistics do not have, and `distances`.

        Args:
            formatted: the run's links of each test sentence, by id, as text.
            fold: that the run was tested on.

        """
        data, rows = self.recipe.data, self.rows[formatted.index].to_numpy()
        links = [parse_links(text, f"links of {id_}")[0] for id_, text in formatted.items()]
        if self.gold is None:
            if not self.recipe.hyperparameters.learns_weights:
                return {}, {}
            if self.recipe.hyperparameters.segmentation == "words":
                links = _separate(links, self.tokens, data, rows)
            return {"ibm1_agreement": self.agreement.of(links, rows, fold)}, {}
        gold = [self.gold[id_] for id_ in formatted.index]
        lengths = np.diff(self.tokens.sides[data.target].offsets)[rows]
        shifted = [shift(each, int(length)) for each, length in zip(links, lengths, strict=True)]
        figures = {"aer_shifted": float(error_rate(corpus_counts(shifted, gold).sum(0)))}
        if not len(self.furthest):
            return figures, {}
        return figures, {"distances": by_distance(links, gold, self.furthest)}


def _separate(
    links: Sequence[Links], tokens: ParallelTokens, data: Data, rows: np.ndarray
) -> list[Links]:
    """Return links of tokens as links of the words that white space separates.

    A model of pieces links these words; IBM model 1 and a model of words link tokens.
    """
    source, target = (tokens.sides[language] for language in (data.source, data.target))
    words = [(separated_words(source, row), separated_words(target, row)) for row in rows]
    return [
        {(int(of_source[i]), int(of_target[j])) for i, j in each}
        for each, (of_source, of_target) in zip(links, words, strict=True)
    ]


class _Agreement:
    """The agreement of links with those of IBM model 1, which is fitted once for each fold."""

    def __init__(self, tokens: ParallelTokens, tested: TestedModel) -> None:
        self.tokens, self.data = tokens, tested.recipe.data
        self.lowercase = tested.prediction.lowercase
        self.fitted = functools.cache(self._fit)

    @functools.cached_property
    def sides(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The word ids of all sources and of all targets."""
        source, target = (
            read_sentences(self.tokens, language, self.lowercase).rows
            for language in (self.data.source, self.data.target)
        )
        return source, target

    def _fit(self, fold: int) -> ibm1.TranslationTable:
        train = self.tokens.rows("train", fold)
        source, target = self.sides
        return ibm1.train([source[row] for row in train], [target[row] for row in train])

    def of(self, links: Sequence[Links], rows: np.ndarray, fold: int) -> float:
        """Return the agreement between words that white space separates."""
        table, (source, target) = self.fitted(fold), self.sides
        aligned = [table.align(source[row], target[row]) for row in rows]
        words = _separate(aligned, self.tokens, self.data, rows)
        others: list[Gold | None] = [(each, each) for each in words]
        return 1 - float(error_rate(corpus_counts(links, others).sum(0)))


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

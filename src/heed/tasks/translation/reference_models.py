"""The reference models: the source as it is, and translation by counted words.

`copy` aligns by the diagonal. `statistical` is P(Y | X) ∝ P(X | Y) P(Y), in statistical.py.
"""

import dataclasses
import functools

import numpy as np
import pandas as pd

from heed.task.interface import DeclaredExperiment, Fitted
from heed.tasks.translation import metrics
from heed.tasks.translation.recipe import Data, Prediction
from heed.tasks.translation.statistical import (
    ROUNDS,
    LanguageModel,
    Option,
    Weights,
    join_words,
    learn_options,
    learn_sentence_detokenizer,
    read_sentences,
    train_ibm1,
    translate,
)
from heed.tokens.arrays import ParallelTokens

TUNED = 100  # validation sentences by whose BLEU weights are chosen; ties: the first tried
# How words may move (distortion, limit) is chosen first, then the factors of P(Y) and of its words.
START = Weights(language_model=1.0, word=1.0, distortion=0.0, limit=0)
MOVES = ((0.0, 0), (0.25, 2), (0.5, 2), (1.0, 2), (2.0, 2), (0.25, 6), (0.5, 6), (1.0, 6))
FACTORS = tuple((model, word) for model in (0.5, 1.0, 1.5) for word in (0.0, 1.0, 2.0, 3.0))


def fit(tokens: ParallelTokens, data: Data, experiment: DeclaredExperiment) -> Fitted:
    """Return the translations of both reference models on each fold, and the search's weights."""
    section = experiment.data
    scoring = Prediction(
        tokenize=section.tokenize, lowercase=section.lowercase, references=section.references
    )
    predictions, chosen = {}, []
    for fold in range(tokens.meta.folds or 1):
        statistical = Statistical(tokens, data, scoring, tokens.rows("train", fold))
        weights = _tune(statistical, tokens.rows("validation", fold)[:TUNED])
        chosen.append(dataclasses.asdict(weights))
        models = {
            "copy": functools.partial(_copy, tokens, data, scoring),
            "statistical": functools.partial(statistical.predict, weights),
        }
        for name, predict in models.items():
            tables = []
            for split in ("validation", "test"):
                tables.append(predict(tokens.rows(split, fold)))
                tables[-1].insert(1, "split", split)
            predictions[name, fold] = pd.concat(tables, ignore_index=True)

    def statistics(table: pd.DataFrame) -> pd.DataFrame:
        gold = metrics.gold_links(tokens, data, tokens.rows_of(table["id"]))
        return metrics.statistics_table(table, gold, data, scoring)

    selection = {"ibm1_rounds": ROUNDS, "tuned_on": TUNED, "weights": chosen}
    return Fitted(predictions, statistics, selection)


class Statistical:
    """IBM model 1 and a language model of one training split."""

    def __init__(
        self, tokens: ParallelTokens, data: Data, scoring: Prediction, train: np.ndarray
    ) -> None:
        """Count words, and words of a source and its translation, in the rows `train`."""
        self.tokens, self.data, self.scoring = tokens, data, scoring
        self.source, self.target = (
            read_sentences(tokens, language, scoring.lowercase)
            for language in (data.source, data.target)
        )
        sources, targets = (
            [side.rows[row] for row in train] for side in (self.source, self.target)
        )
        self.table = train_ibm1(sources, targets)
        self.options = learn_options(sources, targets, self.table, train_ibm1(targets, sources))
        self.language_model = LanguageModel(targets)
        self.detokenizer = learn_sentence_detokenizer(self.target, tokens.sides[data.target], train)

    def translate(self, row: int, weights: Weights) -> tuple[str, float]:
        """Return the translation of a row, and its score; an unknown word is copied."""
        source = self.source.rows[row].tolist()
        options = [
            self.options.get(word) or [Option((-1 - i,), 0.0)] for i, word in enumerate(source)
        ]
        found = translate(options, self.language_model, weights)
        words = [
            self.target.words[id_] if id_ >= 0 else self.source.words[source[-1 - id_]]
            for id_ in found.words
        ]
        text = join_words([*found.words], words, self.detokenizer, len(self.target.words))
        return text, found.score

    def predict(self, weights: Weights, rows: np.ndarray) -> pd.DataFrame:
        """Return the table of predictions of these rows (docs/contracts.md)."""
        translations = [self.translate(row, weights) for row in rows]
        pairs = [(self.source.rows[row], self.target.rows[row]) for row in rows]
        return metrics.sentence_table(self.tokens, self.data, self.scoring, rows).assign(
            hypothesis=[text for text, _ in translations],
            score=[score for _, score in translations],
            links=[metrics.format_links(self.table.align(*pair)) for pair in pairs],
            unknown_words=[sum(int(id_) not in self.options for id_ in ids) for ids, _ in pairs],
        )


def _tune(statistical: Statistical, validation: np.ndarray) -> Weights:
    scoring = statistical.scoring
    table = metrics.sentence_table(statistical.tokens, statistical.data, scoring, validation)
    references = metrics.read_references(table)

    def bleu(weights: Weights) -> float:
        hypotheses = [statistical.translate(row, weights)[0] for row in validation]
        return metrics.corpus_bleu(hypotheses, references, scoring)

    moves = [dataclasses.replace(START, distortion=jump, limit=limit) for jump, limit in MOVES]
    moving = max(moves, key=bleu)
    factors = [dataclasses.replace(moving, language_model=lm, word=word) for lm, word in FACTORS]
    return max(factors, key=bleu)


def _copy(
    tokens: ParallelTokens, data: Data, scoring: Prediction, rows: np.ndarray
) -> pd.DataFrame:
    table = metrics.sentence_table(tokens, data, scoring, rows)
    target_words = np.diff(tokens.sides[data.target].offsets)[rows].tolist()
    links = map(metrics.format_links, map(diagonal, table["source_words"].tolist(), target_words))
    return table.assign(hypothesis=table["source"], score=0.0, links=[*links], unknown_words=0)


def diagonal(source_words: int, target_words: int) -> metrics.Links:
    """Return a link of each target word to the source word at the same share of its sentence."""
    if not source_words:
        return set()
    return {(j * source_words // target_words, j) for j in range(target_words)}

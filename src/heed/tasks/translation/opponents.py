"""The opponents: the source as it is, and translation by counted words.

Opponents are reference models from outside. `copy` gives the source for its translation, and the
diagonal for an alignment: what is right without knowing either language. `statistical` is the road
of statistical translation, P(Y | X) ∝ P(X | Y) P(Y): IBM model 1 and a trigram language model,
counted in the training part, and a search with a beam; its alignment is IBM model 1's.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from heed.tasks.interface import Fitted
from heed.tasks.translation import ibm1
from heed.tasks.translation.alignment import diagonal, format_links, gold_links
from heed.tasks.translation.decoder import Option, Translation, Weights, learn_options, translate
from heed.tasks.translation.language_model import LanguageModel
from heed.tasks.translation.recipe import Data
from heed.tasks.translation.sentences import Sentences, read_sentences
from heed.tasks.translation.statistics import corpus_bleu, statistics_table
from heed.tokens.arrays import ParallelTokens

if TYPE_CHECKING:
    from heed.study import Experiment

TUNED = 100  # validation sentences by whose BLEU weights are chosen; ties: the first tried
# How words may move (factor, limit), tried first; then the factors of P(Y) and of its length.
MOVES = ((0.0, 0), (0.25, 2), (0.5, 2), (1.0, 2), (2.0, 2), (0.25, 6), (0.5, 6), (1.0, 6))
LANGUAGE_MODEL, WORD = (0.5, 1.0, 1.5), (0.0, 1.0, 2.0, 3.0)
START = Weights(language_model=1.0, word=1.0, distortion=0.0, limit=0)


def fit(tokens: ParallelTokens, data: Data, experiment: "Experiment") -> Fitted:
    """Return the translations of both opponents on each fold, and the weights of the search.

    Args:
        tokens: the corpus.
        data: the languages, and how translations are scored.
        experiment: not read; every experiment has the same opponents.

    """
    source, target = (
        read_sentences(tokens, language, data.lowercase) for language in (data.source, data.target)
    )
    predictions, weights = {}, []
    for fold in range(tokens.meta.folds or 1):
        parts = {part: tokens.rows(part, fold) for part in ("validation", "test")}
        statistical = Statistical.fit(source, target, tokens.rows("train", fold))
        join = make_joiner(tokens, data)
        chosen = _tune(statistical, parts["validation"][:TUNED], tokens, data, join)
        weights.append(dataclasses.asdict(chosen))
        predictions["copy", fold] = _table(parts, tokens, data, _copy(source, target, tokens, data))
        predictions["statistical", fold] = _table(
            parts, tokens, data, _translate(statistical, chosen, join)
        )
    selection = {"ibm1_rounds": ibm1.ROUNDS, "tuned_sentences": TUNED, "weights": weights}

    return Fitted(predictions, lambda table: _statistics(table, tokens, data), selection)

"""The additive statistics of translations, counted by sacrebleu and rouge_score.

References are compared as they were written. sacrebleu tokenises them and the hypotheses itself, so
that a score does not depend on how a model segments its text; a hypothesis must be detokenised.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from sacrebleu.metrics import BLEU, CHRF

from heed.tasks.translation.alignment import Gold, Links, corpus_counts, parse_links
from heed.tasks.translation.metrics import statistic_names
from heed.tasks.translation.recipe import Data, Prediction
from heed.tasks.translation.references import read_references


def statistics(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    words: np.ndarray,
    alignments: tuple[Sequence[Links], Sequence[Gold | None]] | None,
    data: Data,
    scoring: Prediction,
) -> pd.DataFrame:
    """Return the statistics of each sentence, with the columns of `metrics.statistic_names`.

    Args:
        hypotheses: one a sentence, detokenised.
        references: one or more for each sentence, as they were written.
        words: of each source, and how many of them are unknown, (sentences, 2)
        alignments: the links of each sentence and its reference, and the gold links, None where a
            sentence has none; used where the corpus has a gold alignment.
        data: the languages.
        scoring: how translations are scored.

    """
    bleu, chrf = _scorers(scoring)
    rows, columns = len(hypotheses), list(itertools.zip_longest(*references))
    # These counts are all that `corpus_score` sums; the method that returns them for each sentence
    # is not documented.
    counted = [
        np.asarray(scorer._extract_corpus_statistics(hypotheses, columns), np.int32)
        for scorer in (bleu, chrf)
    ] if rows else [np.zeros((0, 10), np.int32), np.zeros((0, 18), np.int32)]  # fmt: skip
    texts = [_fold_case(hypothesis, scoring) for hypothesis in hypotheses]
    correct = [[_fold_case(reference, scoring) for reference in each] for each in references]
    exact = [text in each for text, each in zip(texts, correct, strict=True)]
    parts = [
        np.ones((rows, 1), np.int32),
        *counted,
        rouge(texts, correct, lambda text: bleu.tokenizer(text).split()),
        np.asarray(exact, np.int32)[:, None],
        np.asarray(words, np.int32).reshape(-1, 2),
    ]
    if data.has_gold_alignment and alignments is not None:
        parts.append(corpus_counts(*alignments).astype(np.int32))
    tables = [pd.DataFrame(part) for part in parts]
    return pd.concat(tables, axis=1).set_axis(statistic_names(data), axis=1)


def statistics_table(
    predictions: pd.DataFrame, gold: Sequence[Gold | None] | None, data: Data, scoring: Prediction
) -> pd.DataFrame:
    """Return the statistics of each row of a table of predictions (docs/contracts.md).

    Args:
        predictions: with the columns `hypothesis, reference, further_references, links,
            source_words, unknown_words`.
        gold: the gold links of each row; None where the corpus has none.
        data: the languages.
        scoring: how translations are scored.

    """
    links = [
        parse_links(text, f"links of sentence {id_}")[0]
        for id_, text in zip(predictions["id"], predictions["links"], strict=True)
    ]
    return statistics(
        predictions["hypothesis"].tolist(),
        read_references(predictions),
        predictions[["source_words", "unknown_words"]].to_numpy(),
        None if gold is None else (links, gold),
        data,
        scoring,
    )


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], scoring: Prediction
) -> float:
    """Return BLEU, between 0 and 1, of hypotheses with one or more references each; 0 of none."""
    if not hypotheses:
        return 0.0
    columns = list(itertools.zip_longest(*references))
    return float(_scorers(scoring)[0].corpus_score(hypotheses, columns).score) / 100


def signatures(scoring: Prediction, references: int | None = 1) -> dict[str, str]:
    """Return sacrebleu's signatures of `bleu` and `chrf`: scores compare where they are the same.

    Args:
        scoring: how translations are scored.
        references: how many each sentence has; None where sentences differ in it.

    """
    bleu, chrf = _scorers(scoring)
    counts = (1, 2) if references is None else (references,)
    columns = list(itertools.zip_longest(*(["a"] * count for count in counts)))
    for scorer in (bleu, chrf):  # a scorer knows the number of references once it has scored
        scorer.corpus_score(["a"] * len(counts), columns)
    return {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}


def _scorers(scoring: Prediction) -> tuple[BLEU, CHRF]:
    return (
        BLEU(tokenize=scoring.tokenize, lowercase=scoring.lowercase, force=True),
        CHRF(lowercase=scoring.lowercase),
    )


def _fold_case(text: str, scoring: Prediction) -> str:
    return text.strip().lower() if scoring.lowercase else text.strip()


KINDS = ("rouge1", "rouge2", "rougeL")


@dataclasses.dataclass(frozen=True)
class _Words:
    """The tokenizer of a scorer, from a function."""

    tokenize: Callable[[str], list[str]]


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    split: Callable[[str], list[str]],
) -> np.ndarray:
    """Return precision and recall of ROUGE-1, -2 and -L of each sentence, (sentences, 6).

    Of several references the one with the best F1 counts, for each kind alone.

    Args:
        hypotheses: one a sentence.
        references: one or more for each sentence.
        split: returns the words of a text.

    """
    # rouge_score imports all of nltk, which takes two seconds: a report needs none of it.
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(KINDS, tokenizer=_Words(split))
    scores = [
        scorer.score_multi(correct, hypothesis)
        for hypothesis, correct in zip(hypotheses, references, strict=True)
    ]
    return np.asarray(
        [[value for kind in KINDS for value in score[kind][:2]] for score in scores], np.float64
    ).reshape(-1, 2 * len(KINDS))

"""BLEU, chrF, ROUGE and alignment error, as functions of statistics that are added over sentences.

All metrics lie between 0 and 1. sacrebleu tokenises references and detokenised hypotheses itself,
so that a score does not depend on a model's segmentation. A link (i, j) joins source word i and
target word j, from 0; annotators call it sure, or only possible. The error rate is a ratio of sums
over the corpus (Och & Ney 2003, section 3.3).
"""

import operator
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd
import sacrebleu.metrics

from heed import annotations
from heed.task.interface import Details, Metric, Metrics, ratio
from heed.tasks.translation.recipe import METRICS, Data, Prediction
from heed.tokens.arrays import Gold, Links, ParallelTokens, Side

CHRF_ORDER = 6  # the longest n-grams of characters
BETA = 2  # of chrF2: recall counts twice as much as precision
ORDERS = ("1", "2", "3", "4")  # of BLEU's n-grams of words
BLEU = (
    "bleu:hypothesis",
    "bleu:reference",
    *(f"bleu:{kind}:{n}" for kind in ("matches", "total") for n in ORDERS),
)
CHRF = tuple(
    f"chrf:{kind}:{n}"
    for n in range(1, CHRF_ORDER + 1)
    for kind in ("hypothesis", "reference", "matches")
)
MEANS = tuple(name for name in METRICS if name not in ("bleu", "chrf"))  # over sentences
WORDS = ("source_words", "unknown_words")
COUNTS = ("links", "sure", "links_sure", "links_possible")  # |A|, |S|, |A ∩ S| and |A ∩ P|
TRUNCATION = 8  # steps of backpropagation through time, where gradients are measured truncated
KINDS = ("rouge1", "rouge2", "rougeL")


def statistic_names(data: Data) -> list[str]:
    """Return the name of each statistic of a sentence, in order; `sentences` is 1."""
    counts = COUNTS if data.has_gold_alignment else ()
    return ["sentences", *BLEU, *CHRF, *MEANS, *WORDS, *counts]


def make_metrics(data: Data) -> Metrics:
    """Return the METRICS of recipe.py, of which BLEU decides by default, and those of links."""
    names = statistic_names(data)

    def of(columns: Sequence[str], value: Callable[[np.ndarray], np.ndarray]) -> Callable:
        indices = [names.index(column) for column in columns]
        return lambda sums: value(np.asarray(sums, np.float64)[..., indices])

    def share(part: str, whole: str) -> Callable:
        return of((part, whole), lambda sums: ratio(sums[..., 0], sums[..., 1]))

    metrics = [
        Metric("bleu", of(BLEU, bleu)),
        Metric("chrf", of(CHRF, chrf)),
        *(Metric(name, share(name, "sentences"), names.index(name)) for name in MEANS),
        Metric("unknown_words", share("unknown_words", "source_words")),
    ]
    if data.has_gold_alignment:
        metrics += [
            Metric("aer", of(COUNTS, error_rate)),
            Metric("alignment_precision", share("links_possible", "links")),
            Metric("alignment_recall", share("links_sure", "sure")),
        ]
    precisions = of(BLEU, lambda sums: ratio(sums[..., 2:6], sums[..., 6:]))

    def details(sums: np.ndarray) -> Details:
        values = zip(ORDERS, precisions(sums).tolist(), strict=True)
        return {"ngrams": {n: {"precision": value} for n, value in values}}

    return Metrics(tuple(metrics), details)


def bleu(sums: np.ndarray) -> np.ndarray:
    """Return BLEU (Papineni et al. 2002, section 2.3) of sums in the order of BLEU, (..., 10).

    Where no n-gram of a length matches, sacrebleu's smoothing `exp` puts 1 / 2^k in place of 0, for
    the k-th such length (Chen & Cherry 2014, method 3).
    """
    hypothesis, reference = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2:6], sums[..., 6:]
    missing = matches == 0
    smoothed = np.where(missing, 0.5 ** np.cumsum(missing, -1), matches)
    is_defined = (totals > 0).all(-1) & ~missing.all(-1)
    precision = ratio(smoothed, totals)
    log_mean = np.log(np.where(is_defined[..., None], precision, 1.0)).mean(-1)
    shortage = np.maximum(ratio(reference, hypothesis) - 1, 0)  # of the brevity penalty
    return np.where(is_defined, np.exp(log_mean - shortage), 0.0)


def chrf(sums: np.ndarray) -> np.ndarray:
    """Return chrF2 (Popović 2015) of sums in the order of CHRF, (..., 18), as sacrebleu does."""
    counts = sums.reshape(*sums.shape[:-1], CHRF_ORDER, 3)
    hypothesis, reference, matches = np.moveaxis(counts, -1, 0)
    occurs = (hypothesis > 0) & (reference > 0)
    lengths = occurs.sum(-1)
    precision = ratio((ratio(matches, hypothesis) * occurs).sum(-1), lengths)
    recall = ratio((ratio(matches, reference) * occurs).sum(-1), lengths)
    return ratio((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)


def error_rate(counts: np.ndarray) -> np.ndarray:
    """Return 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), of (..., 4) (Och & Ney 2003, eq. 21)."""
    links, sure, links_sure, links_possible = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    return ratio(links + sure - links_sure - links_possible, links + sure)


def corpus_counts(links: Sequence[Links], gold: Sequence[Gold | None]) -> np.ndarray:
    """Return the numbers of COUNTS for each sentence, (sentences, 4); 0 for those without gold."""
    counts = np.zeros((len(links), len(COUNTS)), np.int64)
    for i, (proposed, correct) in enumerate(zip(links, gold, strict=True)):
        if correct is not None:
            sure, possible = correct
            found = len(proposed & sure), len(proposed & possible)
            counts[i] = len(proposed), len(sure), *found
    return counts


def statistics_table(
    predictions: pd.DataFrame, gold: Sequence[Gold | None] | None, data: Data, scoring: Prediction
) -> pd.DataFrame:
    """Return the statistics of each row of predictions; `gold` is None where a corpus has none."""
    bleu, chrf = _scorers(scoring)
    hypotheses, references = (predictions[name].tolist() for name in ("hypothesis", "reference"))
    # These counts are all that `corpus_score` sums; the method that returns them for each sentence
    # is not documented.
    counted = [
        np.asarray(scorer._extract_corpus_statistics(hypotheses, [references]), np.int32)
        for scorer in (bleu, chrf)
    ]

    def fold_case(text: str) -> str:
        return text.strip().lower() if scoring.lowercase else text.strip()

    texts, correct = ([*map(fold_case, sentences)] for sentences in (hypotheses, references))
    exact = [*map(operator.eq, texts, correct)]
    parts = [
        np.ones((len(texts), 1), np.int32),
        *counted,
        _rouge(texts, correct, lambda text: bleu.tokenizer(text).split()),
        np.asarray(exact, np.int32)[:, None],
        predictions[list(WORDS)].to_numpy(np.int32),
    ]
    if gold is not None:
        links = [pair[0] for pair in read_links(predictions.set_index("id")["links"]) if pair]
        parts.append(corpus_counts(links, gold).astype(np.int32))
    tables = [pd.DataFrame(part) for part in parts]
    return pd.concat(tables, axis=1).set_axis(statistic_names(data), axis=1)


def _rouge(
    hypotheses: Sequence[str], references: Sequence[str], split: Callable[[str], list[str]]
) -> np.ndarray:
    # rouge_score imports all of nltk, which takes two seconds: a report needs none of it.
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(KINDS, tokenizer=SimpleNamespace(tokenize=split))
    scores = map(scorer.score, references, hypotheses)
    return np.asarray([[value for kind in KINDS for value in score[kind][:2]] for score in scores])


def sentence_table(tokens: ParallelTokens, data: Data, rows: np.ndarray) -> pd.DataFrame:
    """Return the columns that all predictions of these rows share: `id, source, reference, …`."""
    source = tokens.sides[data.source]
    return pd.DataFrame(
        {
            "id": tokens.documents(["id"])["id"].to_numpy()[rows],
            "source": source.texts(rows),
            "reference": tokens.references(data.target, rows),
            "source_words": np.diff(source.offsets)[rows],
        }
    )


def corpus_bleu(hypotheses: Sequence[str], references: Sequence[str], scoring: Prediction) -> float:
    """Return BLEU, between 0 and 1, of hypotheses with a reference each."""
    return float(_scorers(scoring)[0].corpus_score(hypotheses, [references]).score) / 100


def signatures(scoring: Prediction) -> dict[str, str]:
    """Return sacrebleu's signatures of bleu and chrf."""
    scorers = dict(zip(("bleu", "chrf"), _scorers(scoring), strict=True))
    for scorer in scorers.values():  # it knows the number of references once it has scored
        scorer.corpus_score(["a"], [["a"]])
    return {name: str(scorer.get_signature()) for name, scorer in scorers.items()}


def _scorers(scoring: Prediction) -> tuple[sacrebleu.metrics.BLEU, sacrebleu.metrics.CHRF]:
    lowercase = scoring.lowercase
    return (
        sacrebleu.metrics.BLEU(tokenize=scoring.tokenize, lowercase=lowercase, force=True),
        sacrebleu.metrics.CHRF(lowercase=lowercase),
    )


def read_links(texts: pd.Series) -> list[Gold | None]:
    """Return the links of a column of texts by id, such as `gold`; None for a cell without text."""
    links: list[Gold | None] = []
    for id_, text in texts.items():
        if isinstance(text, str):
            sure, possible = annotations.parse_links(text, f"{texts.name} of sentence {id_}")
            links.append(({*sure}, {*sure, *possible}))
        else:
            links.append(None)
    return links


def format_links(sure: Links, possible: Iterable[tuple[int, int]] = ()) -> str:
    """Return links in Pharaoh's format, by target word and then by source word."""
    return " ".join(
        f"{i}{'-' if (i, j) in sure else '?'}{j}"
        for i, j in sorted(sure.union(possible), key=lambda link: link[::-1])
    )


def sides(tokens: ParallelTokens, data: Data) -> tuple[Side, Side]:
    """Return the texts that are translated, and those that they are translated into."""
    return tokens.sides[data.source], tokens.sides[data.target]


def gold_links(
    tokens: ParallelTokens, data: Data, rows: Sequence[int] | np.ndarray
) -> list[Gold | None] | None:
    """Return the gold links of these rows, None for a row without; None if the corpus has none."""
    known = tokens.alignment(data.source, data.target)
    return None if known is None else [known.get(int(row)) for row in rows]


def links_from_weights(by_words: np.ndarray) -> Links:
    """Return a link of each target word to the first source word with the largest weight."""
    return {(int(row.argmax()), word) for word, row in enumerate(by_words) if len(row)}


def weights_of_words(
    weights: np.ndarray, source_words: np.ndarray, target_words: np.ndarray
) -> np.ndarray:
    """Return the weights between words, given as the word of each unit, from those between units.

    A source word's is the sum over its units, a target word's the mean: weights still sum to 1.
    """
    shape = [int(words.max(initial=-1)) + 1 for words in (target_words, source_words)]
    by_words = np.zeros(shape)
    np.add.at(by_words, np.ix_(target_words, source_words), weights)
    return by_words / np.maximum(1, np.bincount(target_words, minlength=shape[0]))[:, None]

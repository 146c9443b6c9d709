"""BLEU, chrF, ROUGE and alignment error, as functions of statistics that are added over sentences.

sacrebleu and rouge_score count the statistics. All figures lie between 0 and 1: a BLEU of 39 is
.39. References are compared as they were written. sacrebleu tokenises them and the hypotheses
itself, so that a score does not depend on how a model segments its text; a hypothesis must be
detokenised.
"""

import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pandas as pd
import sacrebleu.metrics

from heed.task.interface import Details, Metric, Metrics
from heed.tasks.translation import alignment
from heed.tasks.translation.alignment import Gold, Links, ratio
from heed.tasks.translation.recipe import METRICS, Data, Prediction
from heed.tokens.arrays import ParallelTokens

BLEU_ORDER, CHRF_ORDER = 4, 6  # the longest n-grams: of words, of characters
BETA = 2  # of chrF2: recall counts twice as much as precision
ORDERS = tuple(str(n) for n in range(1, BLEU_ORDER + 1))
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
TRUNCATION = 8  # steps of backpropagation through time, where gradients are measured truncated
KINDS = ("rouge1", "rouge2", "rougeL")


def statistic_names(data: Data) -> list[str]:
    """Return the name of each statistic of a sentence, in order.

    `sentences` is 1; then come lengths and counts of n-grams for BLEU and chrF; the values of each
    metric of MEANS; the words of the source, and those that are unknown; and, where a corpus has a
    gold alignment, counts of links (`alignment.COUNTS`).
    """
    counts = alignment.COUNTS if data.has_gold_alignment else ()
    return ["sentences", *BLEU, *CHRF, *MEANS, *WORDS, *counts]


def make_metrics(data: Data) -> Metrics:
    """Return the figures; BLEU decides if a study names no other.

    The METRICS of recipe.py, all of which are better the higher they are, then the share of source
    words that are unknown, `unknown_words`, and where there is a gold alignment its error rate,
    `aer`, with precision and recall.
    """
    names = statistic_names(data)

    def of(columns: tuple[str, ...], value: Callable[[np.ndarray], np.ndarray]) -> Callable:
        indices = [names.index(column) for column in columns]
        return lambda sums: value(np.asarray(sums, np.float64)[..., indices])

    def share(sums: np.ndarray) -> np.ndarray:
        return ratio(sums[..., 0], sums[..., 1])

    figures = [
        Metric("bleu", of(BLEU, bleu)),
        Metric("chrf", of(CHRF, chrf)),
        *(Metric(name, of((name, "sentences"), share), names.index(name)) for name in MEANS),
        Metric("unknown_words", of(WORDS[::-1], share)),
    ]
    if data.has_gold_alignment:
        of_links = {"aer": alignment.error_rate, "alignment_precision": alignment.precision}
        of_links["alignment_recall"] = alignment.recall
        figures += [Metric(key, of(alignment.COUNTS, of_key)) for key, of_key in of_links.items()]
    precisions = of(BLEU, lambda sums: ratio(sums[..., 2:6], sums[..., 6:]))

    def details(sums: np.ndarray) -> Details:
        values = precisions(sums).tolist()
        return {
            "ngrams": {n: {"precision": value} for n, value in zip(ORDERS, values, strict=True)}
        }

    return Metrics(tuple(figures), details)


def has_links(sums: np.ndarray, data: Data) -> np.ndarray:
    """Return whether sums of sentences, (..., statistics), have a sure link or a proposed one."""
    names = statistic_names(data)
    proposed, sure = (sums[..., names.index(name)] for name in alignment.COUNTS[:2])
    return proposed + sure > 0


def detail_names(data: Data) -> dict[str, list[str]]:
    """Return the names of the groups in `Metrics.details`: the n-grams of BLEU, by length."""
    return {"ngrams": list(ORDERS)}


def bleu(sums: np.ndarray) -> np.ndarray:
    """Return BLEU (Papineni et al. 2002, section 2.3) of sums in the order of BLEU.

    Where no n-gram of a length matches, sacrebleu's smoothing `exp` puts 1 / 2^k in place of 0, for
    the k-th such length (Chen & Cherry 2014, method 3). It is 0 where nothing matches, or where no
    hypothesis has four words. Sums are (..., 10).
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
    """Return chrF2 (Popović 2015) of sums in the order of CHRF, (..., 18), as sacrebleu does.

    Precision and recall are means over the lengths of n-grams that both texts have.
    """
    counts = sums.reshape(*sums.shape[:-1], CHRF_ORDER, 3)
    hypothesis, reference, matches = np.moveaxis(counts, -1, 0)
    occurs = (hypothesis > 0) & (reference > 0)
    lengths = occurs.sum(-1)
    precision = ratio((ratio(matches, hypothesis) * occurs).sum(-1), lengths)
    recall = ratio((ratio(matches, reference) * occurs).sum(-1), lengths)
    return ratio((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)


def statistics(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    words: np.ndarray,
    alignments: tuple[Sequence[Links], Sequence[Gold | None]] | None,
    data: Data,
    scoring: Prediction,
) -> pd.DataFrame:
    """Return the statistics of each sentence, with the columns of `statistic_names`.

    Args:
        hypotheses: one a sentence, detokenised.
        references: one or more for each sentence, as they were written.
        words: of each source, and how many of them are unknown, (sentences, 2)
        alignments: the links of each sentence and its reference, and the gold links, None where a
            sentence has none; used where the corpus has a gold alignment.
        data, scoring: the languages, and how their translations are scored.

    """
    bleu, chrf = _scorers(scoring)
    rows, columns = len(hypotheses), list(itertools.zip_longest(*references))
    # These counts are all that `corpus_score` sums; the method that returns them for each sentence
    # is not documented.
    counted = [
        np.asarray(scorer._extract_corpus_statistics(hypotheses, columns), np.int32)
        for scorer in (bleu, chrf)
    ] if rows else [np.zeros((0, 10), np.int32), np.zeros((0, 18), np.int32)]  # fmt: skip

    def fold_case(text: str) -> str:
        return text.strip().lower() if scoring.lowercase else text.strip()

    texts = [*map(fold_case, hypotheses)]
    correct = [[*map(fold_case, each)] for each in references]
    exact = [text in each for text, each in zip(texts, correct, strict=True)]
    parts = [
        np.ones((rows, 1), np.int32),
        *counted,
        rouge(texts, correct, lambda text: bleu.tokenizer(text).split()),
        np.asarray(exact, np.int32)[:, None],
        np.asarray(words, np.int32).reshape(-1, 2),
    ]
    if data.has_gold_alignment and alignments is not None:
        parts.append(alignment.corpus_counts(*alignments).astype(np.int32))
    tables = [pd.DataFrame(part) for part in parts]
    return pd.concat(tables, axis=1).set_axis(statistic_names(data), axis=1)


def statistics_table(
    predictions: pd.DataFrame, gold: Sequence[Gold | None] | None, data: Data, scoring: Prediction
) -> pd.DataFrame:
    """Return the statistics of each row of a table of predictions (docs/contracts.md).

    `gold` are the gold links of each row; None where the corpus has none.
    """
    links = filter(None, alignment.read_links(predictions.set_index("id")["links"]))
    return statistics(
        predictions["hypothesis"].tolist(),
        read_references(predictions),
        predictions[["source_words", "unknown_words"]].to_numpy(),
        None if gold is None else ([sure for sure, _ in links], gold),
        data,
        scoring,
    )


def sentence_table(
    tokens: ParallelTokens, data: Data, scoring: Prediction, rows: np.ndarray
) -> pd.DataFrame:
    """Return what every prediction of these rows has in common: `id, source, reference, …`.

    The further references are the texts of other languages, without those that are empty: a model
    learns from the target alone, and its translations are compared with all.
    """
    source, target = alignment.sides(tokens, data)
    texts = [tokens.sides[language].texts(rows) for language in scoring.references]
    further = [[column[i] for column in texts if column[i]] for i in range(len(rows))]
    return pd.DataFrame(
        {
            "id": tokens.documents(["id"])["id"].to_numpy()[rows],
            "source": source.texts(rows),
            "reference": target.texts(rows),
            "further_references": further,
            "source_words": np.diff(source.offsets)[rows],
        }
    )


def read_references(predictions: pd.DataFrame) -> list[list[str]]:
    """Return the references of each row of a table of predictions, that of the target first."""
    columns = predictions["reference"], predictions["further_references"]
    return [[reference, *further] for reference, further in zip(*columns, strict=True)]


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

    `references` is how many each sentence has, None where sentences differ in it.
    """
    bleu, chrf = _scorers(scoring)
    counts = (1, 2) if references is None else (references,)
    columns = list(itertools.zip_longest(*(["a"] * count for count in counts)))
    for scorer in (bleu, chrf):  # a scorer knows the number of references once it has scored
        scorer.corpus_score(["a"] * len(counts), columns)
    return {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}


def _scorers(scoring: Prediction) -> tuple[sacrebleu.metrics.BLEU, sacrebleu.metrics.CHRF]:
    lowercase = scoring.lowercase
    return (
        sacrebleu.metrics.BLEU(tokenize=scoring.tokenize, lowercase=lowercase, force=True),
        sacrebleu.metrics.CHRF(lowercase=lowercase),
    )


def rouge(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    split: Callable[[str], list[str]],
) -> np.ndarray:
    """Return precision and recall of ROUGE-1, -2 and -L of each sentence, (sentences, 6).

    Of one or more references the one with the best F1 counts, for each kind alone. `split` returns
    the words of a text.
    """
    # rouge_score imports all of nltk, which takes two seconds: a report needs none of it.
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(KINDS, tokenizer=SimpleNamespace(tokenize=split))
    scores = [*map(scorer.score_multi, references, hypotheses)]
    return np.asarray(
        [[value for kind in KINDS for value in score[kind][:2]] for score in scores], np.float64
    ).reshape(-1, 2 * len(KINDS))

"""BLEU, chrF, ROUGE and alignment error, as functions of statistics that are added over sentences.

`statistics.py` counts them. All figures lie between 0 and 1: a BLEU of 39 is .39.
"""

from collections.abc import Callable

import numpy as np

from heed.task.interface import Details, Metric, Metrics
from heed.tasks.translation import alignment
from heed.tasks.translation.recipe import METRICS, Data

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

    figures = [
        Metric("bleu", of(BLEU, bleu)),
        Metric("chrf", of(CHRF, chrf)),
        *(Metric(name, of((name, "sentences"), _share), names.index(name)) for name in MEANS),
        Metric("unknown_words", of(WORDS[::-1], _share)),
    ]
    if data.has_gold_alignment:
        figures += [
            Metric("aer", of(alignment.COUNTS, alignment.error_rate)),
            Metric("alignment_precision", of(alignment.COUNTS, alignment.precision)),
            Metric("alignment_recall", of(alignment.COUNTS, alignment.recall)),
        ]
    precisions = of(BLEU, lambda sums: alignment.ratio(sums[..., 2:6], sums[..., 6:]))

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
    hypothesis has four words.

    Args:
        sums: of hypothesis and reference lengths, matches and totals, (..., 10)

    """
    hypothesis, reference = sums[..., 0], sums[..., 1]
    matches, totals = sums[..., 2:6], sums[..., 6:]
    missing = matches == 0
    smoothed = np.where(missing, 0.5 ** np.cumsum(missing, -1), matches)
    is_defined = (totals > 0).all(-1) & ~missing.all(-1)
    precision = alignment.ratio(smoothed, totals)
    log_mean = np.log(np.where(is_defined[..., None], precision, 1.0)).mean(-1)
    shortage = np.maximum(alignment.ratio(reference, hypothesis) - 1, 0)  # of the brevity penalty
    return np.where(is_defined, np.exp(log_mean - shortage), 0.0)


def chrf(sums: np.ndarray) -> np.ndarray:
    """Return chrF2 (Popović 2015) of sums in the order of CHRF, as sacrebleu averages it.

    Precision and recall are means over the lengths of n-grams that both texts have.

    Args:
        sums: of character n-grams in hypothesis, reference and both, by length, (..., 18)

    """
    counts = sums.reshape(*sums.shape[:-1], CHRF_ORDER, 3)
    hypothesis, reference, matches = np.moveaxis(counts, -1, 0)
    occurs = (hypothesis > 0) & (reference > 0)
    lengths = occurs.sum(-1)
    precision = alignment.ratio((alignment.ratio(matches, hypothesis) * occurs).sum(-1), lengths)
    recall = alignment.ratio((alignment.ratio(matches, reference) * occurs).sum(-1), lengths)
    return alignment.ratio((1 + BETA**2) * precision * recall, BETA**2 * precision + recall)


def _share(sums: np.ndarray) -> np.ndarray:
    """Return the first sum over the second, (..., 2) to (...,)."""
    return alignment.ratio(sums[..., 0], sums[..., 1])

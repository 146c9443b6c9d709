"""Links between the words of a sentence and of its translation, and how good they are.

A link (i, j) joins source word i and target word j, both counted from 0. Annotators call a link
sure, or only possible; every sure link is possible too. The error rate is a ratio of sums over the
corpus (Och & Ney 2003, "A systematic comparison of various statistical alignment models",
section 3.3): a mean of the sentences' rates would count short sentences more.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from heed import annotations
from heed.tasks.translation.recipe import Data
from heed.tokens.arrays import ParallelTokens

Links = set[tuple[int, int]]
Gold = tuple[Links, Links]  # sure links, and possible ones, the sure included
COUNTS = ("links", "sure", "links_sure", "links_possible")  # the order of `count`


def parse_links(text: str, line: str) -> Gold:
    """Return the sure and the possible links of a line, as `heed.annotations` reads them."""
    sure, possible = annotations.parse_links(text, line)
    return {*sure}, {*sure, *possible}


def format_links(sure: Links, possible: Iterable[tuple[int, int]] = ()) -> str:
    """Return links in Pharaoh's format, by target word and then by source word."""
    return " ".join(
        f"{i}{'-' if (i, j) in sure else '?'}{j}"
        for i, j in sorted(sure.union(possible), key=lambda link: link[::-1])
    )


def gold_links(
    tokens: ParallelTokens, data: Data, rows: Sequence[int] | np.ndarray
) -> list[Gold | None] | None:
    """Return the gold links of these rows, None for a row without; None if the corpus has none."""
    known = tokens.alignment(data.source, data.target)
    if known is None:
        return None
    correct = [known.get(int(row)) for row in rows]
    return [None if each is None else (set(each.sure), set(each.possible)) for each in correct]


def links_from_weights(
    weights: np.ndarray, source_words: np.ndarray, target_words: np.ndarray
) -> Links:
    """Return a link of each target word to the source word with the largest weight.

    The weight of a source word is the sum over its units, since attention spreads over them; that
    of a target word is the mean over its units, so that weights still sum to 1. Of equal weights
    the first source word's is taken.

    Args:
        weights: of attention, (target units, source units); no row for the end of the sentence
        source_words: index of the word that each source unit belongs to, (source units,)
        target_words: the same of each target unit, (target units,)

    """
    by_words = weights_of_words(weights, source_words, target_words)
    return {(int(row.argmax()), word) for word, row in enumerate(by_words) if len(row)}


def weights_of_words(
    weights: np.ndarray, source_words: np.ndarray, target_words: np.ndarray
) -> np.ndarray:
    """Return the weights between words, (target words, source words), from those between units.

    Arguments and rule as in `links_from_weights`.
    """
    shape = [int(words.max(initial=-1)) + 1 for words in (target_words, source_words)]
    by_words = np.zeros(shape)
    np.add.at(by_words, np.ix_(target_words, source_words), weights)
    return by_words / np.maximum(1, np.bincount(target_words, minlength=shape[0]))[:, None]


def diagonal(source_words: int, target_words: int) -> Links:
    """Return a link of each target word to the source word at the same share of its sentence."""
    if not source_words:
        return set()
    return {(j * source_words // target_words, j) for j in range(target_words)}


def shift(links: Links, target_words: int, by: int = 1) -> Links:
    """Return the links moved by so many target words, around the end of the sentence.

    The control of an alignment: an error rate that stays low when all links are moved by one word
    measures nothing, or the links were off by one to begin with.
    """
    return {(i, (j + by) % target_words) for i, j in links}


def count(links: Links, sure: Links, possible: Links) -> tuple[int, int, int, int]:
    """Return the numbers of COUNTS for a sentence: |A|, |S|, |A ∩ S| and |A ∩ P|."""
    return len(links), len(sure), len(links & sure), len(links & (possible | sure))


def error_rate(counts: np.ndarray) -> np.ndarray:
    """Return 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), (..., 4) to (...,); 0 where there are no links.

    Och & Ney 2003, equation 21. Where nothing is linked although there are sure links, it is 1.
    """
    links, sure, links_sure, links_possible = _columns(counts)
    wrong = links + sure - links_sure - links_possible
    return ratio(wrong, links + sure)


def precision(counts: np.ndarray) -> np.ndarray:
    """Return the share of links that are possible, (..., 4) to (...,); 0 where there are none."""
    links, _, _, links_possible = _columns(counts)
    return ratio(links_possible, links)


def recall(counts: np.ndarray) -> np.ndarray:
    """Return the share of sure links that were found, (..., 4) to (...,); 0 without sure links."""
    _, sure, links_sure, _ = _columns(counts)
    return ratio(links_sure, sure)


def corpus_counts(links: Sequence[Links], gold: Sequence[Gold | None]) -> np.ndarray:
    """Return the numbers of COUNTS for each sentence, (sentences, 4); 0 for those without gold."""
    return np.asarray(
        [
            (0, 0, 0, 0) if correct is None else count(proposed, *correct)
            for proposed, correct in zip(links, gold, strict=True)
        ],
        dtype=np.int64,
    ).reshape(-1, len(COUNTS))


def _columns(counts: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.moveaxis(np.asarray(counts, np.float64), -1, 0))


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Return the ratio of sums; 0 where the denominator is 0."""
    zeros = np.zeros(np.shape(numerator))
    return np.divide(numerator, denominator, out=zeros, where=denominator != 0)

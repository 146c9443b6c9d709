"""IBM model 1: the probability that a word translates another, learned from sentence pairs alone.

Brown et al. 1993, "The mathematics of statistical machine translation", section 4.2. Every target
word is made by one source word, or by the null word; all are equally probable before the words are
known, so the position of a word tells nothing. Expectation maximisation finds the table.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from heed.tasks.translation.alignment import Links

ROUNDS = 5  # of expectation maximisation
NULL = -1  # the word that every source sentence has in addition to its own
CHUNK = 20_000  # sentence pairs whose combinations of words are listed at once
UNSEEN = 1e-12  # probability of a pair of words that occur together in no sentence pair


@dataclasses.dataclass(frozen=True)
class TranslationTable:
    """P(target word | source word) for all words that occur together in a sentence pair.

    codes: of the pairs of words, ascending, (pairs,)
    probabilities: of the pairs, (pairs,)
    width: number of target words; a pair's code is (source + 1) * width + target
    log_likelihoods: of the sentence pairs, before each round
    """

    codes: np.ndarray
    probabilities: np.ndarray
    width: int
    log_likelihoods: list[float]

    def lookup(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return P(target | source) of arrays of words that broadcast; NULL is a source word."""
        source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
        codes = (source + 1) * self.width + target
        if not len(self.codes):
            return np.full(codes.shape, UNSEEN)
        index = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        is_known = (self.codes[index] == codes) & (target < self.width)
        return np.where(is_known, np.maximum(self.probabilities[index], UNSEEN), UNSEEN)

    def align(self, source: np.ndarray, target: np.ndarray) -> Links:
        """Return a link of each target word to the source word that most probably made it.

        A target word that the null word makes more probably has none, nor has one that occurs with
        no word of the source in training. Of equal probabilities, as where a source word occurs
        twice, the one nearest to the diagonal is taken.

        Args:
            source, target: word ids, (words,)

        """
        if not len(source) or not len(target):
            return set()
        scores = self.lookup(np.asarray(source)[:, None], np.asarray(target))
        null = self.lookup(np.full(1, NULL), np.asarray(target))
        diagonal = np.arange(len(target)) * len(source) / len(target)
        distances = np.abs(np.arange(len(source))[:, None] - diagonal)
        best = scores.max(0)
        nearest = np.where(scores == best, distances, np.inf).argmin(0)
        is_linked = (best >= null) & (best > UNSEEN)
        return {(int(nearest[j]), int(j)) for j in np.flatnonzero(is_linked)}


def train(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], rounds: int = ROUNDS
) -> TranslationTable:
    """Return the table after `rounds` of expectation maximisation, from the uniform table.

    Takes 4 bytes of memory for each combination of a source and a target word of a sentence pair.

    Args:
        sources, targets: word ids of each sentence, from 0.
        rounds: of expectation maximisation.

    """
    width = max((int(target.max()) + 1 for target in targets if len(target)), default=1)
    listed = list(_combinations(sources, targets, width))
    none = np.zeros(0, np.int64)
    codes = np.unique(np.concatenate([none, *(np.unique(chunk) for chunk, _ in listed)]))
    chunks = [(np.searchsorted(codes, chunk).astype(np.int32), starts) for chunk, starts in listed]
    del listed
    source_of_pair = codes // width
    probabilities = np.full(len(codes), 1 / width)
    prior = -sum(
        len(target) * math.log(len(source) + 1)
        for source, target in zip(sources, targets, strict=True)
    )
    log_likelihoods = []
    for _ in range(rounds):
        counts, log_likelihood = np.zeros(len(codes)), prior
        for pairs, starts in chunks:
            shares = probabilities[pairs]
            sums = np.add.reduceat(shares, starts)
            log_likelihood += float(np.log(sums).sum())
            shares /= np.repeat(sums, np.diff(starts, append=len(pairs)))
            counts += np.bincount(pairs, shares, len(codes))
        log_likelihoods.append(log_likelihood)
        totals = np.bincount(source_of_pair, counts) if len(codes) else counts
        probabilities = counts / totals[source_of_pair]
    return TranslationTable(codes, probabilities, width, log_likelihoods)


def _combinations(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], width: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the code of every combination, and the first combination of every target word.

    A target word's combinations, with null and each word of the source, follow each other.
    """
    for first in range(0, len(sources), CHUNK):
        part = [
            np.concatenate([[NULL], source]).astype(np.int64)
            for source in sources[first : first + CHUNK]
        ]
        words = [np.asarray(target, np.int64) for target in targets[first : first + CHUNK]]
        target_lengths = np.asarray([len(target) for target in words])
        if not target_lengths.sum():
            continue
        source_lengths = np.asarray([len(source) for source in part])
        source_starts = np.cumsum(source_lengths) - source_lengths
        lengths = np.repeat(source_lengths, target_lengths)  # combinations of each target word
        starts = np.cumsum(lengths) - lengths
        position = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
        source = np.concatenate(part)[
            position + np.repeat(np.repeat(source_starts, target_lengths), lengths)
        ]
        yield (source + 1) * width + np.repeat(np.concatenate(words), lengths), starts

"""A trigram language model with interpolated Kneser-Ney smoothing.

Kneser & Ney 1995, "Improved backing-off for m-gram language modeling", in the interpolated form of
Chen & Goodman 1999, "An empirical study of smoothing techniques for language modeling", section 3.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

DISCOUNT = 0.5  # where too few n-grams occur once or twice to estimate it
# Entries that are no words of the corpus, whose ids start at 0.
BOS, EOS, UNKNOWN = -1, -2, -3


class LanguageModel:
    """P(word | the two words before), over the words of its texts, EOS and UNKNOWN."""

    def __init__(self, texts: Iterable[np.ndarray]) -> None:
        """Count the n-grams of texts, given as word ids from 0."""
        trigrams: Counter[tuple[int, ...]] = Counter()
        for text in texts:
            words = [BOS, BOS, *map(int, text), EOS]
            trigrams.update(zip(words, words[1:], words[2:], strict=False))
        # Shorter n-grams count in how many contexts they occur, not how often.
        bigrams = Counter(trigram[1:] for trigram in trigrams)
        unigrams = Counter(bigram[1:] for bigram in bigrams)
        self._orders = [_Order(ngrams) for ngrams in (unigrams, bigrams, trigrams)]
        self.words = {word for (word,) in unigrams} | {EOS, UNKNOWN}
        self._cache: dict[tuple[int, ...], float] = {}

    def log_probability(self, before: int, last: int, word: int) -> float:
        """Return log P(word | before, last); any unknown id is UNKNOWN."""
        key = (before, last, word)
        if (value := self._cache.get(key)) is None:
            value = math.log(self._probability((before, last), word))
            self._cache[key] = value
        return value

    def _probability(self, context: tuple[int, ...], word: int) -> float:
        lower = self._probability(context[1:], word) if context else 1 / len(self.words)
        return self._orders[len(context)].interpolate(context, word, lower)


class _Order:
    """The n-grams of one length, with what their contexts leave to shorter n-grams."""

    def __init__(self, ngrams: Counter[tuple[int, ...]]) -> None:
        once, twice = (sum(count == n for count in ngrams.values()) for n in (1, 2))
        # Ney, Essen & Kneser 1994: the discount under which held-out n-grams are most probable.
        self.discount = once / (once + 2 * twice) if once and twice else DISCOUNT
        self.ngrams = ngrams
        self.totals: defaultdict[tuple[int, ...], int] = defaultdict(int)
        self.followers: defaultdict[tuple[int, ...], int] = defaultdict(int)
        for ngram, count in ngrams.items():
            self.totals[ngram[:-1]] += count
            self.followers[ngram[:-1]] += 1

    def interpolate(self, context: tuple[int, ...], word: int, lower: float) -> float:
        """Return P(word | context), with `lower` the probability after the shorter context."""
        total = self.totals.get(context, 0)
        if not total:
            return lower
        count = max(self.ngrams.get((*context, word), 0) - self.discount, 0.0)
        return (count + self.discount * self.followers[context] * lower) / total

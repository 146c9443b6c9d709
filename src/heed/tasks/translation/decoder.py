"""A translation by words: argmax over Y of P(X | Y) P(Y), found by a search with a beam.

Lecture notation: X is the source, Y the translation. P(Y) is a language model's; P(X | Y) is that
of IBM model 1, word by word. The search writes the translation from left to right and in each step
translates one source word that is not yet translated, by no, one or more target words (Koehn, Och &
Marcu 2003, "Statistical phrase-based translation", section 2.3, with phrases of one source word).
"""

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from heed.tasks.translation.ibm1 import NULL, TranslationTable
from heed.tasks.translation.language_model import BOS, EOS, UNKNOWN, LanguageModel

BEAM = 30  # hypotheses that are kept of those that have translated as many source words
MAX_OPTIONS, MAX_WORDS = 6, 3  # translations of a source word, and the words of each


@dataclasses.dataclass(frozen=True)
class Weights:
    """What the score of a translation adds to log P(X | Y).

    language_model: factor of log P(Y)
    word: for each target word; the language model alone prefers short translations
    distortion: for each source word that is jumped over, forwards or back
    limit: a source word is translated at most so many words after the first untranslated one
    """

    language_model: float
    word: float
    distortion: float
    limit: int


@dataclasses.dataclass(frozen=True)
class Option:
    """A translation of one source word, as target word ids, and log P(source word | words)."""

    words: tuple[int, ...]
    log_probability: float


class Translation(NamedTuple):
    """A translation as target word ids, and its score; the highest score is searched for."""

    words: list[int]
    score: float


class _Hypothesis(NamedTuple):
    """A translation of some source words, without the words of the hypothesis that it extends."""

    score: float
    rest: float  # an estimate of what the other source words will add
    covered: int  # bit i: source word i is translated
    last: int  # the source word translated last
    context: tuple[int, int]  # the last two target words
    parent: "_Hypothesis | None"
    words: tuple[int, ...]

    def text(self) -> list[int]:
        """Return all target words."""
        parts, hypothesis = [], self
        while hypothesis.parent is not None:
            parts.append(hypothesis.words)
            hypothesis = hypothesis.parent
        return [*hypothesis.words, *(word for words in reversed(parts) for word in words)]


def learn_options(
    sources: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    forward: TranslationTable,
    backward: TranslationTable,
) -> dict[int, list[Option]]:
    """Return the translations of each source word: what it was linked to most often in training.

    Target words that are linked to one source word and stand side by side are a translation, at
    most MAX_WORDS of them; a source word without a link has the translation of no words.

    Args:
        sources, targets: word ids of each sentence.
        forward: P(target word | source word), by which words are linked.
        backward: P(source word | target word).

    """
    counts: defaultdict[int, Counter[tuple[int, ...]]] = defaultdict(Counter)
    for source, target in zip(sources, targets, strict=True):
        linked: list[list[int]] = [[] for _ in source]
        for i, j in sorted(forward.align(source, target)):
            linked[i].append(j)
        for word, positions in zip(source.tolist(), linked, strict=True):
            gap = positions[-1] - positions[0] + 1 - len(positions) if positions else 0
            if not gap and len(positions) <= MAX_WORDS:
                counts[word][tuple(int(target[j]) for j in positions)] += 1
    options = {}
    for word, translations in counts.items():
        frequent = sorted(translations.items(), key=lambda item: (-item[1], item[0]))
        options[word] = [
            Option(words, math.log(_channel(backward, word, words)))
            for words, _ in frequent[:MAX_OPTIONS]
        ]
    return options


def _channel(backward: TranslationTable, word: int, translation: tuple[int, ...]) -> float:
    """Return P(source word | its translation), the mean over the words that may have made it."""
    return float(backward.lookup(np.asarray(translation or (NULL,)), np.asarray(word)).mean())


def translate(
    options: Sequence[Sequence[Option]],
    language_model: LanguageModel,
    weights: Weights,
    beam: int = BEAM,
) -> Translation:
    """Return the translation with the highest score that the search finds.

    Args:
        options: the translations of each source word, at least one. A negative id is a word that
            the language model does not know.
        language_model: P(Y).
        weights: of the parts of the score.
        beam: hypotheses that are kept of those that have translated as many source words.

    """
    estimates = [
        max(_score_words(option, UNKNOWN, UNKNOWN, language_model, weights)[0] for option in each)
        for each in options
    ]
    stack = [_Hypothesis(0.0, sum(estimates), 0, -1, (BOS, BOS), None, ())]
    for _ in options:
        # Of two hypotheses with the same future the worse one is dropped.
        best: dict[tuple[int, int, tuple[int, int]], _Hypothesis] = {}
        for hypothesis in stack:
            for extended in _extend(hypothesis, options, estimates, language_model, weights):
                key = (extended.covered, extended.last, extended.context)
                if key not in best or extended.score > best[key].score:
                    best[key] = extended
        stack = sorted(best.values(), key=lambda each: -(each.score + each.rest))[:beam]
    factor = weights.language_model

    def score_at_end(hypothesis: _Hypothesis) -> float:
        return hypothesis.score + factor * language_model.log_probability(*hypothesis.context, EOS)

    best_hypothesis = max(stack, key=score_at_end)
    return Translation(best_hypothesis.text(), score_at_end(best_hypothesis))


def _extend(
    hypothesis: _Hypothesis,
    options: Sequence[Sequence[Option]],
    estimates: list[float],
    language_model: LanguageModel,
    weights: Weights,
) -> Iterator[_Hypothesis]:
    """Yield the hypotheses that translate one more source word."""
    covered = hypothesis.covered
    first = (~covered & (covered + 1)).bit_length() - 1  # the first word that is not translated
    for i in range(first, min(first + weights.limit + 1, len(options))):
        if covered >> i & 1:
            continue
        jumped = hypothesis.score - weights.distortion * abs(i - hypothesis.last - 1)
        rest = hypothesis.rest - estimates[i]
        for option in options[i]:
            score, context = _score_words(option, *hypothesis.context, language_model, weights)
            yield _Hypothesis(
                jumped + score, rest, covered | 1 << i, i, context, hypothesis, option.words
            )


def _score_words(
    option: Option, before: int, last: int, language_model: LanguageModel, weights: Weights
) -> tuple[float, tuple[int, int]]:
    """Return what a translation adds to the score after two words, and the last two words then."""
    log_probability = 0.0
    for word in option.words:
        known = word if word >= 0 else UNKNOWN
        log_probability += language_model.log_probability(before, last, known)
        before, last = last, known
    score = option.log_probability + weights.language_model * log_probability
    return score + weights.word * len(option.words), (before, last)

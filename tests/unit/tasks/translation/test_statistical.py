"""Statistical translation: IBM model 1, a language model, and the search, against slow ones."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest

from heed.tasks.translation import reference_models
from heed.tasks.translation.reference_models import (
    BOS,
    EOS,
    NULL,
    UNKNOWN,
    UNSEEN,
    LanguageModel,
    Option,
    Weights,
    learn_options,
    train_ibm1,
    translate,
)


def drawn_pairs(pairs: int, words: int, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Sentences whose translation has for word i the word i + 1, in another order."""
    generator = np.random.default_rng(seed)
    sources = [generator.integers(0, words, generator.integers(1, 8)) for _ in range(pairs)]
    targets = [generator.permutation(source + 1) for source in sources]
    return sources, targets


def slow_ibm1(sources, targets, rounds: int) -> dict[tuple[int, int], float]:
    """IBM model 1 as Brown et al. 1993 write it, with dictionaries."""
    types = max(int(word) for target in targets for word in target) + 1
    table = defaultdict(lambda: 1 / types)
    for _ in range(rounds):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in zip(sources, targets, strict=True):
            words = [NULL, *map(int, source)]
            for t in map(int, target):
                whole = sum(table[s, t] for s in words)
                for s in words:
                    counts[s, t] += table[s, t] / whole
                    totals[s] += table[s, t] / whole
        table = {(s, t): value / totals[s] for (s, t), value in counts.items()}
    return table


def test_ibm_model_1_is_that_of_a_slow_implementation(monkeypatch):
    sources, targets = drawn_pairs(60, 12, 0)
    expected = slow_ibm1(sources, targets, reference_models.ROUNDS)
    monkeypatch.setattr(reference_models, "CHUNK", 7)  # sentences that are listed at once
    table = train_ibm1(sources, targets)
    assert len(table.codes) == len(expected)
    for (source, target), probability in expected.items():
        found = table.lookup(np.asarray(source), np.asarray(target))
        assert found == pytest.approx(max(probability, UNSEEN), abs=1e-12)
    sums = np.bincount(table.codes // table.width, table.probabilities)
    assert sums[sums > 0] == pytest.approx(1)


def test_ibm_model_1_finds_the_links_of_permuted_sentences():
    sources, targets = drawn_pairs(400, 30, 2)
    table = train_ibm1(sources, targets)
    for source, target in zip(sources[:100], targets[:100], strict=True):
        assert all(source[i] + 1 == target[j] for i, j in table.align(source, target))
        assert {j for _, j in table.align(source, target)} == set(range(len(target)))
    twice = np.asarray([4, 9, 4])
    assert table.align(twice, twice + 1) == {(0, 0), (1, 1), (2, 2)}, "nearest to the diagonal"
    for words in (([500], [3]), ([3], [500]), ([], [3])):
        assert table.align(*(np.asarray(each, int) for each in words)) == set(), "never occurred"


TEXTS = [[0, 1, 2], [0, 1, 3], [0, 1, 2, 2], [4, 1], [3], [0, 4, 1, 2], []]


def test_the_probabilities_of_the_words_after_any_context_sum_to_1():
    model = LanguageModel(map(np.asarray, TEXTS))
    contexts = [(BOS, BOS), (BOS, 0), (0, 1), (1, 2), (2, 2), (7, 8), (UNKNOWN, 1), (4, 3)]
    for before, last in contexts:
        values = [model.log_probability(before, last, word) for word in model.words]
        assert math.fsum(map(math.exp, values)) == pytest.approx(1)


def test_the_language_model_is_kneser_and_neys_by_hand():
    """Texts ab, ab, cb. After b only the end is known; b follows two words, a and c one each."""
    model = LanguageModel([np.asarray(text) for text in ([0, 1], [0, 1], [2, 1])])
    # Unigrams count the words before: a 1 (BOS), b 2 (a, c), c 1 (BOS), EOS 1 (b): 5. Discounts:
    # unigrams 3 / (3 + 2 * 1), bigrams: all 5 once, so 1/2; vocabulary a b c EOS UNKNOWN.
    discount = 3 / 5
    counts, backed_off = {0: 1, 1: 2, 2: 1, EOS: 1}, discount * 4 / 5 / 5
    unigram = {word: (count - discount) / 5 + backed_off for word, count in counts.items()}
    # Bigrams count the words before them: BOS a, BOS c, a b, c b once each, b EOS twice (a, c).
    # Once: 4, twice: 1, so the discount is 4 / 6.
    bigram = (1 - 4 / 6) / 1 + 4 / 6 * unigram[1]  # P(b | a)
    # BOS BOS a 2, BOS BOS c 1, BOS a b 2, BOS c b 1, a b EOS 2, c b EOS 1: discount 3 / (3 + 6)
    trigram = (2 - 1 / 3) / 2 + 1 / 3 * 1 / 2 * bigram  # P(b | BOS a)
    assert model.log_probability(BOS, 0, 1) == pytest.approx(math.log(trigram))
    assert model.log_probability(7, 0, 1) == pytest.approx(math.log(bigram)), "an unknown context"
    assert model.log_probability(7, 8, 2) == pytest.approx(math.log(unigram[2]))
    unknown = discount * 4 / 5 / 5
    assert model.log_probability(7, 8, 99) == pytest.approx(math.log(unknown))


def every_translation(options, model: LanguageModel, weights: Weights):
    """Yield the score and the words of each order of the source and each choice of options."""
    for order in itertools.permutations(range(len(options))):
        jumps = sum(abs(i - last - 1) for last, i in zip((-1, *order), order, strict=False))
        words = range(len(options))
        open_words = [min({*words} - {*order[:step]}) for step in words]
        if any(i - first > weights.limit for i, first in zip(order, open_words, strict=True)):
            continue
        for choice in itertools.product(*(options[i] for i in order)):
            words = [word for option in choice for word in option.words]
            known = [BOS, BOS, *(word if word >= 0 else UNKNOWN for word in words), EOS]
            threes = zip(known, known[1:], known[2:], strict=False)
            fluency = sum(model.log_probability(*three) for three in threes)
            score = sum(option.log_probability for option in choice)
            score += weights.language_model * fluency + weights.word * len(words)
            yield score - weights.distortion * jumps, tuple(words)


@pytest.mark.parametrize("limit", [0, 1, 4])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_wide_beam_finds_the_best_of_all_translations(limit, seed):
    generator = np.random.default_rng(seed)
    texts = [generator.integers(0, 5, generator.integers(1, 6)) for _ in range(40)]
    model = LanguageModel(texts)

    def option(words: tuple[int, ...]) -> Option:
        return Option(words, float(generator.normal(-2, 1)))

    words = generator.integers(0, 5, 4).tolist()
    options = [[option(()), option((word,)), option((3, word))] for word in words]
    options[2] = [option((-3,))]
    weights = Weights(language_model=0.7, word=0.4, distortion=0.3, limit=limit)
    best, words = max(every_translation(options, model, weights))
    found = translate(options, model, weights, beam=10_000)
    assert found.score == pytest.approx(best) and found.words == words


def test_options_are_what_a_word_was_linked_to_most_often():
    """Word 0 becomes 1 2, two words side by side; word 5 has no translation."""
    generator = np.random.default_rng(5)
    sources, targets = [], []
    for _ in range(300):
        source = generator.integers(0, 10, generator.integers(2, 7))
        target = [[11, 12] if word == 0 else [] if word == 5 else [word + 20] for word in source]
        sources.append(source)
        targets.append(np.asarray([word for words in target for word in words], np.int64))
    forward, backward = train_ibm1(sources, targets), train_ibm1(targets, sources)
    options = learn_options(sources, targets, forward, backward)
    assert options[0][0].words == (11, 12) and options[3][0].words == (23,)
    assert options[5][0].words == ()


def test_a_source_without_words_has_an_empty_translation():
    weights = Weights(language_model=1.0, word=1.0, distortion=0.0, limit=0)
    assert translate([], LanguageModel([np.asarray([1])]), weights).words == ()

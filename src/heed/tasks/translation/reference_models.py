"""The reference models: the source as it is, and translation by counted words.

`copy` aligns by the diagonal. `statistical` is argmax over Y of P(X | Y) P(Y), from counted words:
P(X | Y) is IBM model 1 (Brown et al. 1993, section 4.2), P(Y) a trigram language model with
interpolated Kneser-Ney smoothing (Chen & Goodman 1999, section 3). A search with a beam writes the
translation from left to right; each step translates one source word by no, one or more target words
(Koehn, Och & Marcu 2003, section 2.3, with phrases of one source word).
"""

import dataclasses
import functools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from heed.inputs.pairs import Detokenizer, learn_detokenizer
from heed.task.interface import DeclaredExperiment, Fitted
from heed.tasks.translation import metrics
from heed.tasks.translation.recipe import Data, Prediction
from heed.tokens.arrays import ParallelTokens, Side

ROUNDS = 5  # of expectation maximisation
NULL = -1  # the word that every source sentence has in addition to its own
CHUNK = 20_000  # sentence pairs whose combinations of words are listed at once
UNSEEN = 1e-12  # probability of a pair of words that occur together in no sentence pair
DISCOUNT = 0.5  # where too few n-grams occur once or twice to estimate it
# Entries of the language model that are no words of the corpus, whose ids start at 0.
BOS, EOS, UNKNOWN = -1, -2, -3
BEAM = 30  # hypotheses that are kept of those that have translated as many source words
MAX_OPTIONS, MAX_WORDS = 6, 3  # translations of a source word, and the words of each
NGram = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Sentences:
    """The word ids of each of a corpus's sentences in one language, and each word by its id."""

    rows: list[np.ndarray]
    words: list[str]


def read_sentences(tokens: ParallelTokens, language: str, lowercase: bool) -> Sentences:
    """Return the sentences of a language; types that differ only in case may be one word."""
    side = tokens.sides[language]
    lexicon = [word.lower() for word in side.lexicon] if lowercase else side.lexicon
    words = list(dict.fromkeys(lexicon))
    index = {word: i for i, word in enumerate(words)}
    ids = np.asarray([index[word] for word in lexicon], np.int64)[side.ids]
    return Sentences(np.split(ids, side.offsets[1:-1]), words)


def learn_sentence_detokenizer(sentences: Sentences, side: Side, rows: np.ndarray) -> Detokenizer:
    """Return the spaces between the words of these rows; one word more stands for unknown ones."""
    index = np.zeros(len(side.lexicon), np.int64)
    index[side.ids] = np.concatenate(sentences.rows)
    return learn_detokenizer(side, rows, index, (*sentences.words, "unknown"))


def join_words(ids: list[int], words: list[str], detokenizer: Detokenizer, unknown: int) -> str:
    """Return the text of words, given by id and as text; ids below 0 are the word `unknown`."""
    known = np.asarray([id_ if id_ >= 0 else unknown for id_ in ids], np.int64)
    gaps = ["" if joined else " " for joined in detokenizer.joined(known)]
    return "".join(map("".join, zip(words, [*gaps, ""], strict=False)))


def separated_words(side: Side, row: int) -> np.ndarray:
    """Return the index of the word, as white space separates them, of each token, (tokens,)."""
    start, end = side.offsets[row], side.offsets[row + 1]
    is_first = side.starts[start + 1 : end] > side.ends[start : end - 1]
    return np.concatenate([[0], np.cumsum(is_first)])[: end - start].astype(np.int64)


@dataclasses.dataclass(frozen=True)
class TranslationTable:
    """P(target word | source word) of pairs, by code: (source + 1) * width + target, ascending."""

    codes: np.ndarray
    probabilities: np.ndarray
    width: int

    def lookup(self, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Return P(target | source) of arrays of words that broadcast; NULL is a source word."""
        codes = (source + 1) * self.width + target
        index = np.minimum(np.searchsorted(self.codes, codes), len(self.codes) - 1)
        is_known = (self.codes[index] == codes) & (target < self.width)
        return np.where(is_known, np.maximum(self.probabilities[index], UNSEEN), UNSEEN)

    def align(self, source: np.ndarray, target: np.ndarray) -> metrics.Links:
        """Return a link of each target word to the source word that most probably made it.

        A target word that null makes more probably has none, nor has one never seen with the
        source. If probabilities are equal, the word nearest to the diagonal is taken.
        """
        if not len(source) or not len(target):
            return set()
        scores, null = self.lookup(source[:, None], target), self.lookup(np.full(1, NULL), target)
        diagonal = np.arange(len(target)) * len(source) / len(target)
        distances = np.abs(np.arange(len(source))[:, None] - diagonal)
        best = scores.max(0)
        nearest = np.where(scores == best, distances, np.inf).argmin(0)
        is_linked = (best >= null) & (best > UNSEEN)
        return {(int(nearest[j]), int(j)) for j in np.flatnonzero(is_linked)}


def train_ibm1(sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> TranslationTable:
    """Return the table after expectation maximisation; it takes 4 bytes a combination of words."""
    width = max(int(target.max(initial=0)) for target in targets) + 1
    listed = list(_combinations(sources, targets, width))
    codes = np.unique(np.concatenate([np.unique(chunk) for chunk, _ in listed]))
    chunks = [(np.searchsorted(codes, chunk).astype(np.int32), starts) for chunk, starts in listed]
    del listed
    source_of_pair = codes // width
    probabilities = np.full(len(codes), 1 / width)
    for _ in range(ROUNDS):
        counts = np.zeros(len(codes))
        for pairs, starts in chunks:
            shares = probabilities[pairs]
            sums = np.add.reduceat(shares, starts)
            shares /= np.repeat(sums, np.diff(starts, append=len(pairs)))
            counts += np.bincount(pairs, shares, len(codes))
        probabilities = counts / np.bincount(source_of_pair, counts)[source_of_pair]
    return TranslationTable(codes, probabilities, width)


def fit_ibm1(
    tokens: ParallelTokens, data: Data, lowercase: bool, train: np.ndarray
) -> tuple[TranslationTable, list[Sentences]]:
    """Return the table of the rows `train`, and the sentences of the source and of the target."""
    sides = [read_sentences(tokens, language, lowercase) for language in (data.source, data.target)]
    return train_ibm1(*([side.rows[row] for row in train] for side in sides)), sides


def _combinations(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], width: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the codes of target words with null and each source word, and their starts."""
    for first in range(0, len(sources), CHUNK):
        part = [np.append(NULL, source) for source in sources[first : first + CHUNK]]
        words = targets[first : first + CHUNK]
        source_lengths, target_lengths = (np.asarray([*map(len, side)]) for side in (part, words))
        source_starts = np.cumsum(source_lengths) - source_lengths
        lengths = np.repeat(source_lengths, target_lengths)  # combinations of each target word
        starts = np.cumsum(lengths) - lengths
        position = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
        position += np.repeat(np.repeat(source_starts, target_lengths), lengths)
        source = np.concatenate(part)[position]
        yield (source + 1) * width + np.repeat(np.concatenate(words), lengths), starts


class LanguageModel:
    """P(word | the two words before), over the words of its texts, EOS and UNKNOWN."""

    def __init__(self, texts: Iterable[np.ndarray]) -> None:
        """Count the n-grams of texts, given as word ids from 0."""
        trigrams: Counter[NGram] = Counter()
        for text in texts:
            words = [BOS, BOS, *map(int, text), EOS]
            trigrams.update(zip(words, words[1:], words[2:], strict=False))
        # Shorter n-grams count in how many contexts they occur, not how often.
        bigrams = Counter(trigram[1:] for trigram in trigrams)
        unigrams = Counter(bigram[1:] for bigram in bigrams)
        self._orders = [_Order(ngrams) for ngrams in (unigrams, bigrams, trigrams)]
        self.words = {word for (word,) in unigrams} | {EOS, UNKNOWN}
        self.log_probability = functools.cache(self._log_probability)

    def _log_probability(self, before: int, last: int, word: int) -> float:
        probability = 1 / len(self.words)
        for context, order in zip(((), (last,), (before, last)), self._orders, strict=True):
            probability = order.interpolate(context, word, probability)
        return math.log(probability)


class _Order:
    """The n-grams of one length, and of each context how often it occurs and with what words."""

    def __init__(self, ngrams: Counter[NGram]) -> None:
        self.ngrams = ngrams
        self.followers = Counter(ngram[:-1] for ngram in ngrams)
        self.totals: Counter[NGram] = Counter()
        for ngram, count in ngrams.items():
            self.totals[ngram[:-1]] += count
        once, twice = (sum(count == n for count in ngrams.values()) for n in (1, 2))
        # Ney, Essen & Kneser 1994: the discount under which held-out n-grams are most probable.
        self.discount = once / (once + 2 * twice) if once and twice else DISCOUNT

    def interpolate(self, context: NGram, word: int, lower: float) -> float:
        """Return P(word | context), with `lower` the probability after the shorter context."""
        if not (total := self.totals[context]):
            return lower
        count = max(self.ngrams[(*context, word)] - self.discount, 0.0)
        return (count + self.discount * self.followers[context] * lower) / total


@dataclasses.dataclass(frozen=True)
class Weights:
    """Weights added to log P(X | Y); jumps reach `limit` words after the first left over."""

    language_model: float
    word: float
    distortion: float
    limit: int


@dataclasses.dataclass(frozen=True)
class Option:
    """A translation of one source word, as target word ids, and log P(source word | words)."""

    words: NGram
    log_probability: float


class Hypothesis(NamedTuple):
    """A translation of some source words, as target word ids; the highest score is searched for."""

    score: float
    rest: float  # an estimate of what the other source words will add
    covered: int  # bit i: source word i is translated
    last: int  # the source word translated last
    context: tuple[int, int]  # the last two target words
    words: NGram


def learn_options(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray], forward: TranslationTable,
    backward: TranslationTable,
) -> dict[int, list[Option]]:  # fmt: skip
    """Return the translations of each source word: what it was linked to most often in training.

    `forward` is P(target word | source word), by which words are linked, `backward` the reverse.
    """
    counts: defaultdict[int, Counter[NGram]] = defaultdict(Counter)
    for source, target in zip(sources, targets, strict=True):
        linked: list[list[int]] = [[] for _ in source]
        for i, j in sorted(forward.align(source, target)):
            linked[i].append(j)
        for word, positions in zip(source.tolist(), linked, strict=True):
            span = max(positions, default=0) - min(positions, default=1) + 1
            if span == len(positions) <= MAX_WORDS:
                counts[word][tuple(target[positions].tolist())] += 1
    options: dict[int, list[Option]] = {}
    for word, translations in counts.items():
        frequent = sorted(translations, key=lambda words: (-translations[words], words))
        for words in frequent[:MAX_OPTIONS]:
            made_by = backward.lookup(np.asarray(words or (NULL,)), np.asarray(word))
            option = Option(words, math.log(float(made_by.mean())))  # any may have made the source
            options.setdefault(word, []).append(option)
    return options


def translate(
    options: Sequence[Sequence[Option]], language_model: LanguageModel, weights: Weights,
    beam: int = BEAM,
) -> Hypothesis:  # fmt: skip
    """Return the best translation found; a negative id is a word that the model does not know."""
    unknown = Hypothesis(0.0, 0.0, 0, -1, (UNKNOWN, UNKNOWN), ())
    estimates = [
        max(_append(option, unknown, language_model, weights)[0] for option in choices)
        for choices in options
    ]
    stack = [Hypothesis(0.0, sum(estimates), 0, -1, (BOS, BOS), ())]
    for _ in options:
        # Of two hypotheses with the same future the worse one is dropped.
        best: dict[tuple[int, int, tuple[int, int]], Hypothesis] = {}
        for hypothesis in stack:
            for extended in _extend(hypothesis, options, estimates, language_model, weights):
                key = (extended.covered, extended.last, extended.context)
                if key not in best or extended.score > best[key].score:
                    best[key] = extended
        stack = sorted(best.values(), key=lambda found: -(found.score + found.rest))[:beam]
    ends = [language_model.log_probability(*hypothesis.context, EOS) for hypothesis in stack]
    ended = [
        hypothesis._replace(score=hypothesis.score + weights.language_model * end)
        for hypothesis, end in zip(stack, ends, strict=True)
    ]
    return max(ended, key=lambda hypothesis: hypothesis.score)


def _extend(
    hypothesis: Hypothesis, options: Sequence[Sequence[Option]], estimates: list[float],
    language_model: LanguageModel, weights: Weights,
) -> Iterator[Hypothesis]:  # fmt: skip
    covered = hypothesis.covered
    first = (~covered & (covered + 1)).bit_length() - 1  # the first word that is not translated
    for i in range(first, min(first + weights.limit + 1, len(options))):
        if covered >> i & 1:
            continue
        jumped = hypothesis.score - weights.distortion * abs(i - hypothesis.last - 1)
        rest = hypothesis.rest - estimates[i]
        for option in options[i]:
            score, context = _append(option, hypothesis, language_model, weights)
            words = hypothesis.words + option.words
            yield Hypothesis(jumped + score, rest, covered | 1 << i, i, context, words)


def _append(
    option: Option, hypothesis: Hypothesis, language_model: LanguageModel, weights: Weights
) -> tuple[float, tuple[int, int]]:
    """Return what a translation adds to a hypothesis's score, and its last two words then."""
    log_probability, (before, last) = 0.0, hypothesis.context
    for word in option.words:
        known = word if word >= 0 else UNKNOWN
        log_probability += language_model.log_probability(before, last, known)
        before, last = last, known
    score = option.log_probability + weights.language_model * log_probability
    return score + weights.word * len(option.words), (before, last)


TUNED = 100  # validation sentences by whose BLEU weights are chosen; ties: the first tried
# How words may move (distortion, limit) is chosen first, then the factors of P(Y) and of its words.
START = Weights(language_model=1.0, word=1.0, distortion=0.0, limit=0)
MOVES = ((0.0, 0), (0.25, 2), (0.5, 2), (1.0, 2), (2.0, 2), (0.25, 6), (0.5, 6), (1.0, 6))
FACTORS = tuple((model, word) for model in (0.5, 1.0, 1.5) for word in (0.0, 1.0, 2.0, 3.0))


def fit(tokens: ParallelTokens, data: Data, experiment: DeclaredExperiment) -> Fitted:
    """Return the translations of both reference models on each fold, and the search's weights."""
    section = experiment.data
    scoring = Prediction(tokenize=section.tokenize, lowercase=section.lowercase)
    predictions, chosen = {}, []
    for fold in range(tokens.meta.folds or 1):
        statistical = Statistical(tokens, data, scoring, tokens.rows("train", fold))
        weights = _tune(statistical, tokens.rows("validation", fold)[:TUNED])
        chosen.append(dataclasses.asdict(weights))
        models = {
            "copy": functools.partial(_copy, tokens, data),
            "statistical": functools.partial(statistical.predict, weights),
        }
        for name, predict in models.items():
            tables = []
            for split in ("validation", "test"):
                tables.append(predict(tokens.rows(split, fold)))
                tables[-1].insert(1, "split", split)
            predictions[name, fold] = pd.concat(tables, ignore_index=True)

    def statistics(table: pd.DataFrame) -> pd.DataFrame:
        gold = metrics.gold_links(tokens, data, tokens.rows_of(table["id"]))
        return metrics.statistics_table(table, gold, data, scoring)

    selection = {"ibm1_rounds": ROUNDS, "tuned_on": TUNED, "weights": chosen}
    return Fitted(predictions, statistics, selection)


class Statistical:
    """IBM model 1 and a language model of one training split."""

    def __init__(
        self, tokens: ParallelTokens, data: Data, scoring: Prediction, train: np.ndarray
    ) -> None:
        """Count words, and words of a source and its translation, in the rows `train`."""
        self.tokens, self.data, self.scoring = tokens, data, scoring
        self.table, sides = fit_ibm1(tokens, data, scoring.lowercase, train)
        self.source, self.target = sides
        sources, targets = ([side.rows[row] for row in train] for side in sides)
        self.options = learn_options(sources, targets, self.table, train_ibm1(targets, sources))
        self.language_model = LanguageModel(targets)
        self.detokenizer = learn_sentence_detokenizer(self.target, tokens.sides[data.target], train)

    def translate(self, row: int, weights: Weights) -> tuple[str, float]:
        """Return the translation of a row, and its score; an unknown word is copied."""
        source = self.source.rows[row].tolist()
        options = [
            self.options.get(word) or [Option((-1 - i,), 0.0)] for i, word in enumerate(source)
        ]
        found = translate(options, self.language_model, weights)
        words = [
            self.target.words[id_] if id_ >= 0 else self.source.words[source[-1 - id_]]
            for id_ in found.words
        ]
        text = join_words([*found.words], words, self.detokenizer, len(self.target.words))
        return text, found.score

    def predict(self, weights: Weights, rows: np.ndarray) -> pd.DataFrame:
        """Return the table of predictions of these rows (docs/internals/contracts.md)."""
        translations = [self.translate(row, weights) for row in rows]
        pairs = [(self.source.rows[row], self.target.rows[row]) for row in rows]
        return metrics.sentence_table(self.tokens, self.data, rows).assign(
            hypothesis=[text for text, _ in translations],
            score=[score for _, score in translations],
            links=[metrics.format_links(self.table.align(*pair)) for pair in pairs],
            unknown_words=[sum(int(id_) not in self.options for id_ in ids) for ids, _ in pairs],
        )


def _tune(statistical: Statistical, validation: np.ndarray) -> Weights:
    scoring = statistical.scoring
    table = metrics.sentence_table(statistical.tokens, statistical.data, validation)
    references = table["reference"].tolist()

    def bleu(weights: Weights) -> float:
        hypotheses = [statistical.translate(row, weights)[0] for row in validation]
        return metrics.corpus_bleu(hypotheses, references, scoring)

    moves = [dataclasses.replace(START, distortion=jump, limit=limit) for jump, limit in MOVES]
    moving = max(moves, key=bleu)
    factors = [dataclasses.replace(moving, language_model=lm, word=word) for lm, word in FACTORS]
    return max(factors, key=bleu)


def _copy(tokens: ParallelTokens, data: Data, rows: np.ndarray) -> pd.DataFrame:
    table = metrics.sentence_table(tokens, data, rows)
    target_words = np.diff(tokens.sides[data.target].offsets)[rows].tolist()
    links = map(metrics.format_links, map(diagonal, table["source_words"].tolist(), target_words))
    return table.assign(hypothesis=table["source"], score=0.0, links=[*links], unknown_words=0)


def diagonal(source_words: int, target_words: int) -> metrics.Links:
    """Return a link of each target word to the source word at the same share of its sentence."""
    if not source_words:
        return set()
    return {(j * source_words // target_words, j) for j in range(target_words)}

"""Batches of sentence pairs, and the units of a sentence, made from the training split of a run.

Batches are of pairs of similar length, in an order that depends only on the seed. Units are words,
or pieces of words.

`Detokenizer` joins words to text again. For each word the share of its occurrences that are joined
is counted, to the left and to the right; between two words the share decides that is further from
one half. Pairs of words for which this rule is wrong in training are exceptions. For words without
letters and digits, odd and even occurrences are counted separately: quotation marks open and
close. Pieces are sentencepiece's (Kudo and Richardson 2018, aclanthology.org/D18-2012), by
byte-pair encoding (Sennrich et al. 2016).
"""

import dataclasses
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from heed.files import HeedError, write_text, writing
from heed.hyperparameters.translator import Segmentation
from heed.inputs.batches import MAX_PADDED_TOKENS, OnDevice, shuffled_batches
from heed.inputs.vocabulary import (
    BOS,
    EOS,
    PADDING,
    SPECIAL_OF_PAIRS,
    UNKNOWN,
    Vocabulary,
    build_vocabulary,
)
from heed.tokens.arrays import ParallelTokens, Side


@dataclasses.dataclass(frozen=True)
class PairBatch(OnDevice):
    """Sentence pairs, each side padded to its longest.

    source: vocabulary indices (batch, source time), without BOS and EOS; lengths (batch,) from 1
    target: vocabulary indices (batch, target time), with BOS before and EOS after; so its lengths
    rows: row of each pair in the corpus (batch,)
    """

    source: torch.Tensor
    source_lengths: torch.Tensor
    target: torch.Tensor
    target_lengths: torch.Tensor
    rows: np.ndarray

    @property
    def predicted_tokens(self) -> int:
        """The number of target tokens that are predicted: all but BOS."""
        return int(self.target_lengths.sum()) - len(self.rows)


class EncodedPairs:
    """The sentence pairs of some rows as indices of two vocabularies, one unit at least a side."""

    def __init__(
        self, rows: np.ndarray, source: list[np.ndarray], target: list[np.ndarray]
    ) -> None:
        self._position = {int(row): i for i, row in enumerate(rows)}
        self._source, self._target = source, target
        self._source_lengths = np.asarray([*map(len, source)], np.int64)
        self._target_lengths = np.asarray([*map(len, target)], np.int64)

    def _positions(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray([self._position[int(row)] for row in rows], np.int64)

    def lengths(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the units of source and target of each row, without BOS and EOS: (rows,) each."""
        positions = self._positions(rows)
        return self._source_lengths[positions], self._target_lengths[positions]

    def sources(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the indices of each row's source, (units,)."""
        return [self._source[i] for i in self._positions(rows)]

    def targets(self, rows: np.ndarray) -> list[np.ndarray]:
        """Return the indices of each row's target, (units,), without BOS and EOS."""
        return [self._target[i] for i in self._positions(rows)]

    def unknown_shares(self, rows: np.ndarray) -> tuple[float, float]:
        """Return the share of the units of source and of target that are unknown."""
        sides = self.sources(rows), self.targets(rows)
        source, target = (np.concatenate(side) == UNKNOWN for side in sides)
        return float(source.mean()), float(target.mean())

    def training_rows(self, rows: np.ndarray, h: Segmentation) -> tuple[np.ndarray, dict[str, int]]:
        """Return the rows that are short enough to train on, and the others' counts by reason."""
        source, target = self.lengths(rows)
        fits, is_long = source <= h.max_source_tokens, target > h.max_target_tokens
        counts = {"long_source": int((~fits).sum()), "long_target": int((fits & is_long).sum())}
        return rows[fits & ~is_long], counts

    def batch(self, rows: np.ndarray) -> PairBatch:
        """Return the pairs of `rows` as one batch, in that order."""
        source = _pad(self.sources(rows))
        target = _pad([np.asarray([BOS, *units, EOS]) for units in self.targets(rows)])
        return PairBatch(*source, *target, rows)

    def training_steps(
        self, rows: np.ndarray, batch_size: int, seed: int, epoch: int,
        max_padded_tokens: int | None = None,
    ) -> Iterator[list[PairBatch]]:  # fmt: skip
        """Yield the batches of each training step; every pair occurs once, in random order.

        A step is one batch, or several when it has more than `max_padded_tokens` of both sides.
        """
        for pairs in shuffled_batches(rows, batch_size, seed, epoch, self._by_length):
            yield [self.batch(part) for part in self._parts(pairs, max_padded_tokens)]

    def evaluation_batches(self, rows: np.ndarray) -> Iterator[PairBatch]:
        """Yield every pair once, the longest first; `PairBatch.rows` has their rows."""
        for part in self._parts(self._by_length(rows)[::-1], MAX_PADDED_TOKENS):
            yield self.batch(part)

    def _by_length(self, rows: np.ndarray) -> np.ndarray:
        return rows[np.lexsort(self.lengths(rows))]

    def _parts(self, rows: np.ndarray, max_padded_tokens: int | None) -> Iterator[np.ndarray]:
        """Yield the rows in parts of at most `max_padded_tokens`, BOS and EOS included."""
        source, target = self.lengths(rows)
        start, longest_source, longest_target = 0, 0, 0
        for i in range(len(rows)):
            longest_source = max(longest_source, int(source[i]))
            longest_target = max(longest_target, int(target[i]) + 2)
            size = (i + 1 - start) * (longest_source + longest_target)
            if max_padded_tokens is not None and size > max_padded_tokens and i > start:
                yield rows[start:i]
                start, longest_source, longest_target = i, int(source[i]), int(target[i]) + 2
        if start < len(rows):
            yield rows[start:]


def _pad(sentences: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = np.asarray([*map(len, sentences)], np.int64)
    token_mask = np.arange(int(lengths.max(initial=1)))[None] < lengths[:, None]
    ids = np.full(token_mask.shape, PADDING, np.int64)
    ids[token_mask] = np.concatenate([*sentences, np.zeros(0, np.int64)])
    return torch.from_numpy(ids), torch.from_numpy(lengths)


# --- units

WORD_BEGIN = "\u2581"  # sentencepiece's mark of a blank, at the begin of a piece
# Options of sentencepiece: nothing is drawn, left out or changed. All texts are read in their order
# by one thread, and every character is kept; a vocabulary may be smaller than asked for.
SPECIAL_NAMES = ("pad", "unk", "bos", "eos")  # sentencepiece's, of the special entries
TRAINER: dict[str, Any] = {
    **{f"{name}_id": i for i, name in enumerate(SPECIAL_NAMES)},
    **{f"{name}_piece": SPECIAL_OF_PAIRS[i] for i, name in enumerate(SPECIAL_NAMES)},
    "unk_surface": SPECIAL_OF_PAIRS[UNKNOWN], "hard_vocab_limit": False, "character_coverage": 1.0,
    "normalization_rule_name": "identity", "num_threads": 1, "minloglevel": 2, "model_type": "bpe",
}  # fmt: skip
COLUMNS = {
    "detokenizer": ["left", "left_even", "right", "right_even", "alternates"],
    "exceptions": ["left_form", "right_form", "joined"],
}
SHARES = 1000  # shares are whole numbers of 0 to this: a file gives them back exactly
PRIOR = 0.5  # occurrences with the mean share of all words that each word has besides its own


@dataclasses.dataclass(frozen=True)
class Detokenizer:
    """The spaces between words, as learned.

    A form is an odd or an even occurrence of a word: 2 * word, or 2 * word + 1.
    """

    left: np.ndarray  # (forms,)
    right: np.ndarray
    alternates: frozenset[int]  # words whose even occurrences are other forms
    exceptions: dict[tuple[int, int], bool]  # of forms

    def joined(self, words: np.ndarray) -> np.ndarray:
        """Return whether no space is between each word and the next: (words - 1,)."""
        forms = _forms(words, np.zeros_like(words), self.alternates)
        by_rule = _apply_rule(self.right[forms[:-1]], self.left[forms[1:]])
        rules = zip(forms[:-1].tolist(), forms[1:].tolist(), by_rule.tolist(), strict=True)
        return np.asarray([self.exceptions.get((a, b), rule) for a, b, rule in rules], bool)

    def write(self, folder: Path, name: str) -> None:
        """Write NAME.detokenizer.csv, a line for each word, and NAME.exceptions.csv."""
        words = np.concatenate([self.left.reshape(-1, 2), self.right.reshape(-1, 2)], axis=1)
        alternates = [word in self.alternates for word in range(len(words))]
        words = np.column_stack([words, np.asarray(alternates, np.int64)])
        exceptions = [[*pair, int(joined)] for pair, joined in sorted(self.exceptions.items())]
        for kind, rows in (("detokenizer", words), ("exceptions", exceptions)):
            table = pd.DataFrame(rows, columns=COLUMNS[kind])
            write_text(folder / f"{name}.{kind}.csv", table.to_csv(index=False))

    @classmethod
    def read(cls, folder: Path, name: str) -> "Detokenizer":
        """Return the spacing written as `name`."""
        table, exceptions = (
            pd.read_csv(folder / f"{name}.{kind}.csv", dtype=np.int64).to_numpy()
            for kind in COLUMNS
        )
        alternates = frozenset(np.flatnonzero(table[:, 4]).tolist())
        joined = {(a, b): bool(is_joined) for a, b, is_joined in exceptions.tolist()}
        return cls(table[:, :2].reshape(-1), table[:, 2:4].reshape(-1), alternates, joined)


def learn_detokenizer(
    side: Side, rows: np.ndarray, index: np.ndarray, words: tuple[str, ...]
) -> Detokenizer:
    """Return the spacing in `rows`; `index` is the word of each type, (types,), in `words`."""
    texts = np.repeat(np.arange(len(side.offsets) - 1), np.diff(side.offsets))
    tokens = np.flatnonzero(np.isin(texts, rows))
    alternates = frozenset(i for i, word in enumerate(words) if not any(map(str.isalnum, word)))
    forms = _forms(index[side.ids[tokens]].astype(np.int64), texts[tokens], alternates)
    is_pair = np.diff(texts[tokens]) == 0
    first, second = forms[:-1][is_pair], forms[1:][is_pair]
    joined = (side.starts[tokens[1:]] == side.ends[tokens[:-1]])[is_pair]
    mean = float(joined.mean()) if len(joined) else 0.0
    right, left = (_shares(form, joined, mean, 2 * len(words)) for form in (first, second))
    return Detokenizer(left, right, alternates, _exceptions(first, second, joined, left, right))


def _forms(words: np.ndarray, texts: np.ndarray, alternates: frozenset[int]) -> np.ndarray:
    """Return the form of each word, (words,); `texts` has the text that it is of, (words,)."""
    occurrence = pd.Series(words).groupby([texts, words]).cumcount().to_numpy()
    may_alternate = np.isin(words, [*alternates])
    return 2 * words + np.where(may_alternate, occurrence % 2, 0)


def _shares(forms: np.ndarray, joined: np.ndarray, mean: float, count: int) -> np.ndarray:
    """Return the share of occurrences of each form that are joined, in SHARES: int64 (forms,)."""
    occurrences = np.bincount(forms, minlength=count)
    shares = (np.bincount(forms, joined, count) + PRIOR * mean) / (occurrences + PRIOR)
    return np.rint(SHARES * shares).astype(np.int64)


def _apply_rule(right: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return whether words are joined by their shares, `right` of the first, `left` of the next."""
    surer = np.where(abs(2 * right - SHARES) > abs(2 * left - SHARES), right, left)
    return 2 * surer > SHARES


def _exceptions(
    first: np.ndarray, second: np.ndarray, joined: np.ndarray, left: np.ndarray, right: np.ndarray
) -> dict[tuple[int, int], bool]:
    """Return the pairs of forms for which the rule is wrong more often than right."""
    joins = pd.Series(joined).groupby([first, second]).mean() > 0.5
    firsts, seconds = (joins.index.get_level_values(i) for i in (0, 1))
    is_wrong = joins.to_numpy() != _apply_rule(right[firsts], left[seconds])
    wrong = (column[is_wrong].tolist() for column in (firsts, seconds, joins))
    return {(a, b): is_joined for a, b, is_joined in zip(*wrong, strict=True)}


@dataclasses.dataclass(frozen=True)
class Words:
    """Words, after SPECIAL_OF_PAIRS the most frequent of a training split; others are unknown."""

    vocabulary: Vocabulary
    detokenizer: Detokenizer

    def __len__(self) -> int:
        return len(self.vocabulary)

    def encode(self, side: Side, rows: np.ndarray) -> list[np.ndarray]:
        """Return the indices of each row, int32 (tokens,); a text without tokens is unknown."""
        index = self.vocabulary.encode(side.lexicon)
        encoded = [index[side.ids[side.offsets[row] : side.offsets[row + 1]]] for row in rows]
        return [ids if len(ids) else np.asarray([UNKNOWN], np.int32) for ids in encoded]

    def units(self, ids: np.ndarray) -> list[str]:
        """Return the words."""
        return [self.vocabulary.words[i] for i in ids]

    def decode(self, ids: np.ndarray) -> str:
        """Return the words, but special ones, with the spaces that training makes likely."""
        kept = np.asarray([i for i in ids if i not in (PADDING, BOS, EOS)], np.int64)
        joined = [*self.detokenizer.joined(kept).tolist(), True]
        words = zip(self.units(kept), joined, strict=False)
        return "".join(word if is_joined else f"{word} " for word, is_joined in words)

    def words_of(self, ids: np.ndarray) -> np.ndarray:
        """Return the index of the word of each unit, (units,): each is one."""
        return np.arange(len(ids))

    def write(self, folder: Path, name: str) -> None:
        """Write NAME.txt with a word a line, and the files of the spacing."""
        write_text(folder / f"{name}.txt", "".join(f"{word}\n" for word in self.vocabulary.words))
        self.detokenizer.write(folder, name)


class Pieces:
    """Pieces of words, of a model of sentencepiece."""

    def __init__(self, model: bytes) -> None:
        import sentencepiece  # only here: words need no library

        self._bytes = model
        self._model: Any = sentencepiece.SentencePieceProcessor(model_proto=model)

    def __len__(self) -> int:
        return int(self._model.vocab_size())

    def encode(self, side: Side, rows: np.ndarray) -> list[np.ndarray]:
        """Return the indices of the pieces of each row (see `Words`)."""
        encoded = self._model.encode(
            [" ".join(text.split()) for text in side.texts(rows)], num_threads=1
        )
        return [np.asarray(ids or [UNKNOWN], np.int32) for ids in encoded]

    def units(self, ids: np.ndarray) -> list[str]:
        """Return the pieces, with the mark in place of a blank."""
        return [self._model.id_to_piece(int(i)) for i in ids]

    def decode(self, ids: np.ndarray) -> str:
        """Return the text that the pieces make."""
        return " ".join(self._model.decode([int(i) for i in ids]).split())

    def words_of(self, ids: np.ndarray) -> np.ndarray:
        """Return the index of the word of each piece, (pieces,), as white space separates words."""
        # a mark of a blank alone belongs to the word after it; at the end, to the last
        words, word, is_open = [], -1, False
        for unit, i in zip(self.units(ids), ids, strict=True):
            has_text = i not in (PADDING, BOS, EOS) and unit.strip(WORD_BEGIN) != ""
            is_open = is_open and not unit.startswith(WORD_BEGIN)
            if has_text and not is_open:
                word, is_open = word + 1, True
            words.append(word if is_open else word + 1)
        return np.minimum(words, max(word, 0)).astype(np.int64)

    def write(self, folder: Path, name: str) -> None:
        """Write NAME.model, as sentencepiece reads it."""
        with writing(folder / f"{name}.model") as temporary:
            temporary.write_bytes(self._bytes)


Segmenter = Words | Pieces  # the units of one language: text to indices, and back


def make_segmenter(side: Side, rows: np.ndarray, size: int, h: Segmentation) -> Segmenter:
    """Return the units of a language, at most `size`, of `rows`. HeedError: `size` is too small."""
    if h.segmentation != "words":
        return Pieces(_train_pieces(side.texts(rows), size))
    vocabulary = build_vocabulary(side, rows, size, h.lowercase, SPECIAL_OF_PAIRS)
    index = vocabulary.encode(side.lexicon)
    return Words(vocabulary, learn_detokenizer(side, rows, index, vocabulary.words))


def encode_pairs(
    tokens: ParallelTokens, rows: np.ndarray, languages: tuple[str, str],
    segmenters: tuple[Segmenter, Segmenter],
) -> EncodedPairs:  # fmt: skip
    """Return the pairs of `rows` as indices; no other row is encoded."""
    sides = zip(segmenters, languages, strict=True)
    encoded = [segmenter.encode(tokens.sides[language], rows) for segmenter, language in sides]
    return EncodedPairs(rows, *encoded)


def read_segmenter(folder: Path, name: str, h: Segmentation) -> Segmenter:
    """Return the units written as `name` into the folder of a run."""
    if h.segmentation != "words":
        return Pieces((folder / f"{name}.model").read_bytes())
    words = tuple((folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")[:-1])
    vocabulary = Vocabulary(words, h.lowercase, len(SPECIAL_OF_PAIRS))
    return Words(vocabulary, Detokenizer.read(folder, name))


def _train_pieces(texts: list[str], size: int) -> bytes:
    """Return the model of sentencepiece for some texts: the same bytes for the same texts."""
    import sentencepiece

    texts = [" ".join(text.split()) for text in texts]
    model = io.BytesIO()
    try:
        # in bytes: sentencepiece leaves out longer sentences, and takes no limit below 10
        longest = 10 + max(len(text.encode()) for text in texts)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts), model_writer=model, vocab_size=size,
            max_sentence_length=longest, **TRAINER,
        )  # fmt: skip
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise HeedError(
            f"sentencepiece cannot make {size} pieces of the training split ({reason}). Set "
            "source_vocabulary or target_vocabulary in params.yaml to more, or segmentation: words"
        ) from None
    return model.getvalue()

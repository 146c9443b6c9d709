"""The vocabulary of a run: the most frequent types of its training split."""

import dataclasses
from collections import Counter

import numpy as np

from heed.tokens.arrays import Side, Tokens

PADDING, UNKNOWN, BOS, EOS = range(4)
SPECIAL = ("<padding>", "<unknown>")  # of a classifier
SPECIAL_OF_PAIRS = (*SPECIAL, "<bos>", "<eos>")  # of a translator, on both sides
COUNTED_AT_ONCE = 20_000  # documents


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Words by index; 0 is padding, 1 is unknown; with `lowercase` without regard of case."""

    words: tuple[str, ...]
    lowercase: bool
    special: int = len(SPECIAL)  # words at the beginning that are never looked up

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, types: list[str]) -> np.ndarray:
        """Return the index of each type, UNKNOWN for unknown types: int32 (types,)."""
        # "<padding>" in a text is an unknown word
        index = {word: i for i, word in enumerate(self.words) if i >= self.special}
        fold = str.lower if self.lowercase else str
        return np.fromiter((index.get(fold(word), UNKNOWN) for word in types), np.int32, len(types))


def build_vocabulary(
    tokens: Tokens | Side, rows: np.ndarray, size: int, lowercase: bool,
    special: tuple[str, ...] = SPECIAL,
) -> Vocabulary:  # fmt: skip
    """Return `size` words: the `special`, then the `most_frequent` types of the texts `rows`."""
    words = most_frequent(rank_types(tokens, rows, lowercase), size - len(special))
    return Vocabulary((*special, *words), lowercase, len(special))


def most_frequent(ranked: dict[str, int], number: int) -> list[str]:
    """Return the first `number` of `ranked` words, frequency by word, the most frequent first.

    Where words of one frequency are too many, those that are first in the alphabet stay: the first
    in the lexicon, where a file is sorted by class, would leave unknown words that tell the class.
    """
    words = list(ranked)
    if number >= len(words):
        return words
    by_name = sorted(words, key=lambda word: (-ranked[word], word))
    chosen = {*by_name[: max(0, number)]}
    return [word for word in words if word in chosen]


def rank_types(tokens: Tokens | Side, rows: np.ndarray, lowercase: bool) -> dict[str, int]:
    """Return types of `rows`, the most frequent first, then by lexicon, with their frequencies."""
    counts = _count_types(tokens, rows)
    frequencies: Counter[str] = Counter()
    for type_id in np.flatnonzero(counts):
        word = tokens.lexicon[type_id]
        frequencies[word.lower() if lowercase else word] += int(counts[type_id])
    return dict(frequencies.most_common())  # stable: ties keep the lexicon's order


def _count_types(tokens: Tokens | Side, rows: np.ndarray) -> np.ndarray:
    offsets = tokens.offsets
    is_selected = np.zeros(len(offsets) - 1, bool)
    is_selected[rows] = True
    counts = np.zeros(len(tokens.lexicon), np.int64)
    for start in range(0, len(is_selected), COUNTED_AT_ONCE):
        ends = offsets[start : start + COUNTED_AT_ONCE + 1]
        token_mask = np.repeat(is_selected[start : start + COUNTED_AT_ONCE], np.diff(ends))
        counts += np.bincount(tokens.ids[ends[0] : ends[-1]][token_mask], minlength=len(counts))
    return counts


def vocabulary_vectors(tokens: Tokens, vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Return the entries that have a vector, sorted, and their vectors, float32 (entries, size).

    An entry for several types has the vector of the type that is the entry itself, or
    else of the first type in the lexicon that has any.
    """
    vectors = tokens.vectors()
    index = vocabulary.encode(tokens.lexicon)
    types = np.flatnonzero(vectors.any(1) & (index != UNKNOWN))
    words = [vocabulary.words[i] for i in index[types]]
    differs = [tokens.lexicon[i] != word for i, word in zip(types, words, strict=True)]
    types = types[np.argsort(differs, kind="stable")]
    entries, first = np.unique(index[types], return_index=True)
    return entries, vectors[types[first]]

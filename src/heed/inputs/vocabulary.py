"""The vocabulary of a run: the most frequent types of its own training part."""

import dataclasses

import numpy as np

from heed.tokens.arrays import Tokens

PADDING, UNKNOWN = 0, 1
SPECIAL = ("<padding>", "<unknown>")


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Words by index; 0 is padding, 1 is unknown.

    With `lowercase`, words that differ in case alone are one.
    """

    words: tuple[str, ...]
    lowercase: bool

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, types: list[str]) -> np.ndarray:
        """Return the index of each type, UNKNOWN where the vocabulary has none: int32 (types,)."""
        # Index 0 and 1 are never looked up: a text that says "<padding>" is an unknown word.
        index = {word: i for i, word in enumerate(self.words) if i >= len(SPECIAL)}
        fold = str.lower if self.lowercase else str
        return np.fromiter((index.get(fold(word), UNKNOWN) for word in types), np.int32, len(types))


def build_vocabulary(tokens: Tokens, rows: np.ndarray, size: int, lowercase: bool) -> Vocabulary:
    """Rank the types of the documents `rows` by frequency and keep `size`, padding and unknown
    among them.

    Ties go to the type that comes first in the lexicon, so the result does not depend on sorting.
    """
    chosen = np.zeros(len(tokens.offsets) - 1, bool)
    chosen[rows] = True
    of_chosen = np.repeat(chosen, np.diff(tokens.offsets))
    counts = np.bincount(tokens.ids[of_chosen], minlength=len(tokens.lexicon))
    merged: dict[str, int] = {}
    for type_id in np.flatnonzero(counts):
        word = tokens.lexicon[type_id].lower() if lowercase else tokens.lexicon[type_id]
        merged[word] = merged.get(word, 0) + int(counts[type_id])
    # stable: ties keep the lexicon's order
    ranked = sorted(merged, key=merged.__getitem__, reverse=True)
    return Vocabulary(SPECIAL + tuple(ranked[: max(0, size - len(SPECIAL))]), lowercase)

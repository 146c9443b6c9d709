"""The vocabulary of a run: the most frequent types of its training part."""

import dataclasses

import numpy as np

from heed.tokens.arrays import Side, Tokens

PADDING, UNKNOWN = 0, 1
SPECIAL = ("<padding>", "<unknown>")


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """Words by index; 0 is padding, 1 is unknown.

    With `lowercase`, words that differ only in case are one entry.
    """

    words: tuple[str, ...]
    lowercase: bool

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, types: list[str]) -> np.ndarray:
        """Return the index of each type, UNKNOWN for unknown types: int32 (types,)."""
        # Indices 0 and 1 are never looked up: "<padding>" in a text is an unknown word.
        index = {word: i for i, word in enumerate(self.words) if i >= len(SPECIAL)}
        fold = str.lower if self.lowercase else str
        return np.fromiter((index.get(fold(word), UNKNOWN) for word in types), np.int32, len(types))


def build_vocabulary(tokens: Tokens, rows: np.ndarray, size: int, lowercase: bool) -> Vocabulary:
    """Return the `size` - 2 most frequent types of the documents `rows`, after padding and unknown.

    Of types with equal frequency the first in the lexicon comes first.
    """
    ranked = rank_types(tokens, rows, lowercase)
    return Vocabulary(SPECIAL + tuple(ranked)[: max(0, size - len(SPECIAL))], lowercase)


def rank_types(tokens: Tokens | Side, rows: np.ndarray, lowercase: bool) -> dict[str, int]:
    """Return the types of the documents `rows` with their frequencies, the most frequent first.

    Of types with equal frequency the first in the lexicon comes first.
    """
    is_selected = np.zeros(len(tokens.offsets) - 1, bool)
    is_selected[rows] = True
    token_mask = np.repeat(is_selected, np.diff(tokens.offsets))
    counts = np.bincount(tokens.ids[token_mask], minlength=len(tokens.lexicon))
    frequencies: dict[str, int] = {}
    for type_id in np.flatnonzero(counts):
        word = tokens.lexicon[type_id].lower() if lowercase else tokens.lexicon[type_id]
        frequencies[word] = frequencies.get(word, 0) + int(counts[type_id])
    # stable: ties keep the lexicon's order
    ranked = sorted(frequencies, key=frequencies.__getitem__, reverse=True)
    return {word: frequencies[word] for word in ranked}

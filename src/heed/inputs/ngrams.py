"""Hashed n-grams as rows of an embedding table (Joulin et al. 2017, arxiv.org/abs/1607.01759).

Hashing needs no vocabulary: every text has n-grams, and some n-grams share a row.
"""

import dataclasses

import numpy as np

# lengths of character n-grams, including the word boundaries < and > (Bojanowski et al. 2017)
CHARACTERS = (2, 3, 4, 5)
_PRIME = np.uint64(0x100000001B3)


def _mix_bits(numbers: np.ndarray) -> np.ndarray:
    """Return hashes of 64-bit numbers (the finaliser of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _rows(hashes: np.ndarray, buckets: int) -> np.ndarray:
    """Return the row of each hash, 1 to `buckets`; row 0 is for padding."""
    return (_mix_bits(hashes) % np.uint64(buckets)).astype(np.int64) + 1


def bigrams(ids: np.ndarray, token_mask: np.ndarray, buckets: int) -> np.ndarray:
    """Return the row, 1 to `buckets`, of each token's pair with the token before it; 0 at padding.

    Args:
        ids: vocabulary indices, (batch, time)
        token_mask: False at padding, (batch, time)
        buckets: number of rows to hash into

    """
    # the first token is paired with padding, which marks the start of the text
    previous = np.zeros(ids.shape, np.uint64)
    previous[:, 1:] = ids[:, :-1]
    pairs = previous << np.uint64(32) | ids.astype(np.uint64)
    return np.where(token_mask, _rows(pairs, buckets), 0)


@dataclasses.dataclass(frozen=True)
class CharacterNgrams:
    """The hashed character n-grams of types: type i has rows `ids[offsets[i]:offsets[i + 1]]`."""

    ids: np.ndarray
    offsets: np.ndarray

    def look_up(self, types: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of `types`, concatenated, and the start of each type: (types,)."""
        counts = self.offsets[types + 1] - self.offsets[types]
        begin = np.cumsum(counts) - counts
        index = np.arange(counts.sum()) + np.repeat(self.offsets[types] - begin, counts)
        return self.ids[index], begin


def character_ngrams(words: list[str], buckets: int) -> CharacterNgrams:
    """Hash all character n-grams of each `<word>` into rows 0 to `buckets` - 1.

    The n-grams of a word are ordered by length, then by position.
    """
    text = "".join(f"<{word}>" for word in words)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    sizes = np.asarray([len(word) + 2 for word in words], np.int64)
    word_index = np.repeat(np.arange(len(words)), sizes)  # of each character
    hashes, owners = [], []
    for length in CHARACTERS:
        count = len(points) - length + 1
        if count <= 0:
            continue
        value = np.full(count, length, np.uint64)
        for i in range(length):
            value = (value * _PRIME) ^ points[i : i + count]
        # no n-gram crosses the boundary between two words
        is_inside = word_index[:count] == word_index[length - 1 :]
        hashes.append(value[is_inside])
        owners.append(word_index[:count][is_inside])
    owner = np.concatenate(owners) if owners else np.zeros(0, np.int64)
    order = np.argsort(owner, kind="stable")
    rows = _rows(np.concatenate(hashes), buckets)[order] - 1 if owners else np.zeros(0, np.int64)
    return CharacterNgrams(
        rows, np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(words)))])
    )

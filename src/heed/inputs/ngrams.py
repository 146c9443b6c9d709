"""Hashed n-grams: the features by which n-gram models win, as rows of a small table (Joulin et al.
2017, arxiv.org/abs/1607.01759).

A hash needs no vocabulary and no memory of the training part: any text has its n-grams, and some
share a row.
"""

import dataclasses

import numpy as np

# lengths of character n-grams, the word's bounds < and > counted (Bojanowski et al. 2017)
CHARACTERS = (2, 3, 4, 5)
_PRIME = np.uint64(0x100000001B3)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return well-mixed 64-bit numbers (splitmix64's finaliser): near inputs get far outputs."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _rows(hashes: np.ndarray, buckets: int) -> np.ndarray:
    return (_mixed(hashes) % np.uint64(buckets)).astype(np.int64) + 1  # row 0 is padding's


def bigrams(ids: np.ndarray, there: np.ndarray, buckets: int) -> np.ndarray:
    """Return the row, 1 to `buckets`, of each token's pair with the token before it; 0 at padding.

    Args:
        ids: vocabulary indices, (batch, time)
        there: False at padding, (batch, time)
        buckets: rows to hash into

    """
    # the first token's pair is with padding: the start of the text
    before = np.zeros(ids.shape, np.uint64)
    before[:, 1:] = ids[:, :-1]
    return np.where(there, _rows(before << np.uint64(32) | ids.astype(np.uint64), buckets), 0)


@dataclasses.dataclass(frozen=True)
class CharacterNgrams:
    """The hashed character n-grams of types: type i has rows `ids[offsets[i]:offsets[i + 1]]`."""

    ids: np.ndarray
    offsets: np.ndarray

    def of(self, types: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of these `types` (types,) one after the other, and where each type's
        begin: (types,).
        """
        counts = self.offsets[types + 1] - self.offsets[types]
        begin = np.cumsum(counts) - counts
        at = np.arange(counts.sum()) + np.repeat(self.offsets[types] - begin, counts)
        return self.ids[at], begin


def character_ngrams(words: list[str], buckets: int) -> CharacterNgrams:
    """Hash all character n-grams of `<word>` into rows 0 to `buckets` - 1, in the order of length,
    then place.
    """
    text = "".join(f"<{word}>" for word in words)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    sizes = np.asarray([len(word) + 2 for word in words], np.int64)
    word_of = np.repeat(np.arange(len(words)), sizes)
    hashes, owners = [], []
    for length in CHARACTERS:
        count = len(points) - length + 1
        if count <= 0:
            continue
        value = np.full(count, length, np.uint64)
        for i in range(length):
            value = (value * _PRIME) ^ points[i : i + count]
        # no n-gram goes from one word to the next
        inside = word_of[:count] == word_of[length - 1 :]
        hashes.append(value[inside])
        owners.append(word_of[:count][inside])
    owner = np.concatenate(owners) if owners else np.zeros(0, np.int64)
    order = np.argsort(owner, kind="stable")
    rows = _rows(np.concatenate(hashes), buckets)[order] - 1 if owners else np.zeros(0, np.int64)
    return CharacterNgrams(
        rows, np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(words)))])
    )

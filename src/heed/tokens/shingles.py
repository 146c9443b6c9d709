"""The sets of shingles of documents: of every five words in a row, as 64-bit hashes.

A word is a token with a letter or digit, without case; a document of one to four words has one
shingle, all of its words.
"""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from heed.progress import Bar
from heed.tokens.writer import NpyFile

SHINGLE = 5  # words
BLOCK_TOKENS = 1 << 18  # read at once, so that the work on them stays in the processor's cache
# Shingles in memory at once. Of a corpus with more tokens, documents that can have no near
# duplicate are left out first, by comparing all shingles in parts of so many.
MAX_TOKENS = 8_000_000


@dataclasses.dataclass(frozen=True)
class Shingles:
    """The sets of shingles of all documents; only those that occur in several are stored.

    The shingles of a document are sorted from the rarest to the most frequent.
    """

    sizes: np.ndarray  # shingles of each document, (documents,)
    keys: np.ndarray  # document * types + shingle, sorted, (entries,)
    starts: np.ndarray  # first entry of each document, (documents + 1,)
    types: int  # number of different shingles among the entries

    @property
    def stored(self) -> np.ndarray:
        """Return the number of entries of each document, (documents,)."""
        return np.diff(self.starts)


def prefix_sizes(sizes: np.ndarray) -> np.ndarray:
    """Return how many of the rarest shingles of a set hold one that a similar set has too.

    Of set A, |A| - ceil(0.8 |A|) + 1.
    """
    return sizes - -(-4 * sizes // 5) + 1


class Words:
    """The words of all documents as numbers, read by blocks of documents."""

    def __init__(self, ids: np.ndarray | NpyFile, offsets: np.ndarray, lexicon: list[str]) -> None:
        self._ids, self._offsets = ids, offsets
        index: dict[str, int] = {}
        self._word_of_type = np.asarray(
            [
                index.setdefault(word.casefold(), len(index)) if any(map(str.isalnum, word)) else -1
                for word in lexicon
            ],
            np.int32,
        )
        # the last number is no word: a document of one to four words is filled up to five by it
        self._hashes = _mix(np.arange(len(index) + 1, dtype=np.uint64))

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self._offsets) - 1

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return len(self._ids)

    def shingles(self, selected: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield blocks: their documents, the shingles of each, and all hashes one after the other.

        Documents that are not `selected`, (documents,), have no shingles here.
        """
        for rows in _blocks_of_documents(self._offsets):
            if selected[rows].any():
                words, counts = self._words(rows)
                number, hashes = _hash_shingles(self._hashes[words], counts)
                if not selected[rows].all():
                    hashes = hashes[np.repeat(selected[rows], number)]
                    number = np.where(selected[rows], number, 0)
                yield rows, number, hashes

    def _words(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the words of these documents, and the number of words of each, 0 or at least 5."""
        offsets = self._offsets[rows.start : rows.stop + 1]
        words = self._word_of_type[self._ids[offsets[0] : offsets[-1]]]
        is_word = words >= 0
        before = np.concatenate([[0], np.cumsum(is_word)])
        counts = np.diff(before[offsets - offsets[0]])
        words = words[is_word]
        filled = np.where((counts > 0) & (counts < SHINGLE), SHINGLE, counts)
        if (filled == counts).all():
            return words, counts
        positions = ranges(np.cumsum(filled) - filled, counts)
        result = np.full(filled.sum(), len(self._hashes) - 1, np.int32)
        result[positions] = words
        return result, filled


def _blocks_of_documents(offsets: np.ndarray) -> Iterator[slice]:
    """Yield the documents in slices of about BLOCK_TOKENS tokens, or of one."""
    start, end = 0, len(offsets) - 1
    while start < end:
        stop = int(np.searchsorted(offsets, offsets[start] + BLOCK_TOKENS, "right")) - 1
        stop = min(max(start + 1, stop), end)
        yield slice(start, stop)
        start = stop


def _hash_shingles(words: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of shingles of each document, and the hash of each shingle.

    Args:
        words: the hash of each word, one document after the other, (words,)
        counts: words of each document, 0 or at least 5, (documents,)

    """
    number = np.maximum(counts - (SHINGLE - 1), 0)
    hashes = np.zeros(max(0, len(words) - (SHINGLE - 1)), np.uint64)
    for i in range(SHINGLE):
        hashes *= np.uint64(0x9E3779B97F4A7C15)
        hashes += words[i : i + len(hashes)]
    is_within = np.ones(len(hashes), bool)  # not of the words of two documents
    ends = np.cumsum(counts)[counts > 0][:-1]
    for i in range(1, SHINGLE):
        is_within[ends - i] = False
    return number, hashes[is_within]


def shingle_sets(words: Words, bar: Bar) -> Shingles:
    """Return the sets of shingles; of a large corpus those of documents with too few that repeat.

    A document of which more than a fifth of the shingles occur nowhere else has no near duplicate.
    """
    selected = np.ones(words.documents, bool)
    if words.tokens > MAX_TOKENS:
        selected = _select_possible(words, bar)
    number = np.zeros(words.documents, np.int64)
    blocks = []
    for rows, counts, block in words.shingles(selected):
        number[rows] = counts
        blocks.append(block)
    hashes = np.concatenate([np.zeros(0, np.uint64), *blocks])
    del blocks
    values, frequencies = _repeated(hashes)
    entries = _occurrences(hashes, values)
    rarity = np.empty(len(values), np.int64)
    rarity[np.argsort(frequencies, kind="stable")] = np.arange(len(values))
    documents = np.searchsorted(np.cumsum(number), entries, "right")
    types = max(len(values), 1)
    keys = documents * types + rarity[np.searchsorted(values, hashes[entries])]
    keys.sort()
    keys = keys[np.diff(keys, prepend=-1) > 0]
    stored = np.bincount(keys // types, minlength=len(number))
    sizes = number - np.bincount(documents, minlength=len(number)) + stored
    return Shingles(sizes, keys, np.concatenate([[0], np.cumsum(stored)]), types)


def _select_possible(words: Words, bar: Bar) -> np.ndarray:
    """Return which documents may have a near duplicate by the shingles that repeat, (documents,).

    The hashes are taken in parts, by their first bits.
    """
    parts = math.ceil(words.tokens / MAX_TOKENS)
    number, repeated = (np.zeros(words.documents, np.int64) for _ in range(2))
    everything = np.ones(words.documents, bool)
    for part in range(parts):
        blocks, documents = [], []
        first, last = ((part + i) * (1 << 24) // parts for i in (0, 1))
        for rows, counts, block in words.shingles(everything):
            number[rows] = counts
            bits = block >> np.uint64(40)
            in_part = np.flatnonzero((bits >= first) & (bits < last))
            blocks.append(block[in_part])
            row = np.repeat(np.arange(rows.start, rows.stop, dtype=np.int32), counts)
            documents.append(row[in_part])
            bar.update(part + rows.stop / words.documents, parts)
        hashes = np.concatenate(blocks)
        del blocks
        entries = _occurrences(hashes, _repeated(hashes)[0])
        repeated += np.bincount(np.concatenate(documents)[entries], minlength=words.documents)
    # A shingle that a document repeats counts each time, and as one that repeats. So the difference
    # is at most the number of the document's shingles that occur nowhere else, and `number` is at
    # least the size of its set: a document may be selected in vain, and none is left out that has a
    # near duplicate.
    return (number > 0) & (number - repeated < prefix_sizes(number))


def _repeated(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes that occur several times, sorted, and how often each does, less one."""
    ordered = np.sort(hashes)
    return np.unique(ordered[1:][ordered[1:] == ordered[:-1]], return_counts=True)


def _occurrences(hashes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the indices of the hashes that are among the sorted `values`."""
    # first by 24 bits: a search for each hash took half of the time
    may_be = np.zeros(1 << 24, bool)
    may_be[values >> np.uint64(40)] = True
    entries = np.flatnonzero(may_be[hashes >> np.uint64(40)])
    nearest = np.minimum(np.searchsorted(values, hashes[entries]), max(len(values) - 1, 0))
    return entries[values[nearest] == hashes[entries]] if len(values) else entries[:0]


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each number (splitmix64)."""
    numbers = (numbers + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return starts[0], starts[0] + 1, …, for lengths[0] numbers, then those of starts[1]."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())

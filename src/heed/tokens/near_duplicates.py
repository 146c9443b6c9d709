"""Count the test documents that have a near duplicate in the training part.

Two documents are near duplicates when the sets of their word 5-grams have a Jaccard similarity of
at least 0.8: resemblance by shingles (Broder 1997, On the resemblance and containment of
documents), with the length and the threshold of Lee et al. (2022, Deduplicating training data makes
language models better, arxiv.org/abs/2107.06499). A word is a token with a letter or digit, without
case; a document of one to four words has one shingle, all of its words; one without words has no
near duplicate.

Not all pairs are compared. Two sets of this similarity share one of the rarest fifth of their
shingles (the prefix filter: Bayardo et al. 2007, Scaling up all pairs similarity search; Xiao et
al. 2011, Efficient similarity joins for near-duplicate detection), and almost all of these occur in
one document. The filter loses no pair. What bounds the time is a number of comparisons: see WORK.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from heed.tokens.meta import NearDuplicates

SHINGLE = 5  # words
# Comparisons of shingles before the search ends with lower bounds: so many, and so many more for
# each token. IMDB needs 0.03 for each token; a comparison takes about 0.3 microseconds.
WORK, WORK_PER_TOKEN = 50_000_000, 5
BLOCK = 1 << 21  # comparisons at once: a bound on memory
FIRST_CANDIDATES = 16  # compared in the first round; four times as many in each later one


@dataclasses.dataclass(frozen=True)
class _Shingles:
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


def count_near_duplicates(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str], columns: dict[str, np.ndarray]
) -> NearDuplicates:
    """Return how many test documents have a near duplicate in train, for each split column.

    See `find_near_duplicates`.
    """
    found, is_complete = find_near_duplicates(ids, offsets, lexicon, columns)
    return NearDuplicates([int(tested.sum()) for tested in found], complete=is_complete)


def find_near_duplicates(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str], columns: dict[str, np.ndarray]
) -> tuple[list[np.ndarray], bool]:
    """Return which documents are of test and have a near duplicate in train, by split column.

    Each is (documents,). Also returns whether all are found. The result is the same on every
    machine: what bounds the search is counted, not timed.

    Args:
        ids: index in `lexicon` of the tokens of all documents, (tokens,)
        offsets: first token of each document, (documents + 1,)
        lexicon: the types.
        columns: of train, validation and test, each (documents,)

    """
    shingles = _shingle_sets(*_words(ids, offsets, lexicon))
    work = WORK + WORK_PER_TOKEN * len(ids)
    found, is_complete = [], True
    for column in columns.values():
        has_duplicate, work = _search(shingles, column == "test", column == "train", work)
        found.append(has_duplicate)
        is_complete = is_complete and work > 0
    return found, is_complete


def _words(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the words of all documents as numbers, and the number of words of each document.

    A document of one to four words is filled up to five by a number that is no word.
    """
    index: dict[str, int] = {}
    word_of_type = np.asarray(
        [
            index.setdefault(word.casefold(), len(index)) if any(map(str.isalnum, word)) else -1
            for word in lexicon
        ],
        np.int32,
    )
    words = word_of_type[ids]
    documents = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    documents = documents[words >= 0]
    counts = np.bincount(documents, minlength=len(offsets) - 1)
    filled = np.where((counts > 0) & (counts < SHINGLE), SHINGLE, counts)
    positions = np.arange(len(documents)) + np.repeat(
        np.cumsum(filled) - filled - (np.cumsum(counts) - counts), counts
    )
    result = np.full(filled.sum(), len(index), np.int32)
    result[positions] = words[words >= 0]
    return result, filled


def _shingle_sets(words: np.ndarray, counts: np.ndarray) -> _Shingles:
    """Return the set of shingles of each document from its words."""
    number = np.maximum(counts - (SHINGLE - 1), 0)
    first = _ranges(np.cumsum(counts) - counts, number)
    numbers = _mix(np.arange(words.max(initial=0) + 1, dtype=np.uint64))
    hashes = np.zeros(len(first), np.uint64)
    for i in range(SHINGLE):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + numbers[words[first + i]]
    del first
    ordered = np.sort(hashes)
    values, frequencies = np.unique(ordered[1:][ordered[1:] == ordered[:-1]], return_counts=True)
    del ordered
    entries = _occurrences(hashes, values)
    rarity = np.empty(len(values), np.int64)
    rarity[np.argsort(frequencies, kind="stable")] = np.arange(len(values))
    documents = np.repeat(np.arange(len(counts)), number)[entries]
    types = max(len(values), 1)
    keys = np.sort(documents * types + rarity[np.searchsorted(values, hashes[entries])])
    keys = keys[np.diff(keys, prepend=-1) > 0]
    stored = np.bincount(keys // types, minlength=len(counts))
    sizes = number - np.bincount(documents, minlength=len(counts)) + stored
    return _Shingles(sizes, keys, np.concatenate([[0], np.cumsum(stored)]), types)


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


def _search(
    shingles: _Shingles, is_test: np.ndarray, is_train: np.ndarray, work: int
) -> tuple[np.ndarray, int]:
    """Return which documents are of test and have a near duplicate in train, (documents,).

    Also returns what is left of `work`; when it is 0, some may be missing.
    """
    has_duplicate = np.zeros(len(is_test), bool)
    # the rarest shingles, one of which both sets have: |A| - ceil(0.8 |A|) + 1 of set A
    prefix = shingles.sizes - -(-4 * shingles.sizes // 5) + 1
    length = np.minimum(np.maximum(prefix - (shingles.sizes - shingles.stored), 0), shingles.stored)
    train, train_shingles = _prefixes(shingles, length, is_train)
    order = np.argsort(train_shingles, kind="stable")
    train, train_shingles = train[order], train_shingles[order]
    test, test_shingles = _prefixes(shingles, length, is_test)
    first = np.searchsorted(train_shingles, test_shingles)
    candidates = np.searchsorted(train_shingles, test_shingles, "right") - first
    has_any = candidates > 0
    test, first, candidates = test[has_any], first[has_any], candidates[has_any]
    # the candidates of a document are numbered across its shingles, from the rarest one
    end = np.cumsum(candidates)
    begin = end - candidates
    begin -= np.repeat(begin[_firsts(test)], _run_lengths(test))
    low, high = 0, FIRST_CANDIDATES
    while len(test):
        lower = np.maximum(begin, low)
        count = np.maximum(np.minimum(begin + candidates, high) - lower, 0)
        for block in _blocks(count):
            work -= int(count[block].sum())
            a = np.repeat(test[block], count[block])
            b = train[_ranges(first[block] + lower[block] - begin[block], count[block])]
            similar, comparisons = _are_similar(shingles, a, b, work)
            has_duplicate[a[similar]] = True
            work -= comparisons
            if work <= 0:
                return has_duplicate, 0
        low, high = high, 4 * high
        remains = ~has_duplicate[test] & (begin + candidates > low)
        test, first, candidates, begin = (
            array[remains] for array in (test, first, candidates, begin)
        )
    return has_duplicate, work


def _prefixes(
    shingles: _Shingles, length: np.ndarray, selected: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (document, shingle) of the first `length` entries of each selected document."""
    length = np.where(selected, length, 0)
    keys = shingles.keys[_ranges(shingles.starts[:-1], length)]
    return keys // shingles.types, keys % shingles.types


def _are_similar(
    shingles: _Shingles, a: np.ndarray, b: np.ndarray, work: int
) -> tuple[np.ndarray, int]:
    """Return which pairs of documents have a Jaccard similarity of at least 0.8, (pairs,).

    Also returns the number of comparisons; pairs for which no `work` is left are not similar.
    """
    sizes, stored = shingles.sizes, shingles.stored
    # 5 |A and B| >= 4 |A or B|, so 9 |A and B| >= 4 (|A| + |B|)
    needed = -(-4 * (sizes[a] + sizes[b]) // 9)
    possible = np.flatnonzero(np.minimum(stored[a], stored[b]) >= needed)
    similar = np.zeros(len(a), bool)
    swapped = stored[a] > stored[b]  # look up the smaller set in the larger
    probe, other = np.where(swapped, b, a), np.where(swapped, a, b)
    comparisons = 0
    for block in _blocks(stored[probe[possible]]):
        pairs = possible[block]
        count = stored[probe[pairs]]
        entries = shingles.keys[_ranges(shingles.starts[probe[pairs]], count)] % shingles.types
        wanted = np.repeat(other[pairs], count) * shingles.types + entries
        nearest = np.minimum(np.searchsorted(shingles.keys, wanted), len(shingles.keys) - 1)
        is_common = (shingles.keys[nearest] == wanted).astype(np.int64)
        common = np.add.reduceat(is_common, np.cumsum(count) - count)
        similar[pairs] = common >= needed[pairs]
        comparisons += len(wanted)
        if comparisons >= work:
            break
    return similar, comparisons


def _ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return starts[0], starts[0] + 1, …, for lengths[0] numbers, then those of starts[1]."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())


def _firsts(values: np.ndarray) -> np.ndarray:
    """Return the index of the first of each run of equal values."""
    return np.flatnonzero(np.diff(values, prepend=-1))


def _run_lengths(values: np.ndarray) -> np.ndarray:
    """Return the length of each run of equal values."""
    return np.diff(_firsts(values), append=len(values))


def _blocks(sizes: np.ndarray) -> Iterator[slice]:
    """Yield slices of neighbours whose sizes sum up to BLOCK at most, or of one."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + BLOCK, "right")))
        yield slice(start, stop)
        start = stop

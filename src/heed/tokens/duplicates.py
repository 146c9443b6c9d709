"""Exact and near duplicates across the splits of a corpus.

Two documents are exact duplicates when their texts are equal. They are near duplicates when the
sets of their shingles, word 5-grams, have a Jaccard similarity of at least 0.8: resemblance by
shingles (Broder 1997, On the resemblance and containment of documents), with the length and the
threshold of Lee et al. (2022, Deduplicating training data makes language models better,
arxiv.org/abs/2107.06499). A word is a token with a letter or digit, without case; a document of one
to four words has one shingle, all of its words; one without words has no near duplicate.

Not all pairs are compared. Two sets of this similarity share one of the rarest fifth of their
shingles (the prefix filter: Bayardo et al. 2007, Scaling up all pairs similarity search; Xiao et
al. 2011, Efficient similarity joins for near-duplicate detection), and almost all of these occur in
one document. The filter loses no pair. A number of comparisons bounds the time: see WORK.
"""

import dataclasses
import hashlib
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from heed.progress import Bar, progress_bar
from heed.tokens.arrays import NpyFile, mix_bits

# Comparisons of shingles before the search ends with lower bounds: so many, and so many more for
# each token. IMDB needs 0.03 for each token; a comparison takes about 0.3 microseconds.
WORK, WORK_PER_TOKEN = 50_000_000, 5
BLOCK = 1 << 21  # comparisons at once: a bound on memory
FIRST_CANDIDATES = 16  # compared in the first round; four times as many in each later one
SHINGLE = 5  # words
BLOCK_TOKENS = 1 << 18  # read at once, so that the work on them stays in the processor's cache
# Shingles in memory at once. Of a corpus with more tokens, documents that can have no near
# duplicate are left out first, by comparing all shingles in parts of so many.
MAX_TOKENS = 8_000_000


def digest(text: str | None) -> bytes | None:
    """Return the digest of a text; None of None, for a document without one.

    Equal digests stand for equal texts: two of a million different texts have the same 16 bytes
    with a probability of 1.5e-27.
    """
    return None if text is None else hashlib.blake2b(text.encode(), digest_size=16).digest()


def number_texts(digests: Sequence[bytes | None]) -> np.ndarray:
    """Return a number for each digest of a text, the same for equal ones; -1 of None, (texts,)."""
    return pd.factorize(np.asarray(digests, object))[0]


def find_duplicates(
    texts: list[np.ndarray], columns: dict[str, np.ndarray], drop: bool
) -> tuple[np.ndarray, dict[str, int]]:
    """Find the documents that `drop_duplicates` drops, (documents,), and count the duplicates.

    Two documents are duplicates when their texts are equal; of documents with texts in several
    languages, when the texts of any language are.

    `texts` has for each language the number of each document's text, the same for equal texts; -1,
    which is no duplicate, where a document has none: (documents,) each. `columns` are the split
    columns, each (documents,); several are those of folds. `drop` drops training documents whose
    text is in another split too. With folds every document is tested, and the first of equal
    documents is kept.
    """
    by_language = [pd.Series(language) for language in texts]

    def among(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Find the documents of `rows` with a text of `others`, (documents,)."""
        repeats = [(texts.isin(texts[others]) & (texts >= 0)).to_numpy() for texts in by_language]
        return rows & np.logical_or.reduce(repeats)

    repeated = np.logical_or.reduce(
        [(texts.duplicated() & (texts >= 0)).to_numpy() for texts in by_language]
    )
    dropped = repeated if drop and len(columns) > 1 else np.zeros(len(repeated), bool)
    if drop and len(columns) == 1:
        (column,) = columns.values()
        dropped = among(column == "train", column != "train")
    shared = [int(among(each == "test", each == "train").sum()) for each in columns.values()]
    return dropped, {
        "texts": int(repeated.sum()),
        "test_texts_in_train": max(shared),
        "dropped": int(dropped.sum()),
    }


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
        self.documents, self.tokens = len(offsets) - 1, len(ids)
        index: dict[str, int] = {}
        self._word_of_type = np.asarray(
            [
                index.setdefault(word.casefold(), len(index)) if any(map(str.isalnum, word)) else -1
                for word in lexicon
            ],
            np.int32,
        )
        # the last number is no word: a document of one to four words is filled up to five by it
        numbers = np.arange(1, len(index) + 2, dtype=np.uint64)
        self._hashes = mix_bits(numbers * np.uint64(0x9E3779B97F4A7C15))

    def shingles(self, selected: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield blocks: their documents, the shingles of each, and all hashes one after the other.

        Documents that are not `selected`, (documents,), have no shingles here.
        """
        for rows in _blocks(np.diff(self._offsets), BLOCK_TOKENS):
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


def _hash_shingles(words: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of shingles of each document, and the hash of each shingle.

    `words` has the hash of each word, one document after the other, (words,); `counts` the words of
    each document, 0 or at least 5, (documents,).
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
    """Find the documents that may have a near duplicate by the shingles that repeat, (documents,).

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


def ranges(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return starts[0], starts[0] + 1, …, for lengths[0] numbers, then those of starts[1]."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())


def find_near_duplicates(
    ids: np.ndarray | NpyFile,
    offsets: np.ndarray,
    lexicon: list[str],
    columns: dict[str, np.ndarray],
    title: str = "near duplicates",
) -> tuple[list[np.ndarray], bool]:
    """Find the test documents with a near duplicate in train, by split column.

    Each is (documents,). Also returns whether all are found. The result is the same on every
    machine: what bounds the search is counted, not timed.

    `ids` are indices in `lexicon` of the tokens of all documents, (tokens,), `offsets` the first
    token of each document, (documents + 1,), `columns` of train, validation and test, each
    (documents,).
    """
    with progress_bar(title) as bar:
        shingles = shingle_sets(Words(ids, offsets, lexicon), bar)
        work = WORK + WORK_PER_TOKEN * len(ids)
        documents, is_complete = [], True
        for column in columns.values():
            has_duplicate, work = _search(shingles, column == "test", column == "train", work, bar)
            documents.append(has_duplicate)
            is_complete = is_complete and work > 0
    return documents, is_complete


def _search(
    shingles: Shingles, is_test: np.ndarray, is_train: np.ndarray, work: int, bar: Bar
) -> tuple[np.ndarray, int]:
    """Find the test documents with a near duplicate in train, (documents,).

    Also returns what is left of `work`; when it is 0, some may be missing.
    """
    has_duplicate = np.zeros(len(is_test), bool)
    prefix = prefix_sizes(shingles.sizes)
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
    firsts = np.flatnonzero(np.diff(test, prepend=-1))
    begin -= np.repeat(begin[firsts], np.diff(firsts, append=len(test)))
    low, high = 0, FIRST_CANDIDATES
    while len(test):
        lower = np.maximum(begin, low)
        count = np.maximum(np.minimum(begin + candidates, high) - lower, 0)
        for block in _blocks(count, BLOCK):
            bar.update(block.start, len(count), "comparing")
            work -= int(count[block].sum())
            a = np.repeat(test[block], count[block])
            b = train[ranges(first[block] + lower[block] - begin[block], count[block])]
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
    shingles: Shingles, length: np.ndarray, selected: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (document, shingle) of the first `length` entries of each selected document."""
    length = np.where(selected, length, 0)
    keys = shingles.keys[ranges(shingles.starts[:-1], length)]
    return keys // shingles.types, keys % shingles.types


def _are_similar(
    shingles: Shingles, a: np.ndarray, b: np.ndarray, work: int
) -> tuple[np.ndarray, int]:
    """Find the pairs of documents with a Jaccard similarity of at least 0.8, (pairs,).

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
    for block in _blocks(stored[probe[possible]], BLOCK):
        pairs = possible[block]
        count = stored[probe[pairs]]
        entries = shingles.keys[ranges(shingles.starts[probe[pairs]], count)] % shingles.types
        wanted = np.repeat(other[pairs], count) * shingles.types + entries
        nearest = np.minimum(np.searchsorted(shingles.keys, wanted), len(shingles.keys) - 1)
        is_common = (shingles.keys[nearest] == wanted).astype(np.int64)
        common = np.add.reduceat(is_common, np.cumsum(count) - count)
        similar[pairs] = common >= needed[pairs]
        comparisons += len(wanted)
        if comparisons >= work:
            break
    return similar, comparisons


def _blocks(sizes: np.ndarray, limit: int) -> Iterator[slice]:
    """Yield slices of neighbours whose sizes sum up to a limit at most, or of one."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + limit, "right")))
        yield slice(start, stop)
        start = stop

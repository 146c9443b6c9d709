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

from collections.abc import Iterator

import numpy as np

from heed.progress import Bar, progress_bar
from heed.tokens.meta import NearDuplicates
from heed.tokens.shingles import Shingles, Words, prefix_sizes, ranges, shingle_sets
from heed.tokens.writer import NpyFile

# Comparisons of shingles before the search ends with lower bounds: so many, and so many more for
# each token. IMDB needs 0.03 for each token; a comparison takes about 0.3 microseconds.
WORK, WORK_PER_TOKEN = 50_000_000, 5
BLOCK = 1 << 21  # comparisons at once: a bound on memory
FIRST_CANDIDATES = 16  # compared in the first round; four times as many in each later one


def count_near_duplicates(
    ids: np.ndarray | NpyFile,
    offsets: np.ndarray,
    lexicon: list[str],
    columns: dict[str, np.ndarray],
    title: str = "near duplicates",
) -> NearDuplicates:
    """Return how many test documents have a near duplicate in train, for each split column.

    See `find_near_duplicates`.
    """
    documents, is_complete = find_near_duplicates(ids, offsets, lexicon, columns, title)
    return NearDuplicates([int(column.sum()) for column in documents], complete=is_complete)


def find_near_duplicates(
    ids: np.ndarray | NpyFile,
    offsets: np.ndarray,
    lexicon: list[str],
    columns: dict[str, np.ndarray],
    title: str = "near duplicates",
) -> tuple[list[np.ndarray], bool]:
    """Return which documents are of test and have a near duplicate in train, by split column.

    Each is (documents,). Also returns whether all are found. The result is the same on every
    machine: what bounds the search is counted, not timed.

    Args:
        ids: index in `lexicon` of the tokens of all documents, (tokens,)
        offsets: first token of each document, (documents + 1,)
        lexicon: the types.
        columns: of train, validation and test, each (documents,)
        title: of the progress bar.

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
    """Return which documents are of test and have a near duplicate in train, (documents,).

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
    begin -= np.repeat(begin[_firsts(test)], _run_lengths(test))
    low, high = 0, FIRST_CANDIDATES
    while len(test):
        lower = np.maximum(begin, low)
        count = np.maximum(np.minimum(begin + candidates, high) - lower, 0)
        for block in _blocks(count):
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

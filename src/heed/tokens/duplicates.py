"""Exact and near duplicates across the splits of a corpus.

Two documents are exact duplicates when their texts are equal. They are near duplicates when the
sets of their shingles, word 5-grams, have a Jaccard similarity of at least 0.8: resemblance by
shingles (Broder 1997, On the resemblance and containment of documents), with the length and the
threshold of Lee et al. (2022, Deduplicating training data makes language models better,
arxiv.org/abs/2107.06499). A word is a token with a letter or digit, without case; a document of one
to four words has one shingle, all of its words; one without words has no near duplicate.

Such a pair shares four fifths of the shingles of each document. So a document of which more than a
fifth of the shingles occur nowhere else has none, and is left out; of the others, the product of
their sparse matrix with itself counts the shingles that two share. A number of comparisons bounds
the time.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
import scipy.sparse

from heed.progress import Bar, progress_bar
from heed.tokens.arrays import mix_bits

# Comparisons of shingles before the search ends with lower bounds: so many, and so many more for
# each token. A comparison takes about 20 nanoseconds.
WORK, WORK_PER_TOKEN = 500_000_000, 50
BLOCK = 1 << 22  # comparisons at once: a bound on memory
SHINGLE = 5  # words
BLOCK_TOKENS = 1 << 18  # tokens read at once
MAX_BITS = 28  # of a hash: it tells a shingle that occurs once from those that repeat
PRIME = np.uint64(0x9E3779B97F4A7C15)


def digest(text: str | None) -> bytes | None:
    """Return the digest of a text; None of None, for a document without one."""
    # two of a million different texts have the same 16 bytes with a probability of 1.5e-27
    return None if text is None else hashlib.blake2b(text.encode(), digest_size=16).digest()


def number_texts(digests: Sequence[bytes | None]) -> np.ndarray:
    """Return a number for each digest of a text, the same for equal ones; -1 of None, (texts,)."""
    return pd.factorize(np.asarray(digests, object))[0]


def find_duplicates(
    texts: list[np.ndarray], columns: dict[str, np.ndarray], drop: bool
) -> tuple[np.ndarray, dict[str, int]]:
    """Find the documents that `drop_duplicates` drops, (documents,), and count the duplicates.

    Two documents are duplicates when their texts of any language are equal. `texts` has for each
    language the number of each document's text, the same for equal texts; -1, which is no
    duplicate, where a document has none. `columns` are the split columns; several are those of
    folds: (documents,) each. `drop` drops training documents whose text is in another split too.
    With folds every document is tested, and the first of equal documents is kept.
    """
    by_language = [pd.Series(language).where(lambda numbers: numbers >= 0) for language in texts]

    def among(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Find the documents of `rows` with a text of `others`, (documents,)."""
        found = [numbers.isin(numbers[others].dropna()) for numbers in by_language]
        return rows & np.logical_or.reduce(found)

    repeated = np.logical_or.reduce([each.duplicated() & each.notna() for each in by_language])
    dropped = np.zeros(len(repeated), bool)
    if drop and len(columns) > 1:
        dropped = repeated
    elif drop:
        (column,) = columns.values()
        dropped = among(column == "train", column != "train")
    shared = max(int(among(each == "test", each == "train").sum()) for each in columns.values())
    counts = int(repeated.sum()), shared, int(dropped.sum())
    return dropped, dict(zip(("texts", "test_texts_in_train", "dropped"), counts, strict=True))


def shingle_blocks(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the sets of shingles of some documents: the document and the hash of each shingle."""
    words_of_types = [w.casefold() if any(map(str.isalnum, w)) else None for w in lexicon]
    word_of_type, numbers = pd.factorize(np.asarray(words_of_types, object))
    # the last hash is no word's: a document of one to four words is filled up to five by it
    hashes = mix_bits(np.arange(1, len(numbers) + 2, dtype=np.uint64) * PRIME)
    for part in _blocks(np.diff(offsets), BLOCK_TOKENS):
        here = offsets[part.start : part.stop + 1]
        words = word_of_type[ids[here[0] : here[-1]]]
        documents = np.repeat(np.arange(part.start, part.stop), np.diff(here))[words >= 0]
        words = words[words >= 0]
        short, counts = np.unique(documents, return_counts=True)
        fill = np.repeat(short, np.maximum(SHINGLE - counts, 0))
        order = np.argsort(np.concatenate([documents, fill]), kind="stable")
        documents = np.concatenate([documents, fill])[order]
        words = np.concatenate([words, np.full(len(fill), -1)])[order]
        count = max(0, len(words) - SHINGLE + 1)
        shingles = np.zeros(count, np.uint64)
        for i in range(SHINGLE):
            shingles = shingles * PRIME + hashes[words[i : i + count]]
        is_within = documents[:count] == documents[SHINGLE - 1 :]  # not of two documents
        documents, shingles = documents[:count][is_within], shingles[is_within]
        is_first = ~_duplicated(mix_bits(documents.astype(np.uint64)) ^ shingles)
        yield documents[is_first], shingles[is_first]


def _duplicated(values: np.ndarray) -> np.ndarray:
    return pd.Series(values).duplicated().to_numpy()


def shingle_matrix(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str]
) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Return repeated shingles, 1 in (documents, shingles), and the shingles of each document."""
    bits = min(MAX_BITS, 2 + math.ceil(math.log2(len(ids) + 2)))
    occurs, repeats = np.zeros(1 << bits, bool), np.zeros(1 << bits, bool)  # by hash
    shift = np.uint64(64 - bits)
    documents = len(offsets) - 1
    sizes = np.zeros(documents, np.int64)
    for rows, shingles in shingle_blocks(ids, offsets, lexicon):
        sizes += np.bincount(rows, minlength=documents)
        keys = shingles >> shift
        repeats[keys[occurs[keys] | _duplicated(keys)]] = True
        occurs[keys] = True
    blocks = [(np.zeros(0, np.int64), np.zeros(0, np.uint64))]
    for rows, shingles in shingle_blocks(ids, offsets, lexicon):
        kept = repeats[shingles >> shift]
        kept &= (5 * np.bincount(rows, kept, documents) >= 4 * sizes)[rows]
        blocks.append((rows[kept], shingles[kept]))
    rows, shingles = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    columns, names = pd.factorize(shingles)
    ones = np.ones(len(rows), np.int32)
    return scipy.sparse.csr_matrix((ones, (rows, columns)), (documents, len(names))), sizes


def find_near_duplicates(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str], columns: dict[str, np.ndarray],
    title: str = "near duplicates",
) -> tuple[list[np.ndarray], bool]:  # fmt: skip
    """Find the test documents with a near duplicate in train, (documents,), by split column.

    Also returns whether all are found. The result is the same on every machine: what bounds the
    search is counted, not timed. `ids` are indices in `lexicon` of the tokens of all documents,
    (tokens,), `offsets` the first token of each document, (documents + 1,).
    """
    with progress_bar(title) as bar:
        matrix, sizes = shingle_matrix(ids, offsets, lexicon)
        work = WORK + WORK_PER_TOKEN * len(ids)
        results = [_search(matrix, sizes, column, work, bar) for column in columns.values()]
    documents, is_complete = zip(*results, strict=True)
    return list(documents), all(is_complete)


def _search(
    matrix: scipy.sparse.csr_matrix, sizes: np.ndarray, column: np.ndarray, work: int, bar: Bar
) -> tuple[np.ndarray, bool]:
    """Find test documents with a near duplicate in train, (documents,); whether `work` sufficed."""
    has_duplicate = np.zeros(len(column), bool)
    train, test = np.flatnonzero(column == "train"), np.flatnonzero(column == "test")
    of_train = matrix[train]
    comparisons = matrix[test] @ np.asarray(of_train.sum(0)).ravel()
    order = np.argsort(comparisons, kind="stable")
    order = order[comparisons[order] > 0]
    done = int(np.searchsorted(np.cumsum(comparisons[order]), work, "right"))
    transposed = of_train.T.tocsr()
    for block in _blocks(comparisons[order[:done]], BLOCK):
        bar.update(block.stop, done, "comparing")
        rows = test[order[block]]
        common = (matrix[rows] @ transposed).tocoo()
        a, b = rows[common.row], train[common.col]
        # 5 |A and B| >= 4 |A or B|
        has_duplicate[a[9 * common.data >= 4 * (sizes[a] + sizes[b])]] = True
    return has_duplicate, done == len(order)


def _blocks(sizes: np.ndarray, limit: int) -> Iterator[slice]:
    """Yield slices of neighbours whose sizes sum up to a limit at most, or of one."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + limit, "right")))
        yield slice(start, stop)
        start = stop

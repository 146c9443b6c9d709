"""The TF-IDF features of the linear reference model.

The texts may not fit in memory, so n-grams are counted a chunk at a time. The features are
as in scikit-learn's TfidfVectorizer (sublinear term frequencies, rows of norm 1), except that an
n-gram is known by its hash, one of 2**31 - 1, and that the rarest of too many are left out. Few
models need scikit-learn, which takes a second to import.
"""

import itertools
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse

ANALYZERS: dict[str, dict[str, Any]] = {
    "words": {"analyzer": "word", "ngram_range": (1, 2)},
    "characters": {"analyzer": "char_wb", "ngram_range": (1, 4)},
}
MIN_DOCUMENTS = 2  # features of fewer training documents are left out
CHUNK_CHARACTERS = 8_000_000  # characters of a chunk of texts
MERGED = 8_000_000  # hashes of several chunks that are merged in memory at once
MAX_FEATURES = 3_000_000  # of one experiment; each takes 300 bytes in the solver
HASHES = 2**31 - 1  # as many as HashingVectorizer can

Report = Callable[[str, int, int], None]  # of progress: what is done, for how many documents of all


class TemporaryArrays:
    """Tuples of 1-d arrays in a nameless file, which ends with the process; mapped when read."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (open as long as this is)
        self._positions: list[list[tuple[int, int, np.dtype]]] = []  # offset in bytes, length, type

    def append(self, *arrays: np.ndarray) -> None:
        """Write a tuple of one-dimensional arrays. Raises OSError where the disk is full."""
        positions = []
        for array in arrays:
            offset = self._file.seek(-(-self._file.tell() // 8) * 8)
            self._file.write(np.ascontiguousarray(array).data)
            positions.append((offset, len(array), array.dtype))
        self._positions.append(positions)

    def __iter__(self) -> Iterator[tuple[np.ndarray, ...]]:
        """Yield the tuples, mapped read-only: the memory of one is free when it is dropped."""
        self._file.flush()
        for positions in self._positions:
            yield tuple(  # nothing cannot be mapped
                np.memmap(self._file, dtype, "r", at, length) if length else np.empty(0, dtype)
                for at, length, dtype in positions
            )


class SparseFile:
    """The rows of a sparse matrix (rows, columns) in TemporaryArrays, a chunk of rows at a time."""

    def __init__(self, folder: Path) -> None:
        self._arrays, self._columns = TemporaryArrays(folder), list[int]()
        self.rows, self.values = 0, 0  # number of rows, and of values that are not zero

    def append(self, chunk: scipy.sparse.csr_matrix) -> None:
        """Write more rows."""
        self._arrays.append(chunk.indptr, chunk.indices, chunk.data)
        self._columns.append(chunk.shape[1])
        self.rows, self.values = self.rows + chunk.shape[0], self.values + chunk.nnz

    def __iter__(self) -> Iterator[scipy.sparse.csr_matrix]:
        """Yield the chunks in the order in which they were written."""
        for (indptr, indices, data), columns in zip(self._arrays, self._columns, strict=True):
            shape = len(indptr) - 1, columns
            yield scipy.sparse.csr_matrix((data, indices, indptr), shape=shape, copy=False)


def chunks_of(texts: Iterable[str], characters: int) -> Iterator[list[str]]:
    """Yield lists of texts that have at least `characters` characters, apart from the last."""
    chunk, size = [], 0
    for text in texts:
        chunk.append(text)
        size += len(text)
        if size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


class NgramCounts:
    """How often each n-gram occurs in each document, on disk, for one of ANALYZERS.

    A chunk numbers its n-grams by the order of their hashes; its counts are sublinear: 1 + log.
    """

    def __init__(self, analyzer: str, folder: Path) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer

        options = {"n_features": HASHES, "alternate_sign": False, "norm": None, "dtype": np.float32}
        self._vectorizer = HashingVectorizer(**ANALYZERS[analyzer], **options)
        self._by_type = analyzer == "characters"
        self._folder = folder
        self._hashes, self._counts = TemporaryArrays(folder), SparseFile(folder)

    def append(self, texts: Sequence[str]) -> None:
        """Count the n-grams of a chunk of texts."""
        hashes, counts = self._count_by_type(texts) if self._by_type else self._count(texts)
        counts.data = 1 + np.log(counts.data)
        self._hashes.append(hashes)
        self._counts.append(counts)

    def _count(self, texts: Iterable[str]) -> tuple[np.ndarray, scipy.sparse.csr_matrix]:
        """Return the hashes of the n-grams, ascending, and the counts (texts, hashes)."""
        counts = self._vectorizer.transform(texts)
        hashes, numbers = np.unique(counts.indices, return_inverse=True)
        shape = (counts.shape[0], len(hashes))
        arrays = counts.data, numbers.astype(np.int32), counts.indptr
        return hashes, scipy.sparse.csr_matrix(arrays, shape=shape)

    def _count_by_type(self, texts: Sequence[str]) -> tuple[np.ndarray, scipy.sparse.csr_matrix]:
        """Return the same as `_count`: n-grams within words are counted once for each type.

        `char_wb` ends n-grams at white space, so a text's counts are its words' counts: five times
        as fast.
        """
        words = [text.lower().split() for text in texts]
        offsets = np.cumsum([0, *map(len, words)])
        numbers, types = pd.factorize(np.asarray([*itertools.chain(*words)], object))
        if not len(types):
            return self._count(texts)
        hashes, ngrams_of_types = self._count(types)
        arrays = np.ones(len(numbers), np.float32), numbers, offsets
        types_of_texts = scipy.sparse.csr_matrix(arrays, shape=(len(texts), len(types)))
        return hashes, types_of_texts @ ngrams_of_types

    def document_counts(self, rows: np.ndarray, report: Report) -> tuple[np.ndarray, np.ndarray]:
        """Return hashes of n-grams of MIN_DOCUMENTS of `rows`, bool (documents,), and numbers."""
        counted, first = TemporaryArrays(self._folder), 0
        for (hashes,), chunk in zip(self._hashes, self._counts, strict=True):
            last = first + chunk.shape[0]
            numbers = np.bincount(chunk[rows[first:last]].indices, minlength=len(hashes))
            counted.append(hashes[numbers > 0], numbers[numbers > 0])
            report("document frequencies", last, len(rows))
            first = last
        total = sum(len(hashes) for hashes, _ in counted)
        edges = np.linspace(0, HASHES, 2 + total // MERGED).astype(np.int32)
        merged = [_merge(counted, *edge) for edge in itertools.pairwise(edges)]
        hashes, numbers = (np.concatenate(arrays) for arrays in zip(*merged, strict=True))
        return hashes, numbers

    def tfidf(self, hashes: np.ndarray, idf: np.ndarray) -> Iterator[scipy.sparse.csr_matrix]:
        """Yield the features, rows of norm 1, by chunks; `hashes` and `idf` are (features,)."""
        from sklearn.preprocessing import normalize

        for (chunk_hashes,), counts in zip(self._hashes, self._counts, strict=True):
            if not len(hashes):
                yield scipy.sparse.csr_matrix((counts.shape[0], 0), dtype=np.float32)
                continue
            columns = np.flatnonzero(np.isin(chunk_hashes, hashes))
            kept = counts[:, columns]
            features = np.searchsorted(hashes, chunk_hashes[columns])[kept.indices]
            arrays = kept.data * idf[features], features.astype(np.int32), kept.indptr
            shape = (counts.shape[0], len(hashes))
            yield normalize(scipy.sparse.csr_matrix(arrays, shape=shape), copy=False)


def count_ngrams(
    texts: Iterable[str], documents: int, features: str, folder: Path, report: Report
) -> list[NgramCounts]:
    """Return the counts of all texts in nameless files, for one of ANALYZERS or both."""
    names = [*ANALYZERS] if features == "both" else [features]
    counts, done = [NgramCounts(name, folder) for name in names], 0
    for chunk in chunks_of(texts, CHUNK_CHARACTERS):
        for analyzer in counts:
            analyzer.append(chunk)
        done += len(chunk)
        report("n-grams", done, documents)
    return counts


def _merge(counted: TemporaryArrays, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes from `low` to below `high` of MIN_DOCUMENTS, and sums of their numbers."""
    hashes, numbers = [], []
    for chunk_hashes, chunk_numbers in counted:
        span = slice(*np.searchsorted(chunk_hashes, [low, high]))
        hashes.append(chunk_hashes[span])
        numbers.append(chunk_numbers[span])
    merged, which = np.unique(np.concatenate(hashes), return_inverse=True)
    sums = np.bincount(which, np.concatenate(numbers), len(merged)).astype(np.int64)
    return merged[sums >= MIN_DOCUMENTS], sums[sums >= MIN_DOCUMENTS]


class TfIdfFile(NamedTuple):
    """The features of the documents of each split of a fold, on disk, in corpus order."""

    splits: dict[str, SparseFile]
    features: int
    # n-grams of fewer training documents are not features, of just as many in part; 0: vectors
    min_documents: int


def write_tfidf(
    counts: Sequence[NgramCounts], splits: Mapping[str, np.ndarray], folder: Path, report: Report
) -> TfIdfFile:
    """Write the features of a fold; `splits` says which documents are in each, bool."""
    counted = [analyzer.document_counts(splits["train"], report) for analyzer in counts]
    kept_ngrams, min_documents = _select_features(counted)
    columns = []
    for (hashes, numbers), kept in zip(counted, kept_ngrams, strict=True):
        idf = 1 + np.log((1 + splits["train"].sum()) / (1 + numbers[kept]))
        columns.append((hashes[kept], idf.astype(np.float32)))
    files = {split: SparseFile(folder) for split in splits}
    by_analyzer = [analyzer.tfidf(*pair) for analyzer, pair in zip(counts, columns, strict=True)]
    first = 0
    for chunks in zip(*by_analyzer, strict=True):
        features = scipy.sparse.hstack(chunks, format="csr")
        last = first + features.shape[0]
        for split, rows in splits.items():
            files[split].append(features[rows[first:last]])
        report("features", last, len(splits["train"]))
        first = last
    return TfIdfFile(files, sum(len(hashes) for hashes, _ in columns), min_documents)


def write_vectors(
    vectors: np.ndarray, splits: Mapping[str, np.ndarray], folder: Path, factor: float
) -> TfIdfFile:
    """Write `factor` times the vectors (documents, size) of the rows of each split as features."""
    files, size = {split: SparseFile(folder) for split in splits}, vectors.shape[1]
    for split, rows in splits.items():
        for some in np.array_split(rows, 1 + len(rows) * size // MERGED):
            files[split].append(scipy.sparse.csr_matrix(vectors[some] * np.float32(factor)))
    return TfIdfFile(files, size, 0)


def _select_features(
    counted: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[list[np.ndarray], int]:
    """Find the n-grams of each analyzer that are features, and the least number of their documents.

    Of more than MAX_FEATURES the n-grams of most documents are; of equals, the smallest hashes.
    """
    hashes, numbers = (np.concatenate(arrays) for arrays in zip(*counted, strict=True))
    kept, min_documents = np.ones(len(numbers), bool), MIN_DOCUMENTS
    if len(numbers) > MAX_FEATURES:
        kept[np.lexsort((hashes, -numbers))[MAX_FEATURES:]] = False
        min_documents = int(numbers[kept].min())
    ends = np.cumsum([len(hashes) for hashes, _ in counted])
    return np.split(kept, ends[:-1]), min_documents

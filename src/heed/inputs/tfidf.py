"""TF-IDF features: the settings that the linear opponent and a model's linear branch share."""

from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

ANALYZERS: dict[str, dict[str, Any]] = {
    "words": {"analyzer": "word", "ngram_range": (1, 2)},
    "characters": {"analyzer": "char_wb", "ngram_range": (1, 4)},
}
MIN_DOCUMENTS = 2  # features of fewer training documents are left out


def kinds(features: str) -> tuple[str, ...]:
    """Return the analyzers that `features` (words, characters, both) stands for."""
    return tuple(ANALYZERS) if features == "both" else (features,)


class HashedTfIdf:
    """sublinear TF-IDF of hashed n-grams, each kind in `buckets` columns of its own and of length
    1.

    Hashing needs no list of features: `idf`, one number a column, is all there is to keep. It is 0
    for a column that fewer than MIN_DOCUMENTS training documents have.
    """

    def __init__(self, features: str, buckets: int, idf: np.ndarray | None = None) -> None:
        """Take an `idf` (columns,) that was fitted before, or None to `fit`."""
        self._vectorizers = [
            HashingVectorizer(
                **ANALYZERS[kind], n_features=buckets, alternate_sign=False, norm=None
            )
            for kind in kinds(features)
        ]
        self._buckets, self.idf = buckets, idf

    def fit(self, texts: list[str]) -> None:
        """Count in how many of the training `texts` each column occurs."""
        parts = []
        for vectorizer in self._vectorizers:
            counts = vectorizer.transform(texts)
            idf = TfidfTransformer().fit(counts).idf_
            found = np.bincount(counts.indices, minlength=self._buckets)
            parts.append(np.where(found < MIN_DOCUMENTS, 0.0, idf))
        self.idf = np.concatenate(parts).astype(np.float32)

    def transform(self, texts: list[str]) -> scipy.sparse.csr_matrix:
        """Return float32 features (texts, columns). Raises ValueError before `fit`."""
        if self.idf is None:
            raise ValueError("fit first")
        parts = []
        for vectorizer, idf in zip(
            self._vectorizers, np.split(self.idf, len(self._vectorizers)), strict=True
        ):
            counts = vectorizer.transform(texts)
            counts.data = ((1 + np.log(counts.data)) * idf[counts.indices]).astype(np.float32)
            counts.eliminate_zeros()
            parts.append(normalize(counts.astype(np.float32), copy=False))
        return scipy.sparse.hstack(parts, format="csr")

"""TF-IDF features: the settings that the linear opponent and a model's linear branch share.

scikit-learn, which takes a second to import, is imported by the few models that have such a branch.
"""

from typing import Any

import numpy as np
import scipy.sparse

ANALYZERS: dict[str, dict[str, Any]] = {
    "words": {"analyzer": "word", "ngram_range": (1, 2)},
    "characters": {"analyzer": "char_wb", "ngram_range": (1, 4)},
}
MIN_DOCUMENTS = 2  # features of fewer training documents are left out


def analyzer_names(features: str) -> tuple[str, ...]:
    """Return the keys of ANALYZERS that `features` (words, characters, both) means."""
    return tuple(ANALYZERS) if features == "both" else (features,)


class HashedTfIdf:
    """Sublinear TF-IDF of hashed n-grams, in `buckets` columns per analyzer, normalised for each.

    Hashing needs no list of features: the only state is `idf`, one number per column. It is 0 for a
    column that occurs in fewer than MIN_DOCUMENTS training documents.
    """

    def __init__(self, features: str, buckets: int, idf: np.ndarray | None = None) -> None:
        """Use a fitted `idf` (columns,), or None to call `fit` later."""
        from sklearn.feature_extraction.text import HashingVectorizer

        self._vectorizers = [
            HashingVectorizer(
                **ANALYZERS[name], n_features=buckets, alternate_sign=False, norm=None
            )
            for name in analyzer_names(features)
        ]
        self._buckets, self.idf = buckets, idf

    def fit(self, texts: list[str]) -> None:
        """Compute `idf` from the number of training `texts` in which each column occurs."""
        from sklearn.feature_extraction.text import TfidfTransformer

        parts = []
        for vectorizer in self._vectorizers:
            counts = vectorizer.transform(texts)
            idf = TfidfTransformer().fit(counts).idf_
            document_counts = np.bincount(counts.indices, minlength=self._buckets)
            parts.append(np.where(document_counts < MIN_DOCUMENTS, 0.0, idf))
        self.idf = np.concatenate(parts).astype(np.float32)

    def transform(self, texts: list[str]) -> scipy.sparse.csr_matrix:
        """Return float32 features (texts, columns). Raises ValueError before `fit`."""
        if self.idf is None:
            raise ValueError("fit first")
        from sklearn.preprocessing import normalize

        parts = []
        for vectorizer, idf in zip(
            self._vectorizers, np.split(self.idf, len(self._vectorizers)), strict=True
        ):
            counts = vectorizer.transform(texts)
            counts.data = ((1 + np.log(counts.data)) * idf[counts.indices]).astype(np.float32)
            counts.eliminate_zeros()
            parts.append(normalize(counts.astype(np.float32), copy=False))
        return scipy.sparse.hstack(parts, format="csr")

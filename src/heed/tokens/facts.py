"""What is known of all documents at once, in little memory: labels, groups, splits, equal texts.

A corpus is read, cleaned and tokenised by chunks; these facts alone are kept of every document.
"""

import hashlib
from array import array
from collections.abc import Iterable

import numpy as np
import pandas as pd

from heed.corpora.publication import Document, ParallelDocument

DIGEST_SIZE = 16  # bytes


class _Names:
    """The name that each document has, as a number."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._codes = array("i")

    def append(self, name: str) -> None:
        self._codes.append(self._index.setdefault(name, len(self._index)))

    def as_categorical(self) -> pd.Categorical:
        """Return the name of each document; the categories are sorted."""
        names = sorted(self._index)
        rank = np.empty(len(names), np.int32)
        rank[[self._index[name] for name in names]] = np.arange(len(names), dtype=np.int32)
        # as objects: the names of a corpus may be none, of which pandas would make numbers
        categories = pd.Index(names, dtype=object)
        codes = rank[np.frombuffer(self._codes, np.int32)] if names else np.zeros(0, np.int32)
        return pd.Categorical.from_codes(codes, categories)


class DocumentFacts:
    """The labels, group and split of each document of a corpus."""

    def __init__(self, documents: Iterable[Document | ParallelDocument] = ()) -> None:
        self._labels: dict[str, _Names] = {}
        self._values: dict[str, set[str]] = {}  # of labels of which a document has any number
        self._groups, self._splits = _Names(), _Names()
        self._count = 0
        for document in documents:
            self.append(document)

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._count

    def append(self, document: Document | ParallelDocument) -> None:
        """Add the next document; a parallel one has no labels and no group."""
        self._count += 1
        self._splits.append(document.split)
        if isinstance(document, Document):
            self._groups.append(document.group)
            for key, label in document.labels.items():
                if isinstance(label, tuple):
                    self._values.setdefault(key, set()).update(label)
                    label = "; ".join(sorted({*label}))
                self._labels.setdefault(key, _Names()).append(label)
        else:
            self._groups.append("")

    @property
    def labels(self) -> dict[str, pd.Categorical]:
        """The labels of each document, by name, (documents,) each; their values are sorted.

        Of a label of which a document has any number of values, each set of them is a name.
        """
        return {key: names.as_categorical() for key, names in self._labels.items()}

    @property
    def multilabel(self) -> list[str]:
        """The labels of which a document has any number of values."""
        return sorted(self._values)

    @property
    def values(self) -> dict[str, list[str]]:
        """The values of each label, sorted."""
        single = {key: list(label.categories) for key, label in self.labels.items()}
        return single | {key: sorted(values) for key, values in self._values.items()}

    @property
    def groups(self) -> np.ndarray:
        """The number of each document's group, in the order of the groups' names, (documents,)."""
        return self._groups.as_categorical().codes

    @property
    def source_split(self) -> np.ndarray:
        """The part of each document in its source, "" without one, (documents,)."""
        split = self._splits.as_categorical()
        return split.categories.to_numpy(object)[split.codes]

    @property
    def strata(self) -> np.ndarray:
        """The number of each document's label, or of all its labels together, (documents,).

        Numbers are in the order of the labels, joined.
        """
        labels = list(self.labels.values())
        if not labels:
            return np.zeros(self._count, np.int64)
        table = pd.DataFrame({i: label.codes for i, label in enumerate(labels)})
        number = table.groupby(list(table), sort=False).ngroup().to_numpy()
        _, first = np.unique(number, return_index=True)
        names = [
            "\x1f".join(label.categories[label.codes[row]] for label in labels) for row in first
        ]
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return rank[number]


class TextDigests:
    """A digest of each text in place of the text: equal digests stand for equal texts.

    Two of a million different texts have the same 16 bytes with a probability of 1.5e-27.
    """

    def __init__(self) -> None:
        self._digests = bytearray()

    def append(self, text: str | None) -> None:
        """Add the next text, or None for a document without one."""
        self._digests += (
            bytes(DIGEST_SIZE)
            if text is None
            else hashlib.blake2b(text.encode(), digest_size=DIGEST_SIZE).digest()
        )

    def numbers(self) -> np.ndarray:
        """Return a number for each text, the same for equal ones and -1 for none, (texts,)."""
        digests = np.frombuffer(self._digests, np.uint64).reshape(-1, 2)
        order = np.lexsort(digests.T)
        is_new = (np.diff(digests[order], axis=0, prepend=digests[order[:1]]) != 0).any(axis=1)
        numbers = np.empty(len(digests), np.int64)
        numbers[order] = np.cumsum(is_new)
        numbers[~digests.any(axis=1)] = -1
        return numbers

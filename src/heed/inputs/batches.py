"""Batches of documents of similar length, in an order that the seed alone decides."""

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse
import torch

from heed.hyperparameters import Architecture
from heed.inputs.ngrams import bigrams, character_ngrams
from heed.inputs.vocabulary import Vocabulary
from heed.tokens.arrays import Tokens

WINDOW = 20  # batches whose documents are sorted by length together; 1.9-2.5 times faster than none
# Tokens of one pass, padding included, on the CPU. A larger training step is done in parts, and
# evaluation goes by as many: as fast, with less memory, and tensors of one size are used again
# where others leave gaps (docs/performance.md).
MAX_PADDED_TOKENS = 6144


@dataclasses.dataclass(frozen=True)
class Bags:
    """Several bags of rows of a table: bag i has `ids[begin[i]:begin[i + 1]]`, with `weights`
    beside them or None.
    """

    ids: torch.Tensor
    begin: torch.Tensor
    weights: torch.Tensor | None = None

    def to(self, device: str) -> "Bags":
        """Return the bags on `device`."""
        weights = None if self.weights is None else self.weights.to(device)
        return Bags(self.ids.to(device), self.begin.to(device), weights)


@dataclasses.dataclass(frozen=True)
class Batch:
    """Documents padded to the longest; what a model does not use is None.

    ids: vocabulary indices (batch, time). lengths: tokens (batch,). rows: documents of the corpus
        (batch,). sentences: tokens of each sentence (batch, sentences), 0 where a document has no
        more. bigrams: rows (batch, time). characters: a bag of character n-grams for each type that
        occurs, and each token's bag in `character_of` (batch, time). linear: each document's TF-IDF
        features.
    """

    ids: torch.Tensor
    lengths: torch.Tensor
    rows: np.ndarray
    sentences: torch.Tensor | None = None
    bigrams: torch.Tensor | None = None
    characters: Bags | None = None
    character_of: torch.Tensor | None = None
    linear: Bags | None = None

    def to(self, device: str) -> "Batch":
        """Return the batch on `device`; `rows` stay where they are."""
        if device == "cpu":
            return self
        moved = {
            field.name: value.to(device)
            for field in dataclasses.fields(self)
            if field.name != "rows" and (value := getattr(self, field.name)) is not None
        }
        return dataclasses.replace(self, **moved)


class Encoded:
    """A corpus as a run reads it: vocabulary indices, the length cap, and the features that its
    recipe asks for.
    """

    def __init__(
        self,
        tokens: Tokens,
        vocabulary: Vocabulary,
        hyperparameters: Architecture,
        linear: scipy.sparse.csr_matrix | None = None,
    ) -> None:
        """Take the TF-IDF features of the documents (documents, columns) where the model has a
        linear branch.
        """
        h = hyperparameters
        self.vocabulary = vocabulary
        self._tokens, self._linear = tokens, linear
        self._index = vocabulary.encode(tokens.lexicon)
        self._max_tokens, self._ends = h.max_tokens, h.truncation == "ends"
        self._sentences, self._bigrams = h.hierarchical, h.bigram_buckets
        self._characters = None
        if h.character_buckets:
            fold = str.lower if h.lowercase else str
            self._characters = character_ngrams(
                [fold(word) for word in tokens.lexicon], h.character_buckets
            )

    def with_linear(self, linear: scipy.sparse.csr_matrix) -> "Encoded":
        """Return the same corpus with the features of a linear branch, (documents, columns)."""
        encoded = copy.copy(self)
        encoded._linear = linear
        return encoded

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Return how many tokens are read of each document in `rows`: (rows,)."""
        return np.minimum(
            self._tokens.offsets[rows + 1] - self._tokens.offsets[rows], self._max_tokens
        )

    def positions(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which token of its document stands at each place, (rows, time), and where there is
        one.

        A document longer than the cap is read from its start, or with truncation `ends` half from
        its start and half up to its end.
        """
        lengths = self.lengths(rows)
        time = np.arange(max(1, int(lengths.max(initial=1))))[None]
        there = time < lengths[:, None]
        if not self._ends:
            return np.broadcast_to(time, there.shape), there
        skipped = self._tokens.offsets[rows + 1] - self._tokens.offsets[rows] - lengths
        late = time >= (self._max_tokens + 1) // 2
        return np.where(late, time + skipped[:, None], time), there

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the documents `rows` as one batch, in that order; an empty document has
        length 0.
        """
        positions, there = self.positions(rows)
        types = self._tokens.ids[(self._tokens.offsets[rows][:, None] + positions)[there]]
        ids = np.zeros(there.shape, np.int64)
        ids[there] = self._index[types]
        more: dict[str, Any] = {}
        if self._sentences:
            more["sentences"] = torch.from_numpy(self._sentence_lengths(rows, positions, there))
        if self._bigrams:
            more["bigrams"] = torch.from_numpy(bigrams(ids, there, self._bigrams))
        if self._characters is not None:
            occurring, bag = np.unique(types, return_inverse=True)
            place = np.zeros(there.shape, np.int64)
            place[there] = bag
            more["characters"] = Bags(*map(torch.from_numpy, self._characters.of(occurring)))
            more["character_of"] = torch.from_numpy(place)
        if self._linear is not None:
            part = self._linear[rows]
            arrays = part.indices.astype(np.int64), part.indptr[:-1].astype(np.int64), part.data
            more["linear"] = Bags(*map(torch.from_numpy, arrays))
        return Batch(torch.from_numpy(ids), torch.from_numpy(self.lengths(rows)), rows, **more)

    def _sentence_lengths(
        self, rows: np.ndarray, positions: np.ndarray, there: np.ndarray
    ) -> np.ndarray:
        """Return how many read tokens each sentence has: (rows, sentences); sentences that are not
        read are left out.
        """
        found = []
        for row, place, real in zip(rows, positions, there, strict=True):
            sentence = np.searchsorted(self._tokens.sentences(row), place[real], side="right")
            counts = np.bincount(sentence)
            found.append(counts[counts > 0])
        table = np.zeros((len(rows), max(1, *map(len, found))), np.int64)
        for i, counts in enumerate(found):
            table[i, : len(counts)] = counts
        return table

    def training(
        self, rows: np.ndarray, batch_size: int, seed: int, epoch: int, places: int | None = None
    ) -> Iterator[list[Batch]]:
        """Yield every document once, shuffled, a step at a time; the order depends on `seed` and
        `epoch` alone.

        A step's documents come in as many parts as are needed for none to have more than `places`
        places, padding included, or one document; None: in one part.
        """
        generator = np.random.default_rng((seed, epoch))
        order = generator.permutation(rows)
        window = WINDOW * batch_size
        batches = []
        for start in range(0, len(order), window):
            part = order[start : start + window]
            part = part[np.argsort(self.lengths(part), kind="stable")]
            batches += [part[i : i + batch_size] for i in range(0, len(part), batch_size)]
        for i in generator.permutation(len(batches)):
            longest = int(self.lengths(batches[i]).max(initial=1))
            size = len(batches[i]) if places is None else max(1, places // max(1, longest))
            yield [
                self.batch(part) for part in np.array_split(batches[i], -(-len(batches[i]) // size))
            ]

    def evaluation(self, rows: np.ndarray) -> Iterator[Batch]:
        """Yield every document once, the longest first; `Batch.rows` says which is where."""
        order = rows[np.argsort(-self.lengths(rows), kind="stable")]
        lengths = self.lengths(order)
        start = 0
        while start < len(order):
            size = max(1, MAX_PADDED_TOKENS // max(1, int(lengths[start])))
            yield self.batch(order[start : start + size])
            start += size


def batches_an_epoch(documents: int, batch_size: int) -> int:
    """Return how many batches `Encoded.training` yields: every window but the last is full."""
    return -(-documents // batch_size)

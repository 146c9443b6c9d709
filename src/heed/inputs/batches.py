"""Batches of documents of similar length, in an order that depends only on the seed.

Models may read hashed n-grams too, as rows of an embedding table (Joulin et al. 2017,
arxiv.org/abs/1607.01759). Hashing needs no vocabulary: some n-grams share a row.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
import torch

from heed.hyperparameters.classifier import Architecture
from heed.inputs.vocabulary import UNKNOWN, Vocabulary
from heed.tokens.arrays import Tokens, mix_bits

# batches whose documents are sorted by length together; 1.9-2.5 times faster than without sorting
WINDOW = 20
# Maximum tokens of a forward pass on the CPU, padding included. A larger training step is split
# into several passes, and evaluation uses batches of this size: as fast, with less memory, and
# tensors of equal size reuse memory that others would fragment (docs/internals/decisions.md).
MAX_PADDED_TOKENS = 6144


# --- hashed n-grams

# lengths of character n-grams, including the word boundaries < and > (Bojanowski et al. 2017)
CHARACTERS = (2, 3, 4, 5)
PRIME = np.uint64(0x100000001B3)


@dataclasses.dataclass(frozen=True)
class CharacterNgrams:
    """The hashed character n-grams of types: type i has rows `ids[offsets[i]:offsets[i + 1]]`."""

    ids: np.ndarray
    offsets: np.ndarray

    def look_up(self, types: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of `types`, concatenated, and the start of each type: (types,)."""
        counts = self.offsets[types + 1] - self.offsets[types]
        begin = np.cumsum(counts) - counts
        index = np.arange(counts.sum()) + np.repeat(self.offsets[types] - begin, counts)
        return self.ids[index], begin


def character_ngrams(words: list[str], buckets: int) -> CharacterNgrams:
    """Hash all character n-grams of each `<word>` into rows 0 to `buckets` - 1, by length."""
    text = "".join(f"<{word}>" for word in words)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    sizes = np.asarray([len(word) + 2 for word in words], np.int64)
    word_index = np.repeat(np.arange(len(words)), sizes)  # of each character
    hashes, owners = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    for length in CHARACTERS:
        count = max(0, len(points) - length + 1)
        value = np.full(count, length, np.uint64)
        for i in range(length):
            value = (value * PRIME) ^ points[i : i + count]
        # no n-gram crosses the boundary between two words
        is_inside = word_index[:count] == word_index[length - 1 :]
        hashes.append(value[is_inside])
        owners.append(word_index[:count][is_inside])
    owner = np.concatenate(owners)
    rows = (mix_bits(np.concatenate(hashes)) % np.uint64(buckets)).astype(np.int64)
    ends = np.cumsum(np.bincount(owner, minlength=len(words)))
    by_owner = np.argsort(owner, kind="stable")
    return CharacterNgrams(rows[by_owner], np.concatenate([[0], ends]))


# --- batches


@dataclasses.dataclass(frozen=True)
class OnDevice:
    """A record of tensors that move to a device together; NumPy's arrays stay where they are."""

    def to(self, device: str) -> Self:
        """Return the record with its tensors, and its records of tensors, on `device`."""
        if device == "cpu":
            return self
        tensors = {name: tensor for name, tensor in vars(self).items() if hasattr(tensor, "to")}
        moved = {name: tensor.to(device) for name, tensor in tensors.items()}
        return dataclasses.replace(self, **moved)


@dataclasses.dataclass(frozen=True)
class Bags(OnDevice):
    """Bags of rows of a table: bag i has `ids[begin[i]:begin[i + 1]]`."""

    ids: torch.Tensor
    begin: torch.Tensor


@dataclasses.dataclass(frozen=True)
class Batch(OnDevice):
    """Documents padded to the longest; features that a model does not use are None."""

    ids: torch.Tensor  # vocabulary indices (batch, time)
    lengths: torch.Tensor  # tokens of each document (batch,)
    rows: np.ndarray  # row of each document in the corpus (batch,)
    sentences: torch.Tensor | None = None  # tokens of each sentence (batch, sentences), 0: padding
    characters: Bags | None = None  # the character n-grams of each type in the batch
    character_of: torch.Tensor | None = None  # the bag in `characters` of each token (batch, time)


class EncodedCorpus:
    """A corpus as the inputs of one model: vocabulary indices, length cap and features."""

    def __init__(self, tokens: Tokens, vocabulary: Vocabulary, h: Architecture) -> None:
        self.vocabulary = vocabulary
        self._tokens = tokens
        self._index = vocabulary.encode(tokens.lexicon)
        self._max_tokens, self._keeps_both_ends = h.max_tokens, h.truncation == "ends"
        self._is_hierarchical = h.hierarchical
        self._characters = None
        if h.character_buckets:
            words = [word.lower() if h.lowercase else word for word in tokens.lexicon]
            self._characters = character_ngrams(words, h.character_buckets)

    @property
    def known_types(self) -> np.ndarray:
        """Which types of the lexicon have an input that is not every unknown word's, (types,)."""
        return (self._index != UNKNOWN) | (self._characters is not None)

    def lengths(self, rows: np.ndarray) -> np.ndarray:
        """Return the number of tokens of each document in `rows`, after truncation: (rows,)."""
        starts = self._tokens.offsets
        return np.minimum(starts[rows + 1] - starts[rows], self._max_tokens)

    def positions(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the position of each token in its document, and the token mask: (rows, time).

        Of a document longer than the cap the first tokens are read, or with truncation `ends` half
        of them from its start and half from its end.
        """
        lengths = self.lengths(rows)
        time = np.arange(max(1, int(lengths.max(initial=1))))[None]
        token_mask = time < lengths[:, None]
        if not self._keeps_both_ends:
            return np.broadcast_to(time, token_mask.shape), token_mask
        skipped = self._tokens.offsets[rows + 1] - self._tokens.offsets[rows] - lengths
        is_second_half = time >= (self._max_tokens + 1) // 2
        return np.where(is_second_half, time + skipped[:, None], time), token_mask

    def batch(self, rows: np.ndarray) -> Batch:
        """Return the documents `rows` as one batch, in that order; an empty one has length 0."""
        positions, token_mask = self.positions(rows)
        types = self._tokens.ids[(self._tokens.offsets[rows][:, None] + positions)[token_mask]]
        ids = np.zeros(token_mask.shape, np.int64)
        ids[token_mask] = self._index[types]
        features: dict[str, Any] = {}
        if self._is_hierarchical:
            sentences = self._sentence_lengths(rows, positions, token_mask)
            features["sentences"] = torch.from_numpy(sentences)
        if self._characters is not None:
            batch_types, bag = np.unique(types, return_inverse=True)
            character_of = np.zeros(token_mask.shape, np.int64)
            character_of[token_mask] = bag
            ngrams = self._characters.look_up(batch_types)
            features["characters"] = Bags(*map(torch.from_numpy, ngrams))
            features["character_of"] = torch.from_numpy(character_of)
        return Batch(torch.from_numpy(ids), torch.from_numpy(self.lengths(rows)), rows, **features)

    def _sentence_lengths(
        self, rows: np.ndarray, positions: np.ndarray, token_mask: np.ndarray
    ) -> np.ndarray:
        """Return the tokens of each sentence after truncation, (rows, sentences), padded with 0."""
        lengths = []
        for row, document_positions, mask in zip(rows, positions, token_mask, strict=True):
            starts = self._tokens.sentences(row)
            counts = np.bincount(np.searchsorted(starts, document_positions[mask], side="right"))
            lengths.append(counts[counts > 0])
        return np.asarray([*itertools.zip_longest(*lengths, [0], fillvalue=0)], np.int64).T[:-1]

    def training_steps(
        self, rows: np.ndarray, batch_size: int, seed: int, epoch: int,
        max_padded_tokens: int | None = None,
    ) -> Iterator[list[Batch]]:  # fmt: skip
        """Yield the batches of each training step; every document occurs once, in random order.

        A step is one batch, or several when it has more than `max_padded_tokens`, padding included.
        """
        for documents in shuffled_batches(rows, batch_size, seed, epoch, self._by_length):
            size = len(documents)
            if max_padded_tokens is not None:
                longest = int(self.lengths(documents).max(initial=1))
                size = max(1, max_padded_tokens // max(1, longest))
            parts = np.array_split(documents, -(-len(documents) // size))
            yield [self.batch(part) for part in parts]

    def _by_length(self, rows: np.ndarray) -> np.ndarray:
        return rows[np.argsort(self.lengths(rows), kind="stable")]

    def evaluation_batches(self, rows: np.ndarray) -> Iterator[Batch]:
        """Yield every document once, the longest first; `Batch.rows` has their rows."""
        order = rows[np.argsort(-self.lengths(rows), kind="stable")]
        lengths = self.lengths(order)
        start = 0
        while start < len(order):
            size = max(1, MAX_PADDED_TOKENS // max(1, int(lengths[start])))
            yield self.batch(order[start : start + size])
            start += size


def shuffled_batches(
    rows: np.ndarray, batch_size: int, seed: int, epoch: int,
    sort: Callable[[np.ndarray], np.ndarray],
) -> Iterator[np.ndarray]:  # fmt: skip
    """Yield the rows in batches of similar length; every row occurs once, by `seed` and `epoch`.

    Shuffled rows are sorted by length within windows of WINDOW batches, and the batches come in
    random order. The last batch of a window may have fewer rows.
    """
    generator = np.random.default_rng((seed, epoch))
    order = generator.permutation(rows)
    window = WINDOW * batch_size
    batches = []
    for start in range(0, len(order), window):
        sorted_rows = sort(order[start : start + window])
        batches += [sorted_rows[i : i + batch_size] for i in range(0, len(sorted_rows), batch_size)]
    for i in generator.permutation(len(batches)):
        yield batches[i]

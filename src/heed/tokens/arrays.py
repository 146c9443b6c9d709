"""Read a tokenised corpus (docs/internals/contracts.md) without copying it into memory."""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet

from heed.annotations import Link
from heed.files import reading, verify_checksums
from heed.tokens.meta import Meta, read_meta

ALIGNMENTS = "alignment.parquet"
REFERENCES = "references.parquet"
REPEATS = "repeats.parquet"  # the split columns of all repeats of folds but the first
TYPE_VECTORS = "vectors.npy"
POSITIONS = "starts", "ends"  # first character of each token, and the character after it
Links = set[Link]
# the gold alignment of a sentence pair, S and P of Och and Ney (2003): S is a part of P
Gold = tuple[Links, Links]
READ_AT_ONCE, BUFFER = 20_000, 2**20  # documents, and bytes of a column


@dataclasses.dataclass(frozen=True)
class TokenizedCorpus:
    """A tokenised corpus: its documents and their parts."""

    path: Path
    meta: Meta  # meta.json

    def documents(self, columns: list[str], rows: np.ndarray | None = None) -> pd.DataFrame:
        """Return these columns of documents.parquet, one row per document.

        With `rows` only these documents, in this order; the file is read a part at a time, so
        that the texts of a large corpus are never in memory at once.
        """
        if rows is None:
            return pd.read_parquet(self.path / "documents.parquet", columns=columns)
        ordered, place = np.unique(rows, return_inverse=True)
        parts, start = [], 0
        for batch in self._batches(columns):
            first, last = np.searchsorted(ordered, [start, start + len(batch)])
            parts.append(batch.take(pyarrow.array(ordered[first:last] - start)))
            start += len(batch)
        table = pyarrow.Table.from_batches(parts).select(columns)
        return table.take(pyarrow.array(place)).to_pandas()

    def _batches(self, columns: list[str]) -> Iterator[pyarrow.RecordBatch]:
        """Yield these columns of documents.parquet, a part at a time."""
        path = self.path / "documents.parquet"
        with pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            yield from file.iter_batches(READ_AT_ONCE, columns=columns)

    def rows_of(self, ids: pd.Series) -> np.ndarray:
        """Return the row of each document in `ids`, all different: int64 (ids,)."""
        rows = pd.Series(np.arange(self.meta.documents), self.documents(["id"])["id"])
        return rows.reindex(ids).to_numpy(np.int64)

    def texts(self) -> Iterator[str]:
        """Yield the cleaned text of each document; all of them may not fit in memory."""
        for batch in self._batches(["text"]):
            yield from batch.column("text").to_pylist()

    def rows(self, split: str, fold: int) -> np.ndarray:
        """Return the rows of a split (train, validation, test), in the order of the corpus."""
        column = f"split_{fold}" if self.meta.folds else "split"
        is_of_first = fold < (self.meta.folds // self.meta.repeats or 1)
        file = "documents.parquet" if is_of_first else REPEATS
        table = pd.read_parquet(self.path / file, columns=[column])
        return np.flatnonzero(table[column] == split)


@dataclasses.dataclass(frozen=True)
class Tokens(TokenizedCorpus):
    """The token arrays of all documents of a corpus, one after the other, memory-mapped."""

    ids: np.ndarray  # index of each token in `lexicon`, (tokens,)
    offsets: np.ndarray  # first token of each document, (documents + 1,)
    lexicon: list[str]
    sentence_starts: np.ndarray  # first token of each sentence, counted within its document
    sentence_offsets: np.ndarray  # first sentence of each document, (documents + 1,)

    def sentences(self, row: int) -> np.ndarray:
        """Return the first token of each sentence of document `row`: (sentences,)."""
        return self.sentence_starts[self.sentence_offsets[row] : self.sentence_offsets[row + 1]]

    def vectors(self) -> np.ndarray:
        """Return the vector of each type, float32 (types, size), 0 for none."""
        return open_array(self.path / TYPE_VECTORS)


@dataclasses.dataclass(frozen=True)
class Side:
    """The texts of one language of a parallel corpus, and their tokens, one text after another."""

    ids: np.ndarray  # index of each token in `lexicon`, (tokens,)
    starts: np.ndarray  # first character of each token in its text, (tokens,)
    ends: np.ndarray  # the character after each token, (tokens,)
    offsets: np.ndarray  # first token of each text, (texts + 1,)
    lexicon: list[str]
    read_texts: Callable[[], Sequence[str]]  # of all rows

    def texts(self, rows: np.ndarray) -> list[str]:
        """Return the cleaned texts of these rows."""
        texts = self.read_texts()
        return [texts[row] for row in rows]

    def tokens(self, row: int) -> list[str]:
        """Return the tokens of a row."""
        ids = self.ids[self.offsets[row] : self.offsets[row + 1]]
        return [self.lexicon[i] for i in ids.tolist()]


@dataclasses.dataclass(frozen=True)
class ParallelTokens(TokenizedCorpus):
    """The tokens of a parallel corpus: row i of each side is the same text in its language."""

    sides: dict[str, Side]  # by language

    def references(self, language: str, rows: np.ndarray) -> list[str]:
        """Return the texts of these rows as their source has them, not cleaned."""
        texts = self.sides[language].texts(rows)
        if not (self.path / REFERENCES).is_file():  # cleaning changed none
            return texts
        table = pd.read_parquet(self.path / REFERENCES, filters=[("language", "==", language)])
        as_read = dict(zip(table["document"].tolist(), table["text"], strict=True))
        return [as_read.get(row, text) for row, text in zip(rows.tolist(), texts, strict=True)]

    def alignment(self, source: str, target: str) -> dict[int, Gold] | None:
        """Return the gold links by row, from words of `source` to words of `target`.

        White space separates words. Rows whose links are not known have no entry; None if the
        corpus has no links between these languages.
        """
        pairs = {f"{source}-{target}": False, f"{target}-{source}": True}  # whether it is reversed
        pair = next((pair for pair in pairs if pair in self.meta.alignments), None)
        if pair is None:
            return None
        table = pd.read_parquet(self.path / ALIGNMENTS)
        table = table[table["languages"] == pair]
        words = ["target_word", "source_word"] if pairs[pair] else ["source_word", "target_word"]
        table["link"] = [*zip(*(table[word].tolist() for word in words), strict=True)]
        return {
            cast(int, row): ({*links["link"][links["is_sure"]]}, {*links["link"]})
            for row, links in table.groupby("document")
        }


def mix_bits(numbers: np.ndarray) -> np.ndarray:
    """Return hashes of 64-bit numbers (the finaliser of splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def mark_rationale(starts: np.ndarray, ends: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """Find the tokens of a document with a character of its rationale, bool (tokens,).

    `starts` and `ends` are the first character of each token and the one after it, (tokens,),
    ascending; `spans` the first character and the end of each span of rationale, (spans, 2).
    """
    first = np.searchsorted(ends, spans[:, 0], "right")  # first token that reaches into the span
    last = np.searchsorted(starts, spans[:, 1])  # first token after the span
    begun, ended = (np.bincount(tokens, minlength=len(starts) + 1) for tokens in (first, last))
    return np.cumsum(begun - ended)[:-1] > 0


class MarkedTokens:
    """The rationale of a corpus's documents, and the places of their tokens."""

    def __init__(self, tokens: Tokens) -> None:
        """Open the positions of tokens and rationale."""
        self._offsets = tokens.offsets
        self._starts, self._ends = (open_array(tokens.path / f"{name}.npy") for name in POSITIONS)
        table = pd.read_parquet(tokens.path / "evidence.parquet")
        table = table.sort_values("document", kind="stable")
        self._documents = table["document"].to_numpy()
        self._spans = table[["start", "end"]].to_numpy()

    def __bool__(self) -> bool:
        """Whether any document has a rationale."""
        return len(self._spans) > 0

    def spans(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return first character and end of each token of a document, (tokens,) each."""
        part = slice(self._offsets[row], self._offsets[row + 1])
        return self._starts[part], self._ends[part]

    def mask(self, row: int) -> np.ndarray:
        """Return whether each token of a document is in its rationale, (tokens,)."""
        starts, ends = self.spans(row)
        first, end = np.searchsorted(self._documents, [row, row + 1])
        return mark_rationale(starts, ends, self._spans[first:end])


def load_tokens(path: str | Path) -> Any:
    """Open data/tokens/CORPUS: return Tokens, or ParallelTokens of a parallel corpus.

    The task of an experiment knows which of them it reads. Raises HeedError when a file is missing,
    or differs from what `heed tokenize` wrote.
    """
    path = Path(path)
    command = f"heed tokenize {path.name}"
    verify_checksums(path, command)
    meta = read_meta(path)
    with reading(path, command, "the token arrays cannot be read"):
        if meta.languages:
            sides = {language: _read_side(path, language) for language in meta.languages}
            return ParallelTokens(path, meta, sides)
        ids, sentences = (open_array(path / f"{name}.npy") for name in ("ids", "sentences"))
        starts, of_sentences = (np.load(path / f"{k}offsets.npy") for k in ("", "sentence_"))
        return Tokens(path, meta, ids, starts, _read_lexicon(path), sentences, of_sentences)


def _read_side(path: Path, language: str) -> Side:
    ids, starts, ends = (open_array(path / language / f"{key}.npy") for key in ("ids", *POSITIONS))
    offsets, lexicon = np.load(path / language / "offsets.npy"), _read_lexicon(path / language)
    read_texts = functools.partial(_read_column, path, f"text_{language}")
    return Side(ids, starts, ends, offsets, lexicon, read_texts)


def _read_lexicon(folder: Path) -> list[str]:
    return (folder / "lexicon.txt").read_text(encoding="utf-8").split("\n")[:-1]


def _read_column(path: Path, column: str) -> Sequence[str]:
    return pd.read_parquet(path / "documents.parquet", columns=[column])[column].tolist()


def open_array(path: Path) -> np.ndarray:
    """Return an array in a file, memory-mapped."""
    try:
        return np.load(path, mmap_mode="r")
    except ValueError:  # an empty array cannot be memory-mapped
        return np.load(path)

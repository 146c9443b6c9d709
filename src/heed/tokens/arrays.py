"""Read a tokenised corpus (docs/contracts.md) without copying it into memory."""

import dataclasses
import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from heed.annotations import Link
from heed.files import HeedError, verify_checksums
from heed.tokens.meta import Meta, read_meta

ALIGNMENTS = "alignment.parquet"
TYPE_VECTORS = "vectors.npy"
POSITIONS = "starts", "ends"  # first character of each token, and the character after it
READ_AT_ONCE, BUFFER = 20_000, 2**20  # documents, and bytes of a column


@dataclasses.dataclass(frozen=True)
class TokenizedCorpus:
    """A tokenised corpus: its documents and their parts."""

    path: Path
    meta: Meta  # meta.json

    def documents(self, columns: list[str], rows: np.ndarray | None = None) -> pd.DataFrame:
        """Return these columns of documents.parquet, one row per document.

        With `rows` those of these documents, in this order; the file is read a part at a time, so
        that the texts of a large corpus are never in memory at once.
        """
        path = self.path / "documents.parquet"
        if rows is None:
            return pd.read_parquet(path, columns=columns)
        return _read_rows(path, columns, rows)

    def rows_of(self, ids: pd.Series) -> np.ndarray:
        """Return the row of each document in `ids`, all different: int64 (ids,)."""
        # in Arrow's memory: a string of Python for each document would take five times as much
        every_id, wanted = (pyarrow.array(column) for column in (self.documents(["id"])["id"], ids))
        position = pyarrow.compute.index_in(every_id, wanted)
        is_known = position.is_valid().to_numpy(zero_copy_only=False)
        rows = np.empty(len(ids), np.int64)
        rows[position.drop_null().to_numpy()] = np.flatnonzero(is_known)
        return rows

    def texts(self) -> Iterator[str]:
        """Yield the cleaned text of each document; all of them may not fit in memory."""
        path = self.path / "documents.parquet"
        with pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            for batch in file.iter_batches(READ_AT_ONCE, columns=["text"]):
                yield from batch.column("text").to_pylist()

    def rows(self, part: str, fold: int) -> np.ndarray:
        """Return the rows of a part (train, validation, test), in the order of the corpus."""
        column = f"split_{fold}" if self.meta.folds else "split"
        return np.flatnonzero(self.documents([column])[column] == part)


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
        """Return the vector of each type, memory-mapped: float32 (types, size); 0 for none.

        Only a corpus with `meta.vectors` has them.
        """
        return _open(self.path / TYPE_VECTORS)

    def document(self, row: int) -> "Tokens":
        """Return document `row` as a corpus of one document, with the same lexicon."""
        ids = self.ids[self.offsets[row] : self.offsets[row + 1]]
        starts = self.sentences(row)
        ends = [np.asarray([0, len(part)], np.int64) for part in (ids, starts)]
        return dataclasses.replace(
            self, ids=ids, offsets=ends[0], sentence_starts=starts, sentence_offsets=ends[1]
        )


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
class GoldLinks:
    """The gold alignment of a sentence pair: S and P of Och and Ney (2003), S a part of P."""

    sure: frozenset[Link]
    possible: frozenset[Link]  # the sure ones too


@dataclasses.dataclass(frozen=True)
class ParallelTokens(TokenizedCorpus):
    """The tokens of a parallel corpus: row i of each side is the same text in its language."""

    sides: dict[str, Side]  # by language

    def alignment(self, source: str, target: str) -> dict[int, GoldLinks] | None:
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
        sure, possible = defaultdict[int, set[Link]](set), defaultdict[int, set[Link]](set)
        links = table[["document", *words, "is_sure"]].to_numpy().tolist()
        for row, first, second, is_sure in links:
            possible[row].add((first, second))
            if is_sure:
                sure[row].add((first, second))
        return {row: GoldLinks(frozenset(sure[row]), frozenset(possible[row])) for row in possible}


def _read_rows(path: Path, columns: list[str], rows: np.ndarray) -> pd.DataFrame:
    """Return these rows of a Parquet file, in this order, without reading it all at once."""
    order = np.argsort(rows, kind="stable")
    wanted = rows[order]
    parts, start = [], 0
    with pyarrow.parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
        schema = file.schema_arrow
        for batch in file.iter_batches(READ_AT_ONCE, columns=columns):
            end = start + len(batch)
            first, last = np.searchsorted(wanted, [start, end])
            parts.append(batch.take(pyarrow.array(wanted[first:last] - start)))
            start = end
    table = pyarrow.Table.from_batches(parts, pyarrow.schema([schema.field(c) for c in columns]))
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows))
    return table.select(columns).take(pyarrow.array(place)).to_pandas()


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
    begun, ended = (np.bincount(each, minlength=len(starts) + 1) for each in (first, last))
    return np.cumsum(begun - ended)[:-1] > 0


class MarkedTokens:
    """The rationale of a corpus's documents, and where their tokens stand."""

    def __init__(self, tokens: Tokens) -> None:
        """Open the positions of tokens and rationale."""
        self._offsets = tokens.offsets
        self._starts, self._ends = (_open(tokens.path / f"{name}.npy") for name in POSITIONS)
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
        """Return whether each token of a document stands in its rationale, (tokens,)."""
        starts, ends = self.spans(row)
        first, end = np.searchsorted(self._documents, [row, row + 1])
        return mark_rationale(starts, ends, self._spans[first:end])


class NpyFile:
    """A .npy file of one dimension, read by slices.

    Of a memory-mapped array all that was read would count as memory of the process.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            np.lib.format.read_magic(file)
            (self._length,), _, self._dtype = np.lib.format.read_array_header_1_0(file)
            self._path, self._start = path, file.tell()

    def __len__(self) -> int:
        """Return the number of values."""
        return self._length

    def __getitem__(self, part: slice) -> np.ndarray:
        """Return a slice, read from the file."""
        start, stop, step = part.indices(self._length)
        offset = self._start + start * self._dtype.itemsize
        return np.fromfile(self._path, self._dtype, max(0, stop - start), offset=offset)[::step]


def load_tokens(path: str | Path) -> Any:
    """Open data/tokens/CORPUS: return Tokens, or ParallelTokens of a parallel corpus.

    The task of an experiment knows which of them it reads.

    Raises HeedError when a file is missing, or differs from what `heed tokenize` wrote.
    """
    path = Path(path)
    command = f"heed tokenize {path.name}"
    verify_checksums(path, command)
    meta = read_meta(path)
    try:
        tokens = _read_sides(path, meta) if meta.languages else _read_tokens(path, meta)
    except (OSError, EOFError, ValueError) as error:
        raise HeedError(
            f"{path}: the token arrays cannot be read ({error}). Run again: {command}"
        ) from None
    if tokens is None:
        raise HeedError(
            f"{path}: the token arrays do not fit each other; they were changed. Run again: "
            f"{command}"
        )
    return tokens


def _read_tokens(path: Path, meta: Meta) -> Tokens | None:
    """Return the tokens of a corpus, or None when the arrays do not fit each other."""
    tokens = Tokens(
        path, meta, _open(path / "ids.npy"), np.load(path / "offsets.npy"), _read_lexicon(path),
        _open(path / "sentences.npy"), np.load(path / "sentence_offsets.npy"),
    )  # fmt: skip
    fits = (
        _fit(meta.documents, tokens.offsets, tokens.ids)
        and _fit(meta.documents, tokens.sentence_offsets, tokens.sentence_starts)
        and len(tokens.lexicon) == meta.types
    )
    return tokens if fits else None


def _read_sides(path: Path, meta: Meta) -> ParallelTokens | None:
    """Return the tokens of a parallel corpus, or None when the arrays do not fit each other."""
    sides = {}
    for name, language in meta.languages.items():
        ids, starts, ends = (_open(path / name / f"{key}.npy") for key in ("ids", *POSITIONS))
        offsets, lexicon = np.load(path / name / "offsets.npy"), _read_lexicon(path / name)
        read_texts = functools.partial(_read_column, path, f"text_{name}")
        sides[name] = Side(ids, starts, ends, offsets, lexicon, read_texts)
        fits = _fit(meta.documents, offsets, ids, starts, ends)
        if not fits or (len(ids), len(lexicon)) != (language.tokens, language.types):
            return None
    return ParallelTokens(path, meta, sides)


def _fit(documents: int, offsets: np.ndarray, *arrays: np.ndarray) -> bool:
    """Return whether arrays have the items of all documents, as the offsets say."""
    ends = {int(offsets[-1])} if len(offsets) == documents + 1 else set()
    return ends == {len(array) for array in arrays}


def _read_lexicon(folder: Path) -> list[str]:
    return (folder / "lexicon.txt").read_text(encoding="utf-8").split("\n")[:-1]


def _read_column(path: Path, column: str) -> Sequence[str]:
    return pd.read_parquet(path / "documents.parquet", columns=[column])[column].tolist()


def _open(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r")
    except ValueError:  # an empty array cannot be memory-mapped
        return np.load(path)

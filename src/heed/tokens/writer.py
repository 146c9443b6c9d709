"""The files of a corpus that grow while it is read: cleaned documents, tokens, word vectors."""

import contextlib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from heed.annotations import Span
from heed.corpora.publication import SPLITS, open_compressed
from heed.corpora.user_files import VECTORS
from heed.files import HeedError, bounded_lines, require_readable, write_text
from heed.hyperparameters import MAX_SIZE
from heed.progress import progress_bar
from heed.tokens.arrays import TYPE_VECTORS, open_array
from heed.tokens.meta import Vectors
from heed.tokens.tokenizer import Chunk, offsets

# The size of a chunk, which is tokenised at once: enough to hide the transfer between processes,
# few enough to balance the load.
CHUNK_DOCUMENTS, MAX_CHUNK_CHARACTERS = 2000, 1_000_000  # documents; characters
# Bytes of texts and other columns in a row group of documents.parquet, which is written at once.
ROW_GROUP = 100_000_000

SPANS = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))
LINKED_WORDS = [("source_word", pa.int32()), ("target_word", pa.int32())]
# languages: "SOURCE-TARGET"
LINKS = pa.list_(pa.struct([("languages", pa.string()), *LINKED_WORDS, ("is_sure", pa.bool_())]))
TEXTS = pa.list_(pa.struct([("language", pa.string()), ("text", pa.string())]))
# columns whose cells are lists of records
ENTRIES = {"rationale": SPANS, "links": LINKS, "references": TEXTS}

Link = tuple[str, int, int, bool]
Cell = str | tuple[Span, ...] | tuple[Link, ...] | tuple[tuple[str, str], ...]

AT_ONCE = 20_000  # lines between two updates
LONGEST = 64 * MAX_SIZE  # bytes of a line, for each number of a vector
LONGEST_WORD = 4096  # bytes of a word in a binary file
# the first bytes of a file with a header tell whether it is binary: it has control characters there
SAMPLE, CONTROLS = 65_536, {*range(32)} - {*b"\t\n\v\f\r"}
MARK = b"\xef\xbb\xbf"  # a byte order mark


class CleanedTable(contextlib.AbstractContextManager["CleanedTable"]):
    """An Arrow file of cleaned documents, a row for each; removed when the block ends.

    It has the columns of documents.parquet, and others that are of use until that is written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[dict[str, Cell]] = []
        self._characters = 0
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self.starts = [0]  # first document of each chunk, and the number of documents
        self.columns: list[str] = []

    def __exit__(self, *_: object) -> None:
        """Remove the file."""
        if self._writer is not None:
            self._writer.close()
        self._path.unlink(missing_ok=True)

    def append(self, row: dict[str, Cell]) -> None:
        """Add a document; all have the same columns."""
        self._rows.append(row)
        self._characters += sum(map(len, row.values()))
        if len(self._rows) == CHUNK_DOCUMENTS or self._characters > MAX_CHUNK_CHARACTERS:
            self._write_chunk()

    def finish(self) -> None:
        """Write the last chunk; nothing is added after this."""
        if self._rows:
            self._write_chunk()
        if self._writer is not None:
            self._writer.close()

    def _write_chunk(self) -> None:
        types = [(key, ENTRIES.get(key) or pa.string()) for key in self._rows[0]]
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._path, pa.schema(types))
            self.columns = list(self._rows[0])
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, pa.schema(types)))
        self.starts.append(self.starts[-1] + len(self._rows))
        self._rows, self._characters = [], 0

    def chunks(
        self, columns: list[str], selected: np.ndarray | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield these columns of the selected documents (None: all), chunk by chunk, some empty."""
        # not memory-mapped: pages that were read count as memory of the process
        with pa.OSFile(str(self._path)) as file, pa.ipc.open_file(file) as reader:
            selected = np.ones(self.starts[-1], bool) if selected is None else selected
            for i in range(reader.num_record_batches):
                is_selected = pa.array(selected[self.starts[i] : self.starts[i + 1]])
                # a copy, without which the chunk's other columns would stay in memory
                yield reader.get_batch(i).select(columns).filter(is_selected)

    def read(self, columns: list[str], selected: np.ndarray | None = None) -> pa.Table:
        """Return these columns of the selected documents, all at once: not the texts."""
        return pa.Table.from_batches(self.chunks(columns, selected))

    def entries(self, column: str, selected: np.ndarray) -> pd.DataFrame:
        """Return the records in a column of lists, each with its `document` among the selected."""
        cells = self.read([column], selected)[column].combine_chunks()
        documents = pc.list_parent_indices(cells).to_numpy().astype(np.int64)
        table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(pc.list_flatten(cells))])
        return table.add_column(0, "document", pa.array(documents)).to_pandas()


def write_documents(
    chunks: Iterable[pa.RecordBatch], split: Mapping[str, np.ndarray], path: Path
) -> None:
    """Write documents, chunk by chunk, and their split: columns (documents,) each."""
    row = 0
    with contextlib.ExitStack() as stack:
        writer: pq.ParquetWriter | None = None
        for group in _row_groups(chunks):
            parts = {key: column[row : row + len(group)] for key, column in split.items()}
            row += len(group)
            if writer is None:
                # pandas chooses the types and describes them in the file: here, from one document
                head = group.slice(0, 1).to_pandas()
                head = head.assign(**{key: part[:1] for key, part in parts.items()})
                schema = pa.Schema.from_pandas(head, preserve_index=False)
                writer = stack.enter_context(pq.ParquetWriter(path, schema))
            for key, part in parts.items():
                group = group.append_column(key, pa.array(part, pa.string()))
            writer.write_table(group.combine_chunks().cast(writer.schema))
    pa.default_memory_pool().release_unused()


def _row_groups(chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the documents in tables of about ROW_GROUP bytes."""
    batches: list[pa.RecordBatch] = []
    for batch in chunks:
        batches += [batch] if batch.num_rows else []
        if sum(batch.nbytes for batch in batches) > ROW_GROUP:
            yield pa.Table.from_batches(batches)
            batches = []
    if batches:
        yield pa.Table.from_batches(batches)


class ArrayWriter:
    """A .npy file of int32 that grows: the same bytes as np.save writes at once."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")
        self._length = 0
        self._write_header()

    def _write_header(self) -> None:
        """Write the header, in which numpy leaves space: it has the same size for any length."""
        header = {"descr": "<i4", "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, values: np.ndarray) -> None:
        """Add values to the end."""
        self._file.write(values.astype("<i4").tobytes())
        self._length += len(values)

    def close(self) -> None:
        """Write the final length."""
        self._file.seek(0)
        self._write_header()
        self._file.close()


class WrittenTokens:
    """The token arrays of a column of texts (docs/internals/contracts.md), which grow by chunks."""

    def __init__(self, folder: Path, chunks: Iterable[Chunk], with_sentences: bool) -> None:
        """Write the tokens of all chunks into a folder, which is made where it is missing."""
        folder.mkdir(exist_ok=True)
        self._folder = folder
        names = ["ids", "starts", "ends"] + (["sentences"] if with_sentences else [])
        index: dict[str, int] = {}
        counts, sentence_counts = [], []
        with contextlib.ExitStack() as stack:
            arrays = {name: ArrayWriter(folder / f"{name}.npy") for name in names}
            for array in arrays.values():
                stack.callback(array.close)
            for chunk in chunks:
                numbers = [index.setdefault(word, len(index)) for word in chunk.lexicon]
                values = chunk._asdict() | {"ids": np.asarray(numbers, np.int32)[chunk.ids]}
                for name, array in arrays.items():
                    array.append(values[name])
                counts.append(chunk.counts)
                sentence_counts.append(chunk.sentence_counts)
        self.lexicon = list(index)  # the types, in the order in which they first occur
        self.offsets = offsets(np.concatenate(counts))  # first token of each text, (texts + 1,)
        np.save(folder / "offsets.npy", self.offsets)
        if with_sentences:
            np.save(folder / "sentence_offsets.npy", offsets(np.concatenate(sentence_counts)))
        write_text(folder / "lexicon.txt", "".join(f"{word}\n" for word in self.lexicon))

    def array(self, name: str) -> np.ndarray:
        """Return an array with a value for each token: ids, starts or ends."""
        return open_array(self._folder / f"{name}.npy")


# --- word vectors


def write_vectors(
    raw: Path, out: Path, tokens: WrittenTokens, splits: np.ndarray, title: str
) -> Vectors | None:
    """Write vectors.npy, float32 (types, size), and return how much of the corpus it covers.

    Row i is the vector of type i: of the word as it is written, or else of the word in lower
    case; of a word that is in the file twice the first counts; zeros where there is none. None is
    returned if the source's folder `raw` has no vectors. `splits` has the split of each document,
    (documents,). Raises HeedError when the file cannot be read, or a line does not fit.
    """
    path = raw / VECTORS
    if not path.is_file():
        return None
    as_written = dict(zip(tokens.lexicon, range(len(tokens.lexicon)), strict=True))
    in_lower_case: dict[str, list[int]] = {}
    for row, word in enumerate(tokens.lexicon):
        if (lower := word.lower()) != word:
            in_lower_case.setdefault(lower, []).append(row)
    size = read_vector_size(path)
    vectors = np.zeros((len(tokens.lexicon), size), np.float32)
    has_vector = np.zeros(len(tokens.lexicon), bool)
    with progress_bar(title) as bar:
        for number, (location, word, numbers) in enumerate(_read_words(path, size), 1):
            if number % AT_ONCE == 0:
                bar.update(number, text=f"{number:,} words")
            # what was found is removed, so that the first of two rows counts
            rows = [as_written.pop(word)] if word in as_written else []
            lower_rows = in_lower_case.pop(word, ())
            rows += [row for row in lower_rows if tokens.lexicon[row] in as_written]
            if rows:
                vector = _parse_numbers(location, numbers)
                vectors[rows], has_vector[rows] = vector, vector.any()
    np.save(out / TYPE_VECTORS, vectors)
    return Vectors(size, float(has_vector.mean()), _token_shares(tokens, has_vector, splits))


def _read_words(path: Path, size: int) -> Iterator[tuple[str, str, list[bytes] | bytes]]:
    """Yield the place of each word in a file, the word, and its numbers as they are written."""
    with open_compressed(path) as file:
        first = file.readline(LONGEST)
        is_binary = _is_header(first) and not CONTROLS.isdisjoint(file.read(SAMPLE))
    with open_compressed(path) as file:
        if is_binary:
            yield from _read_binary(path, file, size)
            return
        for number, line in enumerate(bounded_lines(path, file, LONGEST), 1):
            if line.strip() and not (number == 1 and _is_header(line)):
                location = f"{path}:{number}"
                yield location, *_parse_line(location, line.removeprefix(MARK), size)


def _read_binary(path: Path, file: IO[bytes], size: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield the words of word2vec's binary format: a word, a space, and its numbers in float32."""
    count = int(file.readline(LONGEST).split()[0])
    for number in range(1, count + 1):
        location, word = f"{path}: word {number:,}", b""
        while len(word) < LONGEST_WORD and not word.endswith(b" ") and (byte := file.read(1)):
            word += byte
        numbers = file.read(4 * size)
        if not word.endswith(b" ") or len(numbers) < 4 * size:
            raise HeedError(f"{location} of {count:,}: cut off, or no word2vec file. Get it again")
        # words of some programs begin with the end of a line
        yield location, _decode(location, word.strip()), numbers


def read_vector_size(path: Path) -> int:
    """Return the size of the vectors in a file, by its first line; HeedError where it has none.

    In word2vec's format that has the number of words and the size; in GloVe's it is the first word.
    """
    require_readable(path)
    with open_compressed(path) as file:
        line = next(bounded_lines(path, file, LONGEST), b"").removeprefix(MARK)
    size = int(line.split()[1]) if _is_header(line) else len(line.split()) - 1
    if not 0 < size <= MAX_SIZE:
        raise HeedError(
            f"{path}:1: expected the number of words and the size of their vectors, or a word and "
            f"its vector, found {line[:40]!r}. heed reads the formats of word2vec and GloVe"
        )
    return size


def _is_header(line: bytes) -> bool:
    fields = line.removeprefix(MARK).split()
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def _parse_line(location: str, line: bytes, size: int) -> tuple[str, list[bytes]]:
    """Return a word, with spaces or no-break ones as some of GloVe's, and its numbers, as text."""
    word, *numbers = line.rsplit(maxsplit=size)
    if len(numbers) != size:
        raise HeedError(
            f"{location}: expected a word and {size} numbers, as in the first line, found "
            f"{len(numbers)} numbers. If the file was cut off, make it again"
        )
    return _decode(location, word), numbers


def _decode(location: str, word: bytes) -> str:
    try:
        return unicodedata.normalize("NFC", word.decode())
    except UnicodeDecodeError as error:
        raise HeedError(
            f"{location}: the word is not UTF-8 (byte 0x{word[error.start]:02x}). Convert the file"
        ) from None


def _parse_numbers(location: str, fields: list[bytes] | bytes) -> np.ndarray:
    """Return a vector, float32 (size,). Raises HeedError unless all are finite numbers."""
    if isinstance(fields, bytes):
        vector = np.frombuffer(fields, "<f4")
        if not np.isfinite(vector).all():
            raise HeedError(f"{location}: expected finite numbers")
        return vector
    try:
        with np.errstate(over="ignore"):
            vector = np.array([float(field) for field in fields]).astype(np.float32)
    except ValueError as error:
        raise HeedError(f"{location}: expected a finite number ({error})") from None
    if not np.isfinite(vector).all():
        wrong = fields[int(np.isfinite(vector).argmin())]
        raise HeedError(f"{location}: expected a finite number, found {wrong.decode()[:40]!r}")
    return vector


def _token_shares(
    tokens: WrittenTokens, has_vector: np.ndarray, splits: np.ndarray
) -> dict[str, float]:
    """Return the share of the tokens of each split whose type has a vector, 0 to 1."""
    is_covered = np.concatenate([[0], np.cumsum(has_vector[tokens.array("ids")])])
    covered = np.diff(is_covered[tokens.offsets])  # tokens of each document
    counts = np.diff(tokens.offsets)
    return {
        split: float(covered[splits == split].sum() / max(1, counts[splits == split].sum()))
        for split in SPLITS
    }

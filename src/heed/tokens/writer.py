"""The files of a corpus that grow while it is read: its cleaned documents, its arrays of tokens."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from heed.annotations import Span
from heed.files import write_text
from heed.tokens.arrays import NpyFile
from heed.tokens.splits import arrow_type
from heed.tokens.tokenizer import Chunk, offsets

# The size of a chunk, which is tokenised at once: enough to hide the transfer between processes,
# few enough to balance the load.
CHUNK_DOCUMENTS, MAX_CHUNK_CHARACTERS = 2000, 1_000_000  # documents; characters
# Bytes of texts and other columns in a row group of documents.parquet, which is written at once.
ROW_GROUP = 100_000_000

SPANS = pa.list_(pa.struct([("start", pa.int64()), ("end", pa.int64())]))
LINKS = pa.list_(
    pa.struct(
        [
            ("languages", pa.string()),  # "SOURCE-TARGET"
            ("source_word", pa.int32()),
            ("target_word", pa.int32()),
            ("is_sure", pa.bool_()),
        ]
    )
)
ENTRIES = {"evidence": SPANS, "links": LINKS}  # columns whose cells are lists of records

Cell = str | tuple[str, ...] | tuple[Span, ...] | tuple[tuple[str, int, int, bool], ...]


class CleanedTable:
    """An Arrow file of cleaned documents, a row for each; removed when the block ends.

    It has the columns of documents.parquet, and others that are of use until that is written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[dict[str, Cell]] = []
        self._characters = 0
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self.starts = [0]  # first document of each chunk, and the number of documents
        self.published: list[str] = []  # the columns of documents.parquet, but for the split

    def __enter__(self) -> "CleanedTable":
        """Return this table, to be written."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the file."""
        if self._writer is not None:
            self._writer.close()
        self._path.unlink(missing_ok=True)

    def append(self, published: dict[str, Cell], others: dict[str, Cell]) -> None:
        """Add a document; all have the same columns."""
        self.published = self.published or list(published)
        self._rows.append(published | others)
        self._characters += sum(map(len, published.values()))
        if len(self._rows) == CHUNK_DOCUMENTS or self._characters > MAX_CHUNK_CHARACTERS:
            self._write_chunk()

    def finish(self) -> None:
        """Write the last chunk; nothing is added after this."""
        if self._rows:
            self._write_chunk()
        if self._writer is not None:
            self._writer.close()

    def _write_chunk(self) -> None:
        types = {key: ENTRIES.get(key) or arrow_type(cell) for key, cell in self._rows[0].items()}
        schema = pa.schema(list(types.items()))
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._path, schema)
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema))
        self.starts.append(self.starts[-1] + len(self._rows))
        self._rows, self._characters = [], 0

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        with pa.OSFile(str(self._path)) as file, pa.ipc.open_file(file) as reader:
            return list(reader.schema.names)

    def chunks(
        self, columns: list[str], selected: np.ndarray | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield these columns of the selected documents, (documents,), chunk by chunk.

        A chunk of which no document is selected is empty. None selects all.
        """
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
        """Return a row for each record in a column of lists: its `document`, and its fields.

        Documents are counted among the selected ones.
        """
        cells = self.read([column], selected)[column].combine_chunks()
        documents = pc.list_parent_indices(cells).to_numpy().astype(np.int64)
        table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(pc.list_flatten(cells))])
        return table.add_column(0, "document", pa.array(documents)).to_pandas()


def write_documents(
    table: CleanedTable, selected: np.ndarray, split: Mapping[str, np.ndarray], path: Path
) -> None:
    """Write documents.parquet: the published columns of the selected documents, and their split.

    Args:
        table: the cleaned documents.
        selected: whether to write each of them, (documents,)
        split: the split columns of the selected ones, (selected,) each.
        path: of the file.

    """
    row = 0
    with contextlib.ExitStack() as stack:
        writer: pq.ParquetWriter | None = None
        for group in _row_groups(table.chunks(table.published, selected)):
            parts = {key: column[row : row + len(group)] for key, column in split.items()}
            row += len(group)
            if writer is None:
                # pandas chooses the types and describes them in the file: here, from one document
                head = group.slice(0, 1).to_pandas()
                head = head.assign(**{key: part[:1] for key, part in parts.items()})
                schema = pa.Schema.from_pandas(head, preserve_index=False)
                for field in group.schema:
                    if pa.types.is_list(field.type):  # which pandas does not know of an empty list
                        schema = schema.set(schema.get_field_index(field.name), field)
                writer = stack.enter_context(pq.ParquetWriter(path, schema))
            for key, part in parts.items():
                group = group.append_column(key, pa.array(part, pa.string()))
            writer.write_table(group.combine_chunks().cast(writer.schema))
    pa.default_memory_pool().release_unused()


def _row_groups(chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the documents in tables of about ROW_GROUP bytes."""
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in chunks:
        if batch.num_rows:
            batches.append(batch)
            size += batch.nbytes
        if size > ROW_GROUP:
            yield pa.Table.from_batches(batches)
            batches, size = [], 0
    if batches:
        yield pa.Table.from_batches(batches)


class ArrayWriter:
    """A .npy file of one dimension that grows: the same bytes as np.save writes at once."""

    def __init__(self, path: Path, dtype: type[np.number]) -> None:
        self._file = path.open("wb")
        self._dtype, self._length = np.dtype(dtype), 0
        self._write_header()

    def _write_header(self) -> None:
        """Write the header, in which numpy leaves space: it has the same size for any length."""
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._length,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def append(self, values: np.ndarray) -> None:
        """Add values to the end."""
        self._file.write(values.astype(self._dtype).tobytes())
        self._length += len(values)

    def close(self) -> None:
        """Write the final length."""
        self._file.seek(0)
        self._write_header()
        self._file.close()


class WrittenTokens:
    """The token arrays of a column of texts (docs/contracts.md), which grow by chunks."""

    def __init__(self, folder: Path, chunks: Iterable[Chunk], with_sentences: bool) -> None:
        """Write the tokens of all chunks into a folder, which is made where it is missing."""
        folder.mkdir(exist_ok=True)
        self._folder = folder
        names = ["ids", "starts", "ends"] + (["sentences"] if with_sentences else [])
        index: dict[str, int] = {}
        counts, sentence_counts = [], []
        with contextlib.ExitStack() as stack:
            arrays = {name: ArrayWriter(folder / f"{name}.npy", np.int32) for name in names}
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

    def array(self, name: str) -> NpyFile:
        """Return an array with a value for each token: ids, starts or ends."""
        return NpyFile(self._folder / f"{name}.npy")

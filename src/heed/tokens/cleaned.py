"""The cleaned documents of a corpus: on disk, in chunks, while they are split and tokenised."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

CLEANED = ".cleaned.arrow"  # its name, in the folder of the tokens
# The size of a chunk, which is tokenised at once: enough to hide the transfer between processes,
# few enough to balance the load.
CHUNK_DOCUMENTS, MAX_CHUNK_CHARACTERS = 2000, 1_000_000  # documents; characters

Cell = str | tuple[str, ...]


def _type(cell: Cell) -> pa.DataType:
    return pa.list_(pa.string()) if isinstance(cell, tuple) else pa.string()


class CleanedDocuments:
    """A file of cleaned documents, removed when the block ends: columns of strings or lists."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[dict[str, Cell]] = []
        self._characters = 0
        self._writer: pa.ipc.RecordBatchFileWriter | None = None
        self.starts = [0]  # first document of each chunk, and the number of documents

    def __enter__(self) -> "CleanedDocuments":
        """Return this file, to be written."""
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

    def append(self, row: dict[str, Cell]) -> None:
        """Add a document; all have the same columns."""
        self._rows.append(row)
        self._characters += sum(map(len, row.values()))
        if len(self._rows) == CHUNK_DOCUMENTS or self._characters > MAX_CHUNK_CHARACTERS:
            self._write_chunk()

    def finish(self) -> None:
        """Write what is left; nothing is added after this, and `chunks` reads it."""
        if self._rows:
            self._write_chunk()
        if self._writer is not None:
            self._writer.close()

    def _write_chunk(self) -> None:
        schema = pa.schema([(column, _type(cell)) for column, cell in self._rows[0].items()])
        if self._writer is None:
            self._writer = pa.ipc.new_file(self._path, schema)
        self._writer.write_batch(pa.RecordBatch.from_pylist(self._rows, schema))
        self.starts.append(self.starts[-1] + len(self._rows))
        self._rows, self._characters = [], 0

    def chunks(self, kept: np.ndarray, column: str | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the documents to keep, by chunks; one may be empty.

        Args:
            kept: whether to keep each document, (documents,)
            column: the only one to read; None for all.

        """
        # not memory-mapped: pages that were read count as memory of the process
        with pa.OSFile(str(self._path)) as file, pa.ipc.open_file(file) as reader:
            for i in range(reader.num_record_batches):
                batch = reader.get_batch(i)
                batch = batch if column is None else batch.select([column])
                yield batch.filter(pa.array(kept[self.starts[i] : self.starts[i + 1]]))

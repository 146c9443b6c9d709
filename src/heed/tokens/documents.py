"""Write documents.parquet: the cleaned documents of a corpus and their split."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from heed.tokens.cleaned import CleanedDocuments

# Bytes of texts and other columns in a row group of documents.parquet, which is written at once.
ROW_GROUP = 100_000_000


def write_documents(
    documents: CleanedDocuments, kept: np.ndarray, columns: dict[str, np.ndarray], path: Path
) -> None:
    """Write documents.parquet: the columns of the documents to keep, and their split columns.

    Args:
        documents: the cleaned documents.
        kept: whether to keep each, (documents,)
        columns: the split columns of the kept ones, (kept,) each.
        path: of the file.

    """
    row = 0
    with contextlib.ExitStack() as stack:
        writer: pq.ParquetWriter | None = None
        for group in _row_groups(documents.chunks(kept)):
            parts = {key: column[row : row + len(group)] for key, column in columns.items()}
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

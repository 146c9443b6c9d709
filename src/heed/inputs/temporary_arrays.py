"""Arrays in a file without a name, so that data that does not fit in memory is read in parts."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse

Arrays = tuple[np.ndarray, ...]


class TemporaryArrays:
    """Tuples of one-dimensional arrays, written one after the other and mapped when they are read.

    The file has no name: it disappears with the process, however that ends.
    """

    def __init__(self, folder: Path) -> None:
        """Open an empty file in `folder`, which is made if it is not there."""
        folder.mkdir(parents=True, exist_ok=True)
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (open as long as this is)
        self._positions: list[list[tuple[int, int, np.dtype]]] = []  # offset in bytes, length, type

    def append(self, *arrays: np.ndarray) -> None:
        """Write a tuple of one-dimensional arrays. Raises OSError where the disk is full."""
        positions = []
        for array in arrays:
            offset = self._file.seek(-(-self._file.tell() // 8) * 8)
            self._file.write(np.ascontiguousarray(array).data)
            positions.append((offset, len(array), array.dtype))
        self._positions.append(positions)

    def __len__(self) -> int:
        """Return the number of tuples."""
        return len(self._positions)

    def __iter__(self) -> Iterator[Arrays]:
        """Yield the tuples, mapped read-only: the memory of one is free when it is dropped."""
        self._file.flush()
        for positions in self._positions:
            yield tuple(
                np.memmap(self._file, dtype, "r", offset, length)
                if length
                else np.empty(0, dtype)  # nothing cannot be mapped
                for offset, length, dtype in positions
            )


class SparseFile:
    """The rows of a sparse matrix (rows, columns) in TemporaryArrays, a chunk of rows at a time."""

    def __init__(self, folder: Path) -> None:
        self._arrays, self._columns = TemporaryArrays(folder), list[int]()
        self.rows, self.values = 0, 0  # number of rows, and of values that are not zero

    def append(self, chunk: scipy.sparse.csr_matrix) -> None:
        """Write more rows."""
        self._arrays.append(chunk.indptr, chunk.indices, chunk.data)
        self._columns.append(chunk.shape[1])
        self.rows, self.values = self.rows + chunk.shape[0], self.values + chunk.nnz

    def __iter__(self) -> Iterator[scipy.sparse.csr_matrix]:
        """Yield the chunks in the order in which they were written."""
        for (indptr, indices, data), columns in zip(self._arrays, self._columns, strict=True):
            yield scipy.sparse.csr_matrix(
                (data, indices, indptr), shape=(len(indptr) - 1, columns), copy=False
            )

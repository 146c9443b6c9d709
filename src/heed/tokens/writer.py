"""Write arrays of tokens to disk as they are made, and read them by slices."""

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np

from heed.files import write_text
from heed.progress import progress_bar
from heed.tokens.chunks import Chunk, Lexicon, offsets, tokenize_chunks
from heed.tokens.cleaned import CleanedDocuments


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


class TokenWriter:
    """The token arrays of texts (docs/contracts.md), which grow by chunks."""

    def __init__(self, folder: Path, with_sentences: bool = True) -> None:
        self._folder = folder
        names = ["ids", "starts", "ends"] + (["sentences"] if with_sentences else [])
        self._arrays = {name: ArrayWriter(folder / f"{name}.npy", np.int32) for name in names}
        self._counts: dict[str, list[np.ndarray]] = {"offsets": []}
        if with_sentences:
            self._counts["sentence_offsets"] = []
        self._lexicon = Lexicon()

    def __enter__(self) -> "TokenWriter":
        """Return this writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Complete the files, unless the block raised."""
        for array in self._arrays.values():
            array.close()
        if error is not None:
            return
        for name, counts in self._counts.items():
            np.save(self._folder / f"{name}.npy", offsets(counts))
        words = "".join(f"{word}\n" for word in self.lexicon)
        write_text(self._folder / "lexicon.txt", words)

    def append(self, chunk: Chunk) -> None:
        """Add the tokens of the next texts."""
        values = {**chunk._asdict(), "ids": self._lexicon.number(chunk)}
        for name, array in self._arrays.items():
            array.append(values[name])
        self._counts["offsets"].append(chunk.counts)
        if "sentence_offsets" in self._counts:
            self._counts["sentence_offsets"].append(chunk.sentence_counts)

    @property
    def lexicon(self) -> list[str]:
        """The types, in the order in which they first occur."""
        return self._lexicon.words

    @property
    def offsets(self) -> np.ndarray:
        """The first token of each text, (texts + 1,)."""
        return offsets(self._counts["offsets"])

    @property
    def ids(self) -> NpyFile:
        """The index in the lexicon of each token, once the files are complete."""
        return NpyFile(self._folder / "ids.npy")


def tokenize_column(
    documents: CleanedDocuments,
    kept: np.ndarray,
    column: str,
    tokenizer: str,
    processes: int,
    title: str,
) -> Iterator[Chunk]:
    """Yield the tokens of a column of texts, chunk by chunk, with a progress bar.

    Args:
        documents: the cleaned documents.
        kept: whether to tokenise each, (documents,)
        column: the name of the column.
        tokenizer: one of TOKENIZERS.
        processes: how many work at the same time.
        title: of the progress bar.

    """
    texts = (chunk[column].to_pylist() for chunk in documents.chunks(kept, column) if len(chunk))
    total = len(documents.starts) - 1
    with progress_bar(title) as bar:
        chunks = tokenize_chunks(texts, tokenizer, min(processes, total))
        for completed, chunk in enumerate(chunks, 1):
            bar.update(completed, total)
            yield chunk

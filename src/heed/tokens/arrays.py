"""Open a tokenised corpus (docs/contracts.md) without copying it into memory."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

from heed.files import HeedError, verify_checksums
from heed.tokens.meta import Meta, read_meta


@dataclasses.dataclass(frozen=True)
class Tokens:
    """The token arrays of all documents of a corpus, one after the other, memory-mapped."""

    path: Path
    meta: Meta  # meta.json
    ids: np.ndarray  # index of each token in `lexicon`, (tokens,)
    offsets: np.ndarray  # first token of each document, (documents + 1,)
    lexicon: list[str]
    sentence_starts: np.ndarray  # first token of each sentence, counted within its document
    sentence_offsets: np.ndarray  # first sentence of each document, (documents + 1,)

    def sentences(self, row: int) -> np.ndarray:
        """Return the first token of each sentence of document `row`: (sentences,)."""
        return self.sentence_starts[self.sentence_offsets[row] : self.sentence_offsets[row + 1]]

    def document(self, row: int) -> "Tokens":
        """Return document `row` as a corpus of one document, with the same lexicon."""
        ids = self.ids[self.offsets[row] : self.offsets[row + 1]]
        starts = self.sentences(row)
        ends = [np.asarray([0, len(part)], np.int64) for part in (ids, starts)]
        return dataclasses.replace(
            self, ids=ids, offsets=ends[0], sentence_starts=starts, sentence_offsets=ends[1]
        )

    def documents(self, columns: list[str]) -> pd.DataFrame:
        """Return these columns of documents.parquet, one row per document."""
        return pd.read_parquet(self.path / "documents.parquet", columns=columns)

    def rows(self, part: str, fold: int) -> np.ndarray:
        """Return the rows of a part (train, validation, test), in the order of the corpus."""
        column = f"split_{fold}" if self.meta.folds else "split"
        return np.flatnonzero(self.documents([column])[column].to_numpy() == part)


def load_tokens(path: str | Path) -> Tokens:
    """Open data/tokens/CORPUS.

    Raises:
        HeedError: a file is missing, or differs from what `heed tokenize` wrote.

    """
    path = Path(path)
    command = f"heed tokenize {path.name}"
    verify_checksums(path, command)
    meta = read_meta(path)
    try:
        ids = _open(path / "ids.npy")
        offsets = np.load(path / "offsets.npy")
        sentences = _open(path / "sentences.npy"), np.load(path / "sentence_offsets.npy")
        lexicon = (path / "lexicon.txt").read_text(encoding="utf-8").split("\n")[:-1]
    except (OSError, EOFError, ValueError) as error:
        raise HeedError(
            f"{path}: the token arrays cannot be read ({error}). Run again: {command}"
        ) from None
    sentence_starts, sentence_offsets = sentences
    is_consistent = (
        len(offsets) == len(sentence_offsets) == meta.documents + 1
        and int(offsets[-1]) == len(ids)
        and int(sentence_offsets[-1]) == len(sentence_starts)
        and len(lexicon) == meta.types
    )
    if not is_consistent:
        raise HeedError(
            f"{path}: the token arrays do not fit each other; they were changed. Run again: "
            f"{command}"
        )
    return Tokens(path, meta, ids, offsets, lexicon, *sentences)


def _open(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r")
    except ValueError:  # an empty array cannot be memory-mapped
        return np.load(path)

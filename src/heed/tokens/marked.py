"""Which tokens of a corpus are known evidence."""

import numpy as np
import pandas as pd

from heed.tokens.arrays import Tokens, mark_evidence


class MarkedTokens:
    """The evidence of a corpus's documents, and where their tokens stand."""

    def __init__(self, tokens: Tokens) -> None:
        """Open the positions of tokens and evidence."""
        self._offsets = tokens.offsets
        self._starts, self._ends = (
            np.load(tokens.path / f"{name}.npy", mmap_mode="r") for name in ("starts", "ends")
        )
        table = pd.read_parquet(tokens.path / "evidence.parquet")
        table = table.sort_values("document", kind="stable")
        self._documents, self._spans = (
            table["document"].to_numpy(),
            table[["start", "end"]].to_numpy(),
        )

    def __bool__(self) -> bool:
        """Whether any document has evidence."""
        return len(self._spans) > 0

    def spans(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return first character and end of each token of a document, (tokens,) each."""
        part = slice(self._offsets[row], self._offsets[row + 1])
        return self._starts[part], self._ends[part]

    def mask(self, row: int) -> np.ndarray:
        """Return whether each token of a document stands in its evidence, (tokens,)."""
        starts, ends = self.spans(row)
        first, end = np.searchsorted(self._documents, [row, row + 1])
        return mark_evidence(starts, ends, self._spans[first:end])

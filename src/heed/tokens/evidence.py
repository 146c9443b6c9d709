"""Evidence in cleaned and tokenised text: its characters, and how much of it there is."""

import sys
from collections.abc import Sequence

import numpy as np

from heed.evidence import EvidenceKind, Span
from heed.files import HeedError
from heed.tokens.arrays import mark_evidence
from heed.tokens.chunks import Chunk
from heed.tokens.cleaning import clean
from heed.tokens.meta import Evidence
from heed.tokens.splits import PARTS


def clean_spans(text: str, spans: Sequence[Span], cleaned: str, location: str) -> tuple[Span, ...]:
    """Return the spans of a text in its cleaned form, without what is not in it.

    A span has the same words before and after. Its ends move as far as the text before them gets
    shorter or longer when it is cleaned alone.

    Args:
        text: as in its source.
        spans: of `text`.
        cleaned: the same text, cleaned, and perhaps cut.
        location: of the document, for the message.

    Raises:
        HeedError: a span begins or ends within what cleaning takes for one character, such as
            `<br />` or a letter with its accent.

    """
    if cleaned == text:
        return tuple(spans)
    moved, uncut = [], _uncut(text)
    for start, end in spans:
        first, last = len(_uncut(text[:start])), len(_uncut(text[:end]))
        if uncut[first:last].split() != _uncut(text[start:end]).split():
            raise HeedError(
                f"{location}: the evidence {start}-{end} begins or ends within what is one "
                "character when the text is cleaned: a <br />, or a letter and its accent. Let it "
                "begin and end with a word"
            )
        last = min(last, len(cleaned))
        if first < last:
            moved.append((first, last))
    return tuple(moved)


def _uncut(text: str) -> str:
    return clean(text, sys.maxsize)[0]


class EvidenceMeasure:
    """How much evidence each part of a corpus has, counted as its documents are tokenised."""

    def __init__(self, kind: EvidenceKind | None, spans: np.ndarray, parts: np.ndarray) -> None:
        """Begin before the first document.

        Args:
            kind: of the evidence that the documents may have.
            spans: document, first character and end of each span of evidence in the cleaned texts,
                sorted by document, (spans, 3)
            parts: the part of each document, (documents,)

        """
        self._kind, self._spans, self._parts = kind, spans, parts
        self._row = 0
        self._documents, self._words, self._evidence = (dict.fromkeys(PARTS, 0) for _ in range(3))

    def add(self, chunk: Chunk) -> None:
        """Count the evidence of the next documents."""
        ends = np.cumsum(chunk.counts)
        rows = self._spans[:, 0]
        first, last = np.searchsorted(rows, [self._row, self._row + len(ends)])
        for row in np.unique(rows[first:last]).tolist():
            i = row - self._row
            tokens = slice(ends[i] - chunk.counts[i], ends[i])
            spans = self._spans[slice(*np.searchsorted(rows, [row, row + 1])), 1:]
            marked = mark_evidence(chunk.starts[tokens], chunk.ends[tokens], spans)
            part = self._parts[row]
            self._documents[part] += 1
            self._words[part] += len(marked)
            self._evidence[part] += int(marked.sum())
        self._row += len(ends)

    def result(self) -> Evidence | None:
        """Return the evidence of each part; None when no document has any."""
        if self._kind is None or not len(self._spans):
            return None
        shares = {part: self._evidence[part] / max(1, self._words[part]) for part in PARTS}
        return Evidence(self._kind, self._documents, shares)

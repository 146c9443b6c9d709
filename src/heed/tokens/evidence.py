"""Evidence in cleaned and tokenised text: its characters, and how much of it there is."""

import sys
from collections.abc import Sequence

import numpy as np

from heed.corpora.publication import Document
from heed.evidence import EvidenceKind, Span
from heed.files import HeedError
from heed.tokens.arrays import mark_evidence
from heed.tokens.chunks import TokenizedTexts
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


def measure_evidence(
    kind: EvidenceKind | None,
    documents: Sequence[Document],
    arrays: TokenizedTexts,
    parts: np.ndarray,
) -> Evidence | None:
    """Return how much evidence each part of a corpus has; None when no document has any.

    Args:
        kind: of the evidence that the documents may have.
        documents: with the evidence of their cleaned text.
        arrays: their tokens.
        parts: the part of each, (documents,)

    """
    if kind is None or not any(document.evidence for document in documents):
        return None
    counts, words, evidence = (dict.fromkeys(PARTS, 0) for _ in range(3))
    for i, (document, part) in enumerate(zip(documents, parts, strict=True)):
        if document.evidence:
            tokens = slice(arrays.offsets[i], arrays.offsets[i + 1])
            marked = mark_evidence(arrays.starts[tokens], arrays.ends[tokens], document.evidence)
            counts[part] += 1
            words[part] += len(marked)
            evidence[part] += int(marked.sum())
    shares = {part: evidence[part] / max(1, words[part]) for part in PARTS}
    return Evidence(kind, counts, shares)

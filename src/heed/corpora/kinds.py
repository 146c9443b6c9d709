"""The registry of all kinds of corpora and sources, which modules of this package declare."""

from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora import huffpost, published, sample_classification, sample_translation, table
from heed.corpora.publication import Documents, Kind, SourceKind

if TYPE_CHECKING:
    from heed.corpora.declared import Corpus

PUBLICATIONS = (sample_classification, published, huffpost, sample_translation, table)
KINDS: dict[str, Kind] = {kind.name: kind for module in PUBLICATIONS for kind in module.KINDS}
SOURCE_KINDS: dict[str, SourceKind] = {kind.source.name: kind.source for kind in KINDS.values()}


def read_documents(corpus: "Corpus", raw: Path) -> Documents:
    """Yield the documents of a corpus from the files in `raw`. Raises HeedError."""
    return KINDS[corpus.kind].read(raw, corpus)


def corpus_languages(corpus: "Corpus") -> tuple[str, ...]:
    """Return the languages of a corpus: of its kind, or of its columns; () without."""
    return KINDS[corpus.kind].languages or tuple(
        key for key in corpus.columns or {} if "-" not in key
    )

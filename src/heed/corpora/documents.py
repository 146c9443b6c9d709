"""The documents of a corpus: its source's files read by the rules of its kind."""

from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora.kinds import KINDS
from heed.corpora.publication import Documents

if TYPE_CHECKING:
    from heed.params import Corpus


def read(corpus: "Corpus", raw: Path) -> Documents:
    """Yield the documents of `corpus` from the files in `raw`. Raises HeedError when a file is missing or broken."""
    return KINDS[corpus.kind].read(raw, corpus)

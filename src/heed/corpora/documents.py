"""The documents of a corpus: its source's files read by the rules of its kind."""

from pathlib import Path
from typing import TYPE_CHECKING

from heed.corpora import few_shot, huffpost, imdb, letters, sample, table
from heed.corpora.publication import Documents

if TYPE_CHECKING:
    from heed.params import Corpus


def read(corpus: "Corpus", raw: Path) -> Documents:
    """Yield the documents of `corpus` from the files in `raw`. Raises HeedError when a file is missing or broken."""
    match corpus.kind:
        case "sample-sentiment" | "sample-letters":
            return sample.read(raw, corpus.kind)
        case "imdb":
            return imdb.read(raw)
        case "letters":
            return letters.read(raw)
        case "letters-pieces":
            return letters.read_eval(raw)
        case "news":
            return huffpost.read_capped(raw, corpus.split.seed)
        case "news-big":
            return huffpost.read(raw)
        case "news-headlines":
            return few_shot.read(raw)
        case "table":
            assert corpus.text_column and corpus.label_column
            return table.read(raw, corpus.text_column, corpus.label_column, corpus.split_column)

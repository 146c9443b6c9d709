"""Documents of a user's tables, as every stage reads them."""

from pathlib import Path

from heed.corpora.publication import RawDocument
from heed.corpora.rows import Format, read_table
from heed.corpora.table import DocumentReader
from heed.study import Corpus

PLAIN = Format()


def read_files(files: dict[str, Path], corpus: Corpus, form: Format = PLAIN) -> list[RawDocument]:
    """Return the documents of files, read in one format."""
    tables = {key: read_table(path, form).to_batches() for key, path in files.items()}
    return list(DocumentReader(corpus).read(tables))

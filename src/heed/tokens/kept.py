"""Which documents of a corpus are kept, and their parts: split, duplicates, a smaller train."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from heed.tokens.duplicates import find_duplicates
from heed.tokens.facts import DocumentFacts
from heed.tokens.splits import draw_left_out, split_documents

if TYPE_CHECKING:
    from heed.study import Corpus


@dataclasses.dataclass(frozen=True)
class KeptDocuments:
    """The documents of a corpus that are kept."""

    rows: np.ndarray  # whether each document that was read is kept, (documents,)
    columns: dict[str, np.ndarray]  # the split columns of the kept ones, (kept,) each
    duplicates: dict[str, int]  # the counts of duplicates (docs/contracts.md)
    left_out: int  # how many of train `split.train` or `split.train_per_class` left out


def keep_documents(
    corpus: "Corpus", facts: DocumentFacts, texts: list[np.ndarray]
) -> KeptDocuments:
    """Split the documents, drop duplicates, and leave out training documents beyond the limit.

    Args:
        corpus: its section in params.yaml.
        facts: of all documents.
        texts: for each language the number of each document's text, as `find_duplicates` takes it.

    Raises:
        HeedError: the documents are too few for this split.

    """
    columns = split_documents(corpus.split, facts)
    dropped, duplicates = find_duplicates(corpus, texts, columns)
    is_train = (next(iter(columns.values())) == "train") & ~dropped
    left_out = draw_left_out(corpus.split, is_train, facts.strata)
    if left_out.any():
        columns = {key: column[~left_out] for key, column in columns.items()}
        # no duplicate of a document that is left out is one
        dropped, duplicates = find_duplicates(
            corpus, [numbers[~left_out] for numbers in texts], columns
        )
    columns = {key: column[~dropped] for key, column in columns.items()}
    rows = ~left_out
    rows[rows] = ~dropped
    return KeptDocuments(rows, columns, duplicates, int(left_out.sum()))

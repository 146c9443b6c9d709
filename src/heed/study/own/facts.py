"""What a corpus of the user's own is like: its documents, classes, parts and lengths."""

import dataclasses
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heed.corpora.parts import PARTS
from heed.files import HeedError
from heed.study.token_count import count_tokens

if TYPE_CHECKING:
    from heed.corpora.publication import Document
    from heed.study.corpora import Corpus

LONG = 95  # percent of the documents that a length includes


@dataclasses.dataclass(frozen=True)
class OwnCorpusFacts:
    """Facts of a corpus. Tokens are counted roughly, without a tokenizer.

    `classes` has the documents of each class by label; `parts` those of each part of the split,
    without those that are left out of train.
    """

    documents: int
    classes: dict[str, dict[str, int]]
    parts: dict[str, int]
    left_out: int
    lengths: np.ndarray  # tokens of each document that is not for the test: sizes are chosen by it

    @property
    def mean_length(self) -> float:
        """The mean number of tokens of a document."""
        return float(self.lengths.mean())

    @property
    def long_length(self) -> int:
        """The number of tokens that LONG percent of the documents do not exceed."""
        return int(np.percentile(self.lengths, LONG, method="higher"))

    def share_within(self, tokens: int) -> float:
        """Return the share of the documents that have no more than `tokens`."""
        return float((self.lengths <= tokens).mean())


def read_facts(documents: Iterable["Document"], corpus: "Corpus", name: str) -> OwnCorpusFacts:
    """Return the facts of a corpus; every document is read, as `heed tokenize` will.

    Args:
        documents: of the user's files.
        corpus: the section of the new corpus.
        name: of the files, for messages.

    Raises:
        HeedError: there is no text, no second class, or no split as `corpus` has it.

    """
    # not at the top: scikit-learn takes long
    from heed.tokens.splits import (
        DocumentLabels,
        draw_left_out,
        require_learnable,
        split_columns,
    )

    lengths = array("i")

    def counted() -> Iterator["Document"]:
        for document in documents:
            # a table's text is decoded
            lengths.append(count_tokens(str(document.text), corpus.tokenizer))
            yield document

    known = DocumentLabels.read(counted())
    classes = {label: known.counts.get(label, {}) for label in corpus.label_names}
    _require_content(name, lengths, classes, corpus)
    try:
        columns_of_split = split_columns(
            corpus.split, known.strata, known.groups, known.published_split
        )
        require_learnable(known.labels, columns_of_split)
    except HeedError as error:
        column = f"column {corpus.split_column!r}: " if corpus.split_column else ""
        raise HeedError(f"{name}: {column}{error}") from None
    (column_of_split,) = columns_of_split.values()
    parts = {part: int((column_of_split == part).sum()) for part in PARTS}
    left_out = int(draw_left_out(corpus.split, column_of_split == "train", known.strata).sum())
    parts["train"] -= left_out
    chosen_by = np.frombuffer(lengths, np.int32)[column_of_split != "test"]
    return OwnCorpusFacts(len(lengths), classes, parts, left_out, chosen_by)


def _require_content(
    name: str, lengths: Sequence[int], classes: dict[str, dict[str, int]], corpus: "Corpus"
) -> None:
    """Raise HeedError unless there is text, and a second class of each label."""
    if not len(lengths):
        raise HeedError(f"{name}: no row below the names of the columns")
    if not any(lengths):
        columns = " and ".join(map(repr, corpus.text_names))
        raise HeedError(f"{name}: column {columns} has no text in any row")
    for label, counts in classes.items():
        if len(counts) < 2:
            raise HeedError(
                f"{name}: column {label!r} has {len(counts)} class in {len(lengths):,} "
                f"row{'s' * (len(lengths) > 1)}: there is nothing to learn"
            )

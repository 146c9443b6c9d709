"""The content of a corpus of the user's own, and the lines that `heed corpus add` prints on it."""

import dataclasses
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from heed.corpora.parts import PARTS
from heed.files import HeedError
from heed.study.corpus_size import count_tokens

if TYPE_CHECKING:
    from heed.corpora.declared import Corpus
    from heed.corpora.publication import Document

LONG = 95  # percent of the documents that a length includes
NAMED_CLASSES = 6  # of a label; of more, the largest and the smallest are named
RARE = 10  # a class with fewer rows: of the usual split, its test part has at most two of them
SHOWN = 3  # labels and experiments that are described
LONG_NAME = 30  # characters of a class that are printed


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


def read_facts(documents: Iterable["Document"], corpus: "Corpus", name: str) -> OwnCorpusFacts:
    """Return the facts of a corpus; every document is read, as `heed tokenize` will.

    Args:
        documents: of the user's files.
        corpus: the section of the new corpus.
        name: of the files, for messages.

    Raises:
        HeedError: there is no text, no second class, or no split as `corpus` has it.

    """
    from heed.tokens import splits  # not at the top: scikit-learn takes long

    lengths = array("i")

    def counted() -> Iterator["Document"]:
        for document in documents:
            # a table's text is decoded
            lengths.append(count_tokens(str(document.text), corpus.tokenizer))
            yield document

    known = splits.DocumentLabels.read(counted())
    classes = {label: known.counts.get(label, {}) for label in corpus.label_names}
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
    try:
        columns_of_split = splits.split_columns(
            corpus.split, known.strata, known.groups, known.published_split
        )
        splits.require_learnable(known.labels, columns_of_split)
    except HeedError as error:
        column = f"column {corpus.split_column!r}: " if corpus.split_column else ""
        raise HeedError(f"{name}: {column}{error}") from None
    (part_of_each,) = columns_of_split.values()
    parts = {part: int((part_of_each == part).sum()) for part in PARTS}
    left_out = int(splits.draw_left_out(corpus.split, part_of_each == "train", known.strata).sum())
    parts["train"] -= left_out
    chosen_by = np.frombuffer(lengths, np.int32)[part_of_each != "test"]
    return OwnCorpusFacts(len(lengths), classes, parts, left_out, chosen_by)


def describe_corpus(files: str, corpus: "Corpus", facts: OwnCorpusFacts) -> Iterator[str]:
    """Yield lines on the files and what was found in them."""
    names = corpus.text_names
    columns = f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"
    yield f"{files}: {facts.documents:,} texts in {columns}"
    for label, classes in [*facts.classes.items()][:SHOWN]:
        yield f"  label in column {label!r}: {_describe_classes(classes, facts.documents)}"
        if rare := [(count, name) for name, count in classes.items() if count < RARE]:
            yield _describe_rare(label, *min(rare, key=lambda each: each[0]), len(rare))
    yield (
        f"  {facts.mean_length:,.0f} tokens a text on average; {LONG}% of the texts have at most "
        f"{facts.long_length:,}"
    )
    parts = ", ".join(f"{count:,} for {part}" for part, count in facts.parts.items())
    drawn = "drawn at random" if corpus.split.kind == "random" else "as given"
    left_out = f"; {facts.left_out:,} are left out of train" if facts.left_out else ""
    yield f"  {parts}: {drawn}{left_out}"


def _describe_classes(classes: dict[str, int], documents: int) -> str:
    """Return the number of classes, and of each its share of the documents in percent."""
    shares = [
        f"{name[:LONG_NAME]} ({f'{share:.0%}' if share > 0.005 else '<1%'})"
        for name, count in sorted(classes.items(), key=lambda item: -item[1])
        for share in [count / documents]
    ]
    if len(shares) > NAMED_CLASSES:
        shares = [*shares[: NAMED_CLASSES // 2], "…", *shares[-NAMED_CLASSES // 2 :]]
    return f"{len(classes):,} classes: {', '.join(shares)}"


def _describe_rare(label: str, count: int, name: str, rare: int) -> str:
    """Return a warning of classes that no model can learn, and no test can judge."""
    found = f"class {name!r} has {count} row{'s' * (count > 1)}"
    if rare > 1:
        found = f"{rare} classes have fewer than {RARE} rows ({name!r}: {count})"
    return (
        f"  Column {label!r}: {found}, too few to learn from and to test on. Collect more of them, "
        "join them with another class, or leave them out of the file"
    )

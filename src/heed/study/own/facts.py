"""The content of a corpus of the user's own, and the lines that `heed corpus add` prints on it."""

import dataclasses
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heed.corpora.formats import SPLIT_NAMES
from heed.corpora.parts import PARTS
from heed.files import HeedError
from heed.study.corpus_size import count_tokens
from heed.study.section import PRESETS, rules_of
from heed.task import task_module

if TYPE_CHECKING:
    from heed.corpora.declared import Corpus
    from heed.corpora.publication import Document
    from heed.study.own.entries import CorpusEntries
    from heed.study.own.files import UserFiles

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


def describe_corpus(files: "UserFiles", corpus: "Corpus", facts: OwnCorpusFacts) -> Iterator[str]:
    """Yield lines on the files and what was found in them."""
    yield f"{files}: {facts.documents:,} texts in {_name_columns(corpus.text_names)}"
    for label, classes in [*facts.classes.items()][:SHOWN]:
        yield f"  label in column {label!r}: {_describe_classes(classes, facts.documents)}"
        if rare := sum(count < RARE for count in classes.values()):
            yield _describe_rare(label, min(classes.items(), key=lambda item: item[1]), rare)
    yield (
        f"  {facts.mean_length:,.0f} tokens a text on average; {LONG}% of the texts have at most "
        f"{facts.long_length:,}"
    )
    parts = ", ".join(f"{count:,} for {part}" for part, count in facts.parts.items())
    drawn = "drawn at random" if corpus.split.kind == "random" else "as given"
    left_out = f"; {facts.left_out:,} are left out of train" if facts.left_out else ""
    yield f"  {parts}: {drawn}{left_out}"


def _name_columns(names: list[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names))}"


def _describe_classes(classes: dict[str, int], documents: int) -> str:
    """Return the number of classes, and of each its share of the documents."""
    shares = [
        f"{name[:LONG_NAME]} ({_format_share(count / documents)})"
        for name, count in sorted(classes.items(), key=lambda item: -item[1])
    ]
    if len(shares) > NAMED_CLASSES:
        shares = [*shares[: NAMED_CLASSES // 2], "…", *shares[-NAMED_CLASSES // 2 :]]
    return f"{len(classes):,} classes: {', '.join(shares)}"


def _format_share(share: float) -> str:
    """Return a share in percent; one that would round to 0% is less than 1%."""
    return f"{100 * share:.0f}%" if share > 0.005 else "<1%"


def _describe_rare(label: str, smallest: tuple[str, int], rare: int) -> str:
    """Return a warning of classes that no model can learn, and no test can judge."""
    name, count = smallest
    rows = f"{count} row{'s' * (count > 1)}"
    which = (
        f"class {name!r} has {rows}" if rare == 1 else f"{rare} classes have fewer than {RARE} rows"
    )
    smallest_of = "" if rare == 1 else f" ({name!r}: {count})"
    return (
        f"  Column {label!r}: {which}{smallest_of}, too few to learn from and to test on. Collect "
        "more of them, join them with another class, or leave them out of the file"
    )


def describe_entries(entries: "CorpusEntries", facts: OwnCorpusFacts) -> Iterator[str]:
    """Yield lines on the models and the sizes that were chosen for this corpus."""
    recommend_linear = task_module(entries.task, "presets").recommend_linear
    preset = PRESETS[entries.task][entries.preset]
    epochs, batch = (preset.values.get(key) for key in ("epochs", "batch_size"))
    opponents = " and ".join(rules_of(entries.task).OPPONENTS)
    for experiment in [*entries.experiments][:SHOWN]:
        variants = [
            name.removeprefix(f"{experiment}-")
            for name, model in entries.models.items()
            if model["experiment"] == experiment
        ]
        yield f"experiment {experiment}: models {', '.join(variants)}; opponents {opponents}"
    if (more := len(entries.experiments) - SHOWN) > 0:
        yield f"… and {more} experiments more, one for each label"
    yield f"  preset {entries.preset}: {preset.description}"
    yield f"  {epochs} epochs, {batch} texts a batch"
    which = "both ends" if preset.values.get("truncation") == "ends" else "the start"
    whole = 100 * facts.share_within(entries.max_tokens)
    yield (
        f"  {entries.max_tokens:,} tokens of a text are read, from {which}: of {whole:.0f}% of the "
        "texts all"
    )
    if reason := recommend_linear(facts.parts["train"], facts.mean_length):
        yield f"  {reason}"


def describe_unused(columns: list[str], corpus: "Corpus") -> Iterator[str]:
    """Yield a hint for a column that may be meant to assign rows to parts, and is not used."""
    used = {*corpus.text_names, *corpus.label_names, corpus.split_column, corpus.group_column}
    for column in columns:
        if column.lower() in SPLIT_NAMES and column not in used and corpus.split.kind != "given":
            yield f"  column {column!r} is not used: if it has the parts, --split-column {column}"

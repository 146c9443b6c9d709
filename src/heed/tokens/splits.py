"""Assign documents to train, validation and test, and find duplicates across these splits.

A corpus is split once, with the seed of its split.

Two documents are exact duplicates when their texts are equal. They are near duplicates when the
sets of their shingles, word 5-grams, have a Jaccard similarity of at least 0.8: resemblance by
shingles (Broder 1997, On the resemblance and containment of documents), with the length and the
threshold of Lee et al. (2022, Deduplicating training data makes language models better,
arxiv.org/abs/2107.06499). A word is a token with a letter or digit, without case; a document of one
to four words has one shingle, all of its words; one without words has no near duplicate.

Such a pair shares four fifths of the shingles of each document. So a document of which more than a
fifth of the shingles occur nowhere else has none, and is left out; of the others, the product of
their sparse matrix with itself counts the shingles that two share. A number of comparisons bounds
the time.
"""

import dataclasses
import functools
import hashlib
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, train_test_split

from heed.corpora.publication import SPLITS, RawDocument
from heed.files import HeedError
from heed.progress import Bar, progress_bar
from heed.tokens.arrays import mix_bits

if TYPE_CHECKING:
    from heed.corpora.sections import Corpus, Split

# A share of whole groups is drawn as some of these folds, unless it is smaller than one of them.
GROUP_FOLDS = 20
LABEL = "label_"  # a column of this name and a label's has the values of that label
DRAWS = 100  # of a repeat's folds of groups, until no other repeat has one of them
NAMED = 5  # values of a label in a message
# split → the name of its documents, and what they cannot do for a class that none of them has
WITHOUT = {
    "train": ("training", "no model learns it"),
    "validation": ("validation", "no epoch and no search is chosen by it"),
    "test": ("test", "nothing is tested on it"),
}


class DocumentLabels:
    """The labels, the group and the published split of each document.

    labels: of each document, by name, (documents,) each; their values are sorted.
    counts: the number of documents that have each value of each label; the values are sorted.
    groups: the number of each document's group, in the order of the groups' names, (documents,).
    published_split: the split of each document in its source, "" without one, (documents,).
    strata: the number of each document's label, or of all its labels together, in the order of the
        labels, joined, (documents,).
    """

    def __init__(self, table: pd.DataFrame) -> None:
        """`table` has `group`, `split`, "" without one, and for each label `label_KEY`."""
        names = [name for name in map(str, table) if name.startswith(LABEL)]
        columns = {name.removeprefix(LABEL): table[name] for name in names}
        self.labels = {key: pd.Categorical(cells) for key, cells in columns.items()}
        counted = {key: cells.value_counts().sort_index() for key, cells in columns.items()}
        self.counts: dict[str, dict[str, int]] = {
            key: dict(zip(counts.index.tolist(), counts.tolist(), strict=True))
            for key, counts in counted.items()
        }
        self.groups = pd.Categorical(table["group"]).codes
        self.published_split = table["split"].to_numpy(object)
        self.strata = np.zeros(len(table), np.int64)
        if columns:
            together = functools.reduce(lambda a, b: a.str.cat(b, sep="\x1f"), columns.values())
            self.strata = pd.Categorical(together).codes.astype(np.int64)

    @classmethod
    def read(cls, documents: Iterable[RawDocument]) -> "DocumentLabels":
        """Return the labels of documents, which are read one after the other."""
        rows, names = [], list[str]()
        for document in documents:
            names = [LABEL + key for key in document.labels]
            rows.append((document.group, document.split, *document.labels.values()))
        return cls(pd.DataFrame(rows, columns=["group", "split", *names]))


@dataclasses.dataclass(frozen=True)
class SplitCorpus:
    """The documents of a corpus that are kept, and their split."""

    rows: np.ndarray  # whether each document that was read is kept, (documents,)
    columns: dict[str, np.ndarray]  # the split columns of the kept ones, (kept,) each
    duplicates: dict[str, int]  # the counts of duplicates (docs/internals/contracts.md)
    left_out: int  # training documents that `split.train` left out


def split_corpus(corpus: "Corpus", labels: DocumentLabels, texts: list[np.ndarray]) -> SplitCorpus:
    """Split the documents, drop duplicates, and leave out training documents beyond the limit.

    `texts` are as in `find_duplicates`. Raises HeedError: too few documents, nothing to learn.
    """
    columns = split_columns(corpus.split, labels.strata, labels.groups, labels.published_split)
    dropped, duplicates = find_duplicates(texts, columns, corpus.drop_duplicates)
    is_train = (next(iter(columns.values())) == "train") & ~dropped
    left_out = draw_left_out(corpus.split, is_train, labels.strata)
    if left_out.any():
        columns = {key: column[~left_out] for key, column in columns.items()}
        # a document that is left out has no duplicates
        remaining = [numbers[~left_out] for numbers in texts]
        dropped, duplicates = find_duplicates(remaining, columns, corpus.drop_duplicates)
    columns = {key: column[~dropped] for key, column in columns.items()}
    rows = ~left_out
    rows[rows] = ~dropped
    require_learnable({key: label[rows] for key, label in labels.labels.items()}, columns)
    return SplitCorpus(rows, columns, duplicates, int(left_out.sum()))


def require_learnable(labels: dict[str, pd.Categorical], columns: dict[str, np.ndarray]) -> None:
    """Raise HeedError unless each split has documents, and the labels of train differ.

    Of a corpus with several labels one that differs suffices: the study may use that one. Texts in
    several languages have no labels. `labels` and `columns`, of splits, are (documents,) each.
    """
    for name, column in columns.items():
        of_fold = f" of fold {name.removeprefix('split_')}" if name != "split" else ""
        if missing := sorted({*SPLITS} - {*column}, key=SPLITS.index):
            raise HeedError(f"the split {missing[0]}{of_fold} has no documents")
        values = {key: label[column == "train"].unique() for key, label in labels.items()}
        if values and all(len(names) < 2 for names in values.values()):
            only = " and ".join(f"{key} {min(names)!r}" for key, names in values.items())
            raise HeedError(
                f"the split train{of_fold} has 1 class ({only}): there is nothing to learn"
            )
        _require_common(values, {key: label[column == "test"] for key, label in labels.items()})


def _require_common(trained: dict[str, Any], tested: dict[str, pd.Categorical]) -> None:
    """Raise HeedError unless train and test have a class in common, of some label."""
    if tested and all({*trained[key]}.isdisjoint(label) for key, label in tested.items()):
        (key, label), *_ = tested.items()
        names = (_name_some(map(repr, values)) for values in (trained[key], label.unique()))
        raise HeedError(
            f"the splits train and test have no class in common (label {key!r}: "
            f"{', and '.join(names)}). Write their labels alike"
        )


def require_text(lengths: np.ndarray, columns: dict[str, np.ndarray], place: str = "") -> None:
    """Raise HeedError unless each split has text: `lengths`, in tokens, are (documents,)."""
    for column in columns.values():
        for split in SPLITS:
            if not lengths[column == split].any():
                raise HeedError(f"{place}no document of the split {split} has text")


def _name_some(names: Iterable[str]) -> str:
    names = [*names]
    return ", ".join(names[:NAMED]) + f" and {len(names) - NAMED:,} more" * (len(names) > NAMED)


def describe_missing_values(
    labels: DocumentLabels, columns: dict[str, np.ndarray], rows: np.ndarray
) -> Iterator[str]:
    """Yield a line for each label and split of the kept `rows` without some of its values."""
    for key, label in labels.labels.items():
        kept = label[rows]
        for split, (kind, consequence) in WITHOUT.items():
            missing: dict[str, list[str]] = {}
            for name, column in columns.items():
                values = {*kept[column == split].unique()}
                for value in labels.counts[key].keys() - values:
                    missing.setdefault(value, []).append(name.removeprefix("split_"))
            names = [
                repr(value) + (f" (fold {', '.join(folds)})" if folds != ["split"] else "")
                for value, folds in sorted(missing.items())
            ]
            if names:
                yield (
                    f"label {key!r}: no {kind} document has the class {_name_some(names)}: "
                    f"{consequence}. Add documents of it, join it with another class, or "
                    "change `split`"
                )


def split_columns(
    split: "Split", strata: np.ndarray, groups: np.ndarray, source_split: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the split columns of documents.parquet, each (documents,) of train, validation, test.

    `strata`, of labels, and `groups` are names, or numbers; `source_split` is for kind given:
    (documents,) each. Raises HeedError when the documents are too few for this split.
    """
    drawing = _Drawing(split, strata, groups)
    if split.kind == "folds":
        return {
            f"split_{fold}": drawing.assign_splits(test, split.seed + fold)
            for fold, test in enumerate(drawing.all_folds())
        }
    if split.kind == "random":
        assert split.test is not None
        test = drawing.draw_split(np.arange(len(strata)), split.test, split.seed)
        return {"split": drawing.assign_splits(test, split.seed)}
    counts = {name: int((source_split == name).sum()) for name in SPLITS}
    if not counts["train"] or not counts["test"]:
        sizes = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        raise HeedError(f"the given split needs documents to train and to test, found {sizes}")
    if counts["validation"]:
        return {"split": source_split.astype(object)}
    return {"split": drawing.assign_splits(np.flatnonzero(source_split == "test"), split.seed)}


@dataclasses.dataclass(frozen=True)
class _Drawing:
    """Draws splits of a corpus: its split, and the stratum and the group of each document."""

    split: "Split"
    strata: np.ndarray  # (documents,)
    groups: np.ndarray  # (documents,)

    def all_folds(self) -> list[np.ndarray]:
        """Return the documents of each fold of all repeats, of which no two have the same fold."""
        k, split = self.split.k or 0, self.split
        starts = range(split.seed, split.seed + split.folds, k)  # the seed of each repeat
        found = self.folds(k, split.seed)
        for start in starts[1:]:
            known = {*map(np.ndarray.tobytes, found)}
            drawn: Iterable[list[np.ndarray]] = (
                (self.group_folds([start, draw]) for draw in range(DRAWS))
                if split.grouped
                else [self.folds(k, start)]
            )
            again = next((f for f in drawn if known.isdisjoint(map(np.ndarray.tobytes, f))), None)
            if again is None:
                what = "groups" if split.grouped else "documents"
                count = len(np.unique(self.groups)) if split.grouped else len(self.groups)
                raise HeedError(
                    f"params.yaml: split.repeats: {count:,} {what} are too few to draw {k} folds "
                    f"{split.repeats} times: two repeats would have a fold in common. Fewer "
                    "`repeats` or another `k` are needed"
                )
            found += again
        return found

    def group_folds(self, seed: list[int]) -> list[np.ndarray]:
        """Return the documents of each of k folds of whole groups, in an order by chance.

        Each group goes to the fold that has least of its labels (with `stratify`) and documents.
        The seed of StratifiedGroupKFold chooses only between groups that are alike.
        """
        groups = np.unique(self.groups, return_inverse=True)[1]
        strata = self.strata if self.split.stratify else np.zeros(len(groups), np.int64)
        counts = pd.crosstab(groups, strata).to_numpy()
        counts = np.column_stack([counts, counts.sum(axis=1)])
        shares = counts / counts.sum(axis=0)
        loads, fold_of = np.zeros((self.split.k or 0, shares.shape[1])), np.zeros(len(shares), int)
        for group in np.random.default_rng(seed).permutation(len(shares)):
            fold_of[group] = fold = (loads @ shares[group]).argmin()
            loads[fold] += shares[group]
        return [np.flatnonzero(fold_of[groups] == fold) for fold in range(len(loads))]

    def folds(self, k: int, seed: int) -> list[np.ndarray]:
        """Return the documents of each of k folds; if `grouped`, a group is in one fold."""
        kind: Any = StratifiedKFold if self.split.stratify else KFold
        kind = StratifiedGroupKFold if self.split.grouped else kind
        strata = self.strata if self.split.stratify else np.zeros(len(self.strata), np.int64)
        splitter = kind(n_splits=k, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # a label with fewer documents than folds: some folds test none of them
            warnings.simplefilter("ignore", UserWarning)
            try:
                return [test for _, test in splitter.split(strata, strata, self.groups)]
            except ValueError:  # scikit-learn's, in words of its own
                most = np.unique(strata, return_counts=True)[1].max()
                raise HeedError(
                    f"params.yaml: split.k: {k} folds of {len(strata):,} documents, at most "
                    f"{most:,} of a class: use fewer folds"
                ) from None

    def assign_splits(self, test: np.ndarray, seed: int) -> np.ndarray:
        """Return the splits: `test` given, validation drawn. HeedError: too few documents left."""
        column = np.full(len(self.strata), "train", object)
        column[test] = "test"
        train = np.flatnonzero(column == "train")
        if len(train) < 2 or not len(test):
            raise HeedError(
                f"the split leaves {len(train)} documents to train and {len(test)} to test, of "
                f"{len(column)}: more documents or another `split` are needed"
            )
        column[self.draw_split(train, self.split.validation, seed)] = "validation"
        return column

    def draw_split(self, documents: np.ndarray, share: float, seed: int) -> np.ndarray:
        """Return a random share (or number) of the documents, sorted; of whole groups."""
        if not self.split.grouped:
            return _draw(documents, share, self.strata, self.split, seed)
        drawing = _Drawing(self.split, self.strata[documents], self.groups[documents])
        fraction = drawing.fold_share(share / len(documents) if share >= 1 else share)
        folds = drawing.folds(fraction.denominator, seed)
        return np.sort(documents[np.concatenate(folds[: fraction.numerator])])

    def fold_share(self, share: float) -> Fraction:
        """Return a share as some of several folds, about as large: a group is not divided.

        There are no more folds than groups, nor than documents of the most frequent label. Raises
        HeedError when there are fewer than two groups.
        """
        count = len(np.unique(self.groups))
        if count < 2:
            raise HeedError(
                f"params.yaml: split.grouped: {len(self.groups):,} documents of {count} group: a "
                "split needs several"
            )
        smaller = min(share, 1 - share)
        wanted = max(GROUP_FOLDS, math.ceil(1 / smaller) if smaller > 0 else count)
        most = int(np.unique(self.strata, return_counts=True)[1].max())
        limit = max(2, min(wanted, count, most))
        fraction = Fraction(share).limit_denominator(limit)
        return min(max(fraction, Fraction(1, limit)), Fraction(limit - 1, limit))


def draw_left_out(split: "Split", is_train: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """Find the documents of `is_train` that the split's `train` leaves out: (documents,) both."""
    train, left_out = np.flatnonzero(is_train), np.zeros(len(is_train), bool)
    if split.train and split.train < len(train):
        kept = _draw(train, split.train, strata, split, split.seed)
        left_out[np.setdiff1d(train, kept)] = True
    return left_out


def _draw(
    documents: np.ndarray, share: float, strata: np.ndarray, split: "Split", seed: int
) -> np.ndarray:
    """Return a random share (or number) of the documents, sorted.

    With `stratify` the strata keep their proportions; strata of one document are drawn as one. It
    is ignored when there are more strata than documents in the share or in the rest.
    """
    size = share if isinstance(share, int) else max(1, round(share * len(documents)))
    if size >= len(documents):
        raise HeedError(
            f"params.yaml: split: {size:,} of {len(documents):,} documents are for test or "
            "validation, which leaves none to train on: make that share smaller"
        )
    stratify = _drawable_strata(strata[documents], size) if split.stratify else None
    _, drawn = train_test_split(documents, test_size=size, random_state=seed, stratify=stratify)
    return np.sort(drawn)


def _drawable_strata(strata: np.ndarray, size: int) -> np.ndarray | None:
    """Return the strata, with rare ones merged, None where there are too many for `size`."""
    names, index, counts = np.unique(strata, return_inverse=True, return_counts=True)
    merged = np.where(counts[index] < 2, len(names), index)
    values, counts = np.unique(merged, return_counts=True)
    if counts.min() < 2:
        rare = np.isin(merged, values[counts < 2])
        merged = np.where(rare, values[counts.argmax()], merged)
    is_drawable = len(np.unique(merged)) <= min(size, len(strata) - size)
    return merged if is_drawable else None


# --- duplicates

# Comparisons of shingles before the search ends with lower bounds: a number, and a number for
# each token. A comparison takes about 20 nanoseconds.
WORK, WORK_PER_TOKEN = 500_000_000, 50
BLOCK = 1 << 22  # comparisons at once: a bound on memory
SHINGLE = 5  # words
BLOCK_TOKENS = 1 << 18  # tokens read at once
MAX_BITS = 28  # of a hash: it tells a shingle that occurs once from those that repeat
PRIME = np.uint64(0x9E3779B97F4A7C15)


def digest(text: str) -> bytes:
    """Return the digest of a text."""
    # two of a million different texts have the same 16 bytes with a probability of 1.5e-27
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def number_texts(digests: Sequence[bytes]) -> np.ndarray:
    """Return a number for each digest of a text, the same for equal ones, (texts,)."""
    return pd.factorize(np.asarray(digests, object))[0]


def find_duplicates(
    texts: list[np.ndarray], columns: dict[str, np.ndarray], drop: bool
) -> tuple[np.ndarray, dict[str, int]]:
    """Find the documents that `drop_duplicates` drops, (documents,), and count the duplicates.

    Two documents are duplicates when their texts of any language are equal. `texts` has for each
    language the number of each document's text, the same for equal texts. `columns` are the split
    columns; of folds there are several: (documents,) each. `drop` drops training documents whose
    text is in another split too. With folds every document is tested, and the first of equal
    documents is kept.
    """
    by_language = [*map(pd.Series, texts)]

    def among(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Find the documents of `rows` with a text of `others`, (documents,)."""
        found = [numbers.isin(numbers[others]) for numbers in by_language]
        return rows & np.logical_or.reduce(found)

    repeated = np.logical_or.reduce([numbers.duplicated() for numbers in by_language])
    dropped = np.zeros(len(repeated), bool)
    if drop and len(columns) > 1:
        dropped = repeated
    elif drop:
        (column,) = columns.values()
        dropped = among(column == "train", column != "train")
    shared = max(int(among(split == "test", split == "train").sum()) for split in columns.values())
    counts = int(repeated.sum()), shared, int(dropped.sum())
    return dropped, dict(zip(("texts", "test_texts_in_train", "dropped"), counts, strict=True))


def shingle_blocks(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the sets of shingles of some documents: the document and the hash of each shingle."""
    words_of_types = [w.casefold() if any(map(str.isalnum, w)) else None for w in lexicon]
    word_of_type, numbers = pd.factorize(np.asarray(words_of_types, object))
    # the last hash is not of a word: a document of one to four words is filled up to five by it
    hashes = mix_bits(np.arange(1, len(numbers) + 2, dtype=np.uint64) * PRIME)
    for part in _blocks(np.diff(offsets), BLOCK_TOKENS):
        here = offsets[part.start : part.stop + 1]
        words = word_of_type[ids[here[0] : here[-1]]]
        documents = np.repeat(np.arange(part.start, part.stop), np.diff(here))[words >= 0]
        words = words[words >= 0]
        short, counts = np.unique(documents, return_counts=True)
        fill = np.repeat(short, np.maximum(SHINGLE - counts, 0))
        order = np.argsort(np.concatenate([documents, fill]), kind="stable")
        documents = np.concatenate([documents, fill])[order]
        words = np.concatenate([words, np.full(len(fill), -1)])[order]
        count = max(0, len(words) - SHINGLE + 1)
        shingles = np.zeros(count, np.uint64)
        for i in range(SHINGLE):
            shingles = shingles * PRIME + hashes[words[i : i + count]]
        is_within = documents[:count] == documents[SHINGLE - 1 :]  # not of two documents
        documents, shingles = documents[:count][is_within], shingles[is_within]
        is_first = ~_duplicated(mix_bits(documents.astype(np.uint64)) ^ shingles)
        yield documents[is_first], shingles[is_first]


def _duplicated(values: np.ndarray) -> np.ndarray:
    return pd.Series(values).duplicated().to_numpy()


def shingle_matrix(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str]
) -> tuple[scipy.sparse.csr_matrix, np.ndarray]:
    """Return repeated shingles, 1 in (documents, shingles), and the shingles of each document."""
    bits = min(MAX_BITS, 2 + math.ceil(math.log2(len(ids) + 2)))
    occurs, repeats = np.zeros(1 << bits, bool), np.zeros(1 << bits, bool)  # by hash
    shift = np.uint64(64 - bits)
    documents = len(offsets) - 1
    sizes = np.zeros(documents, np.int64)
    for rows, shingles in shingle_blocks(ids, offsets, lexicon):
        sizes += np.bincount(rows, minlength=documents)
        keys = shingles >> shift
        repeats[keys[occurs[keys] | _duplicated(keys)]] = True
        occurs[keys] = True
    blocks = [(np.zeros(0, np.int64), np.zeros(0, np.uint64))]
    for rows, shingles in shingle_blocks(ids, offsets, lexicon):
        kept = repeats[shingles >> shift]
        kept &= (5 * np.bincount(rows, kept, documents) >= 4 * sizes)[rows]
        blocks.append((rows[kept], shingles[kept]))
    rows, shingles = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
    columns, names = pd.factorize(shingles)
    ones = np.ones(len(rows), np.int32)
    return scipy.sparse.csr_matrix((ones, (rows, columns)), (documents, len(names))), sizes


def find_near_duplicates(
    ids: np.ndarray, offsets: np.ndarray, lexicon: list[str], columns: dict[str, np.ndarray],
    title: str = "near duplicates",
) -> tuple[list[np.ndarray], bool]:  # fmt: skip
    """Find the test documents with a near duplicate in train, (documents,), by split column.

    Also returns whether all are found. The result is the same on every machine: what bounds the
    search is counted, not timed. `ids` are indices in `lexicon` of the tokens of all documents,
    (tokens,), `offsets` the first token of each document, (documents + 1,).
    """
    with progress_bar(title) as bar:
        matrix, sizes = shingle_matrix(ids, offsets, lexicon)
        work = WORK + WORK_PER_TOKEN * len(ids)
        results = [_search(matrix, sizes, column, work, bar) for column in columns.values()]
    documents, is_complete = zip(*results, strict=True)
    return list(documents), all(is_complete)


def _search(
    matrix: scipy.sparse.csr_matrix, sizes: np.ndarray, column: np.ndarray, work: int, bar: Bar
) -> tuple[np.ndarray, bool]:
    """Find test documents with a near duplicate in train, (documents,); whether `work` sufficed."""
    has_duplicate = np.zeros(len(column), bool)
    train, test = np.flatnonzero(column == "train"), np.flatnonzero(column == "test")
    of_train = matrix[train]
    comparisons = matrix[test] @ np.asarray(of_train.sum(0)).ravel()
    order = np.argsort(comparisons, kind="stable")
    order = order[comparisons[order] > 0]
    done = int(np.searchsorted(np.cumsum(comparisons[order]), work, "right"))
    transposed = of_train.T.tocsr()
    for block in _blocks(comparisons[order[:done]], BLOCK):
        bar.update(block.stop, done, "comparing")
        rows = test[order[block]]
        common = (matrix[rows] @ transposed).tocoo()
        a, b = rows[common.row], train[common.col]
        # 5 |A and B| >= 4 |A or B|
        has_duplicate[a[9 * common.data >= 4 * (sizes[a] + sizes[b])]] = True
    return has_duplicate, done == len(order)


def _blocks(sizes: np.ndarray, limit: int) -> Iterator[slice]:
    """Yield slices of neighbours whose sizes sum up to a limit at most, or of one."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + limit, "right")))
        yield slice(start, stop)
        start = stop

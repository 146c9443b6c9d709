"""Assign documents to train, validation and test: once per corpus, with the seed of its split."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, train_test_split

from heed.files import HeedError

if TYPE_CHECKING:
    from heed.study import Split


def split_columns(
    split: "Split", strata: np.ndarray, groups: np.ndarray, source_split: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the split columns of documents.parquet, each (documents,) of train, validation, test.

    Args:
        split: the kind of the split, its sizes and its seed.
        strata: the label, or all labels joined, of each document.
        groups: the group of each document.
        source_split: the part of each document in its source, for kind given.

    Raises:
        HeedError: the corpus has too few documents for this split.

    """
    documents = np.arange(len(strata))
    if split.kind == "folds":
        assert split.k
        return {
            f"split_{fold}": _assign_parts(split, strata, test, seed=split.seed + fold)
            for fold, test in enumerate(_folds(split, strata, groups))
        }
    if split.kind == "given":
        if (source_split == "validation").any():
            return {"split": source_split.astype(object)}
        test = np.flatnonzero(source_split == "test")
        return {"split": _assign_parts(split, strata, test, split.seed)}
    assert split.test is not None
    if isinstance(split.test, int) and split.test >= len(documents):
        raise HeedError(
            f"params.yaml: split.test: expected fewer than the {len(documents):,} documents of the "
            f"corpus, found {split.test:,}"
        )
    test = _draw(documents, split.test, strata, split)
    return {"split": _assign_parts(split, strata, test, split.seed)}


def _folds(split: "Split", strata: np.ndarray, groups: np.ndarray) -> list[np.ndarray]:
    """Return the test documents of each fold."""
    assert split.k
    if split.k > len(strata):
        raise HeedError(f"params.yaml: split.k: {split.k} folds of {len(strata)} documents")
    options = {"n_splits": split.k, "shuffle": True, "random_state": split.seed}
    splitter = (
        StratifiedGroupKFold if split.grouped else StratifiedKFold if split.stratify else KFold
    )
    with warnings.catch_warnings():
        # a label with fewer documents than folds: some folds have none of them in their test part
        warnings.simplefilter("ignore", UserWarning)
        return [test for _, test in splitter(**options).split(strata, strata, groups)]


def _assign_parts(split: "Split", strata: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    """Return the part of each document: `test` is given, validation is drawn from the others."""
    column = np.full(len(strata), "train", object)
    column[test] = "test"
    train = np.flatnonzero(column == "train")
    if len(train) < 2 or not len(test):
        raise HeedError(
            f"the split leaves {len(train)} documents to train and {len(test)} to test; change it "
            "in params.yaml"
        )
    column[_draw(train, split.validation, strata, split, seed)] = "validation"
    return column


def _draw(
    documents: np.ndarray, share: float, strata: np.ndarray, split: "Split", seed: int | None = None
) -> np.ndarray:
    """Return a random share (or number) of the documents, sorted.

    With `stratify` the strata keep their proportions; strata of one document are drawn as one. It
    is ignored when there are more strata than documents in one of the two parts.
    """
    size = share if isinstance(share, int) else max(1, round(share * len(documents)))
    if size >= len(documents):
        raise HeedError(
            f"params.yaml: split: {size:,} of {len(documents):,} documents are for test or "
            "validation, which leaves none to train on: make that share smaller"
        )
    stratify = None
    if split.stratify:
        names, index, counts = np.unique(strata[documents], return_inverse=True, return_counts=True)
        is_rare = counts < 2
        stratify = np.where(is_rare[index], len(names), index)
        values, counts = np.unique(stratify, return_counts=True)
        if counts.min() < 2 or len(values) > min(size, len(documents) - size):
            stratify = None if counts.min() >= 2 else _merge_rare_strata(stratify)
            if stratify is not None and len(np.unique(stratify)) > min(size, len(documents) - size):
                stratify = None
    seed = split.seed if seed is None else seed
    _, drawn = train_test_split(documents, test_size=size, random_state=seed, stratify=stratify)
    return np.sort(drawn)


def _merge_rare_strata(strata: np.ndarray) -> np.ndarray:
    """Return the strata with those of a single document merged into the largest."""
    values, counts = np.unique(strata, return_counts=True)
    return np.where(np.isin(strata, values[counts < 2]), values[counts.argmax()], strata)

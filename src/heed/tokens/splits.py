"""Which documents train, validate and test: drawn once a corpus, with the corpus's own seed."""

import warnings
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import KFold, StratifiedGroupKFold, StratifiedKFold, train_test_split

from heed.files import HeedError

if TYPE_CHECKING:
    from heed.study import Split


def split_columns(
    split: "Split", strata: np.ndarray, groups: np.ndarray, given: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the split columns of documents.parquet, each (documents,) of train, validation, test.

    Args:
        split: what to draw.
        strata: the label, or all labels joined, of each document.
        groups: the group of each document.
        given: the source's own split, for kind given.

    """
    documents = np.arange(len(strata))
    if split.kind == "folds":
        assert split.k
        return {
            f"split_{fold}": _parts(split, strata, test, seed=split.seed + fold)
            for fold, test in enumerate(_folds(split, strata, groups))
        }
    if split.kind == "given":
        if (given == "validation").any():
            return {"split": given.astype(object)}
        return {"split": _parts(split, strata, np.flatnonzero(given == "test"), split.seed)}
    test = split.test
    assert test is not None
    if isinstance(test, int) and test >= len(documents):
        raise HeedError(
            f"params.yaml: split.test: {test:,} test documents asked for, the corpus has "
            f"{len(documents):,}"
        )
    return {"split": _parts(split, strata, _draw(documents, test, strata, split), split.seed)}


def _folds(split: "Split", strata: np.ndarray, groups: np.ndarray) -> list[np.ndarray]:
    """Return the test documents of each fold."""
    assert split.k
    if split.k > len(strata):
        raise HeedError(f"params.yaml: split.k: {split.k} folds of {len(strata)} documents")
    options = {"n_splits": split.k, "shuffle": True, "random_state": split.seed}
    kind = StratifiedGroupKFold if split.grouped else StratifiedKFold if split.stratify else KFold
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # a class with fewer members than folds: some fold tests none of it
        return [test for _, test in kind(**options).split(strata, strata, groups)]


def _parts(split: "Split", strata: np.ndarray, test: np.ndarray, seed: int) -> np.ndarray:
    """Return the column for these test documents, with the validation part drawn from the
    others.
    """
    column = np.full(len(strata), "train", object)
    column[test] = "test"
    train = np.flatnonzero(column == "train")
    if len(train) < 2 or not len(test):
        raise HeedError(
            f"the split leaves {len(train)} documents to train and {len(test)} to test; mend it "
            "in params.yaml"
        )
    column[_draw(train, split.validation, strata, split, seed)] = "validation"
    return column


def _draw(
    documents: np.ndarray, share: float, strata: np.ndarray, split: "Split", seed: int | None = None
) -> np.ndarray:
    """Return a share (or number) of the documents.

    A stratum with one member stands with the other rare ones.
    """
    size = share if isinstance(share, int) else max(1, round(share * len(documents)))
    stratify = None
    if split.stratify:
        names, at, counts = np.unique(strata[documents], return_inverse=True, return_counts=True)
        rare = counts < 2
        stratify = np.where(rare[at], len(names), at)
        values, counts = np.unique(stratify, return_counts=True)
        if counts.min() < 2 or len(values) > min(size, len(documents) - size):
            stratify = None if counts.min() >= 2 else _joined(stratify)
            if stratify is not None and len(np.unique(stratify)) > min(size, len(documents) - size):
                stratify = None
    seed = split.seed if seed is None else seed
    _, drawn = train_test_split(documents, test_size=size, random_state=seed, stratify=stratify)
    return np.sort(drawn)


def _joined(strata: np.ndarray) -> np.ndarray:
    """Return the strata with the single member of the rare ones put into the largest."""
    values, counts = np.unique(strata, return_counts=True)
    return np.where(np.isin(strata, values[counts < 2]), values[counts.argmax()], strata)

"""Documents are drawn for train, validation and test: with their labels, whole groups, one seed."""

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.corpora.publication import RawDocument
from heed.files import HeedError
from heed.study import Split
from heed.tokens.splits import (
    DocumentLabels,
    describe_missing_values,
    require_learnable,
    split_columns,
)
from tests.conftest import cases

CASES = cases(__file__)
STRATA = np.array(["a"] * 60 + ["b"] * 39 + ["c"])


def columns(split: Split, strata=STRATA, groups=None, source_split=None):
    groups = np.arange(len(strata)).astype(str) if groups is None else groups
    source_split = np.full(len(strata), "") if source_split is None else source_split
    return split_columns(split, strata, groups, source_split)


def learn(split: Split, documents: list[RawDocument]) -> None:
    labels = DocumentLabels.read(documents)
    require_learnable(labels.labels, columns(split, labels.strata, labels.groups))


NAMES = st.sampled_from(["", "a", "B", "ä", "a b", "b", "\U0001f642", "\uffee"])


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.tuples(NAMES, NAMES, NAMES, st.sampled_from(["train", "test"]))))
def test_numbers_of_labels_and_groups_are_in_the_order_of_their_names(rows):
    def numbers(names: list[str]) -> list[int]:
        return [sorted(set(names)).index(name) for name in names]

    numbered = enumerate(rows)
    read = (RawDocument(str(i), "", {"x": x, "y": y}, *rest) for i, (x, y, *rest) in numbered)
    labels = DocumentLabels.read(read)
    assert list(labels.strata) == numbers([f"{x}\x1f{y}" for x, y, *_ in rows])
    assert list(labels.groups) == numbers([group for _, _, group, _ in rows])
    assert list(labels.published_split) == [split for *_, split in rows]
    if rows:
        assert list(labels.labels["y"]) == [y for _, y, *_ in rows]
        counts = Counter(x for x, *_ in rows), Counter(y for _, y, *_ in rows)
        assert labels.counts == {"x": counts[0], "y": counts[1]}
        assert [list(each) for each in labels.counts.values()] == [sorted(each) for each in counts]


def missing(columns: dict[str, list[str]], *labels: str) -> list[str]:
    read = DocumentLabels.read(RawDocument(str(i), "", {"x": x}) for i, x in enumerate(labels))
    arrays = {name: np.asarray(column, object) for name, column in columns.items()}
    return [*describe_missing_values(read, arrays, np.ones(len(labels), bool))]


TRAIN, VALIDATION, TEST = "train", "validation", "test"


def test_classes_that_a_split_has_no_document_of_are_named():
    split = {"split": [TRAIN, TRAIN, VALIDATION, TEST]}
    assert missing(split, *"aaaa") == []
    validation, test = missing(split, *"abaa")
    assert validation.startswith("label 'x': no validation document has the class 'b': no epoch")
    assert test.startswith("label 'x': no test document has the class 'b': nothing is tested on it")
    (train,) = [line for line in missing(split, *"aaab") if "training" in line]
    assert "no training document has the class 'b': no model learns it. Add documents" in train
    folds = {"split_0": [TRAIN, VALIDATION, TEST, TEST], "split_1": [TEST, TEST, TRAIN, VALIDATION]}
    found = missing(folds, *"aabb")
    assert "no test document has the class 'a' (fold 0), 'b' (fold 1): nothing" in found[-1]
    many = {"split": [TRAIN] * 12 + [VALIDATION, TEST]}
    (_, test) = missing(many, *"abcdefghijklaa")
    assert "'b', 'c', 'd', 'e', 'f' and 6 more: nothing" in test


def test_a_random_split_has_the_requested_sizes_and_the_same_documents_for_the_same_seed():
    split = Split(kind="random", test=20, validation=0.25)
    column = columns(split)["split"]
    assert Counter(column) == {"train": 60, "validation": 20, "test": 20}
    assert Counter(STRATA[column == "test"])["a"] == 12, "stratified"
    assert (column == columns(split)["split"]).all()
    assert (column != columns(dataclasses.replace(split, seed=2))["split"]).any()
    assert Counter(columns(Split(kind="random", test=0.1))["split"])["test"] == 10


def test_folds_test_every_document_once_with_the_proportions_of_its_labels():
    folds = columns(Split(kind="folds", k=5))
    assert sorted(folds) == [f"split_{fold}" for fold in range(5)]
    tested = np.sum([column == "test" for column in folds.values()], axis=0)
    assert (tested == 1).all()
    assert all(Counter(STRATA[column == "test"])["a"] == 12 for column in folds.values())


@pytest.mark.parametrize("grouped", [False, True])
def test_repeats_divide_the_documents_again_and_keep_the_first_folds(grouped):
    groups = np.repeat(np.arange(25), 4).astype(str)
    both = (Split(kind="folds", k=5, repeats=each, grouped=grouped) for each in (1, 3))
    once, thrice = (columns(split, groups=groups) for split in both)
    assert [*thrice] == [f"split_{fold}" for fold in range(15)]
    assert all((thrice[name] == column).all() for name, column in once.items())
    tests = np.stack([column == "test" for column in thrice.values()]).reshape(3, 5, -1)
    assert (tests.sum(axis=1) == 1).all(), "each repeat tests each document once"
    folds = [{fold.tobytes() for fold in repeat} for repeat in tests]
    assert not folds[0] & folds[1] | folds[0] & folds[2] | folds[1] & folds[2]
    split_twice = [{*column[groups == "0"]} for column in thrice.values()]
    assert grouped == all(len(each) == 1 for each in split_twice)


@pytest.mark.parametrize("stratify", [True, False])
def test_repeats_divide_groups_of_unequal_size_and_label_anew(stratify):
    generator = np.random.default_rng(0)
    sizes, label = generator.permutation(np.arange(20, 220, 10)), generator.random(20) < 0.4
    groups, strata = np.repeat(np.arange(20), sizes), np.repeat(label, sizes)
    split = Split(kind="folds", k=5, repeats=5, grouped=True, stratify=stratify)
    found = columns(split, strata=strata, groups=groups)
    tests = np.stack([column == "test" for column in found.values()])
    assert len(np.unique(tests, axis=0)) == 25, "no two repeats have the same fold"
    assert (tests.reshape(5, 5, -1).sum(axis=1) == 1).all(), "each repeat tests each document once"
    assert tests.sum(axis=1).min() > 0.1 * len(groups), "no fold is very small"
    for group in range(20):
        assert {*tests[:, groups == group].sum(axis=1)} == {0, sizes[group]}, "groups are whole"


@pytest.mark.parametrize(("grouped", "what"), [(True, "5 groups"), (False, "5 documents")])
def test_repeats_that_would_share_a_fold_are_refused(grouped, what):
    groups = np.repeat(np.arange(5), 4) if grouped else np.arange(5)
    split = Split(kind="folds", k=5, repeats=2, grouped=grouped, stratify=False)
    with pytest.raises(HeedError, match=f"split.repeats: {what} are too few to draw 5 folds 2 tim"):
        columns(split, strata=np.zeros(len(groups), int), groups=groups)


def test_grouped_folds_keep_groups_together_in_test_and_validation():
    groups = np.repeat(np.arange(25), 4).astype(str)
    split = Split(kind="folds", k=5, grouped=True, validation=0.25)
    for column in columns(split, groups=groups).values():
        splits = [{*groups[column == split]} for split in (TRAIN, VALIDATION, TEST)]
        assert all(splits) and sum(map(len, splits)) == 25
        assert Counter(column)["validation"] == pytest.approx(20, abs=4)


@pytest.mark.parametrize(("splits", "message"), [
    (["train"] * 80 + ["validation"] * 20, "found 80 train, 20 validation, 0 test"),
    (["test"] * 80 + ["validation"] * 20, "found 0 train, 20 validation, 80 test"),
    (["train"] * 100, "found 100 train, 0 validation, 0 test"),
])  # fmt: skip
def test_a_given_split_without_a_part_is_an_error(splits, message):
    with pytest.raises(HeedError, match=f"needs documents to train and to test, {message}"):
        columns(Split(kind="given"), source_split=np.asarray(splits, object))


@pytest.mark.parametrize(("split", "labels", "message"), CASES["too_small"])
def test_a_corpus_that_is_too_small_or_has_nothing_to_learn_is_an_error(split, labels, message):
    documents = [RawDocument(str(i), "a", {"label": name}) for i, name in enumerate(labels)]
    with pytest.raises(HeedError, match=message):
        learn(Split(**split), documents)


def test_a_given_split_is_kept_and_validation_is_drawn_from_train():
    source_split = np.array(["train"] * 80 + ["test"] * 20, object)
    column = columns(Split(kind="given", validation=0.1), source_split=source_split)["split"]
    assert Counter(column) == {"train": 72, "validation": 8, "test": 20}
    assert (column[80:] == "test").all()
    source_split[:5] = "validation"
    assert (columns(Split(kind="given"), source_split=source_split)["split"] == source_split).all()

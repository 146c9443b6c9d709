"""Duplicates, exact and near: a comparison of all pairs finds no others; the time is bounded."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.tokens import splits
from heed.tokens.splits import digest, find_near_duplicates, number_texts
from tests.conftest import cases

CASES = cases(__file__)
SPLITS = ("train", "train", "validation", "test")


def count(texts: list[list[str]], *columns: list[str]) -> tuple[list[int], bool]:
    """Return the test documents with a near duplicate in train, by column; and whether all."""
    lexicon: dict[str, int] = {}
    ids = [lexicon.setdefault(word, len(lexicon)) for text in texts for word in text]
    offsets = np.cumsum([0, *map(len, texts)])
    split = {f"split_{i}": np.asarray(column, object) for i, column in enumerate(columns)}
    words = np.asarray(ids, np.int32), offsets, [*lexicon]
    found, is_complete = find_near_duplicates(*words, split)
    return [int(column.sum()) for column in found], is_complete


def compare_all_pairs(texts: list[list[str]], column: list[str]) -> int:
    """Return the same number by the definition alone."""
    words = [[w.casefold() for w in text if re.search(r"\w", w)] for text in texts]
    sets = [{tuple(w[i : i + 5]) for i in range(max(1, len(w) - 4))} - {()} for w in words]
    known = [grams for grams, split in zip(sets, column, strict=True) if split == "train"]
    tested = [grams for grams, split in zip(sets, column, strict=True) if split == "test"]
    return sum(any(len(a & b) / len(a | b) >= 0.8 for b in known) for a in tested if a)


@st.composite
def corpora_with_copies(draw: st.DrawFn) -> tuple[list[list[str]], list[list[str]]]:
    """Draw texts that are copies of a few, with some words changed, and two columns of splits."""
    word = st.sampled_from("ABCdefgh.,")
    originals = draw(st.lists(st.lists(word, max_size=30), min_size=1, max_size=4))
    texts = []
    for _ in range(draw(st.integers(2, 25))):
        text = list(draw(st.sampled_from(originals)))
        for _ in range(draw(st.integers(0, 2)) if text else 0):
            text[draw(st.integers(0, len(text) - 1))] = draw(st.sampled_from("abXY!"))
        texts.append(text)
    split = st.lists(st.sampled_from(SPLITS), min_size=len(texts), max_size=len(texts))
    return texts, [draw(split), draw(split)]


@settings(max_examples=150, deadline=None)
@given(drawn=corpora_with_copies(), bits=st.sampled_from([1, 6, 28]))
def test_the_number_is_that_of_a_comparison_of_all_pairs(drawn, bits):
    texts, columns = drawn
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(splits, "BLOCK", 10)
        patch.setattr(splits, "BLOCK_TOKENS", 40)
        patch.setattr(splits, "MAX_BITS", bits)
        result = count(texts, *columns)
    assert result == ([compare_all_pairs(texts, column) for column in columns], True)


@pytest.mark.parametrize(("other", "is_near"), CASES["near_duplicates"])
def test_what_is_a_near_duplicate(other, is_near):
    text = "the quick brown fox jumps over the lazy dog today"
    assert count([text.split(), other.split()], ["train", "test"]) == ([int(is_near)], True)


@pytest.mark.parametrize("text", ["fine", "a b c d"])
def test_a_text_of_less_than_five_words_is_a_near_duplicate_of_its_copies_alone(text):
    copies = [text.split(), text.upper().split(), [*text.split(), "more"], ["🙂"], ["🙂"], []]
    assert count(copies, ["train", "test", "test", "train", "test", "test"])[0] == [1]


def test_the_search_ends_with_a_lower_bound_where_it_would_take_too_long(monkeypatch):
    generator = np.random.default_rng(0)
    texts = np.tile(np.arange(60).astype("U9"), (3000, 1))
    texts[:, [7, 20, 33, 50]] = generator.integers(100, 110, (3000, 4)).astype("U9")
    column = ["train", "test"] * 1500
    complete = count(texts.tolist(), column)
    monkeypatch.setattr(splits, "WORK", 1_000_000)
    monkeypatch.setattr(splits, "WORK_PER_TOKEN", 0)
    bounded = count(texts.tolist(), column)
    assert complete[1] and not bounded[1]
    assert bounded[0][0] < complete[0][0] <= 1500


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.sampled_from(["", "a", "b", "ä\n", "a" * 999])))
def test_equal_texts_have_equal_numbers(texts):
    numbers = number_texts([*map(digest, texts)]).tolist()
    assert len({*zip(texts, numbers, strict=True)}) == len({*texts}) == len({*numbers})

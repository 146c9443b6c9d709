"""Hashed n-grams depend only on the word; hashed TF-IDF equals scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from heed.inputs.batches import CHARACTERS, bigrams, character_ngrams
from heed.inputs.tfidf import ANALYZERS, HashedTfIdf, analyzer_names


def test_a_bigram_is_a_word_and_the_one_before_it():
    ids = np.array([[5, 6, 5, 6], [6, 5, 6, 0]])
    token_mask = np.array([[True] * 4, [True, True, True, False]])
    rows = bigrams(ids, token_mask, 10**9)
    assert rows[0, 1] == rows[0, 3] == rows[1, 2] and rows[0, 2] == rows[1, 1], "5 6 anywhere"
    assert len({rows[0, 0], rows[0, 1], rows[0, 2], rows[1, 0]}) == 4, "a first word has a start"
    assert rows[1, 3] == 0 and (rows[token_mask] > 0).all()
    small = bigrams(np.arange(10_000)[None], np.ones((1, 10_000), bool), 10)
    assert set(np.unique(small)) == set(range(1, 11))
    assert np.bincount(small[0])[1:].min() > 850, "rows are used evenly"


@settings(max_examples=60, deadline=None)
@given(words=st.lists(st.text(min_size=1, max_size=9), min_size=0, max_size=6))
def test_a_words_character_ngrams_do_not_depend_on_its_neighbours(words):
    together = character_ngrams(words, 1000)
    assert len(together.offsets) == len(words) + 1 and together.offsets[-1] == len(together.ids)
    for i, word in enumerate(words):
        rows = together.ids[together.offsets[i] : together.offsets[i + 1]]
        assert rows.tolist() == character_ngrams([word], 1000).ids.tolist()
        assert len(rows) == sum(max(0, len(word) + 2 - n + 1) for n in CHARACTERS)
    if words:
        types = np.array([len(words) - 1, 0])
        rows, begin = together.look_up(types)
        assert rows[: begin[1]].tolist() == together.ids[together.offsets[types[0]] :].tolist()
        assert rows[begin[1] :].tolist() == together.ids[: together.offsets[1]].tolist()


TEXTS = ["the cat sat", "the dog sat down", "a cat and a dog", "the end", "cat cat dog"] * 3 + [
    "once only words"
]


@pytest.mark.parametrize("kind", ANALYZERS)
def test_hashed_tfidf_has_the_numbers_of_scikit_learns_own(kind):
    hashed = HashedTfIdf(kind, 2**20)
    hashed.fit(TEXTS)
    vectorizer = TfidfVectorizer(**ANALYZERS[kind], sublinear_tf=True, min_df=2)
    expected = vectorizer.fit_transform(TEXTS)
    features = hashed.transform(TEXTS)
    assert features.dtype == np.float32
    for row in range(len(TEXTS)):
        values = np.sort(features[row].data), np.sort(expected[row].data)
        assert values[0] == pytest.approx(values[1], abs=1e-6)
    again = HashedTfIdf(kind, 2**20, hashed.idf)
    assert (again.transform(["the cat", ""]) != hashed.transform(["the cat", ""])).nnz == 0


def test_both_analyzers_have_their_own_columns():
    features = HashedTfIdf("both", 64)
    features.fit(TEXTS)
    assert features.transform(TEXTS).shape == (len(TEXTS), 128)
    assert analyzer_names("both") == ("words", "characters")

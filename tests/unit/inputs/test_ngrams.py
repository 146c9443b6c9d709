"""Hashed n-grams depend only on the word."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.inputs.batches import CHARACTERS, character_ngrams


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

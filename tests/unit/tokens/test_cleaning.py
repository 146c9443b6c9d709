"""Each kind of damage has one treatment, and spans of rationale move with the words they mark."""

import pytest

from heed.files import HeedError
from heed.tokens.tokenizer import clean, clean_spans
from tests.conftest import cases
from tests.hostile import HOSTILE

CASES = cases(__file__)


@pytest.mark.parametrize(("text", "expected", "counts"), HOSTILE)
def test_each_damage_has_one_treatment_that_is_counted(text, expected, counts):
    assert clean(text) == (expected, counts)


def spans_of_words(text: str) -> list[tuple[int, int]]:
    """Return the span from "splen" to the end of the text, and one before it where there is."""
    start = text.index("splen")
    return [(start, len(text)), *([(0, start)] if start else [])]


@pytest.mark.parametrize("text", CASES["raw"].values(), ids=CASES["raw"])
def test_a_span_has_the_same_words_before_and_after_cleaning(text):
    spans, cleaned = spans_of_words(text), clean(text)[0]
    moved = clean_spans(text, spans, cleaned, "here")
    assert len(moved) == len(spans)
    for (start, end), (first, last) in zip(spans, moved, strict=True):
        assert cleaned[first:last].split() == clean(text[start:end])[0].split()
    assert cleaned[moved[0][0] :].startswith("splen"), "and begins at the same word"
    assert moved[0][1] == len(cleaned)


@pytest.mark.parametrize(("text", "span"), [
    ("good <br />film", (7, 15)), ("cafe\u0301", (4, 5)), ("a <br /> fine", (0, 5)),
])  # fmt: skip
def test_a_span_that_cuts_what_cleaning_takes_for_one_character_is_an_error(text, span):
    with pytest.raises(HeedError, match=f"here: the rationale {span[0]}-{span[1]} begins or ends"):
        clean_spans(text, [span], clean(text)[0], "here")


def test_rationale_that_is_not_in_the_cleaned_text_is_left_out():
    mark = "fi\u200fne"
    assert clean_spans(mark, [(2, 3)], clean(mark)[0], "here") == ()
    text = "one\x00two three"
    spans = [(0, 3), (4, 7), (8, 13)]
    assert clean_spans(text, spans, clean(text, 6)[0], "here") == ((0, 3), (4, 6))
    assert clean_spans(text, spans, clean(text, 8)[0], "here") == ((0, 3), (4, 7))

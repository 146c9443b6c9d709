"""Tokens are slices of the text, sentences are spaCy's, and processes do not change a byte."""

import functools
import multiprocessing
import pkgutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heed.files import HeedError
from heed.tokens import tokenizer
from heed.tokens.meta import TOKENIZERS
from heed.tokens.tokenizer import clean, tokenize_chunk, tokenize_chunks

if TYPE_CHECKING:
    from spacy.language import Language

NEEDED_PACKAGES = ("ja", "ko", "th", "vi")  # of spaCy, which heed does not install


def words(text: str, name: str) -> list[tuple[str, int, int]]:
    lexicon, ids, starts, ends, *_ = tokenize_chunk([text], name)
    return [*zip((lexicon[i] for i in ids), starts.tolist(), ends.tolist(), strict=True)]


@settings(max_examples=150, deadline=None)
@example(text="a<BR\u202a>b<br\x01/>c<b\x81r>d")
@given(
    text=st.one_of(
        st.text(max_size=80),
        st.binary(max_size=80),
        st.text(alphabet="\x00\x85\u202e\ud800 \n<br>.é🙂\u00a0", max_size=40),
    )
)
@pytest.mark.parametrize("name", ["xx", "whitespace"])
def test_cleaning_is_idempotent_and_tokens_are_slices_of_any_text(name, text):
    cleaned, _ = clean(text)
    assert clean(cleaned)[0] == cleaned
    cleaned.encode("utf-8")
    for word, start, end in words(cleaned, name):
        assert cleaned[start:end] == word and not word.isspace()
    if name == "whitespace":
        assert [word for word, _, _ in words(cleaned, name)] == cleaned.split()


LETTERS = st.sampled_from("aB1 .!?,…。\n\"')(-:;\u00a0¿")
SENTENCES = st.lists(st.text(alphabet=LETTERS, max_size=30), min_size=1, max_size=5)


@functools.cache
def spacy_pipeline(name: str) -> "Language":
    """Return spaCy's tokeniser and Sentencizer: to make them takes longer than all examples."""
    import spacy

    pipeline = spacy.blank(name)
    pipeline.add_pipe("sentencizer")
    return pipeline


def spacy_sentences(texts: list[str], name: str) -> tuple[list[int], list[int]]:
    """Return the first token of each sentence, without white space, and the sentences per document.

    Both are from spaCy's own Sentencizer."""
    starts, counts = [], []
    for doc in spacy_pipeline(name).pipe(texts):
        sentences = [[t.i for t in sentence if not t.is_space] for sentence in doc.sents]
        position = {t.i: i for i, t in enumerate(t for t in doc if not t.is_space)}
        begins = [position[sentence[0]] for sentence in sentences if sentence]
        starts += begins
        counts.append(len(begins))
    return starts, counts


@settings(max_examples=80, deadline=None)
@given(texts=SENTENCES)
@pytest.mark.parametrize("name", ["xx", "en", "de"])
def test_sentences_are_those_of_spacys_sentencizer(name, texts):
    *_, starts, counts = tokenize_chunk(texts, name)
    assert (starts.tolist(), counts.tolist()) == spacy_sentences(texts, name)


def test_a_process_that_is_killed_is_an_error():
    def texts() -> Iterator[list[str]]:
        yield from [["one"]] * (tokenizer.FEW + 1)
        for process in multiprocessing.active_children():
            process.kill()
        yield from [["two " * 20_000]] * 20  # more than a pipe holds: sending waits for a reader

    with pytest.raises(HeedError, match="a process of this command was killed"):
        list(tokenize_chunks(texts(), "xx", 2))


@pytest.mark.parametrize("name", ["xx", "en", "whitespace"])
def test_a_tokenizer_that_has_forgotten_words_makes_the_same_tokens(monkeypatch, name):
    texts = [f"It's Mr. Smith's {i}th e-mail: https://a.org/{i}!" for i in range(30)]
    expected = tokenize_chunk(texts, name)
    monkeypatch.setattr(tokenizer, "MAX_REMEMBERED", 1)
    tokenizer.blank_pipeline.cache_clear()
    for values, others in zip(expected, tokenize_chunk(texts, name), strict=True):
        assert np.array_equal(values, others)


SIGNS = '([{"!#$%&*+,:;<=>?_`€—😀'


def test_a_long_run_of_one_sign_is_cut_into_pieces_and_keeps_its_tokens():
    for sign in SIGNS:
        text = "so " + 600 * sign + " it"
        chunk, alone = tokenize_chunk([text], "en"), tokenizer.blank_pipeline("en").tokenizer(text)
        assert [chunk.lexicon[each] for each in chunk.ids] == [each.text for each in alone]
        assert chunk.starts.tolist() == [each.idx for each in alone]


def test_a_tokenizer_gets_no_piece_with_signs_that_is_longer_than_256(monkeypatch):
    pieces: list[str] = []
    spacy_tokenizer = tokenizer.blank_pipeline("en").tokenizer

    def record(text: str) -> object:
        pieces.extend(text.split())
        return spacy_tokenizer(text)

    monkeypatch.setattr(tokenizer.blank_pipeline("en"), "tokenizer", record)
    word = 3_000 * "x"
    text = f"{100_000 * '('}{word}{1_000 * '!?'} न{300 * 'ि'}{1_000 * ')'}"
    chunk = tokenize_chunk([text], "en")
    assert len(chunk.ids) > 101_000 and word in chunk.lexicon
    found = [text[a:b] for a, b in zip(chunk.starts, chunk.ends, strict=True)]
    assert found == [chunk.lexicon[each] for each in chunk.ids]
    assert max(len(piece) for piece in pieces if word not in piece) <= 301


def test_a_long_word_between_spaces_is_one_token_of_whitespace():
    words = ["so", 200 * "(a)", 300 * "!"]
    chunk = tokenize_chunk([" ".join(words)], "whitespace")
    assert [chunk.lexicon[each] for each in chunk.ids] == words


def test_every_language_of_spacy_is_a_tokenizer_or_needs_a_package():
    import spacy.lang

    languages = {each.name for each in pkgutil.iter_modules(spacy.lang.__path__) if each.ispkg}
    assert languages == {*TOKENIZERS, *NEEDED_PACKAGES} - {"whitespace"}
    assert not {*TOKENIZERS} & {*NEEDED_PACKAGES}

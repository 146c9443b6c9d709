"""Words and pieces: made from the training split alone, and text comes back from them."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.files import HeedError
from heed.hyperparameters.translator import Segmentation
from heed.inputs.pairs import Pieces, Segmenter, make_segmenter, read_segmenter
from heed.inputs.vocabulary import BOS, EOS, PADDING, SPECIAL_OF_PAIRS, UNKNOWN
from heed.tasks.translation.prediction import count_unknown_words
from heed.tokens.arrays import Side
from heed.tokens.tokenizer import tokenize_sentences
from heed.training.checkpoint import whole_run

TRAIN = [
    'A man says "hello there" (and leaves).', "Two dogs, a cat: they don't run.",
    'She says "no" - then (maybe) "yes".', "The man's well-known dog runs; a cat doesn't.",
    "A dog leaves, then a dog runs.",
]  # fmt: skip
TEST = ['The man says "yes" (maybe).', "A zebra runs.", "hello"]
SIDE = tokenize_sentences(TRAIN + TEST, "en")
TRAIN_ROWS, TEST_ROWS = np.arange(len(TRAIN)), np.arange(len(TRAIN), len(TRAIN + TEST))


def make(kind: str = "words", size: int = 1000, side: Side = SIDE, **changes) -> Segmenter:
    return make_segmenter(side, TRAIN_ROWS, size, settings_of(kind, **changes))


def settings_of(kind: str, **changes) -> Segmentation:
    return dataclasses.replace(Segmentation(segmentation=kind), **changes)


every_kind = pytest.mark.parametrize("kind", ["words", "bpe"])
WORDS, BPE = make(), make("bpe", 80)


@every_kind
def test_the_training_part_comes_back_as_it_was(kind):
    segmenter = make(kind)
    for row, ids in zip(TRAIN_ROWS, segmenter.encode(SIDE, TRAIN_ROWS), strict=True):
        assert segmenter.decode(ids) == TRAIN[row] and UNKNOWN not in ids


@every_kind
def test_the_units_do_not_depend_on_the_test_part(kind, tmp_path):
    other = tokenize_sentences([*TRAIN, "Quite other words!", "ßø", ""], "en")
    for side, name in ((SIDE, "one"), (other, "two")):
        make(kind, side=side).write(tmp_path, name)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for name in {name.removeprefix("one") for name in files if name.startswith("one")}:
        assert files[f"one{name}"] == files[f"two{name}"]


@every_kind
def test_units_are_read_as_they_were_written(kind, tmp_path):
    segmenter = make(kind)
    segmenter.write(tmp_path, "source")
    again = read_segmenter(tmp_path, "source", settings_of(kind))
    assert len(again) == len(segmenter)
    for ids in segmenter.encode(SIDE, np.arange(len(TRAIN + TEST))):
        assert again.decode(ids) == segmenter.decode(ids)
        assert again.units(ids) == segmenter.units(ids)


@every_kind
def test_the_first_four_units_are_the_special_ones_and_text_never_becomes_one(kind):
    segmenter = make(kind)
    assert segmenter.units(np.arange(4)) == list(SPECIAL_OF_PAIRS)
    text = tokenize_sentences(["<bos> man <eos> <padding>"], "whitespace")
    (ids,) = segmenter.encode(text, np.asarray([0]))
    assert not {PADDING, BOS, EOS} & {*ids.tolist()}
    framed = np.asarray([BOS, *make_ids(segmenter, "A dog"), EOS, PADDING])
    assert segmenter.decode(framed) == "A dog"


def make_ids(segmenter: Segmenter, text: str) -> list[int]:
    (ids,) = segmenter.encode(tokenize_sentences([text], "en"), np.asarray([0]))
    return ids.tolist()


@every_kind
def test_a_text_without_units_is_one_unknown_unit(kind):
    assert make_ids(make(kind), "") == [UNKNOWN]


def test_two_trainings_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        make("bpe").write(tmp_path, name)
    assert (tmp_path / "one.model").read_bytes() == (tmp_path / "two.model").read_bytes()


def test_a_vocabulary_smaller_than_the_characters_is_one_message():
    with pytest.raises(HeedError, match=r"cannot make 10 pieces of .*vocab_size.* Set source_voc"):
        make("bpe", 10)


def test_a_character_that_training_has_not_seen_is_one_unknown_piece():
    segmenter = make("bpe")
    ids = make_ids(segmenter, "A 中 dog")
    assert ids.count(UNKNOWN) == 1 and segmenter.decode(np.asarray(ids)) == "A <unknown> dog"


@settings(max_examples=60, deadline=None)
@given(ids=st.lists(st.integers(0, len(BPE) - 1), max_size=12))
def test_pieces_belong_to_the_words_of_the_text_that_they_make(ids):
    assert isinstance(BPE, Pieces)
    units, words = np.asarray(ids, np.int64), BPE.words_of(np.asarray(ids, np.int64))
    text = BPE.decode(units).split()
    assert len(words) == len(ids) and (np.diff(words) >= 0).all()
    assert len(words) == 0 or words.max() == max(0, len(text) - 1)
    for i, word in enumerate(text):
        assert BPE.decode(units[words == i]) == word


def test_a_word_of_several_unknown_pieces_is_one_unknown_word():
    side = tokenize_sentences(["A ßaßsß dog ß."], "en")
    row, kinds = np.arange(1), (make("bpe", 80), make("words"))
    (pieces, words) = (segmenter.encode(side, row)[0] for segmenter in kinds)
    assert (pieces == UNKNOWN).sum() == 4 and count_unknown_words(kinds[0], pieces) == 2
    assert (words == UNKNOWN).sum() == count_unknown_words(kinds[1], words) == 2


def test_words_are_ranked_by_frequency():
    small = make(size=6)
    assert len(small) == 6 and small.units(np.arange(4, 6)) == ['"', "."]


def test_lower_case_makes_one_entry_of_words_that_differ_in_case():
    lower = make(lowercase=True)
    assert make_ids(lower, "THE Dog") == make_ids(lower, "the dog")
    assert lower.decode(np.asarray(make_ids(lower, TRAIN[0]))) == TRAIN[0].lower()
    assert len(lower) < len(WORDS)


def test_new_sentences_get_the_spaces_of_the_training_part():
    assert WORDS.decode(WORDS.encode(SIDE, TEST_ROWS)[0]) == TEST[0]
    for text in ('The cat says "they run".', "(maybe) a well-known cat", '"no" "yes" "no"'):
        assert WORDS.decode(np.asarray(make_ids(WORDS, text))) == text


def test_text_that_was_tokenised_already_keeps_a_space_everywhere():
    texts = ["a b , c .", "c , b .", ". a", "b", "c c"]
    side = tokenize_sentences(texts, "whitespace")
    segmenter = make(side=side)
    decoded = [segmenter.decode(ids) for ids in segmenter.encode(side, TRAIN_ROWS)]
    assert decoded == texts


BROKEN = [
    ("words", "x.detokenizer.csv", lambda text: text.replace(b",", b";")),
    ("bpe", "x.model", lambda model: b"no model"),
]


@pytest.mark.parametrize(("kind", "name", "damage"), BROKEN)
def test_units_that_were_changed_are_one_message(tmp_path, kind, name, damage):
    make(kind).write(tmp_path, "x")
    (tmp_path / name).write_bytes(damage((tmp_path / name).read_bytes()))
    with (
        pytest.raises(HeedError, match="not a whole run"),
        whole_run(tmp_path, "heed train"),
    ):
        read_segmenter(tmp_path, "x", settings_of(kind))

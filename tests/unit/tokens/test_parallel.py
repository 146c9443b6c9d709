"""Parallel text: what tokenising writes, which documents it drops, how links are turned round."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.files import HeedError
from heed.study import Corpus, Source, Split
from heed.study.experiments import check_corpus, check_source
from heed.tokens.arrays import ParallelTokens, load_tokens
from heed.tokens.corpus import tokenize

GIVEN, RANDOM = Split(kind="given"), Split(kind="random", test=0.25)
SPLITS = ["train"] * 6 + ["validation"] * 2 + ["test"] * 2
GERMAN = [f"Der Hund Nummer {i} sieht das Haus." for i in range(10)]
ENGLISH = [f"Dog number {i} doesn't see the house." for i in range(10)]


def write_table(raw: Path, **columns: list) -> None:
    raw.mkdir(exist_ok=True)
    pd.DataFrame(columns).to_csv(raw / "pairs.csv", index=False)


def table_corpus(**changes) -> Corpus:
    keys = {"columns": {"de": "german", "en": "english"}, "split_column": "part", "split": GIVEN}
    return Corpus(**({"source": "raw", "kind": "parallel"} | keys | changes))


def make(tmp_path: Path, corpus: Corpus, name: str = "mine") -> ParallelTokens:
    tokenize(name, corpus, tmp_path / "raw", tmp_path / name, 1)
    tokens = load_tokens(tmp_path / name)
    assert isinstance(tokens, ParallelTokens)
    return tokens


def make_pairs(
    tmp_path: Path, german: list[str] = GERMAN, english: list[str] = ENGLISH, **changes
) -> ParallelTokens:
    """Tokenise a table of ten pairs."""
    write_table(tmp_path / "raw", german=german, english=english, part=SPLITS)
    return make(tmp_path, table_corpus(**changes))


def test_a_table_becomes_a_folder_of_arrays_for_each_language(tmp_path):
    tokens = make_pairs(tmp_path, tokenizers={"en": "en"}, tokenizer="de")
    assert list(tokens.sides) == ["de", "en"]
    for language, texts in (("de", GERMAN), ("en", ENGLISH)):
        side = tokens.sides[language]
        assert side.texts(np.arange(10)) == texts
        for row in range(10):
            span = slice(side.offsets[row], side.offsets[row + 1])
            spans = zip(side.starts[span].tolist(), side.ends[span].tolist(), strict=True)
            assert [texts[row][a:b] for a, b in spans] == side.tokens(row)
    assert tokens.sides["en"].tokens(3) == [
        "Dog", "number", "3", "does", "n't", "see", "the", "house", ".",
    ]  # fmt: skip
    assert tokens.meta.languages["en"].tokenizer == "en" and tokens.meta.tokenizer == "de"
    assert tokens.meta.tokens == sum(len(side.ids) for side in tokens.sides.values())
    assert tokens.meta.labels == {} and tokens.alignment("de", "en") is None
    assert tokens.rows("test", 0).tolist() == [8, 9]
    assert tokens.documents(["id", "text_de"]).loc[2].tolist() == ["row/3", GERMAN[2]]


def test_a_pair_with_an_empty_or_too_long_side_is_dropped_and_counted(tmp_path):
    german, english = [*GERMAN], [*ENGLISH]
    german[1], english[2], english[4] = " \x00 ", "", "long " * 20
    tokens = make_pairs(tmp_path, german, english, max_characters=60)
    assert tokens.meta.documents == 7
    cleaned = tokens.meta.cleaned
    assert (cleaned["dropped_empty"], cleaned["dropped_long"]) == (2, 1)
    assert (np.diff(tokens.sides["de"].offsets) > 0).all()


def test_a_text_of_an_optional_language_may_be_empty_and_is_then_no_duplicate(tmp_path):
    german, english = [*GERMAN], [*ENGLISH]
    german[0], english[1], english[4] = "", "", " \x00 "
    changes = {"optional_languages": ["en"], "drop_duplicates": True}
    tokens = make_pairs(tmp_path, german, english, **changes)
    assert tokens.meta.documents == 9 and tokens.meta.cleaned["dropped_empty"] == 1
    assert [tokens.sides["en"].texts(np.arange(9))[row] for row in (0, 3)] == ["", ""]
    assert tokens.meta.duplicates == {"texts": 0, "test_texts_in_train": 0, "dropped": 0}


def test_a_text_of_any_language_that_is_in_train_too_is_a_duplicate(tmp_path):
    german, english = [*GERMAN], [*ENGLISH]
    german[8], english[6] = german[0], english[1]  # a test text, and a validation text
    counts = make_pairs(tmp_path, german, english).meta.duplicates
    assert counts == {"texts": 2, "test_texts_in_train": 1, "dropped": 0}
    tokens = make(tmp_path, table_corpus(drop_duplicates=True), "dropped")
    assert tokens.meta.duplicates["dropped"] == 2
    assert tokens.documents(["id"])["id"].tolist() == [f"row/{i}" for i in range(3, 11)]


LINKS = ["0-0 1-2 2?1", "", "0-0"] + ["0-1 1-0"] * 5


def aligned(tmp_path: Path, links: list[str] = LINKS, **changes) -> ParallelTokens:
    source = [f"a{i} b{i} c{i}" for i in range(len(links))]
    target = [f"x{i} y{i} z{i}" for i in range(len(links))]
    write_table(tmp_path / "raw", xx=source, yy=target, links=links)
    columns = {"xx": "xx", "yy": "yy", "xx-yy": "links"}
    keys = {"columns": columns, "split": RANDOM, "split_column": None, "tokenizer": "whitespace"}
    return make(tmp_path, table_corpus(**(keys | {"alignment_base": 0} | changes)))


def test_links_are_read_turned_round_and_unknown_where_the_cell_is_empty(tmp_path):
    tokens = aligned(tmp_path)
    forward, backward = tokens.alignment("xx", "yy"), tokens.alignment("yy", "xx")
    sure, possible = {(0, 0), (1, 2)}, {(0, 0), (1, 2), (2, 1)}
    assert forward[0] == (sure, possible)
    assert backward[0] == tuple({(j, i) for i, j in links} for links in (sure, possible))
    assert sorted(forward) == sorted(backward) == [0, 2, 3, 4, 5, 6, 7]
    assert tokens.meta.alignments == ["xx-yy"]


@pytest.mark.parametrize(("links", "changes", "message"), [
    (["0-0 1:2"], {}, r"pairs.csv:2: '1:2' is no link\. Write SOURCE-TARGET for a sure link"),
    (["0-0"], {"alignment_base": 1}, r"csv:2: the link 0-0 counts words from 0, but align"),
    (["0-0", "2-3"], {}, r"row/2: the alignment xx-yy links the words 2 and 3 .* 3 words"),
    (["0-0"], {"alignment_base": None}, r"csv:2: an alignment: expected `alignment_base`"),
])  # fmt: skip
def test_links_that_do_not_fit_are_named_with_their_line(tmp_path, links, changes, message):
    with pytest.raises(HeedError, match=message):
        aligned(tmp_path, [*links, *["0-0"] * 6], **changes)


def test_links_need_tokens_that_are_words(tmp_path):
    columns = {"de": "de", "en": "en", "de-en": "links"}
    write_table(tmp_path / "raw", de=["eins, zwei"] * 6, en=["one two"] * 6, links=["0-0 1-1"] * 6)
    message = r"corpus mine: row/1: .* the de text has 2, but 3 tokens. Set `tokenizers: {de: w"
    changes = {"columns": columns, "split": RANDOM, "split_column": None, "alignment_base": 0}
    with pytest.raises(HeedError, match=message):
        make(tmp_path, table_corpus(**changes))


@pytest.mark.parametrize(("table", "message"), [
    ({"german": ["", "b"], "english": ["a", ""], "part": ["train", "test"]},
     "corpus mine has no document with a text in each language"),
    ({"german": ["a"], "english": ["b"], "part": ["eval"]},
     r"pairs.csv:2: column 'part': expected train, validation, test \(.*found 'eval'"),
    ({"german": ["a"], "english": ["b"], "part": ["train"]},
     "corpus mine: the given split needs documents to train and to test, found 1 train"),
    ({}, "no table. Run: heed download raw"),
])  # fmt: skip
def test_what_does_not_fit_is_one_message(tmp_path, table, message):
    (tmp_path / "raw").mkdir()
    if table:
        write_table(tmp_path / "raw", **table)
    with pytest.raises(HeedError, match=message):
        make(tmp_path, table_corpus())
    assert not (tmp_path / "mine").exists()


NEEDED = "needs path and sha256"
FILES = {"paths": {"de": "de.txt", "en": "en.txt"}, "hashes": {"de": "0" * 64, "en": "0" * 64}}


@pytest.mark.parametrize(("keys", "message"), [
    ({}, NEEDED),
    ({"path": "a.csv"}, "needs sha256"),
    (FILES, NEEDED),
    ({"path": "a.csv", "sha256": "0" * 64} | FILES, "does not take hashes and paths"),
    ({"seed": 1, "path": "a.csv", "sha256": "0" * 64}, "does not take seed"),
])  # fmt: skip
def test_a_source_of_pairs_needs_a_table(keys, message):
    with pytest.raises(ValueError, match=message):
        check_source(Source(kind="parallel", **keys))


@pytest.mark.parametrize(("keys", "message"), [
    ({"columns": {"de": "x"}}, "columns: expected two languages or more, found de"),
    ({"columns": {"de": "x", "en": "x"}}, "columns: a column is named twice"),
    ({"columns": {"de": "x", "en": "y", "de-en": "z"}}, "need alignment_base"),
    ({"alignment_base": 0}, "need alignment_base .0 or 1., and alignment_base needs"),
    ({"split": RANDOM}, "split_column needs split kind given"),
    ({"kind": "imdb", "split_column": None}, "columns go with kind parallel"),
    ({"columns": None}, "kind parallel needs columns"),
])  # fmt: skip
def test_keys_that_contradict_each_other_are_an_error_of_params_yaml(keys, message):
    with pytest.raises(ValueError, match=message):
        check_corpus(table_corpus(**keys))

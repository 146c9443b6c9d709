"""Parallel text: what tokenising writes, which documents it drops, how links are turned round."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.corpora.publication import Links, RawDocument
from heed.files import HeedError
from heed.study import Corpus, Source, Split
from heed.study.experiments import check_corpus, check_source
from heed.tokens.arrays import ParallelTokens, load_tokens
from heed.tokens.corpus import tokenize
from tests.conftest import cases

CASES = cases(__file__)
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
    german[1], english[2], english[4] = " \x00 ", "", "long " * 200_001
    tokens = make_pairs(tmp_path, german, english)
    assert tokens.meta.documents == 7
    cleaned = tokens.meta.cleaned
    assert (cleaned["dropped_empty"], cleaned["dropped_long"]) == (2, 1)
    assert (np.diff(tokens.sides["de"].offsets) > 0).all()


def test_a_text_of_any_language_that_is_in_train_too_is_a_duplicate(tmp_path):
    german, english = [*GERMAN], [*ENGLISH]
    german[8], english[6] = german[0], english[1]  # a test text, and a validation text
    counts = make_pairs(tmp_path, german, english).meta.duplicates
    assert counts == {"texts": 2, "test_texts_in_train": 1, "dropped": 0}
    tokens = make(tmp_path, table_corpus(drop_duplicates=True), "dropped")
    assert tokens.meta.duplicates["dropped"] == 2
    assert tokens.documents(["id"])["id"].tolist() == [f"row/{i}" for i in range(3, 11)]


def test_links_are_read_turned_round_and_their_texts_have_words_alone(tmp_path, monkeypatch):
    links = [Links(((0, 0), (1, 2)), ((2, 1),)), *[Links(((0, 0),))] * 9]
    texts = [{"xx": f"a{i} b, c", "yy": f"x{i} y z"} for i in range(10)]
    documents = [
        RawDocument(f"row/{i}", texts=texts[i], alignments={"xx-yy": each})
        for i, each in enumerate(links)
    ]
    monkeypatch.setattr("heed.tokens.corpus.read_documents", lambda corpus, raw: iter(documents))
    (tmp_path / "raw").mkdir()
    keys = {"columns": {"xx": "xx", "yy": "yy"}, "split": RANDOM, "split_column": None}
    tokens = make(tmp_path, table_corpus(tokenizer="whitespace", **keys))
    forward, backward = tokens.alignment("xx", "yy"), tokens.alignment("yy", "xx")
    sure, possible = {(0, 0), (1, 2)}, {(0, 0), (1, 2), (2, 1)}
    assert forward[0] == (sure, possible) and len(forward) == 10
    assert backward[0] == tuple({(j, i) for i, j in links} for links in (sure, possible))
    assert tokens.meta.alignments == ["xx-yy"]
    message = r"corpus mine: row/0: .* the xx text has 3, but 4 tokens. Set `tokenizers: {xx: w"
    with pytest.raises(HeedError, match=message):
        make(tmp_path, table_corpus(**keys))


@pytest.mark.parametrize(("table", "message"), CASES["misfits"])
def test_what_does_not_fit_is_one_message(tmp_path, table, message):
    (tmp_path / "raw").mkdir()
    if table:
        write_table(tmp_path / "raw", **table)
    with pytest.raises(HeedError, match=message):
        make(tmp_path, table_corpus())
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(("keys", "message"), CASES["sources"])
def test_a_source_of_pairs_needs_a_table(keys, message):
    with pytest.raises(ValueError, match=message):
        check_source(Source(kind="parallel", **keys))


@pytest.mark.parametrize(("keys", "message"), [
    ({"columns": {"de": "x"}}, "columns: expected two languages or more, found de"),
    ({"columns": {"de": "x", "en": "x"}}, "columns: a column is named twice"),
    ({"split": RANDOM}, "split_column needs split kind given"),
    ({"kind": "imdb", "split_column": None}, "columns go with kind parallel"),
    ({"columns": None}, "kind parallel needs columns"),
])  # fmt: skip
def test_keys_that_contradict_each_other_are_an_error_of_params_yaml(keys, message):
    with pytest.raises(ValueError, match=message):
        check_corpus(table_corpus(**keys))

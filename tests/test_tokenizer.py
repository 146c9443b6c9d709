"""Text is cleaned, tokens are slices of it, and the number of processes does not change a byte."""

import functools
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.corpora.source import download
from heed.files import CHECKSUMS, HeedError
from heed.study import Corpus, Source, Split
from heed.tokens import cleaned
from heed.tokens.arrays import load_tokens
from heed.tokens.chunks import tokenize_chunk
from heed.tokens.cleaning import clean
from heed.tokens.tokenizer import tokenize

if TYPE_CHECKING:
    from spacy.language import Language

HOSTILE = [
    ("a\x00b", "a b", {"controls": 1}),
    ("a\x1bb\x7f", "a b ", {"controls": 2}),
    ("it\x92s \x85 \x81", "it’s … ", {"c1": 3}),
    ("a\u202eb\u2066c\u200f", "abc", {"bidi": 3}),
    ("one<br />two<BR>three", "one\ntwo\nthree", {"breaks": 2}),
    ("<b>bold</b>", "<b>bold</b>", {}),
    ("e\u0301", "é", {"normalised": 1}),
    ("\ud800x", "\ufffdx", {"surrogates": 1}),
    (b"gr\xfc\xdfe", "gr\ufffd\ufffde", {"invalid_utf8": 2}),
    (b"gr\xc3\xbc\xc3\x9fe", "grüße", {}),
    ("", "", {"empty": 1}),
    (" \n ", " \n ", {"empty": 1}),
    ("🙂👩‍👩‍👧 ok", "🙂👩‍👩‍👧 ok", {}),
    ("a\r\nb", "a\nb", {}),
]


def words(text: str, tokenizer: str) -> list[tuple[str, int, int]]:
    lexicon, ids, starts, ends, *_ = tokenize_chunk([text], tokenizer)
    return [
        (lexicon[i], start, end)
        for i, start, end in zip(ids, starts.tolist(), ends.tolist(), strict=True)
    ]


@pytest.mark.parametrize(("text", "expected", "counts"), HOSTILE)
def test_each_damage_has_one_treatment_that_is_counted(text, expected, counts):
    assert clean(text) == (expected, counts)


def test_a_very_long_document_is_cut_and_counted():
    text, counts = clean("word " * 2_000_000, 1_000_000)
    assert len(text) == 1_000_000 and counts == {"cut": 1}


@settings(max_examples=150, deadline=None)
@given(
    text=st.one_of(
        st.text(max_size=80),
        st.binary(max_size=80),
        st.text(alphabet="\x00\x85\u202e\ud800 \n<br>.é🙂\u00a0", max_size=40),
    )
)
@pytest.mark.parametrize("tokenizer", ["xx", "whitespace"])
def test_cleaning_is_idempotent_and_tokens_are_slices_of_any_text(tokenizer, text):
    cleaned, _ = clean(text)
    assert clean(cleaned)[0] == cleaned
    cleaned.encode("utf-8")
    for word, start, end in words(cleaned, tokenizer):
        assert cleaned[start:end] == word and not word.isspace()
    if tokenizer == "whitespace":
        assert [word for word, _, _ in words(cleaned, tokenizer)] == cleaned.split()


SENTENCES = st.lists(
    st.text(alphabet=st.sampled_from("aB1 .!?,…。\n\"')(-:;\u00a0¿"), max_size=30),
    min_size=1,
    max_size=5,
)


@functools.cache
def spacy_pipeline(name: str) -> "Language":
    """Return spaCy's tokeniser and Sentencizer: to make them takes longer than all examples."""
    import spacy

    pipeline = spacy.blank(name)
    pipeline.add_pipe("sentencizer")
    return pipeline


def spacy_sentences(texts: list[str], name: str) -> tuple[list[int], list[int]]:
    """Return the first token of each sentence, without white space, and the sentences per document.

    Both are from spaCy's own Sentencizer.
    """
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


def test_sentences_of_real_reviews_are_those_of_spacys_sentencizer(corpora):
    import itertools

    from heed.corpora.published import read_imdb

    texts = [clean(d.text)[0] for d in itertools.islice(read_imdb(corpora / "imdb"), 300)]
    *_, starts, counts = tokenize_chunk(texts, "en")
    assert (starts.tolist(), counts.tolist()) == spacy_sentences(texts, "en")
    assert counts.sum() > 2000


TEXTS = [
    "The film is good. Very good!",
    "",
    "It\u2019s bad\x00bad.",
    "One <br />two three",
    "Again again again.",
] * 300


def make(tmp_path: Path, processes: int, name: str = "mine", **changes) -> Path:
    raw = tmp_path / "raw"
    raw.mkdir(exist_ok=True)
    table = pd.DataFrame({"t": TEXTS, "l": [("x", "y", "NA")[i % 3] for i in range(len(TEXTS))]})
    table["t"] = [f"{text} n{i}" if text else "" for i, text in enumerate(TEXTS)]
    table.to_csv(raw / "table.csv", index=False)
    corpus = Corpus(
        source="raw",
        kind="table",
        text_column="t",
        label_column="l",
        **({"split": Split(kind="random", test=0.2)} | changes),
    )
    folder = tmp_path / name
    tokenize(name, corpus, raw, folder, processes)
    return folder


def test_the_files_are_the_same_for_any_number_of_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(cleaned, "CHUNK_DOCUMENTS", 100)

    def hashes(path: Path) -> dict[str, str]:
        return {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest()
            for file in path.iterdir()
            if file.name not in ("meta.json", CHECKSUMS)
        }

    one, two = make(tmp_path, 1), make(tmp_path, 2, "other")
    assert hashes(one) == hashes(two)
    assert (
        json.loads((one / "meta.json").read_text())["digest"]
        == json.loads((two / "meta.json").read_text())["digest"]
    )


def test_the_arrays_give_the_text_back(tmp_path):
    path = make(tmp_path, 1)
    tokens = load_tokens(path)
    table = pd.read_parquet(path / "documents.parquet")
    starts, ends = np.load(path / "starts.npy"), np.load(path / "ends.npy")
    sentences, sentence_offsets = (
        np.load(path / "sentences.npy"),
        np.load(path / "sentence_offsets.npy"),
    )
    assert tokens.ids.dtype == starts.dtype == ends.dtype == sentences.dtype == np.int32
    assert tokens.offsets.dtype == sentence_offsets.dtype == np.int64
    for row in range(20):
        text = table["text"][row]
        for i in range(tokens.offsets[row], tokens.offsets[row + 1]):
            assert text[starts[i] : ends[i]] == tokens.lexicon[tokens.ids[i]]
        assert [
            tokens.lexicon[i] for i in tokens.ids[tokens.offsets[row] : tokens.offsets[row + 1]]
        ] == [w for w, _, _ in words(text, "xx")]
    assert sentences[sentence_offsets[0] : sentence_offsets[1]].tolist() == [0, 5, 8], (
        "The film … good. | Very good! | n0"
    )
    assert sentence_offsets[2] == sentence_offsets[1], "an empty document has no sentences"
    assert len(set(tokens.lexicon)) == len(tokens.lexicon)
    meta = json.loads((path / "meta.json").read_text())
    assert (
        meta["treated"]["controls"] == 300
        and meta["treated"]["breaks"] == 300
        and meta["treated"]["empty"] == 300
    )
    assert meta["labels"] == {"l": ["NA", "x", "y"]} and meta["parts"] == {
        "train": 1080,
        "validation": 120,
        "test": 300,
    }
    assert set(table["label_l"]) == {"x", "y", "NA"}


def test_duplicates_across_the_parts_are_counted_and_dropped_from_train_on_request(tmp_path):
    def crossing(path: Path) -> tuple[int, dict]:
        table = pd.read_parquet(path / "documents.parquet")
        train = set(table[table["split"] == "train"]["text"])
        meta = json.loads((path / "meta.json").read_text())
        return int(table[table["split"] == "test"]["text"].isin(train).sum()), meta["duplicates"]

    count, counts = crossing(make(tmp_path, 1))
    assert count == counts["test_texts_in_train"] > 0 and counts["texts"] == 299
    count, counts = crossing(make(tmp_path, 1, "dropped", drop_duplicates=True))
    assert count == 0 and counts["dropped"] > 0


def test_near_duplicates_are_counted_for_what_is_left_after_duplicates_are_dropped(
    tmp_path, capsys
):
    path = make(tmp_path, 1)
    meta = load_tokens(path).meta
    table = pd.read_parquet(path / "documents.parquet")
    texts = table["text"].str.replace(r"\W+", " ", regex=True).str.strip().str.lower()
    train = set(texts[(table["split"] == "train") & (texts != "")])
    assert meta.near_duplicates.test == [texts[table["split"] == "test"].isin(train).sum()]
    share = f"{meta.near_duplicates.total:,} of 300 test documents"
    assert f"mine: {share}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("t,l\na,x\nb,x\nc,x\nd,x\n", "corpus mine: the part train has 1 class"),
        ("t,l\na,x\n", "corpus mine: 1 document: a split needs several"),
        ("t,l\n,x\n,y\n", "no document of corpus mine has text"),
        ("t,l\na,x\nb,y,z\n", r"table.csv:3: expected 2 fields, as in the header, found 3"),
        ("t,l\na,x\nb,\n", r"table.csv:3: column 'l': no label"),
    ],
)
def test_a_corpus_that_cannot_be_learned_from_is_an_error(tmp_path, table, message):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/table.csv").write_text(table)
    split = Split(kind="random", test=0.2)
    corpus = Corpus(source="raw", kind="table", text_column="t", label_column="l", split=split)
    with pytest.raises(HeedError, match=message):
        tokenize("mine", corpus, tmp_path / "raw", tmp_path / "mine", 1)
    assert not (tmp_path / "mine").exists()


def test_the_metadata_marks_a_reduced_corpus(tmp_path):
    path = make(tmp_path, 1, sample=100)
    meta = json.loads((path / "meta.json").read_text())
    assert meta["reduced"] is True and meta["documents"] == 100 and meta["generated"] is False
    assert json.loads((make(tmp_path, 1, "complete") / "meta.json").read_text())["reduced"] is False


def test_planted_evidence_is_kept_as_characters(tmp_path):
    from heed.corpora import sample

    download("sample", Source(kind="sample", documents=50, seed=3), tmp_path / "raw")
    split = Split(kind="random", test=0.2)
    tokenize(
        "s",
        Corpus(source="sample", kind="sample-letters", split=split),
        tmp_path / "raw",
        tmp_path / "s",
        1,
    )
    assert json.loads((tmp_path / "s/meta.json").read_text())["generated"] is True
    evidence, table = (
        pd.read_parquet(tmp_path / "s/evidence.parquet"),
        pd.read_parquet(tmp_path / "s/documents.parquet"),
    )
    assert len(evidence) == 100
    for row in evidence.itertuples():
        cues = sample.AUTHORS[table["label_author"][row.document]][1]
        assert table["text"][row.document][row.start : row.end] in cues


def test_a_corpus_without_documents_is_an_error(tmp_path):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/table.csv").write_text("t,l\n")
    corpus = Corpus(
        source="raw",
        kind="table",
        text_column="t",
        label_column="l",
        split=Split(kind="random", test=0.2),
    )
    with pytest.raises(HeedError, match="has no documents"):
        tokenize("mine", corpus, tmp_path / "raw", tmp_path / "mine", 1)
    assert not (tmp_path / "mine").exists()


def test_real_letters_are_tokenised_with_folds(corpora, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HEED_MIRROR", str(corpora))
    download(
        "letters", Source(kind="letters", files=["classifier_data_eval.json"]), tmp_path / "raw"
    )
    corpus = Corpus(source="letters", kind="letters-pieces", split=Split(kind="folds", k=5))
    tokenize("letters-pieces", corpus, tmp_path / "raw", tmp_path / "tokens", 2)
    tokens = load_tokens(tmp_path / "tokens")
    near = tokens.meta.near_duplicates
    assert near.complete and len(near.test) == 5 and near.total == 0
    assert "0 of 4,881 test documents (0.0%) have a near duplicate" in capsys.readouterr().out
    assert tokens.meta.documents == 4881 and tokens.meta.folds == 5
    assert len(tokens.rows("test", 0)) == pytest.approx(976, abs=3)
    assert not set(tokens.rows("test", 0)) & set(tokens.rows("test", 4))

"""One pass makes a table into arrays: the same bytes by any chunks, in little memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from heed.corpora.kinds import download
from heed.files import CHECKSUMS, HeedError
from heed.study import Corpus, Source, Split
from heed.tokens import corpus as corpus_module
from heed.tokens import splits, writer
from heed.tokens.arrays import Tokens, load_tokens
from heed.tokens.corpus import tokenize
from tests.conftest import cases, contents

CASES = cases(__file__)
RANDOM = Split(kind="random", test=0.2)
TEXTS = [
    "The film is good. Very good!", "", "It\u2019s bad\x00bad.", "One <br />two three",
    "Again again again.",
] * 300  # fmt: skip


def table_corpus(**changes) -> Corpus:
    keys = {"text_column": "t", "label_column": "l", "split": RANDOM}
    return Corpus(source="raw", kind="table", **(keys | changes))


def make(tmp_path: Path, processes: int = 1, name: str = "mine", **changes) -> Tokens:
    """Tokenise TEXTS, each with its number."""
    raw = tmp_path / "raw"
    raw.mkdir(exist_ok=True)
    texts = [f"{text} n{i}" if text else "" for i, text in enumerate(TEXTS)]
    labels = [("x", "y", "NA")[i % 3] for i in range(len(TEXTS))]
    pd.DataFrame({"t": texts, "l": labels}).to_csv(raw / "table.csv", index=False)
    tokenize(name, table_corpus(**changes), raw, tmp_path / name, processes)
    return load_tokens(tmp_path / name)


def tokenize_sample(tmp_path: Path, kind: str, folder: str, split: Split = RANDOM) -> Path:
    source = kind.removesuffix("-letters")
    raw, out = tmp_path / source, tmp_path / folder / "corpus"
    if not raw.exists():
        download(source, Source(kind=source, documents=60, seed=3), raw)
    tokenize("corpus", Corpus(source=source, kind=kind, split=split), raw, out, 1)
    return out


def test_the_files_are_the_same_for_any_number_of_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "CHUNK_DOCUMENTS", 100)
    one, two = make(tmp_path, 1), make(tmp_path, 2, "other")
    assert one.meta.digest == two.meta.digest
    named = ("meta.json", CHECKSUMS)  # with the name of the corpus
    first, second = (contents(tokens.path) for tokens in (one, two))
    for name in named:
        del first[name], second[name]
    assert first == second


@pytest.mark.parametrize("kind", ["sample-letters", "sample-translation"])
def test_the_size_of_a_chunk_changes_no_byte(tmp_path, monkeypatch, kind):
    whole = contents(tokenize_sample(tmp_path, kind, "whole"))
    monkeypatch.setattr(writer, "CHUNK_DOCUMENTS", 7)
    monkeypatch.setattr(splits, "BLOCK_TOKENS", 100)
    assert contents(tokenize_sample(tmp_path, kind, "sevens")) == whole
    monkeypatch.setattr(writer, "MAX_CHUNK_CHARACTERS", 1)
    assert contents(tokenize_sample(tmp_path, kind, "ones")) == whole
    assert "meta.json" in whole and not any(name.startswith(".") for name in whole)


def test_more_repeats_of_folds_change_neither_the_digest_nor_the_first_folds(tmp_path):
    once, twice = (
        tokenize_sample(
            tmp_path, "sample-letters", f"{repeats}", Split(kind="folds", k=3, repeats=repeats)
        )
        for repeats in (1, 2)
    )
    added = {"repeats.parquet", "meta.json", CHECKSUMS}
    assert {*contents(once).items()} ^ {*contents(twice).items()} == {
        (name, value)
        for folder in (once, twice)
        for name, value in contents(folder).items()
        if name in added
    }
    first, second = load_tokens(once), load_tokens(twice)
    assert (first.meta.digest, first.meta.folds, second.meta.folds) == (second.meta.digest, 3, 6)
    assert "repeats" not in (once / "meta.json").read_text()
    assert first.meta.near_duplicates == second.meta.near_duplicates
    tests = [second.rows("test", fold) for fold in range(6)]
    assert all((tests[fold] == first.rows("test", fold)).all() for fold in range(3))
    every = [*range(second.meta.documents)]
    assert all(sorted(np.concatenate(each)) == every for each in (tests[:3], tests[3:]))


def test_row_groups_hold_the_same_documents(tmp_path, monkeypatch):
    one = tokenize_sample(tmp_path, "sample-letters", "one") / "documents.parquet"
    monkeypatch.setattr(writer, "CHUNK_DOCUMENTS", 7)
    monkeypatch.setattr(writer, "ROW_GROUP", 1)
    many = tokenize_sample(tmp_path, "sample-letters", "many") / "documents.parquet"
    assert (pq.ParquetFile(one).num_row_groups, pq.ParquetFile(many).num_row_groups) == (1, 9)
    assert pq.read_schema(one).equals(pq.read_schema(many), check_metadata=True)
    pd.testing.assert_frame_equal(pd.read_parquet(one), pd.read_parquet(many))


def test_the_arrays_give_the_text_back(tmp_path):
    tokens = make(tmp_path)
    table = tokens.documents(["text", "label_l"])
    starts, ends = (np.load(tokens.path / f"{name}.npy") for name in ("starts", "ends"))
    for array in (tokens.ids, starts, ends, tokens.sentence_starts):
        assert array.dtype == np.int32
    assert tokens.offsets.dtype == tokens.sentence_offsets.dtype == np.int64
    for row in range(20):
        here = range(*tokens.offsets[row : row + 2].tolist())
        words = [tokens.lexicon[tokens.ids[i]] for i in here]
        assert words == [table["text"][row][starts[i] : ends[i]] for i in here]
        assert "".join(words) == "".join(table["text"][row].split())
    assert tokens.sentences(0).tolist() == [0, 5, 8], "The film … good. | Very good! | n0"
    assert len(tokens.sentences(1)) == 0, "an empty document has no sentences"
    assert len(set(tokens.lexicon)) == len(tokens.lexicon)
    cleaned = tokens.meta.cleaned
    assert cleaned["controls"] == cleaned["breaks"] == cleaned["empty"] == 300
    assert tokens.meta.labels == {"l": ["NA", "x", "y"]} and {*table["label_l"]} == {"NA", "x", "y"}
    assert tokens.meta.splits == {"train": 1080, "validation": 120, "test": 300}
    assert not tokens.meta.reduced and not tokens.meta.generated


def test_duplicates_across_splits_are_counted_and_dropped_on_request(tmp_path, capsys):
    def crossing(tokens: Tokens, near: bool) -> int:
        table = tokens.documents(["text", "split"])
        texts = table["text"]
        if near:
            texts = texts.str.replace(r"\W+", " ", regex=True).str.strip().str.lower()
        train = {*texts[(table["split"] == "train") & ((texts != "") | (not near))]}
        return int(texts[table["split"] == "test"].isin(train).sum())

    tokens = make(tmp_path)
    counts = tokens.meta.duplicates
    assert crossing(tokens, False) == counts["test_texts_in_train"] > 0 and counts["texts"] == 299
    assert tokens.meta.near_duplicates.test == [crossing(tokens, True)]
    share = f"{tokens.meta.near_duplicates.total:,} of 300 test documents"
    printed = capsys.readouterr().out
    told = "too (`drop_duplicates: true` of the corpus in params.yaml drops repeated texts)"
    assert f"mine: {share}" in printed and told in printed
    tokens = make(tmp_path, 1, "dropped", drop_duplicates=True)
    printed = capsys.readouterr().out
    assert "documents are dropped, since another has their text" in printed
    assert "test texts are in the training split" not in printed
    assert crossing(tokens, False) == 0 and tokens.meta.duplicates["dropped"] > 0
    assert tokens.meta.near_duplicates.test == [crossing(tokens, True)]


@pytest.mark.parametrize(("table", "message"), CASES["tables"])
def test_a_corpus_that_cannot_be_learned_from_is_an_error(tmp_path, table, message):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/table.csv").write_text(table)
    with pytest.raises(HeedError, match=message):
        tokenize("mine", table_corpus(), tmp_path / "raw", tmp_path / "mine", 1)
    assert not (tmp_path / "mine").exists()


def write_table(tmp_path: Path, texts: list[str], parts: list[str]) -> Corpus:
    (tmp_path / "raw").mkdir()
    table = pd.DataFrame({"t": texts, "p": parts, "l": ["x", "y"] * (len(texts) // 2)})
    table.to_csv(tmp_path / "raw/table.csv", index=False)
    return table_corpus(split_column="p", split=Split(kind="given"), drop_duplicates=True)


def test_a_chunk_of_which_all_documents_are_dropped_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(writer, "CHUNK_DOCUMENTS", 2)
    splits = ["train"] * 6 + ["validation", "test"]
    corpus = write_table(tmp_path, ["a", "a", "b c", "", "same", "same", "same", "a"], splits)
    tokenize("mine", corpus, tmp_path / "raw", tmp_path / "mine", 1)
    table = pd.read_parquet(tmp_path / "mine/documents.parquet")
    assert table["text"].tolist() == ["b c", "", "same", "a"]
    assert table["id"].tolist() == ["row/3", "row/4", "row/7", "row/8"]
    assert np.load(tmp_path / "mine/offsets.npy").tolist() == [0, 2, 2, 3, 4]
    assert (tmp_path / "mine/lexicon.txt").read_text() == "b\nc\nsame\na\n"


def test_an_error_while_tokenising_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_: object) -> Iterator[None]:
        raise HeedError("a process that tokenised was killed")
        yield

    monkeypatch.setattr(corpus_module, "tokenize_chunks", fail)
    with pytest.raises(HeedError, match="was killed"):
        tokenize_sample(tmp_path, "sample-letters", "failed")
    assert not [*(tmp_path / "failed").iterdir()]


def test_empty_texts_are_told_and_a_split_of_none_or_of_other_classes_is_an_error(tmp_path, capsys):
    make(tmp_path)
    assert "mine: 300 texts are empty\n" in capsys.readouterr().out
    table = pd.DataFrame({"s": ["train"] * 8 + ["test"] * 2, "l": [*"xyxyxyxyxy"]})
    given = table_corpus(split=Split(kind="given"), split_column="s")
    for changed, message in (
        ({"t": ["a text"] * 8 + [""] * 2}, "corpus mine: no document of the split test has text"),
        (
            {"t": "a text", "l": [*"xyxyxyxyab"]},
            r"no class in common \(label 'l': 'x', 'y', and 'a'",
        ),
    ):
        table.assign(**changed).to_csv(tmp_path / "raw/table.csv", index=False)
        with pytest.raises(HeedError, match=message):
            tokenize("mine", given, tmp_path / "raw", tmp_path / "other", 1)

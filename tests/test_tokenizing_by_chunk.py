"""Tokenising by chunks takes little memory, and makes the bytes of tokenising all at once."""

import hashlib
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heed.corpora.publication import Document
from heed.corpora.source import download
from heed.files import HeedError
from heed.study import Corpus, Source, Split
from heed.tokens import chunks, cleaned, documents, shingles, writer
from heed.tokens.chunks import tokenize_chunk, tokenize_chunks
from heed.tokens.facts import DocumentFacts, TextDigests
from heed.tokens.tokenizer import tokenize
from heed.tokens.writer import ArrayWriter, NpyFile
from tests.conftest import PRINT_PEAK

RANDOM = Split(kind="random", test=0.2)


def hashes(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def tokenize_sample(tmp_path: Path, kind: str, folder: str, **changes) -> Path:
    source = kind.removesuffix("-letters")
    raw, out = tmp_path / source, tmp_path / folder / "corpus"
    if not raw.exists():
        download(source, Source(kind=source, documents=60, seed=3), raw)
    tokenize("corpus", Corpus(source=source, kind=kind, split=RANDOM, **changes), raw, out, 1)
    return out


@pytest.mark.parametrize(
    ("kind", "changes"), [("sample-letters", {"sample": 50}), ("sample-translation", {})]
)
def test_the_size_of_a_chunk_changes_no_byte(tmp_path, monkeypatch, kind, changes):
    whole = hashes(tokenize_sample(tmp_path, kind, "whole", **changes))
    monkeypatch.setattr(cleaned, "CHUNK_DOCUMENTS", 7)
    monkeypatch.setattr(shingles, "BLOCK_TOKENS", 100)
    assert hashes(tokenize_sample(tmp_path, kind, "sevens", **changes)) == whole
    monkeypatch.setattr(cleaned, "MAX_CHUNK_CHARACTERS", 1)
    monkeypatch.setattr(shingles, "MAX_TOKENS", 500)
    assert hashes(tokenize_sample(tmp_path, kind, "ones", **changes)) == whole
    assert "meta.json" in whole and not any(name.startswith(".") for name in whole)


def test_row_groups_hold_the_same_documents(tmp_path, monkeypatch):
    one = tokenize_sample(tmp_path, "sample-letters", "one") / "documents.parquet"
    monkeypatch.setattr(cleaned, "CHUNK_DOCUMENTS", 7)
    monkeypatch.setattr(documents, "ROW_GROUP", 1)
    many = tokenize_sample(tmp_path, "sample-letters", "many") / "documents.parquet"
    assert (pq.ParquetFile(one).num_row_groups, pq.ParquetFile(many).num_row_groups) == (1, 9)
    assert pq.read_schema(one).equals(pq.read_schema(many), check_metadata=True)
    pd.testing.assert_frame_equal(pd.read_parquet(one), pd.read_parquet(many))


def write_table(tmp_path: Path, texts: list[str], parts: list[str]) -> Corpus:
    (tmp_path / "raw").mkdir()
    table = pd.DataFrame({"t": texts, "p": parts, "l": ["x", "y"] * (len(texts) // 2)})
    table.to_csv(tmp_path / "raw/table.csv", index=False)
    return Corpus(
        source="raw", kind="table", text_column="t", label_column="l", split_column="p",
        split=Split(kind="given"), drop_duplicates=True,
    )  # fmt: skip


def test_a_chunk_of_which_all_documents_are_dropped_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(cleaned, "CHUNK_DOCUMENTS", 2)
    parts = ["train"] * 6 + ["validation", "test"]
    corpus = write_table(tmp_path, ["a", "a", "b c", "", "same", "same", "same", "a"], parts)
    tokenize("mine", corpus, tmp_path / "raw", tmp_path / "mine", 1)
    table = pd.read_parquet(tmp_path / "mine/documents.parquet")
    assert table["text"].tolist() == ["b c", "", "same", "a"]
    assert table["id"].tolist() == ["row/3", "row/4", "row/7", "row/8"]
    assert np.load(tmp_path / "mine/offsets.npy").tolist() == [0, 2, 2, 3, 4]
    assert (tmp_path / "mine/lexicon.txt").read_text() == "b\nc\nsame\na\n"


def test_where_all_training_documents_are_dropped_nothing_is_written(tmp_path):
    corpus = write_table(tmp_path, ["a"] * 8, ["train"] * 6 + ["validation", "test"])
    with pytest.raises(HeedError, match="corpus mine: the part train has no documents"):
        tokenize("mine", corpus, tmp_path / "raw", tmp_path / "mine", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["raw"]


def test_a_process_that_is_killed_is_an_error():
    def texts() -> Iterator[list[str]]:
        yield from [["one"]] * (chunks.FEW + 1)
        for process in multiprocessing.active_children():
            process.kill()
        yield from [["two"]] * 20

    with pytest.raises(HeedError, match="a process of this command was killed"):
        list(tokenize_chunks(texts(), "xx", 2))


def test_an_error_while_tokenising_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_: object) -> Iterator[None]:
        raise HeedError("a process that tokenised was killed")
        yield

    monkeypatch.setattr(writer, "tokenize_chunks", fail)
    with pytest.raises(HeedError, match="was killed"):
        tokenize_sample(tmp_path, "sample-letters", "failed")
    assert not [*(tmp_path / "failed").iterdir()]


def test_few_chunks_are_read_ahead_of_what_is_yielded(monkeypatch):
    monkeypatch.setattr(
        "heed.processes.ProcessPoolExecutor", lambda *_, **__: ThreadPoolExecutor(1)
    )
    read = []

    def texts() -> Iterator[list[str]]:
        for i in range(30):
            read.append(i)
            yield [f"text {i}"]

    for done, chunk in enumerate(tokenize_chunks(texts(), "whitespace", 2)):
        assert chunk.lexicon == ["text", str(done)]
        assert len(read) <= max(chunks.FEW, done + 1 + 2 * chunks.AHEAD)


@pytest.mark.parametrize(("count", "processes"), [(chunks.FEW - 1, 0), (chunks.FEW, 2)])
def test_few_chunks_start_no_process(monkeypatch, count, processes):
    started = []
    pool = lambda number, *_, **__: started.append(number) or ThreadPoolExecutor(1)  # noqa: E731
    monkeypatch.setattr("heed.processes.ProcessPoolExecutor", pool)
    assert len([*tokenize_chunks([["a b"]] * count, "whitespace", 2)]) == count
    assert started == [processes] * bool(processes)


def test_torch_is_not_imported():
    code = "import sys, heed.tokens.chunks as c; c.blank_tokenizer('en'); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    assert b"spacy" in modules.split() and b"torch" not in modules.split()


@pytest.mark.parametrize("tokenizer", ["xx", "en", "whitespace"])
def test_a_tokenizer_that_has_forgotten_words_makes_the_same_tokens(monkeypatch, tokenizer):
    texts = [f"It's Mr. Smith's {i}th e-mail: https://a.org/{i}!" for i in range(30)]
    expected = tokenize_chunk(texts, tokenizer)
    monkeypatch.setattr(chunks, "MAX_REMEMBERED", 1)
    chunks.blank_tokenizer.cache_clear()
    for values, others in zip(expected, tokenize_chunk(texts, tokenizer), strict=True):
        assert np.array_equal(values, others)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("sizes", [[], [0], [3], [0, 1, 1000, 99_999]])
def test_an_array_written_in_pieces_has_the_bytes_of_one_saved_at_once(tmp_path, dtype, sizes):
    pieces = [np.arange(size, dtype=dtype) for size in sizes]
    array = np.concatenate([np.zeros(0, dtype), *pieces])
    grown = ArrayWriter(tmp_path / "grown.npy", dtype)
    for piece in pieces:
        grown.append(piece)
    grown.close()
    np.save(tmp_path / "saved.npy", array)
    assert (tmp_path / "grown.npy").read_bytes() == (tmp_path / "saved.npy").read_bytes()
    file = NpyFile(tmp_path / "grown.npy")
    assert len(file) == len(array)
    for part in (slice(None), slice(2, 900), slice(5, 2), slice(-3, None)):
        assert np.array_equal(file[part], array[part]) and file[part].dtype == dtype


NAMES = st.sampled_from(["", "a", "B", "ä", "a b", "b"])


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.tuples(NAMES, NAMES, NAMES, st.sampled_from(["train", "test"]))))
def test_numbers_of_labels_and_groups_are_in_the_order_of_their_names(rows):
    def numbers(names: list[str]) -> list[int]:
        return [sorted(set(names)).index(name) for name in names]

    facts = DocumentFacts(
        Document(str(i), "", {"x": x, "y": y}, group, split)
        for i, (x, y, group, split) in enumerate(rows)
    )
    assert len(facts) == len(rows)
    assert list(facts.strata) == numbers([f"{x}\x1f{y}" for x, y, *_ in rows])
    assert list(facts.groups) == numbers([group for _, _, group, _ in rows])
    assert list(facts.source_split) == [split for *_, split in rows]
    assert all(list(facts.labels["y"]) == [y for _, y, *_ in rows] for _ in rows[:1])


@settings(max_examples=50, deadline=None)
@given(texts=st.lists(st.sampled_from([None, "", "a", "b", "ä\n", "a" * 999])))
def test_equal_texts_have_equal_numbers(texts):
    digests = TextDigests()
    for text in texts:
        digests.append(text)
    numbers = digests.numbers().tolist()
    assert [number == -1 for number in numbers] == [text is None for text in texts]
    assert len({*zip(texts, numbers, strict=True)}) == len({*texts}) == len({*numbers})


@pytest.mark.slow
def test_memory_does_not_grow_with_the_documents(tmp_path):
    generator = np.random.default_rng(0)
    words = np.asarray([f"w{i}" for i in range(20_000)], object)
    peaks = []
    for count in (20_000, 200_000):
        corpus = tmp_path / str(count)
        (corpus / "raw").mkdir(parents=True)
        with (corpus / "raw/table.csv").open("w") as file:
            file.write("t,l\n")
            for row in range(count):
                text = words[np.minimum(generator.zipf(1.2, 71), 20_000) - 1]
                file.write(f"{' '.join(text)},{'xy'[row % 2]}\n")
        code = f"""
import pathlib
from heed.study import Corpus, Split
from heed.tokens.tokenizer import tokenize
split = Split(kind="random", test=0.2)
corpus = Corpus(source="raw", kind="table", text_column="t", label_column="l", split=split)
tokenize("mine", corpus, pathlib.Path("raw"), pathlib.Path("mine"), 1)
{PRINT_PEAK}
"""
        command = [sys.executable, "-c", code]
        output = subprocess.run(command, cwd=corpus, capture_output=True, check=True).stdout
        peaks.append(1024 * int(output.split()[-1]))
    assert peaks[1] < 0.8e9 and peaks[1] - peaks[0] < 0.35e9, peaks

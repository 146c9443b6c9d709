"""Parallel text: what tokenising writes, which documents it drops, how links are turned round."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.corpora.kinds import corpus_languages, read_documents
from heed.corpora.source import download
from heed.files import CHECKSUMS, HeedError, sha256
from heed.study import Corpus, Source, Split
from heed.study.corpora import check_corpus, check_source
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


def write_lines(raw: Path, **lines: list[str]) -> None:
    raw.mkdir(exist_ok=True)
    for name, texts in lines.items():
        text = "".join(f"{line}\n" for line in texts)
        (raw / f"{name.replace('_to_', '-')}.txt").write_text(text, encoding="utf-8")


def lines_corpus(**changes) -> Corpus:
    keys = {"split": RANDOM, "tokenizer": "whitespace"}
    return Corpus(source="raw", kind="parallel", **(keys | changes))


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


def test_lines_end_at_line_feeds_alone_and_languages_are_named_by_their_files(tmp_path):
    odd = ["one\u2028line", "also\x0cone", "third\x85line", "four\r", "five", "six", "seven", "8"]
    write_lines(tmp_path / "raw", xx=odd, yy=[f"y{i}" for i in range(8)])
    tokens = make(tmp_path, lines_corpus())
    assert tokens.meta.documents == 8
    assert tokens.sides["xx"].texts(np.arange(4))[3] == "four"
    assert tokens.documents(["id"])["id"].tolist()[0] == "line/1"


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
    write_lines(tmp_path / "raw", xx=source, yy=target, xx_to_yy=links)
    return make(tmp_path, lines_corpus(**({"alignment_base": 0} | changes)))


def test_links_are_read_turned_round_and_unknown_where_the_line_is_empty(tmp_path):
    tokens = aligned(tmp_path)
    forward, backward = tokens.alignment("xx", "yy"), tokens.alignment("yy", "xx")
    sure, possible = {(0, 0), (1, 2)}, {(0, 0), (1, 2), (2, 1)}
    assert forward[0] == (sure, possible)
    assert backward[0] == tuple({(j, i) for i, j in links} for links in (sure, possible))
    assert sorted(forward) == sorted(backward) == [0, 2, 3, 4, 5, 6, 7]
    assert tokens.meta.alignments == ["xx-yy"]


@pytest.mark.parametrize(
    ("links", "changes", "message"),
    [
        (["0-0 1:2"], {}, r"xx-yy.txt:1: '1:2' is no link\. Write SOURCE-TARGET for a sure link"),
        (["0-0"], {"alignment_base": 1}, r"txt:1: the link 0-0 counts words from 0, but align"),
        (["0-0", "2-3"], {}, r"line/2: the alignment xx-yy links the words 2 and 3 .* 3 words"),
        (["0-0"], {"alignment_base": None}, r"txt:1: an alignment: expected `alignment_base`"),
    ],
)
def test_links_that_do_not_fit_are_named_with_their_line(tmp_path, links, changes, message):
    with pytest.raises(HeedError, match=message):
        aligned(tmp_path, [*links, *["0-0"] * 6], **changes)


def test_links_need_tokens_that_are_words(tmp_path):
    write_lines(
        tmp_path / "raw", de=["eins, zwei"] * 6, en=["one two"] * 6, de_to_en=["0-0 1-1"] * 6
    )
    message = (
        r"corpus mine: line/1: .* the de text has 2, but 3 tokens. Set `tokenizers: {de: whitesp"
    )
    with pytest.raises(HeedError, match=message):
        make(tmp_path, lines_corpus(alignment_base=0, tokenizer="xx"))


PAIRS = {"german": GERMAN, "english": ENGLISH, "part": SPLITS}


@pytest.mark.parametrize(
    ("lines", "table", "corpus", "message"),
    [
        ({"de": ["a", "b"], "en": ["a", "b", "c"]}, {}, lines_corpus(),
         r"expected equal numbers of lines, found de.txt 2, en.txt 3"),
        ({"de": ["", "b"], "en": ["a", ""]}, {}, lines_corpus(),
         "corpus mine has no document with a text in each language"),
        ({"de": GERMAN, "en": ENGLISH}, {}, table_corpus(),
         "files of lines: a corpus of these takes no `columns`"),
        ({}, PAIRS, lines_corpus(), r"pairs.csv: a table: expected `columns` of the corpus"),
        ({}, {"german": ["a"], "english": ["b"], "part": ["eval"]}, table_corpus(),
         r"pairs.csv:2: column 'part': expected train, validation, test \(.*found 'eval'"),
        ({}, {"german": ["a"], "english": ["b"], "part": ["train"]}, table_corpus(),
         "corpus mine: the given split needs documents to train and to test, found 1 train"),
        ({}, {}, lines_corpus(), "no files. Run: heed download raw"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_message(tmp_path, lines, table, corpus, message):
    write_lines(tmp_path / "raw", **lines)
    if table:
        write_table(tmp_path / "raw", **table)
    with pytest.raises(HeedError, match=message):
        make(tmp_path, corpus)
    assert not (tmp_path / "mine").exists()


def test_files_of_lines_are_copied_with_the_names_of_their_languages(tmp_path):
    write_lines(tmp_path / "texts", a=GERMAN, b=ENGLISH, c=["0-0"] * 10)
    paths = {key: tmp_path / f"texts/{name}.txt" for key, name in
             {"de": "a", "en": "b", "de-en": "c"}.items()}  # fmt: skip
    source = Source(
        kind="parallel",
        paths={key: str(path) for key, path in paths.items()},
        hashes={key: sha256(path) for key, path in paths.items()},
    )
    download("raw", source, tmp_path / "raw")
    names = {path.name for path in (tmp_path / "raw").iterdir()}
    assert names == {"de.txt", "en.txt", "de-en.txt", CHECKSUMS}
    corpus = lines_corpus(alignment_base=0)
    assert corpus_languages(corpus, source) == ("de", "en")
    assert len(make(tmp_path, corpus).alignment("en", "de")) == 10
    paths["en"].write_text("changed\n")
    with pytest.raises(HeedError, match=r"b.txt: changed since .* update sources.raw.hashes.en"):
        download("raw", source, tmp_path / "raw")


@pytest.mark.parametrize("encoding", [None, "ascii", "windows-1252"])
def test_files_of_lines_in_another_encoding_are_named_or_declared(tmp_path, encoding):
    paths = {key: str(tmp_path / f"{key}.txt") for key in ("de", "en")}
    for path in paths.values():
        Path(path).write_bytes("eins\nzwölf".encode("windows-1252"))
    hashes = {key: sha256(path) for key, path in paths.items()}
    source = Source(kind="parallel", encoding=encoding, paths=paths, hashes=hashes)
    if encoding == "windows-1252":
        download("raw", source, tmp_path / "raw")
        documents = list(read_documents(lines_corpus(), tmp_path / "raw"))
        assert [each.texts["de"] for each in documents] == ["eins", "zwölf"]
        return
    with pytest.raises(HeedError, match=rf"de.txt:2: not {encoding or 'utf-8'}: byte 0xf6"):
        download("raw", source, tmp_path / "raw")
        list(read_documents(lines_corpus(), tmp_path / "raw"))


NEEDED = "needs path and sha256, or hashes and paths"


def files(*paths: str, hashes: tuple[str, ...] = ()) -> dict[str, dict[str, str]]:
    return {
        "paths": {path: f"{path}.txt" for path in paths},
        "hashes": dict.fromkeys(hashes or paths, "0" * 64),
    }


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, NEEDED),
        ({"path": "a.csv"}, NEEDED),
        ({"path": "a.csv", "sha256": "0" * 64, "paths": {"a": "b"}}, "needs path and sha256, or"),
        (files("a"), "paths: expected two languages or more"),
        (files("a", "b", hashes=("a",)), "hashes: expected one for each of a and b, as in paths"),
        (files("a", "b", "a-c"), "paths.a-c: an alignment is of two different languages of a, b"),
        ({"seed": 1, "path": "a.csv", "sha256": "0" * 64}, "does not take seed"),
    ],
)
def test_a_source_needs_a_table_or_a_file_for_each_language(keys, message):
    with pytest.raises(ValueError, match=message):
        check_source(Source(kind="parallel", **keys))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"columns": {"de": "x"}}, "columns: expected two languages or more, found de"),
        ({"columns": {"de": "x", "en": "x"}}, "columns: a column is named twice"),
        ({"columns": {"de": "x", "en": "y", "de-en": "z"}}, "need alignment_base"),
        ({"alignment_base": 0}, "need alignment_base .0 or 1., and alignment_base needs"),
        ({"split": RANDOM}, "split_column needs split kind given"),
        ({"kind": "imdb", "split_column": None}, "columns go with kind parallel"),
    ],
)
def test_keys_that_contradict_each_other_are_an_error_of_params_yaml(keys, message):
    with pytest.raises(ValueError, match=message):
        check_corpus(table_corpus(**keys))

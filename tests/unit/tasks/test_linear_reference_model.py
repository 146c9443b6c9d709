"""The linear reference model: features and weights of a corpus that is read a chunk at a time."""

import functools
import json
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from heed.files import HeedError
from heed.inputs import tfidf
from heed.inputs.tfidf import ANALYZERS, SparseFile, count_ngrams, write_tfidf
from heed.task.interface import DeclaredExperiment
from heed.tasks.classification import reference_models
from heed.tasks.classification.recipe import Data, Options
from heed.tokens.arrays import TokenizedCorpus

CLASSES = ["bad", "fair", "good"]
TEXTS = [
    "The cat sat.", "the DOG sat down", "", "a cat\tand a  dog", "the end", "x", "cat cat dog",
    "once only", "Ein Straße, the cat",
] * 3  # fmt: skip


def write_documents(
    folder: Path, documents: int, classes: int, folds: int = 0, purity: float = 0.8
) -> TokenizedCorpus:
    """Write generated texts of about 20 words, of which some speak for the class."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, classes, documents)
    texts = []
    for label in labels:
        cue = label if generator.random() < purity else generator.integers(0, classes)
        words = [f"w{i}" for i in np.minimum(generator.zipf(1.5, 17), 4000)]
        texts.append(" ".join([*words, *(f"c{cue}x{i}" for i in generator.integers(0, 20, 3))]))
    split = generator.choice(["train", "validation", "test"], documents, p=[0.6, 0.2, 0.2])
    columns = dict.fromkeys([f"split_{i}" for i in range(folds)] or ["split"], split)
    table = pd.DataFrame({"id": [f"texts-{i}" for i in range(documents)], "text": texts} | columns)
    table = table.assign(label_kind=np.asarray(CLASSES)[labels])
    table.to_parquet(folder / "documents.parquet", index=False)
    return TokenizedCorpus(folder, SimpleNamespace(folds=folds, repeats=1, documents=documents))


def fit(corpus: TokenizedCorpus, features="both", classes=3, metric=None):
    declared = {"task": "classification", "corpus": "", "data": None, "metric": metric}
    experiment = DeclaredExperiment(**declared, options=Options(features))
    return reference_models.fit(corpus, Data("kind", CLASSES[:classes]), experiment)


def ignore(what: str, done: int, total: int) -> None:
    """Report no progress."""


def written(texts: list[str], features: str, folder: Path, train: slice = slice(20)):
    counts = count_ngrams(texts, len(texts), features, folder, ignore)
    rows = np.zeros(len(texts), bool)
    rows[train] = True
    return write_tfidf(counts, {"train": rows, "test": ~rows}, folder, ignore)


def dense(file: SparseFile) -> np.ndarray:
    return scipy.sparse.vstack([*file]).toarray()


@pytest.mark.parametrize("kind", ANALYZERS)
@pytest.mark.parametrize("merged", [10**6, 7])
def test_features_are_scikit_learns_whatever_the_chunks(tmp_path, monkeypatch, kind, merged):
    monkeypatch.setattr(tfidf, "MERGED", merged)  # hashes merged at once
    monkeypatch.setattr(tfidf, "CHUNK_CHARACTERS", 40)
    file = written(TEXTS, kind, tmp_path)
    vectorizer = TfidfVectorizer(**ANALYZERS[kind], sublinear_tf=True, min_df=2)
    expected = vectorizer.fit_transform(TEXTS[:20]).toarray()
    assert file.features == expected.shape[1] and file.min_documents == 2
    train, test = dense(file.splits["train"]), dense(file.splits["test"])
    # the order of the columns is that of hashes: compare them sorted, and products of rows
    assert np.sort(train, 1) == pytest.approx(np.sort(expected, 1), abs=1e-6)
    others = vectorizer.transform(TEXTS[20:]).toarray()
    assert test @ train.T == pytest.approx(others @ expected.T, abs=1e-6)
    assert len([*file.splits["train"]]) > 3, "the texts are more than one chunk"


def test_where_too_many_ngrams_would_remain_the_rare_ones_are_left_out(tmp_path, monkeypatch):
    texts = [f"common usual w{i} w{i // 2} w{i // 4}" for i in range(40)]
    features = written(texts, "words", tmp_path, slice(40)).features
    monkeypatch.setattr(tfidf, "MAX_FEATURES", features - 1)
    fewer = written(texts, "words", tmp_path, slice(40))
    assert fewer.features == features - 1 and 2 <= fewer.min_documents < 40
    monkeypatch.setattr(tfidf, "MAX_FEATURES", 2)
    fewest = written(texts, "words", tmp_path, slice(40))
    assert fewest.features == 2 and fewest.min_documents == 40, "the two words of all documents"


@pytest.mark.parametrize("limit", [60, 1])
def test_of_equally_frequent_ngrams_the_smallest_hashes_stay(tmp_path, monkeypatch, limit):
    texts = [f"w{i}" for i in range(100)] * 2
    complete = written(texts, "words", tmp_path, slice(200))
    assert complete.features == 100
    monkeypatch.setattr(tfidf, "MAX_FEATURES", limit)
    fewer = written(texts, "words", tmp_path, slice(200))
    assert fewer.features == limit and fewer.min_documents == 2
    # columns are sorted by their hashes, and each text has one word
    assert (dense(fewer.splits["train"]) == dense(complete.splits["train"])[:, :limit]).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_passes_over_chunks_find_the_weights_of_liblinear(folder, monkeypatch, classes, capsys):
    corpus = write_documents(folder, 600, classes)
    monkeypatch.setattr(tfidf, "CHUNK_CHARACTERS", 15_000)
    in_memory = fit(corpus, "words", classes)
    monkeypatch.setattr(reference_models, "IN_MEMORY", 0)
    streamed = fit(corpus, "words", classes)
    monkeypatch.setattr(reference_models, "MAX_WEIGHTS", 1)  # a class after the other
    one_by_one = fit(corpus, "words", classes)
    assert in_memory.selection["solver"] == ["LIBLINEAR"]
    assert streamed.selection["solver"] == one_by_one.selection["solver"] == ["L-BFGS"]
    assert streamed.selection["converged"] == [True]
    expected = in_memory.selection["validation_accuracy"]
    for fitted in (streamed, one_by_one):
        assert np.allclose(fitted.selection["validation_accuracy"], expected, atol=0.02)
        assert fitted.predictions["majority", 0].equals(in_memory.predictions["majority", 0])
    for c, of_c in enumerate(expected[0]):
        assert of_c > 0.6, f"C number {c}: the corpus can be learned"
    assert not capsys.readouterr().out, "all have converged"


@pytest.mark.parametrize("weighs", [False, True])
def test_the_optimum_is_that_of_linear_svc(tmp_path, monkeypatch, weighs):
    generator = np.random.default_rng(1)
    matrix = scipy.sparse.random(300, 40, 0.2, "csr", np.float32, generator)
    labels = (matrix @ generator.normal(size=40) + generator.normal(0, 0.3, 300) > 0).astype(int)
    rows = SparseFile(tmp_path)
    for first in range(0, 300, 90):
        rows.append(matrix[first : first + 90])
    monkeypatch.setattr(reference_models, "TOLERANCE", 1e-7)
    monkeypatch.setattr(reference_models, "IN_MEMORY", 0)
    of_documents = generator.uniform(0.2, 3, 300) if weighs else None
    one = {"weights": None if of_documents is None else of_documents[:, None]}
    for optimum in reference_models.optima(rows, 40, labels, (0.1, 2), **one):
        model = LinearSVC(C=optimum.strength, tol=1e-8, max_iter=10**5)
        model.fit(matrix, labels, of_documents)
        expected = np.append(model.coef_, model.intercept_)
        assert optimum.weights[:, 0] == pytest.approx(expected, abs=2e-3)
        scores = reference_models.decide(rows, optimum.weights)
        assert scores[:, 0] == pytest.approx(model.decision_function(matrix), abs=2e-3)


@pytest.mark.parametrize("in_memory", [0, 10**9])
def test_compared_by_macro_f1_the_linear_model_may_balance_classes(folder, monkeypatch, in_memory):
    monkeypatch.setattr(reference_models, "IN_MEMORY", in_memory)
    corpus = write_documents(folder, 900, 2, purity=0.6)
    table = pd.read_parquet(folder / "documents.parquet")
    is_rare = (table["label_kind"] == "fair").to_numpy() & (np.arange(900) % 6 > 0)
    table = table[~is_rare].reset_index(drop=True)
    table.to_parquet(folder / "documents.parquet", index=False)
    corpus.meta.documents = len(table)
    plain, chosen = fit(corpus, "words", 2), fit(corpus, "words", 2, "macro_f1")
    (macro_f1,) = chosen.selection["validation_macro_f1"]
    assert len(macro_f1) == 8 and max(macro_f1[4:]) > max(macro_f1[:4])
    assert chosen.selection["class_weights"] == ["balanced"]
    assert "class_weights" not in plain.selection, "accuracy does not ask for it"
    tables = [fitted.predictions["linear", 0] for fitted in (plain, chosen)]
    rare = [(found["predicted"] == "fair").mean() for found in tables]
    truth = (tables[0]["label"] == "fair").mean()
    assert rare[0] < truth / 2 and abs(rare[1] - truth) < truth / 2
    scores = [f1_score(found["label"], found["predicted"], average="macro") for found in tables]
    assert scores[1] > scores[0] + 0.05


@pytest.mark.parametrize("in_memory", [0, 10**9])
def test_runs_give_the_same_bytes_and_each_fold_has_its_own_fit(folder, monkeypatch, in_memory):
    corpus = write_documents(folder, 150, 3, folds=2)
    table = pd.read_parquet(folder / "documents.parquet")
    table["split_1"] = table["split_0"].to_numpy()[::-1]
    table.to_parquet(folder / "documents.parquet", index=False)
    monkeypatch.setattr(reference_models, "IN_MEMORY", in_memory)
    monkeypatch.setattr(tfidf, "CHUNK_CHARACTERS", 3000)
    first, second = fit(corpus), fit(corpus)
    assert first.selection == second.selection and len(first.selection["C"]) == 2
    assert json.loads(json.dumps(first.selection)) == first.selection
    for key, predictions in first.predictions.items():
        assert predictions.equals(second.predictions[key])
    ids = [set(first.predictions["linear", fold]["id"]) for fold in (0, 1)]
    assert ids[0] != ids[1] and not [*Path(".heed/work").iterdir()]


@pytest.mark.parametrize("in_memory", [0, 10**9])
def test_too_few_passes_are_told_in_the_json_and_in_a_line(folder, monkeypatch, capsys, in_memory):
    monkeypatch.setattr(reference_models, "IN_MEMORY", in_memory)
    monkeypatch.setattr(reference_models, "MAX_PASSES", 2)
    monkeypatch.setattr(reference_models, "LinearSVC", functools.partial(LinearSVC, max_iter=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fitted = fit(write_documents(folder, 100, 2), classes=2)
    assert fitted.selection["converged"] == [False]
    solver, passes = fitted.selection["solver"][0], fitted.selection["passes"][0]
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"label_kind: the linear reference model ({solver}) did not converge ")
    assert f"2.0 in {passes[-1]} passes" in line


def test_a_class_without_a_training_document_has_no_share(folder):
    corpus = write_documents(folder, 200, 2)
    table = fit(corpus, "words").predictions["linear", 0]
    assert (table["p:good"] == 0).all() and (table["p:bad"] > 0).all()
    assert np.allclose(table.filter(like="p:").sum(axis=1), 1, atol=1e-6)


def test_an_analyzer_that_finds_nothing_is_left_to_the_other(tmp_path):
    file = written(["a b", "b c", "c a"] * 9, "both", tmp_path)  # a word has two letters
    assert file.features == written(["a b", "b c", "c a"] * 9, "characters", tmp_path).features > 0


def test_a_corpus_without_words_is_one_message(folder):
    corpus = write_documents(folder, 50, 2)
    table = pd.read_parquet(folder / "documents.parquet").assign(text=". !")
    table.to_parquet(folder / "documents.parquet", index=False)
    with pytest.raises(HeedError, match=r"label_kind: no linear reference model.*has no words"):
        fit(corpus, "words", 2)

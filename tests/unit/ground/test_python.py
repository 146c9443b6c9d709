"""heed from Python: texts alone are classified as the stage predict classifies documents."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import heed
from heed.files import HeedError
from heed.tasks.classification import texts as text_classifier
from heed.tokens.arrays import load_tokens
from tests.conftest import change_recipe, new_workplace, train_and_predict

RUN = Path("results/train/tiny-self-attention/1")
NGRAMS = {"character_buckets": 30}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a run of a model with every kind of feature, and its predictions."""
    with new_workplace(tmp_path_factory) as folder:
        change_recipe(**NGRAMS)
        train_and_predict()
    return folder


@pytest.fixture
def trained(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def test_texts_alone_have_the_probabilities_that_the_stage_wrote(trained, monkeypatch):
    table = pd.read_parquet("results/predict/tiny/tiny-self-attention/predictions.parquet")
    tokens = load_tokens("data/tokens/tiny")
    texts = tokens.documents(["text"], tokens.rows_of(table["id"]))["text"].tolist()
    monkeypatch.setattr(text_classifier, "AT_ONCE", 7)
    result = heed.load_run("tiny-self-attention", 1).predict(texts)
    assert result.classes == ["bad", "good"] and result.probabilities.dtype == np.float32
    expected = table[["p:bad", "p:good"]].to_numpy()
    is_empty = np.asarray([not text for text in texts])
    assert is_empty.any() and np.isnan(result.probabilities[is_empty]).all()
    assert np.allclose(result.probabilities[~is_empty], expected[~is_empty], atol=1e-6)
    of_texts = table["predicted"].astype(object).where(~is_empty, None)
    assert result.predicted == of_texts.tolist()


def test_a_copied_folder_is_the_same_run(trained, tmp_path, monkeypatch):
    here = heed.load_run("tiny-self-attention", 1).predict(
        ["w1 fine", "w2", "word that nobody knows"]
    )
    shutil.copytree(RUN, tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    copy = heed.load_run("elsewhere")
    there = copy.predict(["w1 fine", "w2", "x y z w"])
    assert np.array_equal(there.probabilities[:2], here.probabilities[:2])
    assert copy.predict([]).probabilities.shape == (0, 2)


def test_a_text_of_which_nothing_is_known_has_no_class(trained):
    """The model reads parts of words, so of a visible word some is known."""
    texts = ["", " \t\n", "\u200b\ufeff", "\u00ad\u2060 \u00a0", "nobodyknows", "w1 fine"]
    result = heed.load_run(RUN).predict(texts)
    assert [name is None for name in result.predicted] == [True] * 4 + [False] * 2
    assert np.isnan(result.probabilities).all(1).tolist() == [True] * 4 + [False] * 2


def test_the_words_that_were_read_have_weights(trained):
    run = heed.load_run(RUN)
    first, empty = run.weights(["w3  fine w1", ""])
    assert first.words == ["w3", "fine", "w1"] and first.weights.shape == (3,)
    assert first.weights.sum() == pytest.approx(1, abs=1e-5)
    assert empty.words == [] and not len(empty.weights)
    (alone,) = run.weights(["w3 fine w1"])
    assert np.allclose(alone.weights, first.weights, atol=1e-6)


def test_what_is_no_list_of_texts_and_no_run_is_said(trained):
    run = heed.load_run(RUN)
    for texts in ("w1 fine", {"review": "w1"}, pd.DataFrame({"review": ["w1", "w2"]})):
        with pytest.raises(TypeError, match=rf"a list of str, found {type(texts).__name__}: put"):
            run.predict(texts)
    with pytest.raises(TypeError, match="a list of str, found NoneType"):
        run.weights(["w1", None])
    assert run.predict(text for text in ("w1", "w2")).probabilities.shape == (2, 2)
    with pytest.raises(
        HeedError, match=r"^tiny-self-attention: .* no run\.json .* name and a seed"
    ):
        heed.load_run("tiny-self-attention")

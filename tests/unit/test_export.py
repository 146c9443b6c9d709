"""Runs as others read them: a hub's folder, ONNX, and scikit-learn's interface."""

import dataclasses
import json
import pickle
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import get_scorer

import heed
from heed import export
from heed.cli import commands
from heed.estimator import RunClassifier
from heed.evaluation.tested import evaluate
from heed.files import HeedError
from heed.inputs.vocabulary import Vocabulary
from heed.paths import recipe_file
from heed.prediction import load_predictor
from heed.recipe import read_model_recipe, write_recipe
from heed.tasks.classification.learning import make_model
from heed.tasks.classification.prediction import ClassificationPredictor
from heed.tokens.arrays import load_tokens
from heed.tokens.meta import NearDuplicates
from heed.training.run import read_run
from tests.conftest import make_workplace, train_and_predict

MODEL, TEXTS = "tiny-attention", ["w1 fine w2", "w3 w4", "nobodyknows"]
WORDS = Vocabulary(("<padding>", "<unknown>", *(f"w{i}" for i in range(30))), True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with two runs of a model, and their scores."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        make_workplace(folder, patch)
        train_and_predict(seeds=(1, 2))
        evaluate(MODEL, [1, 2])
    return folder


@pytest.fixture
def trained(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a copy of the folder, without the extra that ONNX needs."""
    monkeypatch.chdir(shutil.copytree(folder, tmp_path / "study"))
    monkeypatch.setattr(export, "PACKAGES", ("no_such_package",))
    return tmp_path


def test_the_folder_predicts_the_same_bytes_without_the_study(trained, monkeypatch, capsys):
    expected = heed.load_run(MODEL, 2).predict(TEXTS)
    commands.export(MODEL, 2, trained / "hub")
    said = "There is no model.onnx: no_such_package not installed. Run: make export, or pip "
    assert said in capsys.readouterr().out and said in (trained / "hub/README.md").read_text()
    monkeypatch.chdir(trained)
    shutil.rmtree("study")
    found = heed.load_run("hub").predict(TEXTS)
    assert found.probabilities.tobytes() == expected.probabilities.tobytes()
    config = json.loads(Path("hub/config.json").read_text())
    assert config["id2label"] == {"0": "bad", "1": "good"} and config["hidden_size"] == 6
    with pytest.raises(HeedError, match=r"hub: is there already. Remove it, or name another"):
        export.export_model(MODEL, 2, Path("hub"))


def test_the_card_has_the_scores_of_the_study_as_the_hub_reads_them(trained):
    export.export_model(MODEL, None, None)
    scores = pd.read_csv(f"results/evaluate/{MODEL}/summary.csv", index_col="seed")
    _, metadata, card = Path("exports", MODEL, "README.md").read_text().split("---\n", 2)
    values = yaml.safe_load(metadata)
    assert (values["license"], values["pipeline_tag"]) == ("unknown", "text-classification")
    (result,) = values["model-index"][0]["results"]
    found = {each["type"]: each["value"] for each in result["metrics"]}
    assert found["macro_f1"] == round(scores["macro_f1"][1], 6)
    low, high = export.interval(scores["macro_f1"], read_model_recipe(MODEL))
    mine, mean = scores["macro_f1"][1], scores["macro_f1"].mean()
    row = f"| test | macro_f1 | {mine:.4f} | {mean:.4f} | {low:.4f} to {high:.4f} |"
    assert row in card and "36 train, 12 validation, 12 test" in card
    assert "weights are not explanations by themselves" in card


@pytest.mark.parametrize(
    ("folds", "repeats", "complete", "fold", "near"),
    [(0, 1, True, "", "3"), (6, 2, False, ", fold 4 of 0 to 5", "at least 3 in all folds")],
)
def test_the_card_has_the_fold_of_all_repeats_and_the_near_duplicates_of_all_folds(
    trained, monkeypatch, folds, repeats, complete, fold, near
):
    run = read_run(MODEL, 1)
    statistics = dataclasses.replace(
        run.recipe.statistics, near_duplicates=NearDuplicates([2, 1, 0], complete)
    )
    recipe = dataclasses.replace(run.recipe, folds=folds, repeats=repeats, statistics=statistics)
    write_recipe(recipe_file(MODEL), recipe)
    of_fold = dataclasses.replace(run, fold=4, recipe=recipe.of_first_repeat())
    monkeypatch.setattr(export, "read_run", lambda *_: of_fold)
    export.export_model(MODEL, 1, None)
    card = Path("exports", MODEL, "README.md").read_text()
    assert f"This run{fold}: 36 train, 12 validation, 12 test." in card
    assert f" that have a near duplicate in training: {near}.\n" in card


def test_the_hubs_own_library_reads_the_card(trained):
    hub = pytest.importorskip("huggingface_hub", reason="it is in envs/pretrained.lock")
    export.export_model(MODEL, 1, None)
    data = hub.ModelCard.load(Path("exports", MODEL, "README.md")).data
    scores = pd.read_csv(f"results/evaluate/{MODEL}/summary.csv", index_col="seed")
    of_hub = {each.metric_type: each.metric_value for each in data.eval_results}
    assert of_hub["accuracy"] == pytest.approx(scores["accuracy"][1], abs=1e-6)
    assert data.model_name == MODEL and data.eval_results[0].dataset_split == "test"


@pytest.mark.parametrize(
    ("values", "folds", "repeats", "half"),
    [
        ([0.1, 0.2, 0.3], 0, 1, 4.302653 * 0.1 * (1 / 3) ** 0.5),
        ([0.1, 0.2, 0.3], 3, 1, 4.302653 * 0.1 * (1 / 3 + 1 / 2) ** 0.5),
        ([0.0, 0.2, 0.2, 0.2], 2, 1, 12.706205 * 0.1 / 2**0.5 * (1 / 2 + 1) ** 0.5),
        ([0.1], 0, 1, None),
    ],
)
def test_the_interval_is_of_seeds_or_of_folds(trained, values, folds, repeats, half):
    recipe = dataclasses.replace(read_model_recipe(MODEL), folds=folds, repeats=repeats)
    series = pd.Series(values, index=range(1, len(values) + 1))
    ends = export.interval(series, recipe)
    if half is None:
        assert ends is None
    else:
        assert ends == pytest.approx((series.mean() - half, series.mean() + half), abs=1e-6)


def untrained(**changes: object) -> ClassificationPredictor:
    """Return a predictor with a network of some kind, whose weights are random."""
    torch.manual_seed(1)
    recipe = read_model_recipe(MODEL).changed({"attention": "none", "heads": 1, **changes})
    return ClassificationPredictor(make_model(WORDS, recipe).eval(), WORDS, recipe, "cpu")


@pytest.mark.parametrize(
    ("changes", "reads"),
    [
        ({"hierarchical": True}, "hierarchical"),
        ({"bigram_buckets": 9, "character_buckets": 9}, "bigram_buckets, character_buckets"),
        ({"encoder": "none", "tfidf_branch": "words"}, "tfidf_branch"),
    ],
)
def test_a_network_that_reads_more_than_ids_has_no_onnx_file(trained, changes, reads):
    with pytest.raises(HeedError, match=rf"and this network more \({re.escape(reads)}\)"):
        export.write_onnx(untrained(**changes), trained / "model.onnx")
    assert not (trained / "model.onnx").exists()


@pytest.mark.slow
def test_what_onnxruntime_cannot_read_is_not_left_behind(trained, monkeypatch):
    pytest.importorskip("onnxruntime", reason="it is in envs/export.lock")
    monkeypatch.setattr(export, "PACKAGES", ())
    monkeypatch.setattr(export, "_trace", lambda *given: b"no graph")
    with pytest.raises(HeedError, match=r"^the network cannot be exported \(.*INVALID"):
        export.write_onnx(untrained(), trained / "model.onnx")
    assert not (trained / "model.onnx").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"pooling": "last"},
        {"pooling": "attention", "skip": True, "truncation": "ends"},
        {"pooling": "max", "encoder": "gru"},
        {"pooling": "max-attention"},
        {"attention": "multi-head", "heads": 3, "attention_residual": True},
        {"attention": "single-head", "score": "location", "pooling": "attention"},
        {"attention": "uniform", "attention_positions": True},
        {"encoder": "transformer", "heads": 2, "encoder_layers": 2, "pooling": "attention"},
    ],
    ids=str,
)
def test_onnxruntime_returns_what_pytorch_does(workplace, changes):
    """In one process, so that a second export is tested too; batches and lengths are not those
    of the export."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="it is in envs/export.lock")
    predictor, path = untrained(**changes), workplace / "model.onnx"
    assert export.write_onnx(predictor, path) <= export.TOLERANCE
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    shapes = {each.name: each.shape for each in session.get_inputs() + session.get_outputs()}
    assert shapes["logits"] == ["batch", 2] and shapes["weights"] == ["batch", "time"]
    assert shapes["ids"] == ["batch", "time"] and b".py" not in path.read_bytes()
    tokens = load_tokens("data/tokens/tiny")
    for rows in (np.arange(1), np.arange(5, 12), np.arange(60)):
        batch = predictor._encode(tokens, rows).batch(rows)
        found = session.run(None, {"ids": batch.ids.numpy(), "lengths": batch.lengths.numpy()})
        with torch.inference_mode():
            expected = predictor.model(batch), predictor.model.token_weights(batch)
        for a, b in zip(found, expected, strict=True):
            assert np.abs(a - b.numpy()).max() < 1e-5


@pytest.fixture
def documents(trained: Path) -> tuple[list[str], list[str]]:
    """The texts and labels of the test split, one of which is an empty text."""
    table = pd.read_parquet("data/tokens/tiny/documents.parquet")
    test = table[table["split"] == "test"]
    return test["text"].tolist(), test["label_kind"].tolist()


def test_scikit_learn_scores_a_run_as_heed_does(documents):
    classifier, (texts, labels) = RunClassifier(MODEL, 1), documents
    scores = pd.read_csv(f"results/evaluate/{MODEL}/summary.csv", index_col="seed")
    assert is_classifier(classifier) and classifier.classes_.tolist() == ["bad", "good"]
    assert classifier.score(texts, labels) == scores["accuracy"][1]
    assert get_scorer("f1_macro")(classifier, texts, labels) == scores["macro_f1"][1]
    assert np.isfinite(classifier.predict_proba(["", *TEXTS])).all()
    assert classifier.predict(pd.Series(texts)).tolist() == classifier.predict(texts).tolist()


def test_scikit_learn_calibrates_a_frozen_run(documents):
    classifier, (texts, labels) = RunClassifier("results/train/tiny-attention/1"), documents
    calibrated = CalibratedClassifierCV(FrozenEstimator(classifier), cv=2).fit(texts, labels)
    assert calibrated.predict_proba(texts).shape == (12, 2)
    again = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.predict_proba(texts), classifier.predict_proba(texts))
    with pytest.raises(TypeError, match="is trained already: give scikit-learn FrozenEstimator"):
        classifier.fit(texts, labels)
    with pytest.raises(TypeError, match="a list of str, found str"):
        classifier.predict("w1")


def test_a_classifier_with_another_seed_is_another_run(documents):
    classifier, other = RunClassifier(MODEL, 1), RunClassifier(MODEL, 2)
    assert not np.array_equal(classifier.predict_proba(TEXTS), other.predict_proba(TEXTS))
    found = classifier.set_params(seed=2).predict_proba(TEXTS)
    assert np.array_equal(found, other.predict_proba(TEXTS))


def test_the_seed_0_is_missed_and_no_default(documents):
    with pytest.raises(HeedError, match=r"/0/run\.json: not there"):
        export.export_model(MODEL, 0, Path("zero"))


def test_an_exported_folder_predicts_as_its_own_settings_say(trained):
    """Which a study of the same name elsewhere does not change."""
    run, out = read_run(MODEL, 1), Path("exports", MODEL)
    export.export_model(MODEL, 1, None)
    (out / "prediction.yaml").write_text("beam: 3\n...\n")
    with pytest.raises(HeedError, match=r"prediction\.yaml: cannot be read"):
        load_predictor(run, "cpu", folder=out)

"""Multi-label classification from end to end: from a table to a comparison and its report."""

import contextlib
import itertools
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import accuracy_score, hamming_loss, precision_recall_fscore_support

import heed
from heed.cli import stages
from heed.corpora.table import split_labels
from heed.files import HeedError, sha256
from heed.prediction import load_predictor
from heed.study import load, parse
from heed.study.cost import format_cost
from heed.tasks.classification.recipe import Data
from heed.tasks.classification.recipe import resolve_data as resolve_classification
from heed.tasks.classification.texts import classify
from heed.tasks.multilabel.learning import MultilabelLearner
from heed.tasks.multilabel.metrics import (
    label_matrix,
    make_metrics,
    prediction_table,
    statistics,
    statistics_table,
)
from heed.tasks.multilabel.recipe import METRICS, resolve_data
from heed.tokens.arrays import load_tokens
from heed.tokens.meta import read_meta
from heed.training.run import read_run
from tests.conftest import ROOT, train

CLASSES = ["arts", "money", "sports", "war"]
WORDS = {"arts": "opera", "money": "bank", "sports": "goal", "war": "army"}
SPLITS = ["train"] * 40 + ["validation"] * 12 + ["test"] * 12
PARAMS = """
study: {name: topics, title: Topics}
seeds: [1, 2]
sources: {news: {kind: table, path: news.csv, sha256: SHA256}}
corpora:
  news: {source: news, kind: table, text_column: text, label_column: topics,
    label_separator: ";", split_column: part, split: {kind: given}, tokenizer: whitespace}
experiments:
  topics: {task: multilabel, corpus: news, data: {label: topics}, title: Topics of news,
    linear_features: words}
searches: {}
defaults:
  multilabel: {hidden_size: 4, embedding_dim: 6, linear_size: 6, epochs: 3, batch_size: 4,
    learning_rate: 0.05, dropout: 0, device: cpu}
models:
  topics-baseline: {experiment: topics, corpus: news, variant: baseline, search: none,
    match_parameters_of: topics-baseline}
  topics-attention: {experiment: topics, corpus: news, variant: attention, search: none,
    match_parameters_of: topics-attention, pooling: attention}
"""
MODELS = ("topics-baseline", "topics-attention")


def news() -> pd.DataFrame:
    """Texts with the word of each of their topics, of which some have none."""
    generator = np.random.default_rng(0)
    sets = [names for size in range(3) for names in itertools.combinations(CLASSES, size)]
    rows = []
    for i, split in enumerate(SPLITS):
        names = sets[i % len(sets)]
        words = [f"w{w}" for w in generator.integers(0, 20, generator.integers(1, 9))]
        words += [WORDS[name] for name in names]
        text = " ".join(generator.permutation(words))
        rows.append({"text": text, "topics": "; ".join(names), "part": split})
    return pd.DataFrame(rows)


def write_study(folder: Path, text: str = PARAMS) -> None:
    """Write the table and params.yaml."""
    news().to_csv(folder / "news.csv", index=False)
    (folder / "params.yaml").write_text(text.replace("SHA256", sha256(folder / "news.csv")))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the study has run, up to its report, by plain commands."""
    folder = tmp_path_factory.mktemp("topics")
    write_study(folder)
    shutil.copytree(ROOT / "data/published", folder / "data/published")
    with contextlib.chdir(folder):
        stages.download("news")
        stages.tokenize("news")
        for model in MODELS:
            stages.recipe(model)
            stages.train(model, [1, 2])
            stages.score(model, [1, 2])
        stages.reference_models("topics")
        stages.compare()
        stages.report(check=False)
    return folder


@pytest.fixture
def study(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run the test in a copy of that folder."""
    shutil.copytree(made, tmp_path / "topics")
    monkeypatch.chdir(tmp_path / "topics")
    return tmp_path / "topics"


def drawn(documents: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """True labels, and predictions of which most are right: bool (documents, classes)."""
    generator = np.random.default_rng(seed)
    is_true = generator.random((documents, classes)) < 0.3
    return is_true, is_true ^ (generator.random((documents, classes)) < 0.2)


def scikit_learns(is_true: np.ndarray, is_predicted: np.ndarray) -> dict[str, float]:
    """Return every metric as scikit-learn computes it."""
    scores = {
        "subset_accuracy": accuracy_score(is_true, is_predicted),
        "label_accuracy": 1 - hamming_loss(is_true, is_predicted),
    }
    for average in ("micro", "macro"):
        values = precision_recall_fscore_support(
            is_true, is_predicted, average=average, zero_division=0
        )
        names = (f"{average}_{metric}" for metric in ("precision", "recall", "f1"))
        scores |= dict(zip(names, values[:3], strict=True))
    return scores


@pytest.mark.parametrize("seed", range(5))
def test_figures_from_sums_are_scikit_learns(seed):
    is_true, is_predicted = drawn(20 + 30 * seed, 2 + seed, seed)
    names = [f"c{i}" for i in range(2 + seed)]
    counts = statistics(is_true, is_predicted)
    metrics = make_metrics(Data("topics", names))
    assert metrics.compute(counts) == pytest.approx(scikit_learns(is_true, is_predicted))
    assert tuple(metric.name for metric in metrics.all) == METRICS
    by_class = precision_recall_fscore_support(is_true, is_predicted, zero_division=0)
    details = metrics.details(counts.sum(0))["classes"]
    for i, metric in enumerate(("precision", "recall", "f1", "support")):
        assert [each[metric] for each in details.values()] == pytest.approx(by_class[i])


@pytest.mark.parametrize("never", ["true", "predicted", "either"])
def test_a_class_that_does_not_occur_counts_in_no_macro_average(never):
    is_true, is_predicted = drawn(50, 4, 1)
    for name, column in (("true", is_true), ("predicted", is_predicted)):
        if never in (name, "either"):
            column[:, 3] = False
    scores = make_metrics(Data("topics", CLASSES)).compute(statistics(is_true, is_predicted))
    occurs = np.flatnonzero((is_true | is_predicted).any(0))
    expected = precision_recall_fscore_support(
        is_true, is_predicted, labels=occurs, average="macro", zero_division=0
    )
    names = ("macro_precision", "macro_recall", "macro_f1")
    assert [scores[name] for name in names] == pytest.approx(expected[:3])
    perfect = make_metrics(Data("topics", CLASSES)).compute(statistics(is_true, is_true))
    assert {*perfect.values()} == {1.0}


def test_a_model_that_predicts_nothing_has_micro_f1_zero():
    is_true, _ = drawn(10, 3, 1)
    scores = make_metrics(Data("topics", ["a", "b", "c"])).compute(
        statistics(is_true, np.zeros_like(is_true))
    )
    assert scores["micro_f1"] == scores["macro_f1"] == scores["micro_precision"] == 0


def test_a_document_has_the_classes_above_one_half_and_the_statistics_are_read_back(tmp_path):
    probabilities = np.asarray([[0.9, 0.5, 0.51], [0.1, 0.2, 0.3]])
    table = prediction_table(np.array(["x", "y"]), [["a"], []], probabilities, ["a", "b", "c"])
    assert table["predicted"].tolist() == [["a", "c"], []]
    table.to_parquet(tmp_path / "table.parquet")
    read = statistics_table(pd.read_parquet(tmp_path / "table.parquet"), ["a", "b", "c"])
    assert read["documents"].tolist() == [1, 1] and read["right"].tolist() == [0, 1]
    assert read["both:a"].tolist() == [1, 0] and read["predicted:c"].tolist() == [1, 0]


def test_the_loss_is_the_binary_cross_entropy_of_each_class_with_smoothed_targets():
    learner = MultilabelLearner.__new__(MultilabelLearner)
    learner.device, learner._weights = "cpu", None
    logits, learner._targets = torch.tensor([[2.0, -1.0]]), torch.tensor([[1.0, 0.0]])
    batch = SimpleNamespace(rows=[0])
    for share in (0.0, 0.2):
        learner._h = SimpleNamespace(label_smoothing=share)
        p = torch.sigmoid(logits)
        smooth = torch.tensor([[1 - share / 2, share / 2]])
        expected = -(smooth * p.log() + (1 - smooth) * (1 - p).log()).sum()
        assert learner._cross_entropy(logits, batch).item() == pytest.approx(expected.item())


def test_balanced_weights_let_the_documents_with_and_without_a_class_count_the_same():
    labels = np.zeros((10, 3), np.float32)
    labels[:2, 0] = labels[:10, 2] = 1
    weights = MultilabelLearner.balance(labels, np.arange(8))
    assert weights[:2, 0].sum() == weights[2:8, 0].sum() == 4
    assert (weights[:, 1:] == 1).all(), "a class that all have, or none, is not weighted"


def test_the_corpus_has_lists_of_labels_and_says_so(made):
    meta = read_meta(made / "data/tokens/news")
    assert meta.labels == {"topics": CLASSES} and meta.multilabel == ["topics"]
    documents = load_tokens(made / "data/tokens/news").documents(["label_topics"])
    expected = [[name for name in cell.split("; ") if name] for cell in news()["topics"]]
    assert [list(names) for names in documents["label_topics"]] == expected
    assert expected[0] == [], "also where the first document has no label"


@pytest.mark.drill("kill -9 of a training between epochs")
def test_a_killed_training_ends_with_the_same_weights(study):
    weights = Path("results/train/topics-attention/1/model.safetensors")
    whole = weights.read_bytes()

    def die(progress) -> None:
        if progress.epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("topics-attention", 1, die)
    epochs = []
    train("topics-attention", 1, lambda progress: epochs.append(progress.epoch))
    assert set(epochs) == {3} and weights.read_bytes() == whole


def test_history_has_the_metrics_of_validation_and_the_best_is_kept(study):
    history = pd.read_csv("results/train/topics-attention/1/history.csv")
    validated = [f"validation_{name}" for name in ("loss", "micro_f1", "macro_f1")]
    assert list(history) == ["epoch", "train_loss", *validated]
    best = read_run("topics-attention", 1).best_epoch
    assert best == history["validation_loss"].idxmin() + 1
    summary = pd.read_csv("results/evaluate/topics-attention/summary.csv")
    kept = history["validation_micro_f1"][best - 1]
    assert summary["validation_micro_f1"][0] == pytest.approx(kept)


def test_a_prediction_does_not_change_with_its_batch(study):
    tokens = load_tokens("data/tokens/news")
    predictor = load_predictor(read_run("topics-attention", 1), "cpu")
    rows = tokens.rows("test", 0)
    together = predictor.predict(tokens, rows)
    alone = pd.concat([predictor.predict(tokens, rows[i : i + 1]) for i in range(len(rows))])
    columns = [f"p:{name}" for name in CLASSES]
    assert np.allclose(together[columns], alone[columns], atol=1e-6)
    assert list(together["id"]) == list(alone["id"])
    assert together[columns].to_numpy().sum(1).max() > 0, "each class by itself"


def test_the_comparison_is_by_micro_f1_of_models_and_reference_models(study):
    comparison = json.loads(Path("results/compare/comparison.json").read_text())
    result = comparison["experiments"]["topics"]
    assert result["metric"] == "micro_f1" and {*result["reference_models"]} == {
        "linear",
        "majority",
    }
    difference = result["comparisons"]["attention"]["baseline"]
    assert difference["interval_pp"] and difference["p_corrected"] is not None
    for model, name in zip(MODELS, ("baseline", "attention"), strict=True):
        table = pd.read_parquet(f"results/predict/{model}/predictions.parquet")
        summary = result["models"][name]["summary"]
        for i, seed in enumerate((1, 2)):
            test = table[(table["seed"] == seed) & (table["split"] == "test")]
            matrices = [label_matrix(test[column], CLASSES) for column in ("label", "predicted")]
            scores = {metric: summary[metric]["values"][i] for metric in METRICS}
            assert scores == pytest.approx(scikit_learns(*matrices))


def test_the_linear_reference_model_finds_the_words_and_the_constant_one_has_no_frequent_label(
    study,
):
    linear = pd.read_parquet("results/reference_models/topics/linear-0.parquet")
    test = linear[linear["split"] == "test"]
    right = label_matrix(test["label"], CLASSES) == label_matrix(test["predicted"], CLASSES)
    assert right.mean() > 0.9
    majority = pd.read_parquet("results/reference_models/topics/majority-0.parquet")
    assert not majority["predicted"].map(len).any()
    tokens = load_tokens("data/tokens/news")
    train = tokens.documents(["label_topics"], tokens.rows("train", 0))["label_topics"]
    shares = label_matrix(train, CLASSES).mean(0)
    assert np.allclose(majority.filter(like="p:").iloc[0], shares)
    selection = json.loads(
        Path("results/reference_models/topics/reference_models.json").read_text()
    )
    assert len(selection["validation_micro_f1"][0]) == len(selection["tried"])


def test_the_page_says_micro_f1_and_nowhere_accuracy_as_what_decides(study):
    page = Path("reports/index.html").read_text()
    text = " ".join(re.sub(r"<(style|script).*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL).split())
    assert "Micro F1 on test, and gain, of every experiment" in text
    assert "Differences of micro F1 in percentage points" in text
    without = re.sub("subset accuracy|label accuracy", "", text, flags=re.IGNORECASE)
    assert "accuracy" not in without.lower()
    rows = pd.read_csv("reports/tables/topics--attention.csv")["row"].tolist()
    shares = ["subset accuracy", "label accuracy", "micro avg", "macro avg"]
    assert rows == [*CLASSES, *shares]
    assert "confusion" not in text.lower()
    documents = Path("reports/documents/topics-attention.html").read_text()
    assert "sports; war" in documents


def test_texts_have_any_number_of_labels(study):
    texts = ["goal of the army", "w1 w2"]
    lines = classify("topics-attention", texts[0]).splitlines()
    assert lines[1] == "any number of labels, each predicted by itself:"
    assert {line.split()[0] for line in lines[2:6]} == set(CLASSES)
    classified = heed.load_run("results/train/topics-attention/1").predict(texts)
    above = [[c for c, p in zip(CLASSES, row, strict=True) if p > 0.5]
             for row in classified.probabilities]  # fmt: skip
    assert classified.predicted == above and classified.probabilities.shape == (2, 4)


def test_explanations_say_why_no_test_is_defined(study):
    text = Path("params.yaml").read_text()
    explained = "explain: {documents: 1, models: {topics-attention: {noise: news}}}\n"
    Path("params.yaml").write_text(text + explained)
    stages.explain("topics-attention", [1, 2], 1.0)
    summary = pd.read_csv("results/explain/topics-attention/summary.csv")
    assert len(summary) and summary["mean"].isna().all()
    reasons = summary.set_index("test")["reason"].drop("uniform")  # which a comparison answers
    assert reasons.str.contains("decides on each class by itself").all()
    stages.report(check=False)
    page = Path("reports/index.html").read_text()
    assert "What the weights explain" not in page
    assert "The tests of what they explain are of predictions of one class." in page


def test_the_cost_is_estimated(study):
    shutil.rmtree("data/tokens")
    params = load("params.yaml")
    assert "    topics-attention " in format_cost(params)


@pytest.mark.parametrize(
    ("cell", "names"),
    [("", []), (" ", []), (None, []), ("a", ["a"]), ("a; b", ["a", "b"]),
     (["a", "b;c"], ["a", "b;c"]), ([], [])],
)  # fmt: skip
def test_a_cell_has_any_number_of_labels(cell, names):
    assert split_labels("news.csv:2", cell, ";") == names


@pytest.mark.parametrize("cell", ["a;;b", ";a", "a; "])
def test_a_separator_without_a_label_is_an_error(cell):
    with pytest.raises(HeedError, match=r"news.csv:2: no label before, after or between two ';'"):
        split_labels("news.csv:2", cell, ";")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("task: multilabel", "task: classification", r"topics.task.*any number of labels"),
        ('label_separator: ";", ', "", r"topics.task.*one label.* its task is classification"),
        ("epochs: 3", "monitor: accuracy", r"monitor.*micro_f1"),
    ],
)
def test_a_task_that_does_not_fit_its_corpus_is_refused(tmp_path, old, new, message):
    text = PARAMS.replace("SHA256", "a" * 64)
    assert old in text
    with pytest.raises(HeedError, match=f"(?s){message}"):
        parse(text.replace(old, new))


def test_a_label_of_the_other_kind_is_refused_where_tokens_are_read(made):
    meta = read_meta(made / "data/tokens/news")
    with pytest.raises(HeedError, match=r"any number of classes of label topics.*: multilabel"):
        resolve_classification({"label": "topics"}, meta, "experiments.x.data")
    single = type(meta)(**(vars(meta) | {"multilabel": []}))
    with pytest.raises(HeedError, match=r"has one class of label topics.*label_separator"):
        resolve_data({"label": "topics"}, single, "experiments.x.data")

"""A classification: its metrics from sums of statistics, its loss, and the tables of `score`."""

import dataclasses
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import accuracy_score, precision_recall_fscore_support
from sklearn.utils.class_weight import compute_class_weight

from heed.evaluation.item_statistics import evaluate, group_edges
from heed.evaluation.significance import assess, t_test
from heed.files import HeedError
from heed.recipe import read_model_recipe, write_recipe
from heed.tasks.classification import learning
from heed.tasks.classification.evaluation import LENGTH_GROUPS, by_length
from heed.tasks.classification.learning import ClassificationLearner, make_learner
from heed.tasks.classification.metrics import AVERAGES, BY_CLASS, make_metrics, statistics
from heed.tasks.classification.recipe import METRICS, Data, resolve_data
from heed.tokens.arrays import load_tokens
from heed.tokens.meta import read_meta
from heed.training.machine import seed_everything
from heed.training.run import split_documents
from tests.conftest import change_recipe, train_and_predict, write_tokens

CLASSES = ["a", "b", "c"]
WEIGHTS = torch.tensor([2.0, 2 / 3])  # by hand: 9 of 36 documents are bad, so 36 / (2 × 9) and …


Answers = tuple[np.ndarray, np.ndarray]


def drawn(documents: int, classes: list[str], right: float, seed: int) -> Answers:
    """Labels, and predictions of which about a share `right` is right."""
    generator = np.random.default_rng(seed)
    label = np.asarray(classes)[generator.integers(0, len(classes), documents)]
    other = np.asarray(classes)[generator.integers(0, len(classes), documents)]
    return label, np.where(generator.random(documents) < right, label, other)


@pytest.mark.parametrize("seed", range(0, 20, 3))
def test_metrics_from_sums_are_scikit_learns_to_the_last_bit(seed):
    classes = [f"c{i}" for i in range(2 + seed)]
    label, predicted = drawn(10 + 37 * seed, classes, 0.6, seed)
    computed = make_metrics(Data("kind", classes)).compute(statistics(label, predicted, classes))
    expected = {"accuracy": float(accuracy_score(label, predicted))}
    for average in AVERAGES:
        values = precision_recall_fscore_support(
            label, predicted, labels=classes, average=average, zero_division=0
        )
        named = zip(BY_CLASS, values[:3], strict=True)
        expected |= {f"{average}_{metric}": float(value) for metric, value in named}
    assert computed == expected and tuple(computed) == METRICS


@pytest.mark.parametrize(("label", "predicted"), [
    ("aabb", "aabb"),  # perfect, and no document has class c
    ("aabb", "aacb"),  # c is predicted, and no document has it
    ("aabc", "aabb"),  # c is never predicted
    ("aaaa", "aaaa"),
    ("aaaa", "bbbb"),
    ("c", "c"),
])  # fmt: skip
def test_classes_that_do_not_occur_count_as_in_scikit_learn(label, predicted):
    answers, metrics = ([*label], [*predicted]), make_metrics(Data("kind", CLASSES))
    computed = metrics.compute(statistics(*answers, CLASSES))
    for average in AVERAGES:
        values = precision_recall_fscore_support(*answers, average=average, zero_division=0)
        assert [computed[f"{average}_{metric}"] for metric in BY_CLASS] == list(values[:3])
    details = metrics.details(statistics(*answers, CLASSES).sum(0))
    expected = precision_recall_fscore_support(*answers, labels=CLASSES, zero_division=0)
    for i, metric in enumerate((*BY_CLASS, "support")):
        assert [scores[metric] for scores in details["classes"].values()] == list(expected[i])
    assert computed["accuracy"] == accuracy_score(*answers)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("label", ["aaab", "aabb", "aaaa", "c"])
def test_every_document_contributes_1_to_a_perfect_classifier(metric, label):
    """A class whose only document a jackknife leaves out is none of its classes."""
    runs = statistics([*label], [*label], CLASSES)[None]
    values = make_metrics(Data("kind", CLASSES)).named(metric).by_item(runs)
    assert values.tolist() == [[1.0] * len(label)]


def test_the_value_of_an_item_is_its_statistic_or_its_jackknife_pseudo_value():
    metrics = make_metrics(Data("kind", CLASSES))
    runs = np.stack([statistics(*drawn(60, CLASSES, 0.6, seed), CLASSES) for seed in (1, 2)])
    accuracy, macro_f1 = metrics.named(None), metrics.named("macro_f1")
    values = accuracy.by_item(runs)
    assert (values == runs[..., 0]).all() and values.dtype == np.uint8
    for run, values in zip(runs, macro_f1.by_item(runs), strict=True):
        metric = metrics.compute(run)["macro_f1"]
        assert values.mean() == pytest.approx(metric), "their mean is the metric itself"
        others = (np.delete(run, i, 0) for i in range(len(run)))
        without = np.array([metrics.compute(rest)["macro_f1"] for rest in others])
        pseudo = len(run) * metric - (len(run) - 1) * without
        assert np.allclose(values - values.mean(), pseudo - pseudo.mean())


def macro_f1_by_item(label: np.ndarray, wrong: np.ndarray, generator) -> np.ndarray:
    """Contributions of runs, (seeds, documents), whose wrong answers are drawn."""
    predicted = np.where(wrong, generator.choice(CLASSES, wrong.shape), label)
    runs = np.stack([statistics(label, run, CLASSES) for run in predicted])
    return make_metrics(Data("kind", CLASSES)).named("macro_f1").by_item(runs)


def test_validation_counts_the_classes_that_occur(monkeypatch):
    learner = ClassificationLearner.__new__(ClassificationLearner)
    learner.validation, learner.device = np.arange(4), "cpu"
    learner.encoded = SimpleNamespace(evaluation_batches=lambda rows: [])
    learner._labels = np.array([0, 0, 1, 1])  # of three classes
    monkeypatch.setattr(learning, "probabilities", lambda *_: np.eye(3)[learner._labels])
    assert learner.validate(None)["macro_f1"] == 1.0


def test_a_metric_that_is_no_mean_is_compared_by_the_same_statistics():
    generator = np.random.default_rng(3)
    label = generator.choice(CLASSES, 300)

    def runs(right: float) -> np.ndarray:
        return macro_f1_by_item(label, generator.random((4, 300)) > right, generator)

    test = assess([runs(0.9)], [runs(0.5)])
    assert test.interval_pp[0] > 10 and test.p < 0.01
    level = assess([runs(0.7)], [runs(0.7)])
    assert level.interval_pp[0] < 0 < level.interval_pp[1]


@pytest.mark.slow
def test_intervals_of_macro_f1_cover_the_expected_result_as_often_as_they_say():
    """Two models as good as each other, whose seeds vary: the interval of the difference holds 0 in
    95 or more of 100 studies."""
    covered, studies = 0, 400
    generator = np.random.default_rng(0)
    for _ in range(studies):
        label = generator.choice(CLASSES, 200, p=[0.6, 0.3, 0.1])
        ease = generator.beta(4, 1.5, 200)  # some documents are easy for both
        sides = []
        for _ in range(2):
            right = np.clip(ease + generator.normal(0, 0.05, (5, 1)), 0, 1)
            wrong = generator.random((5, 200)) > right
            sides.append(macro_f1_by_item(label, wrong, generator))
        low, high = t_test([sides[0]], [sides[1]]).interval_pp
        covered += low <= 0 <= high
    assert 0.93 <= covered / studies <= 0.995


def test_a_label_with_one_class_is_refused_before_any_training(workplace):
    meta = dataclasses.replace(read_meta(Path("data/tokens/tiny")), labels={"kind": ["good"]})
    with pytest.raises(HeedError, match=r"experiments.x.data.label: .* has 1 class: there is noth"):
        resolve_data({"label": "kind"}, meta, "experiments.x.data")


@pytest.fixture
def unbalanced(workplace: Path) -> None:
    """One of four documents is bad."""
    labels = ["good" if i % 4 else "bad" for i in range(60)]
    splits = ["train"] * 36 + ["validation"] * 12 + ["test"] * 12
    shutil.rmtree("data/tokens/tiny")
    texts = [[f"w{i % 5}", "fine"] for i in range(60)]
    meta = write_tokens(workplace / "data/tokens/tiny", texts, labels, splits)
    recipe = dataclasses.replace(read_model_recipe("tiny-self-attention"), tokens=meta["digest"])
    write_recipe("results/recipe/tiny/tiny-self-attention.yaml", recipe)


def learner_with(**changes) -> ClassificationLearner:
    plain = {"embedding_dropout": 0.0, "dropout": 0.0, "batch_size": 16}
    change_recipe(**plain, encoder="embeddings", attention="none", heads=1, **changes)
    recipe, tokens = read_model_recipe("tiny-self-attention"), load_tokens("data/tokens/tiny")
    seed_everything(1)
    return make_learner(recipe, tokens, split_documents(tokens, 0), 1, "cpu")


def test_with_balanced_classes_the_loss_is_torchs_weighted_cross_entropy(unbalanced):
    learner = learner_with(class_weights="balanced")
    for (batch,) in learner.steps(1, None):
        targets = torch.from_numpy(batch.rows % 4 != 0).long()
        logits = learner.model(batch)
        expected = F.cross_entropy(logits, targets, weight=WEIGHTS, reduction="sum")
        loss = learner.loss(learner.model, batch)
        assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
        assert learner.weight(batch) == len(batch.rows)


def test_validation_is_not_weighted(unbalanced):
    plain, weighted = (learner_with(class_weights=name) for name in ("none", "balanced"))
    assert plain.validate(plain.model) == weighted.validate(weighted.model)


def test_the_weights_are_scikit_learns_of_the_training_split_alone():
    labels, train = np.array([0, 2, 2, 2, 0, 2, -1, 1]), np.arange(6)  # class 1 is not in it
    expected = compute_class_weight("balanced", classes=np.array([0, 2]), y=labels[train])
    weights = ClassificationLearner.balance(labels, train)
    assert np.allclose(weights[train], expected[(labels[train] == 2).astype(int)])
    assert weights[6:].tolist() == [0, 0] and weights[train].mean() == pytest.approx(1)


def test_length_groups_are_of_the_whole_corpus_and_every_document_is_in_one():
    lengths = np.arange(1, 81)
    edges = group_edges(lengths, LENGTH_GROUPS)
    assert edges.tolist() == [11, 21, 31, 41, 51, 61, 71, 80]
    found = by_length(lengths[:25] % 2 == 0, lengths[:25], edges)
    assert found["longest"].tolist() == [11, 21, 31] and found["documents"].tolist() == [11, 10, 4]
    assert found["right"].tolist() == [5, 5, 2]
    assert found["mean_length"].tolist() == [6.0, 16.5, 23.5]
    assert group_edges(np.full(50, 7), LENGTH_GROUPS).tolist() == [7]


def test_score_writes_tables_of_every_seed_that_add_up_to_the_test_split(workplace):
    train_and_predict(seeds=(1, 2))
    folder = workplace / "results/evaluate/tiny/tiny-self-attention"
    summary = evaluate("tiny-self-attention", [1, 2])
    for name in ("confusion", "lengths"):
        table = pd.read_csv(folder / f"{name}.csv")
        if name == "confusion":
            table["right"] = table["documents"].where(table["label"] == table["predicted"], 0)
        sums = table.groupby("seed")[["documents", "right"]].sum()
        assert sums["documents"].tolist() == [12, 12]
        assert (sums["right"] / 12).tolist() == pytest.approx(summary["accuracy"].tolist())
    history = pd.read_csv(folder / "history.csv")
    assert history.groupby("seed")["epoch"].max().tolist() == [3, 3]

"""A task gives additive statistics: from their sums come all figures, and from each item's share
the tests of every figure.
"""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from heed.evaluation.significance import assess, differences, t_test
from heed.files import HeedError
from heed.tasks.classification.metrics import (
    AVERAGES,
    BY_CLASS,
    make_metrics,
    statistic_names,
    statistics,
)
from heed.tasks.classification.recipe import (
    METRICS,
    VALIDATION_METRICS,
    Data,
    Hyperparameters,
    resolve_data,
)
from heed.tokens.meta import read_meta


def drawn(
    documents: int, classes: list[str], right: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and predictions of which about a share `right` is right."""
    generator = np.random.default_rng(seed)
    label = np.asarray(classes)[generator.integers(0, len(classes), documents)]
    other = np.asarray(classes)[generator.integers(0, len(classes), documents)]
    return label, np.where(generator.random(documents) < right, label, other)


@pytest.mark.parametrize("seed", range(20))
def test_figures_from_sums_are_scikit_learns_to_the_last_bit(seed):
    classes = [f"c{i}" for i in range(2 + seed)]
    label, predicted = drawn(10 + 37 * seed, classes, 0.6, seed)
    counts = statistics(label, predicted, classes)
    assert counts.shape == (len(label), len(statistic_names(classes)))
    assert {*np.unique(counts)} <= {0, 1}
    computed = make_metrics(Data("kind", classes)).compute(counts)
    expected = {"accuracy": float(accuracy_score(label, predicted))}
    for average in AVERAGES:
        values = precision_recall_fscore_support(
            label, predicted, labels=classes, average=average, zero_division=0
        )
        expected |= {
            f"{average}_{metric}": float(v) for metric, v in zip(BY_CLASS, values[:3], strict=True)
        }
    assert computed == expected


def test_the_metrics_that_a_study_may_name_are_those_that_are_computed():
    metrics = make_metrics(Data("kind", ["a", "b"]))
    assert tuple(metric.name for metric in metrics.all) == METRICS


def test_the_value_of_an_item_is_its_statistic_or_its_jackknife_pseudo_value():
    classes = ["a", "b", "c"]
    metrics = make_metrics(Data("kind", classes))
    runs = np.stack([statistics(*drawn(60, classes, 0.6, seed), classes) for seed in (1, 2)])
    accuracy, macro_f1 = metrics.named(None), metrics.named("macro_f1")
    values = accuracy.by_item(runs)
    assert (values == runs[..., 0]).all() and values.dtype == np.uint8
    for run, values in zip(runs, macro_f1.by_item(runs), strict=True):
        metric = metrics.compute(run)["macro_f1"]
        assert values.mean() == pytest.approx(metric), "their mean is the metric itself"
        without = np.array(
            [metrics.compute(np.delete(run, i, 0))["macro_f1"] for i in range(len(run))]
        )
        pseudo = len(run) * metric - (len(run) - 1) * without
        assert np.allclose(values - values.mean(), pseudo - pseudo.mean())


def test_a_figure_that_is_no_mean_is_compared_by_the_same_statistics():
    classes = ["a", "b", "c"]
    macro_f1 = make_metrics(Data("kind", classes)).named("macro_f1")

    def runs(right: float, first: int) -> np.ndarray:
        label, _ = drawn(300, classes, 1.0, 0)
        parts = []
        for seed in range(first, first + 4):
            generator = np.random.default_rng(seed)
            wrong = generator.random(300) > right
            parts.append(
                statistics(label, np.where(wrong, generator.choice(classes, 300), label), classes)
            )
        return macro_f1.by_item(np.stack(parts))

    test = assess(differences([runs(0.9, 1)], [runs(0.5, 9)]))
    assert test.interval_pp[0] > 10 and test.p < 0.01 and test.others.documents_p < 1e-3
    assert test.others.mcnemar_p is test.effect.odds_ratio is None, "both count right and wrong"
    level = assess(differences([runs(0.7, 1)], [runs(0.7, 9)]))
    assert level.interval_pp[0] < 0 < level.interval_pp[1] and level.others.documents_p > 0.01


@pytest.mark.slow
def test_intervals_of_macro_f1_cover_the_expected_result_as_often_as_they_say():
    """Two models as good as each other, whose seeds vary: the interval of the difference holds 0 in
    95 or more of 100 studies.
    """
    classes, covered, studies = ["a", "b", "c"], 0, 400
    macro_f1 = make_metrics(Data("kind", classes)).named("macro_f1")
    generator = np.random.default_rng(0)
    for _ in range(studies):
        label = generator.choice(classes, 200, p=[0.6, 0.3, 0.1])
        ease = generator.beta(4, 1.5, 200)  # some documents are easy for both
        sides = []
        for _ in range(2):
            wrong = generator.random((5, 200)) > np.clip(
                ease + generator.normal(0, 0.05, (5, 1)), 0, 1
            )
            predicted = np.where(wrong, generator.choice(classes, (5, 200)), label)
            sides.append(
                macro_f1.by_item(np.stack([statistics(label, run, classes) for run in predicted]))
            )
        low, high = t_test(differences([sides[0]], [sides[1]])).interval_pp
        covered += low <= 0 <= high
    assert 0.93 <= covered / studies <= 0.995


def test_epochs_are_selected_by_figures_of_validation():
    assert set(VALIDATION_METRICS) < {
        *Hyperparameters.__dataclass_fields__["monitor"].type.__args__
    }


def test_a_label_with_one_class_is_refused_before_any_training(workplace):
    meta = dataclasses.replace(read_meta(Path("data/tokens/tiny")), labels={"kind": ["good"]})
    with pytest.raises(HeedError, match=r"experiments.x.data.label: .* has 1 class: there is noth"):
        resolve_data({"label": "kind"}, meta, "experiments.x.data")

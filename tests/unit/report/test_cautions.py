"""A degenerate run is named with its seed, and so is a model below the majority class."""

import pytest

from heed.evaluation.results import (
    Corpus,
    ExperimentResult,
    ModelResult,
    ReferenceResult,
    mean_and_std,
)
from heed.recipe import CorpusStatistics
from heed.report.measures import degenerate_sentence
from heed.tasks.classification.recipe import Hyperparameters
from heed.tokens.meta import NearDuplicates

SEEDS = [1, 2, 3]


def experiment(majority: list[float], folds: int = 0, metric: str = "accuracy", **models: list):
    statistics = CorpusStatistics(
        "csv", 0, 0, {}, False, False, NearDuplicates(test=[0], complete=True)
    )
    h = Hyperparameters()
    trained = {
        name: ModelResult(name, h, 0, [], [], {metric: mean_and_std(values)}, {}, None)
        for name, values in models.items()
    }
    reference_models = (
        {"majority": ReferenceResult({metric: mean_and_std(majority)}, {})} if majority else {}
    )
    corpus = Corpus("made-up", folds, statistics)
    return ExperimentResult(
        "classification", {"classes": []}, metric, [], "", [], corpus, trained, reference_models, {}
    )


@pytest.mark.parametrize(
    ("baseline", "sentence"),
    [
        ([0.85, 0.84, 0.86], ""),
        ([0.85, 0.76, 0.86], ""),  # 9.5 points below the median of the others
        ([0.85, 0.74, 0.86], "baseline is degenerate with seed 2 (0.7400)"),
        ([0.85, 0.50, 0.86], "baseline is degenerate with seed 2 (0.5000)"),
        (
            [0.55, 0.50, 0.52],
            "baseline is degenerate with seed 2 (0.5000)",
        ),  # at the majority class
        ([0.50, 0.49, 0.86], "baseline is degenerate with seeds 1 (0.5000), 2 (0.4900)"),
        ([0.50, 0.50, 0.50], "every run of baseline is degenerate"),
        (
            [0.48, 0.49, 0.47],
            "every run of baseline is degenerate; baseline (0.4800) is below the majority class "
            "(0.5000)",
        ),
        (
            [0.51, 0.35, 0.52],
            "baseline is degenerate with seed 2 (0.3500); baseline (0.4600) is below the majority "
            "class (0.5000)",
        ),
    ],
)
def test_a_collapsed_run_and_a_model_below_the_majority_class_are_named(baseline, sentence):
    assert degenerate_sentence(experiment([0.5], baseline=baseline), SEEDS) == sentence


def test_with_folds_a_run_is_compared_on_its_own_test_part():
    made = experiment([0.4, 0.6, 0.5], folds=3, mean=[0.55, 0.58, 0.59])
    assert degenerate_sentence(made, SEEDS) == "mean is degenerate with seed 2 (0.5800)"
    assert degenerate_sentence(made, [4, 5, 6]) == "mean is degenerate with seed 5 (0.5800)"


def test_without_a_majority_class_or_with_one_seed_there_is_less_to_say():
    made = experiment([], baseline=[0.1, 0.2, 0.15])
    assert degenerate_sentence(made, SEEDS) == ""
    assert degenerate_sentence(experiment([0.5], baseline=[0.7]), [1]) == ""
    one = degenerate_sentence(experiment([0.5], baseline=[0.5]), [1])
    assert one == "every run of baseline is degenerate"

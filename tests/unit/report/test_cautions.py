"""A degenerate run is found by its seed."""

import dataclasses

import pytest

from heed.evaluation.results import ExperimentResult, ReferenceResult, mean_and_std
from heed.report.measures import degenerate_seeds
from tests.conftest import cases
from tests.fixtures.report.answers import make_experiment, make_model

CASES = cases(__file__)
SEEDS = [1, 2, 3]


def experiment(majority: list[float], folds: int = 0, **models: list[float]) -> ExperimentResult:
    made = make_experiment()
    of_majority = ReferenceResult({"accuracy": mean_and_std(majority)}, {}) if majority else None
    return dataclasses.replace(
        made, corpus=dataclasses.replace(made.corpus, folds=folds),
        models={name: make_model(name, values, values, 0.1) for name, values in models.items()},
        reference_models={"majority": of_majority} if of_majority else {},
    )  # fmt: skip


def found(result: ExperimentResult, seeds: list[int]) -> list[int]:
    (model,) = result.models.values()
    return [*degenerate_seeds(model, result, seeds)]


@pytest.mark.parametrize(("baseline", "seeds"), CASES["degenerate"])
def test_a_run_is_degenerate_at_the_majority_class_or_far_below_the_others(baseline, seeds):
    assert found(experiment([0.5], baseline=baseline), SEEDS) == seeds


def test_with_folds_a_run_is_compared_on_its_own_test_part():
    made = experiment([0.4, 0.6, 0.5], folds=3, mean=[0.55, 0.58, 0.59])
    assert found(made, SEEDS) == [2] and found(made, [4, 5, 6]) == [5]


def test_without_a_majority_class_or_with_one_seed_there_is_less_to_find():
    assert found(experiment([], baseline=[0.1, 0.2, 0.15]), SEEDS) == []
    assert found(experiment([0.5], baseline=[0.7]), [1]) == []
    assert found(experiment([0.5], baseline=[0.5]), [1]) == [1]

"""The tests of weights, in the order of the report; each is declared in its own file."""

from collections.abc import Sequence

import numpy as np
import torch

from heed.explanation.adversarial_attention import Adversaries
from heed.explanation.adversarial_weights import AdversarialWeights
from heed.explanation.correlation import Correlation
from heed.explanation.diagnostic_mlp import Guided
from heed.explanation.erasure import Erasure, SingleErasure
from heed.explanation.input_removal import InputRemoval
from heed.explanation.permutation import Conicity, Permutation
from heed.explanation.plausibility import Plausibility
from heed.explanation.recency import RecencyTest
from heed.explanation.seeds import Seeds
from heed.explanation.test import Judged, Outcome, Prediction, Weighted, WeightsTest

TESTS: tuple[WeightsTest, ...] = (
    Correlation(), Permutation(), AdversarialWeights(), SingleErasure(), Erasure(), Seeds(),
    Guided(), Adversaries(), InputRemoval(), Plausibility(), Conicity(), RecencyTest(),
)  # fmt: skip
CRITERIA = {test.name: test for test in TESTS if test.criterion}
# the order of summary.csv: tests of each seed, of pairs of seeds, and those with their own table
EXPLAINED = (
    *(test for test in TESTS if test.table in ("documents", "rankings")),
    *(test for test in TESTS if test.table == "seeds"),
    *(test for test in TESTS if test.table == "recency"),
)

TRANSLATED = tuple(test for test in EXPLAINED if test.of_translations)


def measure_weights(
    weighted: Weighted, generator: torch.Generator, tests: Sequence[WeightsTest] = EXPLAINED
) -> dict[str, float]:
    """Return the measures of one prediction's weights; tests of two units and more come last."""
    units = len(weighted.weights)
    measures = {"max_weight": float(weighted.weights.mean(1).max())}
    for test in sorted(tests, key=lambda test: test.least_units):
        if units >= test.least_units:
            measures |= test.measure_weights(weighted, generator)
    return measures


def measure_rankings(
    prediction: Prediction, evidence: np.ndarray, share: float
) -> dict[str, dict[str, float]]:
    """Return the measures of each ranking of a prediction, as `WeightsTest.measure_rankings`."""
    measures: dict[str, dict[str, float]] = {name: {} for name in prediction.rankings}
    for test in EXPLAINED:
        if prediction.units >= test.least_units:
            found = test.measure_rankings(prediction, evidence, share)
            for name, values in found.items():
                measures[name] |= values
    return {name: values for name, values in measures.items() if values}


def judge(judged: Judged) -> dict[str, Outcome]:
    """Return the outcome of each criterion for a model, by the name of its test."""
    return {name: test.judge(judged) for name, test in CRITERIA.items()}

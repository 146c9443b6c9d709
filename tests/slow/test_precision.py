"""What a training learns in bfloat16 is what it learns in float32: equivalent over seeds."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from heed.cli import stages
from heed.evaluation.item_statistics import read_model
from heed.files import sha256
from heed.prediction import write_predictions
from heed.task import task_module
from tests.conftest import ROOT, train
from tests.makers.precision import has_bfloat16

pytestmark = [has_bfloat16]
EXPERIMENTS = ["rank", "topic", "translation"]
SEEDS, MARGIN = [1, 2, 3, 4, 5], 0.5  # points


def scores(model: str) -> list[np.ndarray]:
    """Train a model with all seeds; return what each test item contributes to each one's score."""
    for seed in SEEDS:
        train(model, seed)
    write_predictions(model, SEEDS)
    tested = read_model(model, SEEDS)
    metrics = task_module(tested.recipe.task, "metrics").make_metrics(tested.recipe.data)
    return [table.to_numpy() for table in tested.by_item(metrics.named(None))]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_bfloat16_learns_the_same_within_half_a_point(experiment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "tests/studies/parts/precision.yaml", "params.yaml")
    stages.download(experiment)
    stages.tokenize(experiment)
    stages.recipe(experiment)
    exact, short = (scores(f"{experiment}-{each}") for each in ("float32", "bfloat16"))
    # one seed begins with the same weights and order in both: differences within seeds
    seeds = 100 * (short[0].mean(axis=1) - exact[0].mean(axis=1))
    found = scipy.stats.ttest_1samp(seeds, 0)
    low, high = found.confidence_interval(0.95)
    equal_within = max(map(abs, found.confidence_interval(0.90)))
    print(
        f"{experiment}: {exact[0].mean():.4f} in float32, {short[0].mean():.4f} in bfloat16: "
        f"{seeds.mean():+.2f} ({low:+.2f} to {high:+.2f}), equal within {equal_within:.2f}"
    )
    weights = {sha256(path) for path in Path().glob("results/train/*/*/model.safetensors")}
    assert len(weights) == 2 * len(SEEDS), "all trainings are different"
    assert equal_within < MARGIN

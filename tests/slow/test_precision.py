"""What a training learns in bfloat16 is what it learns in float32: equivalent over seeds."""

from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from heed.cli import stages
from heed.evaluation.tested import read_model
from heed.files import sha256
from heed.prediction import write_predictions
from heed.task import task_module
from tests.conftest import train
from tests.makers.precision import has_bfloat16

pytestmark = [has_bfloat16]
EXPERIMENTS = ["rank", "topic", "translation"]
SEEDS, MARGIN = [1, 2, 3, 4, 5], 0.5  # points
STUDY = """
study: {name: precision, title: Two precisions, attention: [bfloat16]}
seeds: [1, 2, 3, 4, 5]
sources:
  rank: {kind: sample-rank, documents: 1800, seed: 1}
  topic: {kind: sample-topic, documents: 4600, seed: 1}
  translation: {kind: sample-translation, documents: 28000, seed: 1}
corpora:
  rank: {source: rank, kind: sample-rank, split: {kind: random, test: 1000, validation: 0.2}, tokenizer: whitespace}
  topic: {source: topic, kind: sample-topic, split: {kind: random, test: 3000, validation: 0.2}, tokenizer: whitespace}
  translation: {source: translation, kind: sample-translation-short, split: {kind: given}, tokenizer: whitespace}
experiments:
  rank: {task: classification, corpus: rank, data: {label: verdict}, title: Rank}
  topic: {task: classification, corpus: topic, data: {label: topic}, title: Topic}
  translation: {task: translation, corpus: translation, data: {source: norvic, target: soldan, tokenize: none}, title: Norvic}
searches: {}
defaults:
  classification:
    {embedding_dim: 32, embedding_std: 1.0, hidden_size: 24, linear_size: 32, pooling: attention,
     dropout: 0.2, batch_size: 32, lr_schedule: cosine, max_grad_norm: 1.0, monitor: last}
  translation:
    {source_vocabulary: 200, target_vocabulary: 200, embedding_dim: 64, hidden_size: 64, dropout: 0.1, tied_readout: true,
     epochs: 4, batch_size: 32, training_share: 0.25, lr_schedule: cosine, max_grad_norm: 1.0, monitor: last, ema_decay: 0.99, beam: 1}
models:
"""  # noqa: E501
MODELS = "".join(
    f"  {name}-{precision}: {{experiment: {name}, search: none, precision: {precision}, {rate}}}\n"
    for name, rate in [
        ("rank", "learning_rate: 0.01, epochs: 4"), ("topic", "learning_rate: 0.003, epochs: 2"),
        ("translation", "learning_rate: 0.004"),
    ]
    for precision in ("float32", "bfloat16")
)  # fmt: skip


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
    Path("params.yaml").write_text(STUDY + MODELS)
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

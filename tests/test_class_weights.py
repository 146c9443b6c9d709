"""`class_weights: balanced` lets every class count the same in the loss, and in nothing else."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.utils.class_weight import compute_class_weight

from heed.recipe import read_model_recipe, write_recipe
from heed.tasks.classification.learning import ClassificationLearner, make_learner
from heed.tokens.arrays import load_tokens
from heed.training.machine import seed_everything
from heed.training.run import split_documents, train_model
from tests.conftest import change_recipe, write_tokens

WEIGHTS = torch.tensor([2.0, 2 / 3])  # by hand: 9 of 36 documents are bad, so 36 / (2 × 9) and …
PLAIN = {
    "encoder": "embeddings", "attention": "none", "heads": 1, "embedding_dropout": 0.0,
    "dropout": 0.0, "epochs": 40, "batch_size": 16,
}  # fmt: skip


@pytest.fixture
def unbalanced(workplace: Path) -> Path:
    """One of four documents is bad: of these half have the word `sad`, and a third of the good."""
    labels, texts = [], []
    for i in range(144):
        labels.append("bad" if i % 4 == 0 else "good")
        is_sad = i // 4 % 2 == 0 if labels[-1] == "bad" else i % 12 in (1, 6, 11)
        texts.append([f"w{i % 5}", *(["sad"] if is_sad else []), "fine"])
    splits = ["train"] * 36 + ["validation"] * 96 + ["test"] * 12
    shutil.rmtree("data/tokens/tiny")
    meta = write_tokens(workplace / "data/tokens/tiny", texts, labels, splits)
    recipe = dataclasses.replace(read_model_recipe("tiny-attention"), tokens=meta["digest"])
    write_recipe("results/recipe/tiny-attention.yaml", recipe)
    return workplace


def learner_with(**changes):
    change_recipe(**PLAIN, **changes)
    recipe, tokens = read_model_recipe("tiny-attention"), load_tokens("data/tokens/tiny")
    seed_everything(1)
    return make_learner(recipe, tokens, split_documents(recipe, tokens, 1), 1, "cpu")


@pytest.mark.parametrize(
    "changes",
    [{}, {"tfidf_branch": "words", "tfidf_buckets": 64, "tfidf_loss": "separate"}],
    ids=["joint", "separate"],
)
def test_the_loss_is_torchs_weighted_cross_entropy(unbalanced, changes):
    learner = learner_with(class_weights="balanced", **changes)
    for (batch,) in learner.steps(1, None):
        targets = torch.from_numpy(batch.rows % 4 != 0).long()
        expected = sum(
            F.cross_entropy(logits, targets, weight=WEIGHTS, reduction="sum")
            for logits in learner.model.logits_by_part(batch)
        )
        loss = learner.loss(learner.model, batch)
        assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
        assert learner.weight(batch) == len(batch.rows)


def test_validation_is_not_weighted(unbalanced):
    plain, weighted = (learner_with(class_weights=name) for name in ("none", "balanced"))
    assert plain.validate(plain.model) == weighted.validate(weighted.model)


def test_the_weights_are_scikit_learns_of_the_training_part_alone():
    labels, train = np.array([0, 2, 2, 2, 0, 2, -1, 1]), np.arange(6)  # class 1 is not in it
    expected = compute_class_weight("balanced", classes=np.array([0, 2]), y=labels[train])
    weights = ClassificationLearner.balance(labels, train)
    assert np.allclose(weights[train], expected[(labels[train] == 2).astype(int)])
    assert weights[6:].tolist() == [0, 0] and weights[train].mean() == pytest.approx(1)


def test_macro_f1_of_a_rare_class_rises(unbalanced):
    best = {}
    for name in ("none", "balanced"):
        change_recipe(**PLAIN, class_weights=name, monitor="last")
        recipe, tokens = read_model_recipe("tiny-attention"), load_tokens("data/tokens/tiny")
        trained = train_model(recipe, tokens, 1, lambda progress: None, unbalanced / name)
        best[name] = trained.history[-1]["validation_macro_f1"]
    assert best["none"] == pytest.approx(3 / 7), "all are good: 0 and 2 × .75 / 1.75"
    assert best["balanced"] > 0.5, "at best .56, where all with `sad` are bad"

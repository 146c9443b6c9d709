"""Word vectors in training: frozen or tuned, in a recipe, a study and the report."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.torch import load_file

import heed
from heed.recipe import read_model_recipe
from heed.tasks.classification.adversarial_attention import AdversarialLearner
from heed.tasks.classification.recipe import corpus_contradiction
from heed.tasks.classification.rules import no_effect
from heed.tokens.arrays import load_tokens
from heed.tokens.meta import Vectors, read_meta
from heed.training.run import read_run
from tests.conftest import RUN, change_recipe, contents, killed, train


@pytest.fixture
def with_vectors(workplace: Path) -> np.ndarray:
    """Give the corpus `tiny` vectors, with none for every third type; return them."""
    path = Path("data/tokens/tiny")
    meta = json.loads((path / "meta.json").read_text())
    vectors = np.random.default_rng(1).normal(size=(meta["types"], 8)).astype(np.float32)
    vectors[::3] = 0
    np.save(path / "vectors.npy", vectors)
    shares = {"train": 0.6, "validation": 0.6, "test": 0.6}
    meta["vectors"] = {"size": 8, "types": 0.6, "tokens": shares}
    (path / "meta.json").write_text(json.dumps(meta))
    return vectors


def trained_embeddings() -> tuple[np.ndarray, np.ndarray]:
    tokens = load_tokens("data/tokens/tiny")
    words = (RUN / "vocabulary.txt").read_text().split("\n")[2:-1]
    types = [tokens.lexicon.index(word) for word in words]
    return load_file(RUN / "model.safetensors")["network.embedding.word.weight"].numpy()[2:], types


PRACTICE = {"weight_decay": 0.1, "max_grad_norm": 1.0, "ema_decay": 0.9}


def test_frozen_vectors_stay_as_they_are_and_tuned_ones_do_not(with_vectors):
    known = with_vectors.any(1)
    initial = {}
    for name in ("frozen", "tuned"):
        change_recipe(vectors=name, **PRACTICE)
        train("tiny-self-attention", 1)
        embeddings, types = trained_embeddings()
        is_known = known[types]
        initial[name] = embeddings[~is_known]
        same = (embeddings[is_known] == with_vectors[types][is_known]).all(1)
        assert 0 < is_known.sum() < len(types) and same.all() == (name == "frozen")
    assert not np.array_equal(initial["frozen"], initial["tuned"]), "random ones are tuned too"


def test_a_frozen_training_resumes_and_its_run_is_whole_without_the_corpus(with_vectors):
    change_recipe(vectors="frozen", **PRACTICE)
    train("tiny-self-attention", 1)
    whole = contents()
    with pytest.raises(KeyboardInterrupt):
        train("tiny-self-attention", 1, killed)
    train("tiny-self-attention", 1)
    assert contents() == whole
    Path("data/tokens/tiny/vectors.npy").unlink()
    run = heed.load_run(RUN)
    model = run.predictor.model
    embeddings = model.network.embedding.word.weight
    trained = sum(p.numel() for p in model.parameters()) - embeddings.numel()
    assert read_run("tiny-self-attention", 1).parameters == trained and not embeddings.requires_grad
    assert run.predict(["fine unknown-word"]).probabilities.shape == (1, 2)
    base = SimpleNamespace(model=model.requires_grad_(False), encoded=None)
    splits = {"train": np.arange(36), "validation": np.arange(36, 48)}
    info = read_run("tiny-self-attention", 1)
    adversarial_model = AdversarialLearner(
        base, None, {}, np.zeros(60, np.int64), splits, info
    ).model
    still = [name for name, p in adversarial_model.named_parameters() if not p.requires_grad]
    assert still == ["network.embedding.word.weight"], "an adversarial model leaves them frozen too"


def test_the_recipe_asks_for_the_size_of_the_vectors(workplace):
    meta = read_meta(Path("data/tokens/tiny"))
    h = read_model_recipe("tiny-self-attention").changed({"vectors": "tuned"}).hyperparameters
    assert "corpus tiny has no word vectors. Name a file" in str(corpus_contradiction(h, meta))
    wide = dataclasses.replace(meta, vectors=Vectors(300, 0.9, {}))
    assert str(corpus_contradiction(h, wide)).endswith("Set embedding_dim: 300")
    assert corpus_contradiction(dataclasses.replace(h, embedding_dim=300), wide) is None
    assert corpus_contradiction(dataclasses.replace(h, vectors="none"), meta) is None
    assert "vectors: tuned, whose size it is" in no_effect(h)["embedding_dim"], "not searched"
